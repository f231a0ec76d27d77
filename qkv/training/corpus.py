"""Sentence pairs made ready for training: cleaned, split, encoded, and put together in batches."""

import hashlib
from dataclasses import dataclass

from qkv.data.batching import pad_rows, token_batches
from qkv.data.cleaning import clean, hold_out
from qkv.data.parallel import ParallelText
from qkv.models.translator import TranslationBatch
from qkv.pipeline import Languages
from qkv.text.tokenizer import Tokenizer
from qkv.training.settings import DataSettings


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Cleaned pairs, what was dropped on the way, and where they came from."""

    train: ParallelText
    valid: ParallelText
    dropped: dict[str, int]
    languages: Languages
    origin: str  # for the model card

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for part in (self.train, self.valid):
            for source, target in zip(part.source, part.target, strict=True):
                digest.update(f"{source}\t{target}\n".encode())
        return digest.hexdigest()


def prepare_corpus(
    pairs: ParallelText,
    valid: ParallelText | None,
    languages: Languages,
    settings: DataSettings,
    seed: int,
    origin: str,
) -> Corpus:
    """Clean the pairs, and hold some out for validation where none are given."""
    cleaned = clean(pairs, longest=settings.longest, ratio=settings.ratio)
    dropped = dict(cleaned.dropped)
    if valid is None:
        train, valid = hold_out(cleaned.pairs, count=settings.valid, seed=seed)
    else:
        cleaned_valid = clean(valid, longest=settings.longest, ratio=settings.ratio)
        train, valid = cleaned.pairs, cleaned_valid.pairs
        dropped["of the validation pairs"] = sum(cleaned_valid.dropped.values())
    return Corpus(train=train, valid=valid, dropped=dropped, languages=languages, origin=origin)


class PairData:
    """Encoded pairs in batches of like length (the loop's Data protocol)."""

    def __init__(
        self, pairs: ParallelText, tokenizer: Tokenizer, batch_tokens: int, context: int, *, shuffled: bool
    ):
        sources, targets = tokenizer.encode_all(pairs.source), tokenizer.encode_all(pairs.target)
        # What has more pieces than the model has positions, with a start or an end, is left out.
        fits = [max(map(len, both)) < context for both in zip(sources, targets, strict=True)]
        self.sources = [ids for ids, fit in zip(sources, fits, strict=True) if fit]
        self.targets = [ids for ids, fit in zip(targets, fits, strict=True) if fit]
        self.tokenizer, self.batch_tokens, self.shuffled = tokenizer, batch_tokens, shuffled

    def __len__(self) -> int:
        return len(self.sources)

    def epoch(self, seed: int) -> list[list[int]]:
        lengths = [
            1 + max(len(source), len(target))
            for source, target in zip(self.sources, self.targets, strict=True)
        ]
        return token_batches(lengths, self.batch_tokens, seed if self.shuffled else None)

    def batch(self, rows: list[int]) -> TranslationBatch:
        tokens = self.tokenizer
        return TranslationBatch(
            source=pad_rows([[*self.sources[row], tokens.end] for row in rows], tokens.pad),
            shifted=pad_rows([[tokens.start, *self.targets[row]] for row in rows], tokens.pad),
            target=pad_rows([[*self.targets[row], tokens.end] for row in rows], tokens.pad),
        )

    def tokens(self, rows: list[int]) -> int:
        return sum(len(self.targets[row]) + 1 for row in rows)
