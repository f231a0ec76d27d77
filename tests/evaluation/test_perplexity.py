"""How surprised a model is, worked out by hand."""

import math

import pytest

from qkv.evaluation.perplexity import TextLoss
from qkv.families.gpt.evaluation import shown_fact


def test_all_units_are_derived_from_one_loss() -> None:
    facts = TextLoss.of(["zwei", " Wörter"], nats=12 * math.log(2), tokens=4).to_dict()
    assert facts == {
        "tokens": 4,
        "words": 2,
        "bytes": 12,
        "loss_per_token": round(3 * math.log(2), 4),
        "perplexity_per_token": 8.0,
        "perplexity_per_word": 64.0,
        "bits_per_byte": 1.0,
    }


def test_an_infinite_perplexity_is_none() -> None:
    facts = TextLoss.of(["word"], nats=1e4, tokens=10).to_dict()
    assert facts["perplexity_per_word"] is None
    assert facts["bits_per_byte"] == pytest.approx(1e4 / 4 / math.log(2), rel=1e-6)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12, "12"),
        (87.123, "87.123"),
        (2812253.213, "2,812,253"),
        (3.2e12, "3.20e+12"),
        (None, "infinite"),
    ],
)
def test_a_large_perplexity_is_shown_without_decimals(value: float | None, shown: str) -> None:
    assert shown_fact(value) == shown
