"""Fill in masked words, embed texts, and measure how similar two texts are."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, overload

import numpy as np

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_saved
from qkv.decoding.arrays import NUMPY
from qkv.engine.reference.functions import softmax
from qkv.errors import InputError, ItemError, ModelError
from qkv.families.bert.config import BertConfig, EncoderConfig
from qkv.families.bert.encoding import Row, Vectors, encode_rows, normalize
from qkv.families.bert.options import EmbeddingOptions, FillOptions, Pooling
from qkv.families.bert.runner import BertRunner, build_bert, open_bert
from qkv.runtime.asynchronous import Work, in_thread
from qkv.runtime.inputs import Accepts, Column, Done, check_text, is_lazy, is_several, texts_for
from qkv.runtime.model import Model
from qkv.runtime.network import Network, network_of
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.signatures import replace_options, with_options
from qkv.text.segment import split_to_fit
from qkv.text.wordpiece import MASK, WordPieceTokenizer

if TYPE_CHECKING:
    from qkv.keywords import EmbedKeywords, FillKeywords

FILL, EMBEDDING, RAW = FillOptions(), EmbeddingOptions(), EmbeddingOptions(raw=True)


def pair_of(value: Any) -> tuple[str, str] | None:
    """A tuple or list of two texts."""
    if isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(each, str) for each in value):
        return value[0], value[1]
    return None


PAIRS = Accepts(
    method="similar",
    argument="pairs",
    what="two texts, a list of pairs or an iterator of pairs",
    item="a pair of texts",
    is_one=lambda value: isinstance(value, tuple) and pair_of(value) is not None,
    read=pair_of,
    kind="pair",
)


@dataclass(frozen=True, kw_only=True)
class BertDefaults:
    """What a BERT needs besides its weights."""

    OLD_NAMES: ClassVar = {"longest": "max_length", "normalised": "normalized"}

    max_length: int  # most tokens of a text, including [CLS] and [SEP]
    pooling: Pooling = "mean"  # how embeddings are pooled
    normalized: bool = True  # scale embeddings to length 1


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A word that may stand in place of a [MASK].

    Example:
        >>> [[best, *_]] = qkv.load("runs/bert").fill("one two [MASK] four")
        >>> 0 < best.probability <= 1
        True
    """

    word: str
    """The word, or a part of one that begins with ##."""
    probability: float
    """Its probability."""


class Bert(Model):
    """A BERT with its vocabulary: it fills in masked words, turns texts into vectors and compares texts.

    Example:
        >>> bert = qkv.load("runs/bert")
        >>> bert.embed(["one two", "three"]).shape
        (2, 24)
        >>> bert.embed("one two").shape
        (24,)
    """

    _what = "a BERT"
    _does = ("fill", "embed", "similar", "follows")

    tokenizer: WordPieceTokenizer
    """The vocabulary: `encode(text)` gives token ids, `decode(ids)` gives text."""

    def __init__(
        self,
        runner: BertRunner,
        tokenizer: WordPieceTokenizer,
        defaults: BertDefaults,
        network: Network[BertConfig, Any] | None = None,
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
        return f"{self.config.encoder.stack.sentence()}, {len(self.tokenizer):,} tokens"

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(BertConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(BertDefaults, config, f"{where}/config.json")
        tokenizer = pieces_of(where, architecture.encoder)
        check_longest(defaults.max_length, architecture.encoder, where)
        network = network_of(bundle, architecture, build_bert)
        return cls(open_bert(network, running, warn), tokenizer, defaults, network)

    def _running(self, running: Running, warn: Warn = silent) -> "Bert":
        """The same model with its current weights on another engine, device or number format."""
        return Bert(open_bert(self._network, running, warn), self.tokenizer, self._defaults, self._network)

    def to_bundle(self, folder: Path) -> None:
        config = {"model": to_saved(self.config), **to_saved(self._defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "bert", config, self._network.weights, files)

    def info(self) -> dict[str, str]:
        config = self.config
        heads = {
            "masked words": config.words,
            "next sentence": config.next_sentence,
        }
        return {
            "kind": "bert",
            "parameters": f"{self._network.parameters:,}",
            **facts_of(config.encoder),
            "heads": ", ".join(name for name, there in heads.items() if there) or "none (embeddings only)",
            "longest text": f"{self._defaults.max_length:,} tokens",
            "embeddings": f"{'mean of all tokens' if self._defaults.pooling == 'mean' else 'first token'}"
            + (", normalized" if self._defaults.normalized else ""),
        }

    # Masked words --------------------------------------------------------------------------------------------

    @overload
    def fill(
        self, texts: str, options: FillOptions = ..., **keywords: "Unpack[FillKeywords]"
    ) -> list[list[Guess]]: ...

    @overload
    def fill(
        self, texts: Iterator[str], options: FillOptions = ..., **keywords: "Unpack[FillKeywords]"
    ) -> Iterator[list[list[Guess]]]: ...

    @overload
    def fill(
        self, texts: Column, options: FillOptions = ..., **keywords: "Unpack[FillKeywords]"
    ) -> list[list[list[Guess]]]: ...

    @with_options(FillOptions)
    def fill(
        self,
        texts: str | Iterator[str] | Column,
        options: FillOptions = FILL,
        *,
        done: Done = silent,
        **keywords: Any,
    ) -> Any:
        """The likeliest words for each [MASK] in a text, each mask by itself.

        Args:
            texts: A text with [MASK] in place of words, a list of such texts or an iterator of them.
            options: Options as an object. Keywords replace its fields.
            done: Called with 1 after each text, for progress.

        Returns:
            For each [MASK] of a text a list of guesses, the likeliest first; a list of such lists for many texts, a lazy
            iterator for an iterator.

        Example:
            >>> bert = qkv.load("runs/bert")
            >>> [guesses] = bert.fill("one [MASK] three", top_k=2)
            >>> [len(guess.word) > 0 for guess in guesses]
            [True, True]
        """
        chosen = replace_options(options, keywords)
        if not self.config.words:
            raise ModelError("this model has no head for masked words: it is for embeddings only.")

        def many(part: list[str]) -> list[list[list[Guess]]]:
            found = []
            for number, text in enumerate(part):
                found.append(self._fill(text, chosen, number))
                done(1)
            return found

        return texts_for("fill").apply(texts, many)

    def _fill(self, text: str, options: FillOptions, number: int) -> list[list[Guess]]:
        if MASK not in text:
            raise ItemError(number, f"has no {MASK}. Write it where a word should be filled in.")
        ids, longest = self.tokenizer.encode_with_masks(text), self._defaults.max_length
        row = row_of(self.tokenizer, [ids], longest, number)
        states = self._runner.texts(row.ids, row.segments, [len(row.ids)])  # (T, D)
        scores = self._runner.word_scores(states[np.array(row.ids) == self.tokenizer.mask])  # (masks, V)
        scores[:, list(self.tokenizer.special)] = -np.inf  # never predict special tokens
        words = min(options.top_k, scores.shape[1] - len(self.tokenizer.special))
        probabilities, best = NUMPY.top_k(softmax(scores), words)
        return [
            [
                Guess(word=word, probability=probability)
                for word, probability in zip(self.tokenizer.show(places), each, strict=True)
            ]
            for places, each in zip(best.tolist(), probabilities.tolist(), strict=True)
        ]

    @overload
    def afill(
        self, texts: str, options: FillOptions = ..., **keywords: "Unpack[FillKeywords]"
    ) -> Work[list[list[Guess]]]: ...

    @overload
    def afill(
        self, texts: Iterator[str], options: FillOptions = ..., **keywords: "Unpack[FillKeywords]"
    ) -> AsyncIterator[list[list[Guess]]]: ...

    @overload
    def afill(
        self, texts: Column, options: FillOptions = ..., **keywords: "Unpack[FillKeywords]"
    ) -> Work[list[list[list[Guess]]]]: ...

    @with_options(FillOptions)
    def afill(
        self,
        texts: str | Iterator[str] | Column,
        options: FillOptions = FILL,
        *,
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Like `fill`, for asyncio: other tasks run while it works.

        Args:
            texts: A text with [MASK] in place of words, a list of such texts or an iterator of them.
            options: Options as an object. Keywords replace its fields.
            done: Called with 1 after each text, in another thread.

        Returns:
            What `fill` returns, to be awaited. For an iterator, an asynchronous iterator.

        Example:
            >>> bert = qkv.load("runs/bert")
            >>> asyncio.run(bert.afill("one [MASK]")) == bert.fill("one [MASK]")
            True
        """
        return in_thread(self.fill, texts, options, done=done, **keywords)

    def follows(self, first: str, second: str) -> float:
        """The probability that the second text directly follows the first in a document.

        Args:
            first: A text.
            second: Another text.

        Returns:
            A number from 0 to 1.

        Example:
            >>> 0 < qkv.load("runs/bert").follows("one two", "three four") < 1
            True
        """
        check_text("follows", "first", first)
        check_text("follows", "second", second)
        if not self.config.next_sentence:
            raise ModelError("this model has no head for the next sentence.")
        texts = [self.tokenizer.encode_all([first, second])]
        [row] = rows_of(self.tokenizer, texts, self._defaults.max_length)
        states = self._runner.texts(row.ids, row.segments, [len(row.ids)], "first")  # (1, D)
        return float(softmax(self._runner.next_scores(states))[0, 0])

    # Vectors -------------------------------------------------------------------------------------------------

    @overload
    def embed(
        self, texts: Iterator[str], options: EmbeddingOptions = ..., **keywords: "Unpack[EmbedKeywords]"
    ) -> Iterator[Vectors]: ...

    @overload
    def embed(
        self, texts: str | Column, options: EmbeddingOptions = ..., **keywords: "Unpack[EmbedKeywords]"
    ) -> Vectors: ...

    @with_options(EmbeddingOptions)
    def embed(
        self,
        texts: str | Iterator[str] | Column,
        options: EmbeddingOptions = EMBEDDING,
        *,
        done: Done = silent,
        **keywords: Any,
    ) -> Any:
        """Turn texts into vectors. Texts with similar meanings have similar vectors.

        A text that is too long is read in parts, and its vector is the mean over all of them. With "first" pooling
        it is an error. An empty text has the vector of [CLS] and [SEP] alone.

        Args:
            texts: A text, a list of texts (also an array, a Series or a column), or an iterator of texts.
            options: Options as an object. Keywords replace its fields.
            done: Called with the number of texts that were newly read, for progress.

        Returns:
            A vector for a text, an array (texts, width) for many, a lazy iterator of vectors for an iterator.

        Example:
            >>> bert = qkv.load("runs/bert")
            >>> bert.embed(["one two", "two one"]).shape
            (2, 24)
            >>> bool((bert.embed("one two", raw=True) == bert.embed(["one two"], raw=True)[0]).all())
            True
        """
        chosen = replace_options(options, keywords)
        return texts_for("embed").apply(
            texts, lambda part: self._embed(part, chosen, done, empty=True), collect=lambda vectors: vectors
        )

    def _embed(
        self,
        texts: Sequence[str],
        options: EmbeddingOptions = EMBEDDING,
        done: Done = silent,
        *,
        empty: bool = False,
    ) -> Vectors:
        """A vector for each text, (texts, width). Unless `empty`, an empty text is an error."""
        pooling = options.pooling or self._defaults.pooling
        parts, owners = self._parts_of(texts, pooling, empty=empty)
        found = encode_rows(self._runner.texts, parts, pooling, done)
        if len(parts) > len(texts):
            weights = np.array([len(row.ids) for row in parts], np.float32)
            total = np.zeros((len(texts), found.shape[1]), np.float32)
            np.add.at(total, owners, found * weights[:, None])
            found = total / np.bincount(owners, weights, len(texts)).astype(np.float32)[:, None]
        return found if options.raw or not self._defaults.normalized else normalize(found)

    def _parts_of(
        self, texts: Sequence[str], pooling: Pooling, *, empty: bool = False
    ) -> tuple[list[Row], list[int]]:
        """Rows that fit the model, and the number of the text that each belongs to."""
        limit = self._defaults.max_length
        found, owners = [], []
        for number, ids in enumerate(self.tokenizer.encode_all(list(texts))):
            parts = [ids]
            if len(ids) > limit - 2 and pooling == "mean":
                pieces = split_to_fit(texts[number], lambda part: len(self.tokenizer.encode(part)), limit - 2)
                parts = [part for part in self.tokenizer.encode_all(pieces) if part]
            found += [row_of(self.tokenizer, [part], limit, number, empty=empty) for part in parts]
            owners += [number] * len(parts)
        return found, owners

    @overload
    def aembed(
        self, texts: Iterator[str], options: EmbeddingOptions = ..., **keywords: "Unpack[EmbedKeywords]"
    ) -> AsyncIterator[Vectors]: ...

    @overload
    def aembed(
        self, texts: str | Column, options: EmbeddingOptions = ..., **keywords: "Unpack[EmbedKeywords]"
    ) -> Work[Vectors]: ...

    @with_options(EmbeddingOptions)
    def aembed(
        self,
        texts: str | Iterator[str] | Column,
        options: EmbeddingOptions = EMBEDDING,
        *,
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Like `embed`, for asyncio: other tasks run while it works.

        Args:
            texts: A text, a list of texts or an iterator of texts.
            options: Options as an object. Keywords replace its fields.
            done: Called with the number of texts that were newly read, in another thread.

        Returns:
            What `embed` returns, to be awaited. For an iterator, an asynchronous iterator.

        Example:
            >>> bert = qkv.load("runs/bert")
            >>> bool((asyncio.run(bert.aembed("one two")) == bert.embed("one two")).all())
            True
        """
        return in_thread(self.embed, texts, options, done=done, **keywords)

    @overload
    def similar(self, first: str, second: str, *, done: Done = ...) -> float: ...

    @overload
    def similar(
        self, first: Iterator[str], second: Iterator[str] | Column, *, done: Done = ...
    ) -> Iterator[float]: ...

    @overload
    def similar(self, first: Column, second: Iterator[str], *, done: Done = ...) -> Iterator[float]: ...

    @overload
    def similar(self, first: Column, second: Column, *, done: Done = ...) -> list[float]: ...

    @overload
    def similar(self, first: Iterator[tuple[str, str]], *, done: Done = ...) -> Iterator[float]: ...

    @overload
    def similar(self, first: Sequence[tuple[str, str]], *, done: Done = ...) -> list[float]: ...

    def similar(self, first: Any, second: Any = None, *, done: Done = silent) -> Any:
        """How similar two texts are: the cosine of their vectors, 1 for the same text, about 0 for unrelated texts.

        Args:
            first: A text, a list of texts or an iterator of texts. Or pairs of texts, as a list or an iterator of tuples,
                without `second`.
            second: A text, or as many texts as `first` has.
            done: Called with the number of texts that were newly read, for progress.

        Returns:
            A number for two texts, a list for many. A lazy iterator for an iterator of pairs, or if one of two columns is an
            iterator.

        Example:
            >>> bert = qkv.load("runs/bert")
            >>> round(bert.similar("one two", "one two"), 3)
            1.0
            >>> len(bert.similar([("one", "two"), ("three", "four")]))
            2
        """
        if second is None:
            return PAIRS.apply(first, lambda pairs: self._cosines(pairs, done))
        if isinstance(first, str) and isinstance(second, str):
            return PAIRS.apply((first, second), lambda pairs: self._cosines(pairs, done))
        for name, given in (("first", first), ("second", second)):
            column = texts_for("similar", argument=name)
            column.reject_table(given)
            if isinstance(given, str) or not (is_several(given) or is_lazy(given)):
                raise column.wrong_type(given)
        lazy = is_lazy(first) or is_lazy(second)
        pairs = zip_texts(first, second)
        return PAIRS.apply(pairs if lazy else list(pairs), lambda part: self._cosines(part, done))

    def _cosines(self, pairs: Sequence[tuple[str, str]], done: Done = silent) -> list[float]:
        """The cosine of each pair. An error gives the number of the pair."""
        try:
            vectors = self._embed([text for pair in zip(*pairs, strict=True) for text in pair], RAW, done)
        except ItemError as error:
            side, number = divmod(error.number, len(pairs))
            which = "second" if side else "first"
            raise ItemError(number, f"({which} text) {error.fault}", "pair") from None
        first, second = np.split(normalize(vectors), 2)
        found: list[float] = (first * second).sum(1).tolist()
        return found

    @overload
    def asimilar(self, first: str, second: str, *, done: Done = ...) -> Work[float]: ...

    @overload
    def asimilar(
        self, first: Iterator[str], second: Iterator[str] | Column, *, done: Done = ...
    ) -> AsyncIterator[float]: ...

    @overload
    def asimilar(self, first: Column, second: Iterator[str], *, done: Done = ...) -> AsyncIterator[float]: ...

    @overload
    def asimilar(self, first: Column, second: Column, *, done: Done = ...) -> Work[list[float]]: ...

    @overload
    def asimilar(self, first: Iterator[tuple[str, str]], *, done: Done = ...) -> AsyncIterator[float]: ...

    @overload
    def asimilar(self, first: Sequence[tuple[str, str]], *, done: Done = ...) -> Work[list[float]]: ...

    def asimilar(self, first: Any, second: Any = None, *, done: Done = silent) -> Any:
        """Like `similar`, for asyncio: other tasks run while it works.

        Args:
            first: A text, a list of texts or an iterator of texts; or pairs of texts, as a list or an iterator.
            second: A text, or as many texts as `first` has.
            done: Called with the number of texts that were newly read, in another thread.

        Returns:
            What `similar` returns, to be awaited. For an iterator, an asynchronous iterator.

        Example:
            >>> bert = qkv.load("runs/bert")
            >>> asyncio.run(bert.asimilar("one", "two")) == bert.similar("one", "two")
            True
        """
        return in_thread(self.similar, first, second, done=done)


def zip_texts(first: Iterable[Any], second: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Pairs of two columns, which must be equally long. Errors name the column and the place."""
    columns = [
        texts_for("similar", argument="first").items(first),
        texts_for("similar", argument="second").items(second),
    ]
    for number in count():
        pair = [next(column, None) for column in columns]
        if pair[0] is None or pair[1] is None:
            if pair != [None, None]:
                shorter = "first" if pair[0] is None else "second"
                raise InputError(f"{shorter} has only {number:,} texts; give as many of both.")
            return
        yield pair[0], pair[1]


def rows_of(pieces: WordPieceTokenizer, inputs: Sequence[Sequence[Sequence[int]]], longest: int) -> list[Row]:
    """Texts, or pairs of texts, as model inputs."""
    return [row_of(pieces, texts, longest, number) for number, texts in enumerate(inputs)]


def row_of(
    pieces: WordPieceTokenizer,
    texts: Sequence[Sequence[int]],
    longest: int,
    number: int,
    *,
    empty: bool = False,
) -> Row:
    """One input. Too many tokens are an error, and so are none unless `empty`; nothing is cut off."""
    kind = "text" if len(texts) == 1 else "pair"
    if not all(texts) and not empty:
        what = "is empty" if len(texts) == 1 else "has an empty text"
        raise ItemError(number, f"{what}.", kind)
    ids, segments = pieces.join_texts(texts)
    if len(ids) > longest:
        fault = f"has {len(ids)} tokens, and this model reads at most {longest}. Shorten it or leave it out."
        raise ItemError(number, fault, kind)
    return Row(ids, segments)


def pieces_of(folder: Path, encoder: EncoderConfig) -> WordPieceTokenizer:
    """The tokenizer of a bundle, if it fits the model."""
    pieces = WordPieceTokenizer.load(folder / TOKENIZER_FILE)
    if len(pieces) != encoder.vocab_size:
        raise ModelError(
            f"{folder}: the tokenizer has {len(pieces)} tokens and the model {encoder.vocab_size}: "
            f"these files do not belong together."
        )
    return pieces


def check_longest(longest: int, encoder: EncoderConfig, folder: Path) -> None:
    """A text has at least [CLS], [SEP] and one token."""
    if not 3 <= longest <= encoder.max_length:
        raise ModelError(
            f"{folder}/config.json: max_length should be from 3 to the encoder's {encoder.max_length}, not {longest}."
        )


def facts_of(encoder: EncoderConfig) -> dict[str, str]:
    return {
        "vocabulary": f"{encoder.vocab_size:,} tokens",
        "encoder": encoder.stack.sentence(),
        "context": f"{encoder.max_length:,} positions",
    }
