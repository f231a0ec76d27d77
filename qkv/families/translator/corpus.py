"""Prepares sentence pairs for training: cleaning, splitting, encoding and batching."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

from qkv.checkpoint.files import bytes_hash, canonical
from qkv.core.pairs import TranslationBatch
from qkv.data.batching import pad_rows, token_batches
from qkv.data.cleaning import clean, count_duplicates, count_shared, hold_out
from qkv.data.parallel import ParallelText
from qkv.errors import QkvError
from qkv.families.translator.defaults import Languages
from qkv.families.translator.settings import DataSettings, PairSettings
from qkv.text.bpe_dropout import BPEDropout
from qkv.text.tokenizer import Tokenizer
from qkv.text.vocabulary import Vocabulary
from qkv.training.trainable import Setup


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

    @cached_property
    def duplicates(self) -> int:
        """Training pairs that repeat an earlier one exactly."""
        return count_duplicates(self.train)

    @cached_property
    def shared(self) -> int:
        """Validation pairs that are also in the training data."""
        return count_shared(self.train, self.valid)

    def fingerprint(self) -> dict[str, str]:
        """Hashes of the data. The languages are included, because they may come from file names."""
        tests = {name: part.fingerprint() for name, part in self.tests.items()}
        return {
            "training data": self.train.fingerprint(),
            "validation data": self.valid.fingerprint(),
            "test data": bytes_hash(canonical(tests)),
            "languages": " and ".join(name or "unknown" for name in self.languages.named()),
        }


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
) -> Corpus:
    """Clean the pairs, and hold some out if there is no validation part. `repeated` is as in `hold_out`."""
    cleaned = clean(pairs, longest=settings.max_characters, ratio=settings.max_length_ratio)
    dropped = dict(cleaned.dropped)
    if valid is None:
        train, valid = hold_out(cleaned.pairs, size=settings.valid_size, seed=seed, repeated=repeated)
    else:
        cleaned_valid = clean(valid, longest=settings.max_characters, ratio=settings.max_length_ratio)
        train, valid = cleaned.pairs, cleaned_valid.pairs
        dropped["from the validation data"] = sum(cleaned_valid.dropped.values())
    return Corpus(
        train=train, valid=valid, dropped=dropped, languages=languages, origin=origin, tests=tests or {}
    )


@dataclass(frozen=True, kw_only=True)
class PairFiles:
    """Sentence pairs as they were read from files."""

    pairs: ParallelText
    valid: ParallelText | None
    languages: Languages
    origin: str  # for the model card
    tests: dict[str, ParallelText] = field(
        default_factory=dict
    )  # by name: the finished model is scored on them

    @property
    def amount(self) -> int:
        return len(self.pairs)

    def corpus(self, settings: PairSettings, setup: Setup) -> Corpus:
        corpus, say = self.split(settings, setup.data_before), setup.say
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

    def split(self, settings: PairSettings, before: Mapping[str, str]) -> Corpus:
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
                    corpus = prepare_corpus(*given, repeated=repeated)
                    if corpus.valid.fingerprint() == before.get("validation data"):
                        return corpus
        return prepare_corpus(*given)


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
    ):
        """`source_ends` says whether the model reads an end token after a source."""
        sources, targets = tokenizer.encode_all(pairs.source), tokenizer.target.encode_all(pairs.target)
        # Drop pairs that, with a start or end token, exceed the maximum length.
        fits = [max(map(len, both)) < max_length for both in zip(sources, targets, strict=True)]
        self.sources, self.targets = list(compress(sources, fits)), list(compress(targets, fits))
        self.tokenizer, self.batch_tokens, self.shuffled = tokenizer, batch_tokens, shuffled
        self.longest, self.source_ending = max_length - 1, [tokenizer.end] if source_ends else []
        self.dropout: BPEDropout | None = None
        if bpe_dropout and isinstance(tokenizer, Tokenizer):
            self.whole = [*self.sources, *self.targets]
            texts = [*compress(pairs.source, fits), *compress(pairs.target, fits)]
            self.dropout = BPEDropout(tokenizer, texts, bpe_dropout)

    def __len__(self) -> int:
        return len(self.sources)

    def epoch(self, seed: int) -> list[list[int]]:
        """Batches of rows. With BPE dropout, sentences are tokenized differently for every seed."""
        if self.dropout is not None:
            encoded = [
                ids if len(ids) <= self.longest else whole
                for ids, whole in zip(self.dropout.encode_all(seed), self.whole, strict=True)
            ]
            self.sources, self.targets = encoded[: len(self)], encoded[len(self) :]
        sides = [
            (len(source), len(target)) for source, target in zip(self.sources, self.targets, strict=True)
        ]
        return token_batches(
            [1 + max(both) for both in sides],
            self.batch_tokens,
            seed if self.shuffled else None,
            tiebreak=[source - target for source, target in sides],
        )

    def batch(self, rows: list[int]) -> TranslationBatch:
        tokens = self.tokenizer
        return TranslationBatch.of(
            source=pad_rows([[*self.sources[row], *self.source_ending] for row in rows], tokens.pad),
            shifted=pad_rows([[tokens.start, *self.targets[row]] for row in rows], tokens.pad),
            target=pad_rows([[*self.targets[row], tokens.end] for row in rows], tokens.pad),
            pad=tokens.pad,
        )

    def tokens(self, rows: list[int]) -> int:
        return sum(len(self.targets[row]) + 1 for row in rows)
