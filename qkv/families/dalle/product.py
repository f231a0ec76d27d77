"""Draw images of a caption."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from qkv.checkpoint.bundle import CONFIG_FILE, TOKENIZER_FILE, Bundle, load_bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.captioned import words_of
from qkv.data.images import Bytes
from qkv.decoding.arrays import arrays_for
from qkv.decoding.guidance import Guided
from qkv.decoding.sampling import Sampling, sample
from qkv.decoding.step import Step
from qkv.engine.reference.functions import Ints, log_softmax
from qkv.errors import DataError, QkvError
from qkv.families.dalle.codes import Codes
from qkv.families.dalle.config import DalleConfig
from qkv.families.dalle.options import DrawingOptions, Ranking, drawing_rules
from qkv.families.dalle.runner import DalleRunner, build_dalle, open_dalle
from qkv.runtime.network import Network, network_of
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
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

    def __init__(
        self,
        runner: DalleRunner,
        tokenizer: Tokenizer,
        codes: Codes,
        defaults: PainterDefaults,
        network: Network[DalleConfig, Any] | None = None,
    ):
        """`network` has the config and weights; it is not needed if the runner is a torch model."""
        self.runner, self.tokenizer, self.codes, self.defaults = runner, tokenizer, codes, defaults
        self.network = Network.of(runner) if network is None else network

    @property
    def config(self) -> DalleConfig:
        return self.network.config

    @property
    def model(self) -> Any:
        """The same model in torch, for training."""
        return self.network.model

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(DalleConfig, config.pop("model", None), f"{where}/{CONFIG_FILE}")
        defaults = from_dict(PainterDefaults, config, f"{where}/{CONFIG_FILE}")
        tokenizer = Tokenizer.load(where / TOKENIZER_FILE)
        codes = Codes.from_bundle(load_bundle(where / CODEBOOK), running, warn)
        own = codes.config
        if (len(tokenizer), own.codes, own.grid) != (
            architecture.vocab_size,
            architecture.codes,
            architecture.grid,
        ):
            raise DataError(f"{where}: the tokenizer, codebook and model do not belong together.")
        network = network_of(bundle, architecture, build_dalle)
        return cls(open_dalle(network, running), tokenizer, codes, defaults, network)

    def save(self, folder: Path) -> None:
        if not (folder / CODEBOOK / CONFIG_FILE).exists():
            self.codes.save(folder / CODEBOOK)
        config = {"model": to_dict(self.config), **to_dict(self.defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "dalle", config, self.network.weights, files)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config, book = self.config, self.codes.config
        knows = f"{len(self.defaults.words)} words" if self.defaults.words else "any words"
        return {
            "kind": "image generator (DALL-E)",
            "parameters": f"{self.network.parameters:,} plus its codebook",
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
            raise QkvError("the caption is empty. Say what to draw.")
        strange = [word for word in words_of(text) if known and word not in known]
        if strange:
            near = difflib.get_close_matches(strange[0], known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it knows {', '.join(known[:12])} and others."
            raise QkvError(f"this model does not know the word '{strange[0]}'; {hint}")
        places, config = self.config.places, self.config
        ids = self.tokenizer.encode(text)
        if len(ids) > places - 2:
            raise QkvError(
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
        places = np.array(self.read(caption))
        seeds = [how.seed * 1024 + number for number in range(how.candidates)]
        drawings: list[Drawing] = []
        for start in range(0, len(seeds), ROWS_AT_ONCE):
            own = seeds[start : start + ROWS_AT_ONCE]
            drawings += self.draw_rows(np.tile(places, (len(own), 1)), own, how)
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
            places = np.repeat([self.read(caption) for caption in part], how.candidates, axis=0)
            numbers = range(start * how.candidates, start * how.candidates + len(places))
            drawings = self.draw_rows(places, [how.seed * 2**24 + number for number in numbers], how)
            for first in range(0, len(drawings), how.candidates):
                found.append(rank(drawings[first : first + how.candidates], how.ranking))
            done(len(part))
        return found

    def draw_rows(self, captions: Ints, seeds: Sequence[int], how: DrawingOptions) -> list[Drawing]:
        """Draw one image for each row of ids, (B, places)."""
        blank = np.full_like(captions, self.config.pad)
        codes = self.draw_codes(captions, blank, seeds, how)
        given, free = (self.likelihood(each, codes) for each in (captions, blank))
        return [
            Drawing(pixels=pixels, likelihood=one, contrast=one - other)
            for pixels, one, other in zip(self.codes.decode(codes), given, free, strict=True)
        ]

    def draw_codes(self, captions: Ints, blank: Ints, seeds: Sequence[int], how: DrawingOptions) -> Ints:
        """Sample codes for each caption; `blank` are empty captions, for guidance.  (B, places) -> (B, grid²)"""
        defaults, arrays = self.defaults, arrays_for(self.runner.device)
        guidance = defaults.guidance if how.guidance is None else how.guidance
        sampling = Sampling(
            temperature=how.temperature or defaults.temperature, top_p=how.top_p or defaults.top_p
        )
        given = arrays.asarray(captions)
        step: Step = self.runner.begin(given)
        if guidance != 1:
            step = Guided(step, self.runner.begin(arrays.asarray(blank)), guidance)
        limits = arrays.full((len(captions),), self.config.area)
        return np.array([each.ids for each in sample(step, given[:, -1], NEVER, limits, sampling, seeds)])

    def likelihood(self, captions: Ints, codes: Ints) -> list[float]:
        """Mean log-probability of each image's codes."""
        logits = log_softmax(self.runner.logits(captions, codes))  # (B, grid², codes)
        own: list[float] = np.take_along_axis(logits, codes[:, :, None], axis=2)[:, :, 0].mean(1).tolist()
        return own


def rank(drawings: Sequence[Drawing], ranking: Ranking) -> list[Drawing]:
    return sorted(drawings, key=lambda drawing: -float(getattr(drawing, ranking)))
