"""Forced decoding: the probability that a model gives to a translation which it did not write."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qkv.decoding.arrays import arrays_for
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.text_search import language_marker

if TYPE_CHECKING:
    from qkv.families.translator.pipeline import Pipeline

ROWS = 64  # sentences per batch
PLAIN = TranslationOptions()


def forced_log_probabilities(
    pipeline: "Pipeline",
    sources: Sequence[str],
    targets: Sequence[str],
    options: TranslationOptions = PLAIN,
    done: Callable[[int], None] = lambda _: None,
) -> list[list[float] | None]:
    """The log-probability of each token of the targets, with the end token; None for a pair that is too long or empty.

    A result does not depend on the other pairs.
    """
    tokenizer, marker = pipeline.tokenizer, language_marker(options.target_language)
    pairs = [
        (tokenizer.encode(marker + source), tokenizer.target.encode(target))
        for source, target in zip(sources, targets, strict=True)
    ]
    longest = min(runner.config.max_length for runner in pipeline.runners) - 1
    fits = [row for row, pair in enumerate(pairs) if all(pair) and max(map(len, pair)) <= longest]
    fits.sort(key=lambda row: (len(pairs[row][1]), len(pairs[row][0])))
    found: list[list[float] | None] = [None] * len(pairs)
    done(len(pairs) - len(fits))
    for start in range(0, len(fits), ROWS):
        rows = fits[start : start + ROWS]
        for row, each in zip(rows, score_batch(pipeline, [pairs[row] for row in rows], options), strict=True):
            found[row] = each
        done(len(rows))
    return found


def score_batch(
    pipeline: "Pipeline", pairs: Sequence[tuple[Sequence[int], Sequence[int]]], options: TranslationOptions
) -> list[list[float]]:
    general, config = pipeline.texts.searcher(options).general, pipeline.runners[0].config
    arrays = arrays_for(pipeline.runners[0].device)
    step = general.begin([config.complete_source(source) for source, _ in pairs], None)
    lengths = [len(target) + 1 for _, target in pairs]
    wanted = np.full((len(pairs), max(lengths)), config.end)  # (B, T)
    for row, (_, target) in enumerate(pairs):
        wanted[row, : len(target)] = target
    newest, scores, line = np.full(len(pairs), config.start), [], arrays.arange(len(pairs))
    for column in wanted.T:
        logits = arrays.log_softmax(step(arrays.asarray(newest[:, None].tolist())))  # (B, V)
        scores.append(logits[line, arrays.asarray(column.tolist())].tolist())
        newest = column
    table = np.array(scores).T  # (B, T)
    return [table[row, :length].tolist() for row, length in enumerate(lengths)]
