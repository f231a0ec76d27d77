"""Generate text or music from a prompt, and score texts."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.checkpoint.outputs import check_new_file
from qkv.configs import from_dict, to_saved
from qkv.data.chorales import read_midi, write_midi
from qkv.data.windows import Window, sliding_windows, stream_of
from qkv.decoding.arrays import NUMPY, arrays_for, is_finite
from qkv.decoding.greedy import likeliest
from qkv.decoding.rules import TakeTurns
from qkv.decoding.sampling import Draw
from qkv.decoding.walk import walk
from qkv.errors import InputError, InputTypeError, ModelError, type_name
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.options import DEFAULTS, GenerationOptions
from qkv.families.gpt.runner import GPTRunner, build_gpt, open_generator
from qkv.flags import OptionMessageError
from qkv.runtime.asynchronous import Work, in_thread
from qkv.runtime.inputs import Column, Done, check_text, is_several, texts_for
from qkv.runtime.model import Model
from qkv.runtime.network import Network, network_of
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.signatures import replace_options, with_options
from qkv.text.characters import CharacterTokenizer
from qkv.text.notes import VOICES, Frame, Notes
from qkv.text.published_bpe import PublishedBPE
from qkv.text.stream import decode_stream, prepend, stop_at
from qkv.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from qkv.keywords import ComposeKeywords, GenerateKeywords, GenerateStreamKeywords

TokenType = Literal["subwords", "characters", "notes", "published"]
TOKENIZERS: dict[TokenType, type[Tokenizer]] = {
    "subwords": Tokenizer,
    "characters": CharacterTokenizer,
    "notes": Notes,
    "published": PublishedBPE,
}
TOKENS_AT_ONCE = 4_096  # tokens scored in one batch
PROMPTS = texts_for("generate", argument="prompts", one="prompt", at_once=1)
SCORES_AT_ONCE = 2**24  # logits in one batch: fewer tokens if the vocabulary is large


@dataclass(frozen=True, kw_only=True)
class LanguageModelDefaults:
    """What a generator needs besides its weights."""

    OLD_NAMES: ClassVar = {"pieces": "token_type"}

    token_type: TokenType

    """What a token stands for."""


class LanguageModel(Model):
    """A language model (GPT) with its vocabulary: it continues texts, or music.

    Open one with `qkv.load` or `LanguageModel.load`.

    Example:
        >>> model = qkv.load("runs/gpt")
        >>> model
        LanguageModel(subwords, vocabulary 294, context 80)
        >>> model.generate("one two", max_new_tokens=5, seed=3) == model.generate("one two", max_new_tokens=5, seed=3)
        True
    """

    _what = "a GPT"
    _does = ("generate", "stream", "compose", "score_choices", "log_probabilities")

    tokenizer: Tokenizer
    """The vocabulary: `encode(text)` gives token ids, `decode(ids)` gives text."""

    def __init__(
        self,
        runner: GPTRunner,
        tokenizer: Tokenizer,
        defaults: LanguageModelDefaults,
        network: Network[GPTConfig, Any] | None = None,
    ):
        """Models are opened with `qkv.load`; this is for code that builds them.

        Args:
            runner: What computes the model: the compiled engine, NumPy, or a torch model.
            tokenizer: Its vocabulary.
            defaults: Whatever else the model was saved with.
            network: Config and weights of the model; not needed if the runner is a torch model.
        """
        self._runner, self.tokenizer, self._defaults = runner, tokenizer, defaults
        self._network = Network.of(runner) if network is None else network

    def _summary(self) -> str:
        config = self.config
        return f"{self._defaults.token_type}, vocabulary {config.vocab_size:,}, context {config.max_length:,}"

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(GPTConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(LanguageModelDefaults, config, f"{where}/config.json")
        tokenizer = tokenizer_for(defaults.token_type, where / TOKENIZER_FILE, architecture)
        network = network_of(bundle, architecture, build_gpt)
        return cls(open_generator(network, running, warn), tokenizer, defaults, network)

    def _running(self, running: Running, warn: Warn = silent) -> "LanguageModel":
        """The same model with its current weights on another engine, device or number format."""
        runner = open_generator(self._network, running, warn)
        return LanguageModel(runner, self.tokenizer, self._defaults, self._network)

    def info(self) -> dict[str, str]:
        facts = facts_of_gpt(self.config, self._defaults.token_type)
        return {"kind": "gpt, a language model", "parameters": f"{self._network.parameters:,}", **facts}

    def to_bundle(self, folder: Path) -> None:
        config = {"model": to_saved(self.config), **to_saved(self._defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "gpt", config, self._network.weights, files)

    # Generating ------------------------------------------------------------------------------------------

    @overload
    def generate(
        self, prompts: str = ..., options: GenerationOptions = ..., **keywords: "Unpack[GenerateKeywords]"
    ) -> str: ...

    @overload
    def generate(
        self, prompts: Iterator[str], options: GenerationOptions = ..., **keywords: "Unpack[GenerateKeywords]"
    ) -> Iterator[str]: ...

    @overload
    def generate(
        self, prompts: Column, options: GenerationOptions = ..., **keywords: "Unpack[GenerateKeywords]"
    ) -> list[str]: ...

    @with_options(GenerationOptions)
    def generate(
        self,
        prompts: str | Iterator[str] | Column = "",
        options: GenerationOptions = DEFAULTS,
        *,
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Continue one prompt or many.

        Args:
            prompts: A prompt, a list of prompts (also an array, a Series or a column), or an iterator of prompts. Without one,
                the model begins a new document.
            options: Options as an object. Keywords replace its fields.
            done: Called with 1 after every part of a text and with 0 at its end, for progress.

        Returns:
            The continuation without the prompt; a list for many prompts, a lazy iterator for an iterator.

        Example:
            >>> model = qkv.load("runs/gpt")
            >>> text = model.generate("one two", max_new_tokens=8, temperature=0)
            >>> model.generate(["one two", "three"], max_new_tokens=8, temperature=0)[0] == text
            True
        """
        generation, report = options_from(options, keywords), done or silent

        def one(prompt: str) -> str:
            parts = []
            for part in self._stream(prompt, generation, silent):
                parts.append(part)
                report(1)
            report(0)  # also if the text ended at once
            return "".join(parts)

        return PROMPTS.apply(prompts, lambda several: list(map(one, several)))

    @overload
    def agenerate(
        self, prompts: str = ..., options: GenerationOptions = ..., **keywords: "Unpack[GenerateKeywords]"
    ) -> Work[str]: ...

    @overload
    def agenerate(
        self, prompts: Iterator[str], options: GenerationOptions = ..., **keywords: "Unpack[GenerateKeywords]"
    ) -> AsyncIterator[str]: ...

    @overload
    def agenerate(
        self, prompts: Column, options: GenerationOptions = ..., **keywords: "Unpack[GenerateKeywords]"
    ) -> Work[list[str]]: ...

    @with_options(GenerationOptions)
    def agenerate(
        self,
        prompts: str | Iterator[str] | Column = "",
        options: GenerationOptions = DEFAULTS,
        *,
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Like `generate`, for asyncio: other tasks run while it works.

        Args:
            prompts: A prompt, a list of prompts, or an iterator of prompts, which is read in another thread.
            options: Options as an object. Keywords replace its fields.
            done: Called with 1 after every part of a text and with 0 at its end, in another thread.

        Returns:
            What `generate` returns, to be awaited. For an iterator, an asynchronous iterator. If the task is cancelled, the
            work ends at the next token.

        Example:
            >>> model = qkv.load("runs/gpt")
            >>> asyncio.run(model.agenerate("one", max_new_tokens=4)) == model.generate("one", max_new_tokens=4)
            True
        """
        return in_thread(self.generate, prompts, options, done=done, **keywords)

    @with_options(GenerationOptions)
    def stream(
        self,
        prompt: str = "",
        options: GenerationOptions = DEFAULTS,
        slides: Callable[[], None] = silent,
        **keywords: "Unpack[GenerateStreamKeywords]",
    ) -> Iterator[str]:
        """Continue a prompt, part by part as it is generated.

        It ends after `max_new_tokens`, before `stop`, or when the model ends the document. A text longer than the
        context is read in a sliding window: when it is full, its older half is dropped.

        Args:
            prompt: The text to continue.
            options: Options as an object. Keywords replace its fields.
            slides: Called once, when the beginning no longer fits the context.

        Returns:
            An iterator of the parts of the continuation.

        Example:
            >>> model = qkv.load("runs/gpt")
            >>> "".join(model.stream("one", max_new_tokens=4)) == model.generate("one", max_new_tokens=4)
            True
        """
        check_text("stream", "prompt", prompt)
        return self._stream(prompt, options_from(options, keywords), slides)

    def _stream(
        self, prompt: str, generation: GenerationOptions, slides: Callable[[], None]
    ) -> Iterator[str]:
        known = self.tokenizer.token_bytes
        ids = self._stream_ids(self._encode(prompt), generation, slides)
        parts = stop_at(decode_stream(known[token] for token in ids), generation.stop)
        return prepend(self.tokenizer.separator_after(prompt), parts)

    def _encode(self, text: str) -> list[int]:
        """Token ids. A music model rejects text, because `Notes` would encode it as nothing."""
        if self._defaults.token_type == "notes":
            raise InputError("this model makes music, not text: use compose().")
        return self.tokenizer.encode(text)

    @with_options(GenerationOptions, without=["stop"])
    def compose(
        self,
        beginning: Sequence[Frame] | str | Path = (),
        options: GenerationOptions = DEFAULTS,
        slides: Callable[[], None] = silent,
        done: Done = silent,
        *,
        output: str | Path | None = None,
        overwrite: bool = False,
        **keywords: "Unpack[ComposeKeywords]",
    ) -> list[Frame]:
        """Compose music, for a model that was trained on music.

        Args:
            beginning: A MIDI file to continue, or frames of four notes.
            options: Options as an object. Keywords replace its fields.
            slides: Called once, when the beginning no longer fits the context.
            done: Called with 1 after every token, for progress.
            output: A MIDI file to write.
            overwrite: Replace the file if it exists.

        Returns:
            The music with its beginning: a frame for each sixteenth note.

        Example:
            >>> qkv.load("runs/gpt").compose()
            Traceback (most recent call last):
            ...
            qkv.errors.InputError: this model generates text, not music.
        """
        notes = self._notes()
        if output is not None:
            check_new_file("output", Path(output), overwrite=overwrite)
        generation = options_from(options, keywords)
        first = read_midi(Path(beginning)) if isinstance(beginning, str | Path) else beginning
        found = notes.encode_frames(first)
        for token in self._stream_ids(list(found), generation, slides):
            found.append(token)
            done(1)
        frames = notes.decode_frames(found)
        if output is not None:
            if not frames:
                raise OptionMessageError("no note was generated: {max_new_tokens} must be at least 4.")
            write_midi(Path(output), frames)
        return frames

    def _notes(self) -> Notes:
        if not isinstance(self.tokenizer, Notes):
            raise InputError("this model generates text, not music.")
        return self.tokenizer

    def _stream_ids(
        self, prompt: list[int], generation: GenerationOptions, slides: Callable[[], None]
    ) -> Iterator[int]:
        """Without a prompt, start a new document: read the end of the one before."""
        end, arrays = self.config.end, arrays_for(self._runner.device)
        read = arrays.asarray([prompt or [end]])  # (1, T)
        limits = arrays.asarray([generation.max_new_tokens])
        step = self._runner.begin()
        if read.shape[1] > 1:
            step(read[:, :-1])
        greedy = generation.temperature == 0
        choose = likeliest if greedy else Draw(generation.sampling, [generation.seed], limits)
        reported = False
        for stride in walk(step, read[:, -1], end, limits, choose, [self._turns(len(prompt))]):
            if step.slid and not reported:
                reported = True
                slides()
            token = int(stride.ids[0])
            if not is_finite(stride.scores).all():
                raise ModelError("the model's scores are not finite: its weights are broken. Train it again.")
            if token != end:
                yield token

    def _turns(self, before: int) -> TakeTurns:
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
        """Log-probability of every token of a text, read as a document of its own.

        Args:
            text: What to score.
            done: Called with the number of tokens that were newly scored, for progress.

        Returns:
            An array with a number for each token of the text.

        Example:
            >>> model = qkv.load("runs/gpt")
            >>> len(model.log_probabilities("one two three")) == len(model.tokenizer.encode("one two three"))
            True
        """
        check_text("log_probabilities", "text", text)
        return self._log_probabilities_of(self._encode(text), done)

    def _log_probabilities_of(
        self, ids: Sequence[int], done: Callable[[int], None] = silent
    ) -> NDArray[np.float32]:
        """Log-probability of each token given those before it, in the windows that `generate` uses. (N)"""
        config = self.config
        stream = stream_of([ids], config.end)[:-1]  # the end of the text is not scored
        if len(stream) < 2:
            raise InputError("a text without tokens has no likelihood. Give some text.")
        windows = list(sliding_windows(len(stream), config.max_length))
        at_once = max(1, min(TOKENS_AT_ONCE, SCORES_AT_ONCE // config.vocab_size) // config.max_length)
        found = []
        for start in range(0, len(windows), at_once):
            part = windows[start : start + at_once]
            own = self._log_probabilities_in(stream, [window for window, _ in part])
            for row, ((first, last), counted) in zip(own, part, strict=True):
                found.append(row[last - first - counted : last - first])
                done(counted)
        return np.concatenate(found)

    def _log_probabilities_in(
        self, stream: NDArray[np.int64], windows: Sequence[Window]
    ) -> NDArray[np.float32]:
        """Log-probability of the token after each position of some windows; the rest of a row has no meaning. (B, T)"""
        ids = np.zeros((len(windows), 1 + max(last - first for first, last in windows)), np.int64)
        for row, (first, last) in zip(ids, windows, strict=True):
            row[: last + 1 - first] = stream[first : last + 1]
        logits = self._runner.logits(ids[:, :-1])  # (B, T, V)
        scores = NUMPY.log_softmax(logits.reshape(-1, logits.shape[-1]))  # (B · T, V)
        found: NDArray[np.float32] = scores[np.arange(len(scores)), ids[:, 1:].reshape(-1)]
        return found.reshape(len(windows), -1)

    def _nats_of_music(
        self, pieces: Sequence[Sequence[Frame]], done: Callable[[int], None] = silent
    ) -> float:
        """The negative log-likelihood of all notes, summed over all pieces."""
        notes = self._notes()
        each = [self._log_probabilities_of(notes.encode_frames(frames), done) for frames in pieces]
        return -sum(float(part.sum(dtype=np.float64)) for part in each)

    def score_choices(self, prompt: str, choices: Sequence[str]) -> list[float]:
        """Log-probability of each continuation of a prompt, for zero-shot tasks.

        Args:
            prompt: The beginning of a text.
            choices: Continuations.

        Returns:
            A number for each continuation; the largest belongs to the likeliest.

        Example:
            >>> scores = qkv.load("runs/gpt").score_choices("one two", [" three", " nine"])
            >>> len(scores)
            2
        """
        check_text("score_choices", "prompt", prompt)
        column = texts_for("score_choices", argument="choices")
        if isinstance(choices, str) or not is_several(choices):
            raise InputTypeError(f"choices is {type_name(choices)}; score_choices() expects a list of texts.")
        choices = list(column.items(choices))
        if not choices or not all(choices):
            raise InputError("give at least one continuation; none may be empty.")
        before = self._encode(prompt)
        scores = []
        for choice in choices:
            own = self._encode(choice)
            scores.append(float(self._log_probabilities_of([*before, *own])[-len(own) :].sum()))
        return scores


def options_from(options: GenerationOptions, keywords: Mapping[str, Any]) -> GenerationOptions:
    return replace_options(options, keywords)


def tokenizer_for(pieces: TokenType, path: Path, config: GPTConfig) -> Tokenizer:
    tokenizer, vocab = TOKENIZERS[pieces].load(path), config.vocab_size
    if isinstance(tokenizer, PublishedBPE):
        tokenizer.end = config.end
    if len(tokenizer) != vocab:
        raise ModelError(
            f"{path.parent}: the tokenizer has {len(tokenizer)} tokens and the model {vocab}: these files do not "
            "belong together."
        )
    return tokenizer


def facts_of_gpt(config: GPTConfig, token_type: TokenType) -> dict[str, str]:
    return {
        "vocabulary": f"{config.vocab_size:,} {token_type}",
        "stack": config.stack.sentence(),
        "positions": config.positions,
        "context": f"{config.max_length:,} tokens; sliding window beyond that",
    }
