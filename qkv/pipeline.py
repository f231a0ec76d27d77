"""Text in, text out: what a bundle does, with nothing else needed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, overload

import torch
from torch import Tensor

from qkv.checkpoint.bundle import Bundle, load_bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.core.tape import Tape
from qkv.data.batching import pad_rows, token_batches
from qkv.decoding.beam import beam_search
from qkv.decoding.greedy import greedy
from qkv.errors import UserError
from qkv.models.translator import Translator as TranslatorModel
from qkv.models.translator import TranslatorConfig
from qkv.text.segment import split_to_fit
from qkv.text.tokenizer import Tokenizer

BATCH_TOKENS = 4_096  # source tokens times beams decoded together


@dataclass(frozen=True, kw_only=True)
class Languages:
    source: str
    target: str

    @classmethod
    def of(cls, source: str | None, target: str | None) -> "Languages":
        """Where nobody has named them they are called source and target."""
        return cls(source=source or "source", target=target or "target")

    def named(self) -> tuple[str | None, str | None]:
        """Those that somebody has named."""
        unnamed = Languages.of(None, None)
        return (
            None if self.source == unnamed.source else self.source,
            None if self.target == unnamed.target else self.target,
        )


@dataclass(frozen=True, kw_only=True)
class TranslatorDefaults:
    """What a translator needs to know beside its weights."""

    languages: Languages
    longest: int  # pieces of the longest source that is translated whole: more is split
    beam: int
    length_penalty: float


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """How much each word said looked at each word read, for every block and head."""

    source: list[str]
    target: list[str]
    weights: Tensor  # (blocks, H, T, S)


class Translator:
    def __init__(self, model: TranslatorModel, tokenizer: Tokenizer, defaults: TranslatorDefaults):
        self.model, self.tokenizer, self.defaults = model, tokenizer, defaults

    def __repr__(self) -> str:
        languages = self.defaults.languages
        return f"Translator({languages.source} → {languages.target}, {len(self.tokenizer):,} pieces)"

    @classmethod
    def from_bundle(cls, bundle: Bundle, where: str) -> Self:
        config = dict(bundle.config)
        architecture = from_dict(TranslatorConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(TranslatorDefaults, config, f"{where}/config.json")
        if len(bundle.tokenizer) != architecture.vocab:
            raise UserError(
                f"{where}: the tokenizer has {len(bundle.tokenizer)} pieces, the model {architecture.vocab}; "
                f"these files do not belong together."
            )
        model = TranslatorModel(architecture)
        load_weights(model, bundle.weights, where)
        return cls(model, bundle.tokenizer, defaults)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.model.config), **to_dict(self.defaults)}
        weights = self.model.state_dict()
        save_bundle(
            folder, Bundle(kind="translator", config=config, weights=weights, tokenizer=self.tokenizer)
        )

    @overload  # a str is a sequence of str too, but the first signature that fits is taken
    def translate(  # type: ignore[overload-overlap]
        self, text: str, *, beam: int | None = ..., length_penalty: float | None = ...
    ) -> str: ...

    @overload
    def translate(
        self,
        text: Sequence[str],
        *,
        beam: int | None = ...,
        length_penalty: float | None = ...,
        done: Callable[[int], None] | None = ...,
    ) -> list[str]: ...

    def translate(
        self,
        text: str | Sequence[str],
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        done: Callable[[int], None] | None = None,
    ) -> str | list[str]:
        """One text or many; the answers come in the order of the texts. `done` is told of finished pieces.

        A text without any letter is returned as it is; one longer than training has shown is translated
        in pieces.
        """
        texts = [text] if isinstance(text, str) else list(text)
        pieces = [(index, piece) for index, whole in enumerate(texts) for piece in self.pieces_of(whole)]
        wanted = [piece.strip() for _, piece in pieces if has_letters(piece)]
        translated = iter(self.translate_pieces(wanted, beam, length_penalty, done))
        results = [""] * len(texts)
        for index, piece in pieces:
            results[index] += surrounded(piece, next(translated)) if has_letters(piece) else piece
        return results[0] if isinstance(text, str) else results

    def pieces_of(self, text: str) -> list[str]:
        return split_to_fit(text, lambda part: len(self.tokenizer.encode(part.strip())), self.limit)

    @property
    def limit(self) -> int:
        """The most pieces of one source, its end mark not counted."""
        return min(self.defaults.longest, self.model.config.context - 1)

    @torch.inference_mode()
    def translate_pieces(
        self,
        texts: Sequence[str],
        beam: int | None,
        length_penalty: float | None,
        done: Callable[[int], None] | None,
    ) -> list[str]:
        beam = self.defaults.beam if beam is None else beam
        alpha = self.defaults.length_penalty if length_penalty is None else length_penalty
        if beam < 1 or not alpha >= 0:  # nor a nan
            raise UserError("--beam must be at least 1 and the length penalty not negative.")
        self.model.eval()
        sources = self.tokenizer.encode_all(texts)
        results = [""] * len(texts)
        for rows in token_batches([len(ids) + 1 for ids in sources], max(1, BATCH_TOKENS // beam), seed=None):
            for row, ids in zip(rows, self.decode([sources[row] for row in rows], beam, alpha), strict=True):
                results[row] = self.tokenizer.decode(ids)
            if done is not None:
                done(len(rows))
        return results

    def decode(self, sources: Sequence[Sequence[int]], beam: int, alpha: float) -> list[list[int]]:
        config, device = self.model.config, self.model.tokens.weight.device
        source = pad_rows([[*ids, config.end] for ids in sources], config.pad).to(device)
        start = torch.full((len(sources),), config.start, device=device)
        # Twice the source and a little more, as far as there are positions: room for any honest translation.
        limits = torch.tensor([min(2 * len(ids) + 20, config.context) for ids in sources], device=device)
        step = self.model.begin(source)
        if beam == 1:
            found = greedy(step, start, config.end, limits)
        else:
            beams = beam_search(step, start, config.end, limits, width=beam, alpha=alpha)
            found = [hypotheses[0] for hypotheses in beams if hypotheses]
        if len(found) < len(sources) or not all(math.isfinite(hypothesis.score) for hypothesis in found):
            raise UserError("the model's scores are not numbers: its weights are broken; train it again.")
        return [hypothesis.ids for hypothesis in found]

    @torch.inference_mode()
    def attention(self, text: str) -> AttentionMap:
        """Translate greedily, then read off the encoder-decoder attention of every block and head."""
        if not has_letters(text) or len(self.pieces_of(text)) > 1:
            raise UserError("an attention picture needs one sentence that is not empty and not too long.")
        config, device = self.model.config, self.model.tokens.weight.device
        self.model.eval()
        ids = self.tokenizer.encode(text.strip())
        said = self.decode([ids], 1, 0.0)[0][: config.context - 1]  # the start takes a position too
        tape = Tape()
        source, shifted = torch.tensor([[*ids, config.end]]), torch.tensor([[config.start, *said]])
        self.model(source.to(device), shifted.to(device), tape)
        weights = [
            tape[f"decoder.{block}.cross_attention.weights"][0] for block in range(config.decoder.depth)
        ]
        show = self.tokenizer.show
        return AttentionMap(
            source=show([*ids, config.end]),
            target=show([*said, config.end]),  # row t is the look that led to word t
            weights=torch.stack(weights),
        )


def load_weights(model: torch.nn.Module, weights: Any, where: str) -> None:
    """Every fault at once: what is missing, what is left over, what has another shape."""
    own = model.state_dict()
    faults = [f"{name} is missing" for name in own if name not in weights]
    faults += [f"{name} is unknown" for name in weights if name not in own]
    faults += [
        f"{name} has shape {tuple(weights[name].shape)} instead of {tuple(own[name].shape)}"
        for name in own
        if name in weights and weights[name].shape != own[name].shape
    ]
    if faults:
        raise UserError(f"{where}: the weights do not fit the config: {'; '.join(faults)}.")
    model.load_state_dict(weights)


def has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


def surrounded(piece: str, translation: str) -> str:
    """The translation with the white space that stood around its source."""
    before, after = piece[: len(piece) - len(piece.lstrip())], piece[len(piece.rstrip()) :]
    return before + translation + after


def load(path: str | Path) -> Translator:
    """Open a bundle: `qkv.load("runs/en-de").translate("the cat danced")`."""
    folder = Path(path)
    bundle = load_bundle(folder)
    if bundle.kind != "translator":
        raise UserError(f"{folder} holds a {bundle.kind}, which this version of qkv does not know.")
    return Translator.from_bundle(bundle, str(folder))
