"""The scores of heads are correct: hand-made heads get known scores."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from qkv.data.worlds import pairs, words
from qkv.explorer import truth
from qkv.families.translator.word_attention import WordAttention


class Oracle:
    """Its head 0 knows the truth everywhere, its head 1 looks at the first word always."""

    def __init__(self) -> None:
        self.known = {pair.source: pair for pair in pairs("en", "de", 40, part="test")}
        languages = type("Languages", (), {"source": "en", "target": "de"})
        self._defaults = type("Defaults", (), {"languages": languages})

    def align(self, source: str, target: str) -> list[tuple[int, int]]:
        return list(self.known[source].alignment)

    def word_attention(self, source: str, target: str) -> WordAttention:
        pair = self.known[source]
        first = [(0, place) for place in range(len(words(target)))]
        knowing: dict[str, list[int | None]] = {
            "source": [None] * len(words(source)),
            "target": [None] * len(words(target)),
        }
        for reference in pair.references:
            knowing["source"][reference.source] = reference.source_antecedent
            knowing["target"][reference.target] = reference.target_antecedent
        return WordAttention(
            source_words=tuple(words(source)),
            target_words=tuple(words(target)),
            cross={(0, 0): list(pair.alignment), (0, 1): first},
            encoder={(0, 0): knowing["source"], (0, 1): [0] * len(words(source))},
            decoder={(0, 0): knowing["target"], (0, 1): [0] * len(words(target))},
        )


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return truth.measure_heads(Oracle(), lambda count: None, 40, Oracle.word_attention)  # type: ignore[arg-type]


def test_a_head_that_knows_everything_is_found(told: dict[str, Any]) -> None:
    assert told["pronouns"] > 5
    right = {(each["side"], each["head"]): each["right"] for each in told["reference"]}
    assert right["encoder", 0] == right["decoder", 0] == 100
    assert right["encoder", 1] < 100
    assert told["aligner"] == 0


def test_alignment_error_tells_a_good_head_from_a_bad_one(told: dict[str, Any]) -> None:
    errors = {each["head"]: each["error"] for each in told["alignment"]}
    assert errors[0] == 0
    assert errors[1] > 50


def test_every_head_has_its_row(told: dict[str, Any]) -> None:
    places = {(each["side"], each["layer"], each["head"]) for each in told["reference"]}
    assert places == set(product(["encoder", "decoder"], [0], [0, 1]))
    assert 0 < told["chance"] < 30


def test_a_model_of_ours_can_be_measured() -> None:
    from explorable import random_translator

    translator = random_translator(languages=("en", "de"))
    translator._defaults = replace(translator._defaults, max_source_length=100)
    told = truth.measure_heads(translator, lambda count: None, 6)
    assert len(told["reference"]) == 3 * (2 + 3)
    assert len(told["alignment"]) == 3 * 3


def test_a_recurrent_model_is_scored_on_alignments_but_not_on_references() -> None:
    from explorable import random_recurrent

    translator = random_recurrent(languages=("en", "de"))
    translator._defaults = replace(translator._defaults, max_source_length=100)
    told = truth.measure_heads(translator, lambda count: None, 6)
    assert [(each["layer"], each["head"]) for each in told["alignment"]] == [(0, 0), (0, 1), (0, 2)]
    assert all(0 <= each["error"] <= 100 for each in told["alignment"])
    assert told["reference"] == []
