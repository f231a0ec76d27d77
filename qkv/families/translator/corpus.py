"""Prepares sentence pairs for training: cleaning, splitting, encoding and batching."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.files import bytes_hash, canonical
from qkv.core.pairs import TranslationBatch
from qkv.data.batching import Batches, pad_rows, token_batches
from qkv.data.cleaning import clean, count_duplicates, count_shared, hold_out
from qkv.data.parallel import ParallelText
from qkv.data.token_rows import Ids, Part, TokenRows
from qkv.errors import QkvError
from qkv.families.translator.defaults import Languages
from qkv.families.translator.settings import DataSettings, PairSettings
from qkv.prepared.pairs import StoredPairs
from qkv.prepared.place import say_nothing
from qkv.prepared.remembering import Result, remember
from qkv.prepared.tokens import stored_tokens
from qkv.text.bpe_dropout import BPEDropout
from qkv.text.tokenizer import Tokenizer
from qkv.text.vocabulary import Vocabulary
from qkv.training.trainable import Setup

SOURCE, TARGET = 0, 1


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Cleaned pairs, how many were dropped, and where they came from."""

    train: ParallelText
    valid: ParallelText
    dropped: dict[str, int]
    languages: Languages
    origin: str  # for the model card
    tests: Mapping[str, ParallelText] = field(default_factory=dict)  # by name; not used in training
    shown: str = ""  # a sentence to translate at every validation
    weights: tuple[
        tuple[int, float], ...
    ] = ()  # of the files: how many pairs were read from each, and its weight
    known: "Facts | None" = None  # if an earlier process has computed them
    say: Callable[[str], None] = say_nothing

    @cached_property
    def facts(self) -> "Facts":
        return Facts.of(self.train, self.valid) if self.known is None else self.known

    @property
    def duplicates(self) -> int:
        """Training pairs that repeat an earlier one exactly."""
        return self.facts.duplicates

    @property
    def shared(self) -> int:
        """Validation pairs that are also in the training data."""
        return self.facts.shared

    def fingerprint(self) -> dict[str, str]:
        """Hashes of the data. The languages are included, because they may come from file names."""
        tests = {name: part.fingerprint() for name, part in self.tests.items()}
        weights = {"weights": bytes_hash(canonical(self.weights))} if self.weights else {}
        return {
            **weights,
            "training data": self.facts.train,
            "validation data": self.facts.valid,
            "test data": bytes_hash(canonical(tests)),
            "languages": " and ".join(name or "unknown" for name in self.languages.named()),
        }


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is computed from all pairs."""

    train: str  # hashes
    valid: str
    duplicates: int
    shared: int

    @classmethod
    def of(cls, train: ParallelText, valid: ParallelText) -> "Facts":
        return cls(
            train=train.fingerprint(),
            valid=valid.fingerprint(),
            duplicates=count_duplicates(train),
            shared=count_shared(train, valid),
        )


@dataclass(frozen=True, kw_only=True)
class Split:
    """The training part and the validation part, and how many pairs were dropped for each reason."""

    train: ParallelText
    valid: ParallelText
    dropped: dict[str, int]
    known: Facts | None = None


def prepare_corpus(
    pairs: ParallelText,
    valid: ParallelText | None,
    languages: Languages,
    settings: DataSettings,
    seed: int,
    origin: str,
    tests: Mapping[str, ParallelText] | None = None,
    *,
    repeated: bool = False,
    say: Callable[[str], None] = say_nothing,
) -> Corpus:
    """Clean the pairs, and hold some out if there is no validation part. `repeated` is as in `hold_out`."""
    if isinstance(pairs, StoredPairs):
        parts = stored_split(pairs, valid, settings, seed, repeated=repeated)
    else:
        parts = split(pairs, valid, settings, seed, repeated=repeated)
    return Corpus(**vars(parts), languages=languages, origin=origin, tests=tests or {}, say=say)


def split(
    pairs: ParallelText, valid: ParallelText | None, settings: DataSettings, seed: int, *, repeated: bool
) -> Split:
    cleaned = clean(pairs, longest=settings.max_characters, ratio=settings.max_length_ratio)
    if valid is None:
        train, held = hold_out(cleaned.pairs, size=settings.valid_size, seed=seed, repeated=repeated)
        return Split(train=train, valid=held, dropped=cleaned.dropped)
    cleaned_valid = clean(valid, longest=settings.max_characters, ratio=settings.max_length_ratio)
    dropped = {**cleaned.dropped, "from the validation data": sum(cleaned_valid.dropped.values())}
    return Split(train=cleaned.pairs, valid=cleaned_valid.pairs, dropped=dropped)


def stored_split(
    pairs: StoredPairs, valid: ParallelText | None, settings: DataSettings, seed: int, *, repeated: bool
) -> Split:
    """The split of stored pairs. It is computed once, and kept beside them as rows."""
    key = {
        "cleaning": [settings.max_characters, settings.max_length_ratio],
        "held out": [settings.valid_size, seed, repeated] if valid is None else None,
        "valid": None if valid is None else valid.fingerprint(),
    }

    def compute() -> Result:
        found = split(pairs, valid, settings, seed, repeated=repeated)
        facts = {"dropped": found.dropped, **asdict(Facts.of(found.train, found.valid))}
        return facts, {name: rows_of(part) for name, part in (("train", found.train), ("valid", found.valid))}

    facts, rows = remember(pairs.stored.parts.folder, "split", key, compute)
    dropped = facts.pop("dropped")
    if valid is None:
        valid = pairs.select(rows["valid"]).in_memory()
    else:
        valid = clean(valid, longest=settings.max_characters, ratio=settings.max_length_ratio).pairs
    return Split(train=pairs.select(rows["train"]), valid=valid, dropped=dropped, known=Facts(**facts))


def rows_of(part: ParallelText) -> NDArray[np.uint32]:
    """The rows of stored pairs; none for pairs that are in another file."""
    return part.rows if isinstance(part, StoredPairs) else np.empty(0, np.uint32)


@dataclass(frozen=True, kw_only=True)
class PairFiles:
    """Sentence pairs as they were read from files."""

    pairs: ParallelText
    valid: ParallelText | None
    languages: Languages
    origin: str  # for the model card
    weights: tuple[tuple[int, float], ...] = ()  # as in `Corpus`
    tests: dict[str, ParallelText] = field(
        default_factory=dict
    )  # by name: the finished model is scored on them

    @property
    def amount(self) -> int:
        return len(self.pairs)

    def corpus(self, settings: PairSettings, setup: Setup) -> Corpus:
        say = setup.say
        corpus = self.split(settings, setup.data_before, say)
        counts = ", ".join(f"{count:,} {reason}" for reason, count in corpus.dropped.items() if count)
        say(f"{len(self.pairs):,} pairs read{f'; dropped: {counts}' if counts else ''}")
        say(f"{len(corpus.train):,} to train on, {len(corpus.valid):,} to validate on")
        if corpus.duplicates:
            say(f"{corpus.duplicates:,} of the training pairs are exact duplicates of others; they are kept")
        if corpus.shared:
            say(
                f"advice: {corpus.shared:,} of the {len(corpus.valid):,} validation pairs are in the training data too, so "
                "validation scores will be too high. Remove them from one of the two."
            )
        return corpus

    def split(self, settings: PairSettings, before: Mapping[str, str], say: Callable[[str], None]) -> Corpus:
        """Split the data. For a run that is resumed, `before` has its hashes, and its split is repeated."""
        given = (
            self.pairs,
            self.valid,
            self.languages,
            settings.data,
            settings.seed,
            self.origin,
            self.tests,
        )
        if before and self.valid is None:
            for repeated in (False, True):
                with suppress(QkvError):  # one of the two ways may be impossible
                    corpus = prepare_corpus(*given, repeated=repeated, say=say)
                    if corpus.valid.fingerprint() == before.get("validation data"):
                        return replace(corpus, weights=self.weights)
        return replace(prepare_corpus(*given, say=say), weights=self.weights)


class PairData:
    """Encoded pairs in batches of similar length (implements the loop's Data protocol)."""

    def __init__(
        self,
        pairs: ParallelText,
        tokenizer: Vocabulary,
        batch_tokens: int,
        max_length: int,
        *,
        shuffled: bool,
        bpe_dropout: float = 0.0,
        source_ends: bool = True,
        weights: Sequence[tuple[int, float]] = (),
        say: Callable[[str], None] = say_nothing,
    ):
        """`source_ends` says whether the model reads an end token after a source. `weights` are those of `Corpus`."""
        self.tokens_of_side, rows = encoded_pairs(pairs, tokenizer, say)
        lengths = np.stack([side.lengths()[rows] for side in self.tokens_of_side], axis=1)  # (N, 2)
        # Drop pairs that, with a start or end token, exceed the maximum length.
        fits = lengths.max(axis=1) < max_length if len(lengths) else np.empty(0, np.bool_)
        self.rows, self.lengths = rows[fits], lengths[fits]
        self.mixture = Mixture.of(weights, self.rows) if weights else None
        self.tokenizer, self.batch_tokens, self.shuffled = tokenizer, batch_tokens, shuffled
        self.longest, self.source_ends = max_length - 1, source_ends
        self.dropout: DroppedMerges | None = None
        if bpe_dropout and isinstance(tokenizer, Tokenizer):
            fitting = pairs.select(np.flatnonzero(fits))
            texts = chain(fitting.source, fitting.target)
            self.dropout = DroppedMerges(
                BPEDropout(tokenizer, texts, bpe_dropout), self.lengths, self.longest
            )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def longest_source(self) -> int:
        """The tokens of the longest source, as it was last tokenized."""
        return int(self.lengths_now[:, SOURCE].max(initial=0))

    @property
    def lengths_now(self) -> NDArray[np.int32]:
        return self.lengths if self.dropout is None else self.dropout.lengths

    def epoch(self, seed: int) -> Batches:
        """Batches of rows. With BPE dropout, sentences are tokenized differently for every seed."""
        if self.dropout is not None:
            self.dropout.draw(seed)
        lengths, chosen = self.lengths_now, None
        if self.mixture is not None:
            chosen = self.mixture.draw(seed)
            lengths = lengths[chosen]
        batches = token_batches(
            1 + lengths.max(axis=1),
            self.batch_tokens,
            seed if self.shuffled else None,
            tiebreak=lengths[:, SOURCE] - lengths[:, TARGET],
        )
        return batches if chosen is None else batches.of_rows(chosen)

    def ids(self, side: int, row: int) -> Ids:
        """The tokens of a sentence, without start and end."""
        dropped = None if self.dropout is None else self.dropout.ids(side, row)
        return self.tokens_of_side[side][int(self.rows[row])] if dropped is None else dropped

    def batch(self, rows: list[int]) -> TranslationBatch:
        pad, start, end = self.tokenizer.pad, self.tokenizer.start, self.tokenizer.end
        sources, targets = ([self.ids(side, row) for row in rows] for side in (SOURCE, TARGET))
        return TranslationBatch.of(
            source=pad_rows(sources, pad, last=end if self.source_ends else None),
            shifted=pad_rows(targets, pad, first=start),
            target=pad_rows(targets, pad, last=end),
            pad=pad,
        )

    def tokens(self, rows: list[int]) -> int:
        return int(self.lengths_now[rows, TARGET].sum()) + len(rows)


class Mixture:
    """How often an epoch has each pair: by the weight of the file it is from."""

    def __init__(self, weights: NDArray[np.float64]):
        self.weights = weights  # of each pair

    @classmethod
    def of(cls, weights: Sequence[tuple[int, float]], rows: NDArray[np.uint32]) -> Self:
        """The rows count all pairs that were read, file after file."""
        ends = np.cumsum([count for count, _ in weights])
        return cls(np.array([weight for _, weight in weights])[np.searchsorted(ends, rows, side="right")])

    def draw(self, seed: int) -> NDArray[np.uint32]:
        """The pairs of the epoch with this seed. A weight of 2.5 gives two copies of each pair and of half of them a third."""
        chance = np.random.RandomState([seed % 2**32, seed // 2**32 % 2**32]).random_sample(len(self.weights))
        copies = np.floor(self.weights + chance).astype(np.int64)
        if not copies.any():
            copies[int(np.argmax(chance))] = 1
        return np.repeat(np.arange(len(copies), dtype=np.uint32), copies)


class DroppedMerges:
    """The tokens of the current epoch with BPE dropout. Where they would be too long, a sentence keeps its usual tokens."""

    def __init__(self, dropout: BPEDropout, usual: NDArray[np.int32], longest: int):
        self.dropout, self.usual, self.longest = dropout, usual, longest
        self.lengths, self.fits = usual, np.zeros(usual.shape, np.bool_)
        self.rows = TokenRows([])

    def draw(self, seed: int) -> None:
        self.rows = TokenRows([Part(*self.dropout.encode_arrays(seed))])
        drawn = self.rows.lengths().reshape(2, -1).T  # all sources, then all targets
        self.fits = drawn <= self.longest
        self.lengths = np.where(self.fits, drawn, self.usual)

    def ids(self, side: int, row: int) -> Ids | None:
        return self.rows[side * len(self.usual) + row] if self.fits[row, side] else None


def encoded_pairs(
    pairs: ParallelText, tokenizer: Vocabulary, say: Callable[[str], None]
) -> tuple[tuple[TokenRows, TokenRows], NDArray[np.uint32]]:
    """The tokens of both sides, and the row of each pair in them."""
    if isinstance(pairs, StoredPairs):
        return stored_tokens(pairs, tokenizer, say), pairs.rows
    source, target = (
        TokenRows.of(vocabulary.encode_all(texts), len(tokenizer))
        for vocabulary, texts in ((tokenizer, pairs.source), (tokenizer.target, pairs.target))
    )
    return (source, target), np.arange(len(pairs), dtype=np.uint32)
