"""Score heads on the built-in languages, where word alignments and pronoun antecedents are known."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from qkv.data.worlds import Pair, pairs
from qkv.evaluation.alignment import alignment_error
from qkv.families.translator.product import Translator
from qkv.families.translator.word_attention import WordAttention, word_attention

SENTENCES = 150


def measure_heads(
    translator: Translator,
    done: Callable[[int], None],
    count: int = SENTENCES,
    attend: Callable[[Translator, str, str], WordAttention] = word_attention,
) -> dict[str, Any]:
    """The error of every head's alignment, and how often a pronoun's strongest weight is on its antecedent."""
    languages = translator._defaults.languages
    tested = pairs(languages.source, languages.target, count, part="test")
    links: dict[tuple[int, int], list[list[tuple[int, int]]]] = defaultdict(list)
    right: dict[tuple[str, int, int], int] = defaultdict(int)
    pronouns, words, best = 0, 0, []
    for pair in tested:
        attention = attend(translator, pair.source, pair.target)
        best.append(translator.align(pair.source, pair.target))
        for place, head in attention.cross.items():
            links[place].append(head)
        pronouns += len(pair.references)
        words += len(pair.references) * (
            len(attention.source_words) + 1
        )  # the end can be attended to as well
        count_right(right, pair, attention)
        done(1)
    gold = [pair.alignment for pair in tested]
    return {
        "sentences": len(tested),
        "pronouns": pronouns,
        "chance": round(100 * pronouns / max(1, words), 1),
        "aligner": round(alignment_error(best, gold), 1),
        "alignment": [
            {"layer": layer, "head": head, "error": round(alignment_error(found, gold), 1)}
            for (layer, head), found in sorted(links.items())
        ],
        "reference": [
            {"side": side, "layer": layer, "head": head, "right": round(100 * right[side, layer, head] / max(1, pronouns), 1)}
            for side, layer, head in sorted(right)
        ],
    }  # fmt: skip


def count_right(right: dict[tuple[str, int, int], int], pair: Pair, attention: WordAttention) -> None:
    """Every head is in the table, even if it is never right."""
    for side, places in [("encoder", attention.encoder), ("decoder", attention.decoder)]:
        for layer, head in places:
            right[side, layer, head] += 0
    for reference in pair.references:
        for side, places in [("encoder", attention.encoder), ("decoder", attention.decoder)]:
            here, there = (
                (reference.source, reference.source_antecedent)
                if side == "encoder"
                else (reference.target, reference.target_antecedent)
            )
            for (layer, head), strongest in places.items():
                right[side, layer, head] += strongest[here] == there
