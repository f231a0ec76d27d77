"""Word alignments from the cross-attention of the decoder."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from qkv.core.translation import CrossHeads, TranslationRunner
from qkv.decoding.arrays import arrays_for
from qkv.families.translator.translations import Links
from qkv.text.vocabulary import Vocabulary
from qkv.text.words import spans, words_of_tokens


def forced_attention(
    runner: TranslationRunner, source: Sequence[int], output: Sequence[int], look: CrossHeads
) -> np.ndarray:
    """The mean attention of these heads at every step of a given output. (1 + T, S), fewer at the longest length"""
    config, arrays = runner.config, arrays_for(runner.device)
    step = runner.begin([config.complete_source(source)], look)
    rows = []
    for token in [config.start, *output][: config.max_length]:
        step(arrays.asarray([[token]]))
        rows.append(step.attention[0].tolist())
    return np.array(rows, dtype=np.float32)


def rows_of(weights: np.ndarray, count: int, late: bool) -> np.ndarray:
    """The rows of the attention (…, T, S) that belong to the output tokens."""
    rows = weights[..., 1 : count + 1, :] if late else weights[..., :count, :]
    missing = count - rows.shape[-2]  # the model ran out of positions
    return np.concatenate([rows, np.repeat(rows[..., -1:, :], missing, -2)], -2) if missing else rows


def word_weights(
    attention: np.ndarray, source: Sequence[int | None], target: Sequence[int | None], shape: tuple[int, int]
) -> np.ndarray:
    """Attention between tokens, (…, T, S), as attention between words, (…, target words, source words).

    `source` and `target` give the word of each token. The attention has one more column, for the end token.
    """
    of_target, of_source = membership(target, shape[0]), membership(source, shape[1])
    counts = np.maximum(of_target.sum(1, keepdims=True), 1)  # the mean over a word's tokens
    return (of_target / counts) @ attention[..., : len(source)] @ of_source.T


def membership(owned_by: Sequence[int | None], words: int) -> np.ndarray:
    """1 where a token belongs to a word. (words, tokens)"""
    table = np.zeros((words, len(owned_by)), dtype=np.float32)
    for token, word in enumerate(owned_by):
        if word is not None:
            table[word, token] = 1
    return table


def links_in(words: np.ndarray) -> Links:
    """Link each target word (target words × source words) to the source word with the most attention."""
    if 0 in words.shape:
        return []
    best, which = words.max(-1), words.argmax(-1)
    rest = 1 - words.sum(-1)  # attention on the end token and on spaces
    pairs = [
        (int(source), target)
        for target, (source, weight, other) in enumerate(
            zip(which.tolist(), best.tolist(), rest.tolist(), strict=True)
        )
        if weight >= other
    ]
    return sorted(pairs)


def align(
    attention: Callable[[Sequence[int]], np.ndarray],
    tokenizer: Vocabulary,
    source: str,
    output: Sequence[int],
    pattern: re.Pattern[str],
    marker: str = "",
) -> Links:
    """Pairs of source and output words, as the pattern splits them.

    `attention` gives the attention of the output tokens on these source ids and the end token, (T, S). `marker` precedes the source to select a target language. It is not a word.
    """
    ids, marked = tokenizer.encode_with_spans(marker + source)
    before = len(marker.encode())
    places = [(start - before, end - before) for start, end in marked]
    source_words, target_words = spans(source, pattern), spans(tokenizer.decode(output), pattern)
    weights = word_weights(
        attention(ids),
        words_of_tokens(places, source_words),
        words_of_tokens(tokenizer.spans(output), target_words),
        (len(target_words), len(source_words)),
    )
    return links_in(weights)
