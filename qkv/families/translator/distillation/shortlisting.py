"""Fit the vocabulary shortlist of a student to its training data, and measure what it costs."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from qkv.data.parallel import ParallelText, iterate_pairs
from qkv.evaluation.scores import Scorer
from qkv.families.loading import load
from qkv.families.translator.product import Translator
from qkv.families.translator.shortlist import Shortlist, fit_shortlist
from qkv.runtime.running import EXACT
from qkv.text.vocabulary import Vocabulary

MOST_PAIRS = 500_000  # a dictionary of tokens changes little with more
MOST_LOST = 0.1  # BLEU on the validation data; a list that costs more is not kept


def add_shortlist(out: Path, training_data: Path, valid: ParallelText, scorer: Scorer) -> dict[str, Any]:
    """Add a shortlist to the student's bundle if it costs little. Returns what the report says about it."""
    student: Translator = load(out, EXACT)._with_shortlist(None)
    shortlist = shortlist_for(student.tokenizer, training_data)
    loss = bleu_lost(student, shortlist, valid, scorer)
    sources = [student.tokenizer.encode(text) for text in valid.source]
    kept = loss <= MOST_LOST
    if kept:
        shortlist.with_loss(loss).save(out)
    return {"kept": kept, "bleu_lost": loss, "mean_size": round(shortlist.mean_size(sources), 1)}


def shortlist_for(tokenizer: Vocabulary, training_data: Path) -> Shortlist:
    # Single bytes are on every list, so that any name can be spelled.
    single = [token for token, content in enumerate(tokenizer.token_bytes) if content and len(content) == 1]
    return fit_shortlist(encoded(tokenizer, training_data), len(tokenizer), end=tokenizer.end, always=single)


def encoded(tokenizer: Vocabulary, training_data: Path) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    for source, target in islice(iterate_pairs(training_data, None, None), MOST_PAIRS):
        yield tokenizer.encode(source), tokenizer.target.encode(target)


def bleu_lost(student: Translator, shortlist: Shortlist, valid: ParallelText, scorer: Scorer) -> float:
    """What the validation data lose; 0 if they gain."""
    used = student._with_shortlist(shortlist.with_loss(0.0))  # a list without a loss is not used
    bleu = [scorer.score(each.translate(valid.source), valid.target).bleu.value for each in (student, used)]
    return max(0.0, bleu[0] - bleu[1])
