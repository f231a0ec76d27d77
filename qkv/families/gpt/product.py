"""A prompt in, its continuation out; and how likely a text is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.windows import sliding_windows, stream_of
from qkv.decoding.greedy import likeliest
from qkv.decoding.rules import TakeTurns
from qkv.decoding.sampling import Draw
from qkv.decoding.walk import walk
from qkv.engine.gpt import GPTEngine, GPTEngineStep
from qkv.errors import UserError
from qkv.families.gpt.model import GPT, GPTConfig, GPTStep, TextBatch
from qkv.families.gpt.options import GenerationOptions
from qkv.runtime.compute import Compute, continuing_in, silent
from qkv.runtime.weights import build_model
from qkv.text.characters import Characters
from qkv.text.notes import VOICES, Frame, Notes
from qkv.text.published_pieces import PublishedPieces
from qkv.text.stream import after, decoded, until
from qkv.text.tokenizer import Tokenizer

TokenType = Literal["subwords", "characters", "notes", "published"]
TOKENIZERS: dict[TokenType, type[Tokenizer]] = {
    "subwords": Tokenizer,
    "characters": Characters,
    "notes": Notes,
    "published": PublishedPieces,
}
TOKENS_AT_ONCE = 4_096  # when the likelihood of a text is computed
SCORES_AT_ONCE = 2**25  # of a large vocabulary fewer: every token has a score for each word of it


@dataclass(frozen=True, kw_only=True)
class GeneratorDefaults:
    """What a generator needs to know beside its weights."""

    OLD_NAMES: ClassVar = {"pieces": "token_type"}

    token_type: TokenType
    """What a token is."""


class Generator:
    def __init__(
        self, model: GPT, tokenizer: Tokenizer, defaults: GeneratorDefaults, engine: GPTEngine | None = None
    ):
        self.model, self.tokenizer, self.defaults = model, tokenizer, defaults
        self.engine = engine  # that continues texts in the model's place

    def __repr__(self) -> str:
        config = self.model.config
        return f"Generator({self.defaults.token_type}, {config.vocab_size:,} in the vocabulary, context {config.max_length:,})"

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(GPTConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(GeneratorDefaults, config, f"{where}/config.json")
        tokenizer = tokenizer_for(defaults.token_type, where / TOKENIZER_FILE, architecture)
        model = build_model(GPT, architecture, bundle)
        return cls(model, tokenizer, defaults)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        return {"kind": "gpt, a language model", **facts_of_gpt(self.model, self.defaults.token_type)}

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.model.config), **to_dict(self.defaults)}
        save_bundle(folder, "gpt", config, self.model.state_dict(), {TOKENIZER_FILE: self.tokenizer.text()})

    def computing_in(self, compute: Compute, warn: Callable[[str], None] = silent) -> "Generator":
        """The same by the engine, in float32 or int8, or in bf16 by torch; `warn` is told if there can be no engine."""
        model, engine = continuing_in(self.model, compute, warn)
        return Generator(model, self.tokenizer, self.defaults, engine)

    # Continuing a text ------------------------------------------------------------------------------------------

    def generate(self, prompt: str = "", generation: GenerationOptions = GenerationOptions()) -> str:  # noqa: B008
        """The continuation of a prompt, without the prompt itself."""
        return "".join(self.stream(prompt, generation))

    def stream(
        self,
        prompt: str = "",
        generation: GenerationOptions = GenerationOptions(),  # noqa: B008
        slides: Callable[[], None] = silent,
    ) -> Iterator[str]:
        """The same bit by bit, as it is found. `slides` is told once when the beginning is forgotten.

        It ends after so many tokens, before the `stop`, or where the model ends its document. A text that is longer
        than the context is read in a window: when that is full, its older half is forgotten.
        """
        known = self.tokenizer.token_bytes
        ids = self.stream_ids(self.encode(prompt), generation, slides)
        said = until(decoded(known[token] for token in ids), generation.stop)
        return after(self.tokenizer.between(prompt), said)

    def encode(self, text: str) -> list[int]:
        """Notes read any text as nothing, which nobody means."""
        if self.defaults.token_type == "notes":
            raise UserError("this model makes music, not text: it has `compose` and `nats_of_music`.")
        return self.tokenizer.encode(text)

    def compose(
        self,
        beginning: Sequence[Frame] = (),
        generation: GenerationOptions = GenerationOptions(),  # noqa: B008
        slides: Callable[[], None] = silent,
        done: Callable[[int], None] = silent,
    ) -> list[Frame]:
        """Music that begins with these frames."""
        notes = self.notes()
        found = notes.encode_frames(beginning)
        for token in self.stream_ids(list(found), generation, slides):
            found.append(token)
            done(1)
        return notes.decode_frames(found)

    def notes(self) -> Notes:
        if not isinstance(self.tokenizer, Notes):
            raise UserError("this model knows text, not music.")
        return self.tokenizer

    @torch.inference_mode()
    def stream_ids(
        self, prompt: list[int], generation: GenerationOptions, slides: Callable[[], None]
    ) -> Iterator[int]:
        """Without a prompt a new document is begun, which is what follows an end."""
        self.model.eval()
        config, device = self.model.config, self.model.tokens.weight.device
        read = torch.tensor([prompt or [config.end]], device=device)  # (1, T)
        step: GPTStep | GPTEngineStep = (self.engine or self.model).begin()
        limits = torch.tensor([generation.max_new_tokens], device=device)
        if read.shape[1] > 1:
            step(read[:, :-1])
        greedy = generation.temperature == 0
        choose = likeliest if greedy else Draw(generation.sampling, [generation.seed], limits)
        told = False
        for stride in walk(step, read[:, -1], config.end, limits, choose, [self.turns(len(prompt))]):
            if step.slid and not told:
                told = True
                slides()
            token = int(stride.ids[0])
            if not stride.scores.isfinite().all():
                raise UserError("the model's scores are not numbers: its weights are broken; train it again.")
            if token != config.end:
                yield token

    def turns(self, before: int) -> TakeTurns:
        """Which tokens may come: of text all but the special ones, of music those of the voice whose turn it is."""
        vocab, end = self.model.config.vocab_size, self.model.config.end
        if isinstance(self.tokenizer, Notes):
            voices = [list(self.tokenizer.of_voice(voice)) for voice in range(len(VOICES))]
            voices[0].append(end)  # music ends between two frames
            return TakeTurns(voices, vocab, before)
        return TakeTurns(
            [[end, *(number for number in range(vocab) if number not in self.tokenizer.special)]], vocab
        )

    # How likely a text is ---------------------------------------------------------------------------------------

    def log_probabilities(self, text: str, done: Callable[[int], None] = silent) -> Tensor:
        """Of every token of a text, as a document of its own."""
        return self.log_probabilities_of(self.encode(text), done)

    @torch.inference_mode()
    def log_probabilities_of(self, ids: Sequence[int], done: Callable[[int], None] = silent) -> Tensor:
        """Each token given those before it, in the windows in which `generate` reads. (N)"""
        self.model.eval()
        config, device = self.model.config, self.model.tokens.weight.device
        stream = stream_of([ids], config.end)[:-1]  # that the text ends is not part of it
        if len(stream) < 2:
            raise UserError("a text without any token has no likelihood: give some text.")
        windows = list(sliding_windows(len(stream), config.max_length))
        at_once = max(1, min(TOKENS_AT_ONCE, SCORES_AT_ONCE // config.vocab_size) // config.max_length)
        found = []
        for start in range(0, len(windows), at_once):
            part = windows[start : start + at_once]
            batch = TextBatch.of([stream[first : last + 1] for (first, last), _ in part], pad=0).to(device)
            scores = self.model(batch.ids).float().log_softmax(-1)  # (B, T, V)
            own = scores.gather(-1, batch.target[..., None])[..., 0].cpu()  # (B, T)
            for row, ((first, last), counted) in zip(own, part, strict=True):
                found.append(row[last - first - counted : last - first])
                done(counted)
        return torch.cat(found)

    def nats_of_music(self, pieces: Sequence[Sequence[Frame]], done: Callable[[int], None] = silent) -> float:
        """The negative log-likelihood of all notes of all pieces."""
        notes = self.notes()
        each = [self.log_probabilities_of(notes.encode_frames(frames), done) for frames in pieces]
        return -sum(float(part.double().sum()) for part in each)

    def choose(self, prompt: str, choices: Sequence[str]) -> list[float]:
        """Log-probabilities of different continuations of a prompt, for tasks that no example was shown of."""
        if not choices or not all(choices):
            raise UserError("give at least one continuation to choose from, and none that is empty.")
        before = self.encode(prompt)
        scores = []
        for choice in choices:
            own = self.encode(choice)
            scores.append(float(self.log_probabilities_of([*before, *own])[-len(own) :].sum()))
        return scores


def tokenizer_for(pieces: TokenType, path: Path, config: GPTConfig) -> Tokenizer:
    tokenizer, vocab = TOKENIZERS[pieces].load(path), config.vocab_size
    if isinstance(tokenizer, PublishedPieces):
        tokenizer.end = config.end
    if len(tokenizer) != vocab:
        raise UserError(
            f"{path.parent}: the tokenizer has {len(tokenizer)} pieces, the model {vocab}; these files do not belong "
            "together."
        )
    return tokenizer


def facts_of_gpt(model: GPT, pieces: TokenType) -> dict[str, str]:
    config = model.config
    return {
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "vocabulary": f"{config.vocab_size:,} {pieces}",
        "stack": config.stack.sentence(),
        "positions": config.positions,
        "context": f"{config.max_length:,} tokens; what is longer slides",
    }
