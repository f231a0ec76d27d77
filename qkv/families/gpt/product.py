"""Generate text or music from a prompt, and score texts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.windows import Window, sliding_windows, stream_of
from qkv.decoding.arrays import NUMPY, arrays_for, is_finite
from qkv.decoding.greedy import likeliest
from qkv.decoding.rules import TakeTurns
from qkv.decoding.sampling import Draw
from qkv.decoding.walk import walk
from qkv.errors import DataError, QkvError
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.options import GenerationOptions
from qkv.families.gpt.runner import GPTRunner, build_gpt, open_generator
from qkv.runtime.network import Network, network_of
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.text.characters import CharacterTokenizer
from qkv.text.notes import VOICES, Frame, Notes
from qkv.text.published_bpe import PublishedBPE
from qkv.text.stream import decode_stream, prepend, stop_at
from qkv.text.tokenizer import Tokenizer

TokenType = Literal["subwords", "characters", "notes", "published"]
TOKENIZERS: dict[TokenType, type[Tokenizer]] = {
    "subwords": Tokenizer,
    "characters": CharacterTokenizer,
    "notes": Notes,
    "published": PublishedBPE,
}
TOKENS_AT_ONCE = 4_096  # tokens scored in one batch
SCORES_AT_ONCE = 2**24  # logits in one batch: fewer tokens if the vocabulary is large


@dataclass(frozen=True, kw_only=True)
class GeneratorDefaults:
    """What a generator needs besides its weights."""

    OLD_NAMES: ClassVar = {"pieces": "token_type"}

    token_type: TokenType

    """What a token stands for."""


class Generator:
    """A language model with its vocabulary.

    Args:
        runner: What computes the model: the compiled engine, NumPy, or a torch model.
        tokenizer: Its vocabulary.
        defaults: Whatever else the model was saved with.
        network: Config and weights of the model; not needed if the runner is a torch model.
    """

    def __init__(
        self,
        runner: GPTRunner,
        tokenizer: Tokenizer,
        defaults: GeneratorDefaults,
        network: Network[GPTConfig, Any] | None = None,
    ):
        self.runner, self.tokenizer, self.defaults = runner, tokenizer, defaults
        self.network = Network.of(runner) if network is None else network

    def __repr__(self) -> str:
        config = self.config
        return f"Generator({self.defaults.token_type}, vocabulary {config.vocab_size:,}, context {config.max_length:,})"

    @property
    def config(self) -> GPTConfig:
        return self.network.config

    @property
    def model(self) -> Any:
        """The same model in torch, for training, tracing and exporting."""
        return self.network.model

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(GPTConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(GeneratorDefaults, config, f"{where}/config.json")
        tokenizer = tokenizer_for(defaults.token_type, where / TOKENIZER_FILE, architecture)
        network = network_of(bundle, architecture, build_gpt)
        return cls(open_generator(network, running, warn), tokenizer, defaults, network)

    def running(self, running: Running, warn: Warn = silent) -> "Generator":
        """The same model with its current weights on another engine, device or number format."""
        runner = open_generator(self.network, running, warn)
        return Generator(runner, self.tokenizer, self.defaults, self.network)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        facts = facts_of_gpt(self.config, self.defaults.token_type)
        return {"kind": "gpt, a language model", "parameters": f"{self.network.parameters:,}", **facts}

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.config), **to_dict(self.defaults)}
        save_bundle(folder, "gpt", config, self.network.weights, {TOKENIZER_FILE: self.tokenizer.text()})

    # Generating ------------------------------------------------------------------------------------------

    def generate(self, prompt: str = "", generation: GenerationOptions = GenerationOptions()) -> str:  # noqa: B008
        """The continuation of a prompt, without the prompt itself."""
        return "".join(self.stream(prompt, generation))

    def stream(
        self,
        prompt: str = "",
        generation: GenerationOptions = GenerationOptions(),  # noqa: B008
        slides: Callable[[], None] = silent,
    ) -> Iterator[str]:
        """Yield the text as it is generated. `slides` is called once, when the beginning no longer fits the context.

        It ends after `max_new_tokens`, before `stop`, or when the model ends the document. A text longer than the
        context is read in a sliding window: when it is full, its older half is dropped.
        """
        known = self.tokenizer.token_bytes
        ids = self.stream_ids(self.encode(prompt), generation, slides)
        said = stop_at(decode_stream(known[token] for token in ids), generation.stop)
        return prepend(self.tokenizer.separator_after(prompt), said)

    def encode(self, text: str) -> list[int]:
        """Token ids. A music model rejects text, because `Notes` would encode it as nothing."""
        if self.defaults.token_type == "notes":
            raise QkvError("this model makes music, not text: use `compose` or `nats_of_music`.")
        return self.tokenizer.encode(text)

    def compose(
        self,
        beginning: Sequence[Frame] = (),
        generation: GenerationOptions = GenerationOptions(),  # noqa: B008
        slides: Callable[[], None] = silent,
        done: Callable[[int], None] = silent,
    ) -> list[Frame]:
        """Continue these frames of music."""
        notes = self.notes()
        found = notes.encode_frames(beginning)
        for token in self.stream_ids(list(found), generation, slides):
            found.append(token)
            done(1)
        return notes.decode_frames(found)

    def notes(self) -> Notes:
        if not isinstance(self.tokenizer, Notes):
            raise QkvError("this model generates text, not music.")
        return self.tokenizer

    def stream_ids(
        self, prompt: list[int], generation: GenerationOptions, slides: Callable[[], None]
    ) -> Iterator[int]:
        """Without a prompt, start a new document: read the end of the one before."""
        end, arrays = self.config.end, arrays_for(self.runner.device)
        read = arrays.asarray([prompt or [end]])  # (1, T)
        limits = arrays.asarray([generation.max_new_tokens])
        step = self.runner.begin()
        if read.shape[1] > 1:
            step(read[:, :-1])
        greedy = generation.temperature == 0
        choose = likeliest if greedy else Draw(generation.sampling, [generation.seed], limits)
        told = False
        for stride in walk(step, read[:, -1], end, limits, choose, [self.turns(len(prompt))]):
            if step.slid and not told:
                told = True
                slides()
            token = int(stride.ids[0])
            if not is_finite(stride.scores).all():
                raise QkvError("the model's scores are not finite: its weights are broken. Train it again.")
            if token != end:
                yield token

    def turns(self, before: int) -> TakeTurns:
        """Tokens allowed next: any but the special ones in text; in music those of the voice whose turn it is."""
        vocab, end = self.config.vocab_size, self.config.end
        if isinstance(self.tokenizer, Notes):
            voices = [list(self.tokenizer.of_voice(voice)) for voice in range(len(VOICES))]
            voices[0].append(end)  # music ends between two frames
            return TakeTurns(voices, vocab, before)
        return TakeTurns(
            [[end, *(number for number in range(vocab) if number not in self.tokenizer.special)]], vocab
        )

    # Scoring ---------------------------------------------------------------------------------------

    def log_probabilities(self, text: str, done: Callable[[int], None] = silent) -> NDArray[np.float32]:
        """Log-probability of every token of a text, read as a document of its own."""
        return self.log_probabilities_of(self.encode(text), done)

    def log_probabilities_of(
        self, ids: Sequence[int], done: Callable[[int], None] = silent
    ) -> NDArray[np.float32]:
        """Log-probability of each token given those before it, in the windows that `generate` uses. (N)"""
        config = self.config
        stream = stream_of([ids], config.end)[:-1]  # the end of the text is not scored
        if len(stream) < 2:
            raise QkvError("a text without tokens has no likelihood. Give some text.")
        windows = list(sliding_windows(len(stream), config.max_length))
        at_once = max(1, min(TOKENS_AT_ONCE, SCORES_AT_ONCE // config.vocab_size) // config.max_length)
        found = []
        for start in range(0, len(windows), at_once):
            part = windows[start : start + at_once]
            own = self.log_probabilities_in(stream, [window for window, _ in part])
            for row, ((first, last), counted) in zip(own, part, strict=True):
                found.append(row[last - first - counted : last - first])
                done(counted)
        return np.concatenate(found)

    def log_probabilities_in(
        self, stream: NDArray[np.int64], windows: Sequence[Window]
    ) -> NDArray[np.float32]:
        """Log-probability of the token after each position of some windows; the rest of a row has no meaning. (B, T)"""
        ids = np.zeros((len(windows), 1 + max(last - first for first, last in windows)), np.int64)
        for row, (first, last) in zip(ids, windows, strict=True):
            row[: last + 1 - first] = stream[first : last + 1]
        logits = self.runner.logits(ids[:, :-1])  # (B, T, V)
        scores = NUMPY.log_softmax(logits.reshape(-1, logits.shape[-1]))  # (B · T, V)
        found: NDArray[np.float32] = scores[np.arange(len(scores)), ids[:, 1:].reshape(-1)]
        return found.reshape(len(windows), -1)

    def nats_of_music(self, pieces: Sequence[Sequence[Frame]], done: Callable[[int], None] = silent) -> float:
        """The negative log-likelihood of all notes, summed over all pieces."""
        notes = self.notes()
        each = [self.log_probabilities_of(notes.encode_frames(frames), done) for frames in pieces]
        return -sum(float(part.sum(dtype=np.float64)) for part in each)

    def choose(self, prompt: str, choices: Sequence[str]) -> list[float]:
        """Log-probability of each continuation of a prompt, for zero-shot tasks."""
        if not choices or not all(choices):
            raise QkvError("give at least one continuation; none may be empty.")
        before = self.encode(prompt)
        scores = []
        for choice in choices:
            own = self.encode(choice)
            scores.append(float(self.log_probabilities_of([*before, *own])[-len(own) :].sum()))
        return scores


def tokenizer_for(pieces: TokenType, path: Path, config: GPTConfig) -> Tokenizer:
    tokenizer, vocab = TOKENIZERS[pieces].load(path), config.vocab_size
    if isinstance(tokenizer, PublishedBPE):
        tokenizer.end = config.end
    if len(tokenizer) != vocab:
        raise DataError(
            f"{path.parent}: the tokenizer has {len(tokenizer)} tokens and the model {vocab}: these files do not "
            "belong together."
        )
    return tokenizer


def facts_of_gpt(config: GPTConfig, token_type: TokenType) -> dict[str, str]:
    return {
        "vocabulary": f"{config.vocab_size:,} {token_type}",
        "stack": config.stack.sentence(),
        "positions": config.positions,
        "context": f"{config.max_length:,} tokens; longer texts slide",
    }
