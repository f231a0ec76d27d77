"""Draw images of a caption."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from qkv.checkpoint.bundle import CONFIG_FILE, TOKENIZER_FILE, Bundle, load_bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.captioned import words_of
from qkv.data.images import Bytes
from qkv.decoding.guidance import Guided
from qkv.decoding.sampling import Sampling, sample
from qkv.decoding.step import Step
from qkv.errors import UserError
from qkv.families.dalle.codes import Codes
from qkv.families.dalle.config import DalleConfig
from qkv.families.dalle.model import Dalle
from qkv.families.dalle.options import DrawingOptions, Ranking, drawing_rules
from qkv.runtime.weights import build_model
from qkv.text.tokenizer import Tokenizer

CODEBOOK = "codebook"  # its folder in the bundle
ROWS_AT_ONCE = 64  # images drawn together
NEVER = -1  # the id of an end that never comes: an image ends at its last position


@dataclass(frozen=True, kw_only=True)
class PainterDefaults:
    """What a painter needs besides its weights."""

    words: tuple[str, ...]  # the words that a caption may use; empty for any
    temperature: float
    top_p: float
    guidance: float

    def __post_init__(self) -> None:
        for name, must, holds in drawing_rules(self.temperature, self.top_p, self.guidance):
            if not holds:
                raise ValueError(f"{name} {must}")


@dataclass(frozen=True, kw_only=True)
class Drawing:
    pixels: Bytes  # (3, side, side)
    likelihood: float  # log-probability of the image given the caption, per code
    contrast: float  # how much the caption raises the log-probability, per code


class Painter:
    """`qkv.load("runs/scenes").draw("a red circle above a blue square")`"""

    def __init__(self, model: Dalle, tokenizer: Tokenizer, codes: Codes, defaults: PainterDefaults):
        self.model, self.tokenizer, self.codes, self.defaults = model, tokenizer, codes, defaults

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(DalleConfig, config.pop("model", None), f"{where}/{CONFIG_FILE}")
        defaults = from_dict(PainterDefaults, config, f"{where}/{CONFIG_FILE}")
        tokenizer = Tokenizer.load(where / TOKENIZER_FILE)
        codes = Codes.from_bundle(load_bundle(where / CODEBOOK))
        own = codes.model.config
        if (len(tokenizer), own.codes, own.grid) != (
            architecture.vocab_size,
            architecture.codes,
            architecture.grid,
        ):
            raise UserError(f"{where}: the tokenizer, codebook and model do not belong together.")
        model = build_model(Dalle, architecture, bundle)
        return cls(model, tokenizer, codes, defaults)

    def save(self, folder: Path) -> None:
        if not (folder / CODEBOOK / CONFIG_FILE).exists():
            self.codes.save(folder / CODEBOOK)
        config = {"model": to_dict(self.model.config), **to_dict(self.defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "dalle", config, self.model.state_dict(), files)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config, book = self.model.config, self.codes.model.config
        knows = f"{len(self.defaults.words)} words" if self.defaults.words else "any words"
        return {
            "kind": "image generator (DALL-E)",
            "parameters": f"{sum(p.numel() for p in self.model.parameters()):,} plus its codebook",
            "captions": f"up to {config.places - 2} tokens, {knows}",
            "images": f"{book.side} × {book.side}, {config.grid} × {config.grid} of {config.codes} codes",
            "blocks": config.stack.sentence(),
        }

    def read(self, caption: str) -> list[int]:
        """The ids of a caption: words, end, blanks. A word that the model does not know is an error."""
        text, known = " ".join(caption.split()), self.defaults.words
        if known:  # such captions are lower-case, without a full stop
            text = text.lower().rstrip(" .!")
        if not text:
            raise UserError("the caption is empty. Say what to draw.")
        strange = [word for word in words_of(text) if known and word not in known]
        if strange:
            near = difflib.get_close_matches(strange[0], known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it knows {', '.join(known[:12])} and others."
            raise UserError(f"this model does not know the word '{strange[0]}'; {hint}")
        places, config = self.model.config.places, self.model.config
        ids = self.tokenizer.encode(text)
        if len(ids) > places - 2:
            raise UserError(
                f"the caption has {len(ids)} tokens, and the model reads at most {places - 2}. Shorten it."
            )
        return [*ids, config.end, *[config.pad] * (places - 1 - len(ids))]

    def draw(
        self,
        caption: str,
        how: DrawingOptions | None = None,
        *,
        done: Callable[[int], None] = lambda count: None,
    ) -> list[Drawing]:
        """Draw images of a caption, the best first."""
        how = how or DrawingOptions()
        places = torch.tensor(self.read(caption))
        seeds = [how.seed * 1024 + number for number in range(how.candidates)]
        drawings: list[Drawing] = []
        for start in range(0, len(seeds), ROWS_AT_ONCE):
            own = seeds[start : start + ROWS_AT_ONCE]
            drawings += self.draw_rows(places.expand(len(own), -1), own, how)
            done(len(own))
        return rank(drawings, how.ranking)

    def draw_each(
        self,
        captions: Sequence[str],
        how: DrawingOptions,
        *,
        done: Callable[[int], None] = lambda count: None,
    ) -> list[list[Drawing]]:
        """Draw images of many captions, several captions at a time."""
        found = []
        at_once = max(1, ROWS_AT_ONCE // how.candidates)
        for start in range(0, len(captions), at_once):
            part = captions[start : start + at_once]
            places = torch.tensor([self.read(caption) for caption in part]).repeat_interleave(
                how.candidates, 0
            )
            numbers = range(start * how.candidates, start * how.candidates + len(places))
            drawings = self.draw_rows(places, [how.seed * 2**24 + number for number in numbers], how)
            for first in range(0, len(drawings), how.candidates):
                found.append(rank(drawings[first : first + how.candidates], how.ranking))
            done(len(part))
        return found

    @torch.inference_mode()
    def draw_rows(self, captions: Tensor, seeds: Sequence[int], how: DrawingOptions) -> list[Drawing]:
        """Draw one image for each row of ids, (B, places)."""
        self.model.eval()
        defaults, device = self.defaults, self.model.codes.weight.device
        captions = captions.to(device)
        guidance = defaults.guidance if how.guidance is None else how.guidance
        sampling = Sampling(
            temperature=how.temperature or defaults.temperature, top_p=how.top_p or defaults.top_p
        )
        blank = torch.full_like(captions, self.model.config.pad)
        step: Step = self.model.begin(captions)
        if guidance != 1:
            step = Guided(step, self.model.begin(blank), guidance)
        limits = torch.full((len(captions),), self.model.config.area, device=device)
        found = sample(step, captions[:, -1], NEVER, limits, sampling, seeds)
        codes = torch.tensor([each.ids for each in found])
        given, free = (self.likelihood(each, codes.to(device)) for each in (captions, blank))
        return [
            Drawing(pixels=pixels, likelihood=one, contrast=one - other)
            for pixels, one, other in zip(self.codes.decode(codes), given, free, strict=True)
        ]

    def likelihood(self, captions: Tensor, codes: Tensor) -> list[float]:
        """Mean log-probability of each image's codes."""
        logits = self.model(captions, codes).float().log_softmax(-1)
        own: list[float] = logits.gather(2, codes[:, :, None])[:, :, 0].mean(1).tolist()
        return own


def rank(drawings: Sequence[Drawing], ranking: Ranking) -> list[Drawing]:
    return sorted(drawings, key=lambda drawing: -float(getattr(drawing, ranking)))
