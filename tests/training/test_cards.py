"""Model cards are valid Markdown with the facts of the report, and begin with YAML."""

import re

import yaml

from qkv.families.translator.report import model_card as card_of_translator
from qkv.training.card import Purpose, model_card

PURPOSE = Purpose(task="text-generation", command="qkv generate .", python="model.generate()", use="Text.")
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1"
SCORES = {"bleu": {"value": 30.0, "signature": SIGNATURE}, "chrf": {"value": 50.0, "signature": SIGNATURE}}
FACTS = {
    "made_with": {"qkv": "1"},
    "parameters": 10,
    "training": {"steps": 5, "epochs": 1.0, "minutes": 0.1, "seed": 1, "weights": "the best"},
}


def rows_of(card: str) -> list[list[str]]:
    """The cells of all tables as a reader sees them: a | ends a cell unless a backslash stands before it."""
    rows = [line for line in card.splitlines() if line.startswith("|")]
    return [
        [cell.replace(r"\|", "|").strip(" `") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows
    ]


def test_the_signatures_of_scores_are_whole_in_a_model_card() -> None:
    validation = {
        **SCORES,
        "sentences": 2,
        "beam_size": 1,
        "length_penalty": 1.0,
        "exact_match": 0.0,
        "loss": 1.0,
    }
    report = {
        **FACTS,
        "languages": {"source": "en", "target": "de"},
        "data": {"origin": "a|b.tsv", "pairs": 3, "dropped": {"empty": 1}},
        "vocab_size": 300,
        "validation": validation,
        "tests": {"te|st": {**SCORES, "sentences": 2, "overlap": {"sentences": 0}}},
    }
    rows = rows_of(card_of_translator(report))
    assert {len(row) for row in rows} == {2, 3, 6}
    assert [row[-1] for row in rows].count(SIGNATURE) == 3
    assert ["trained on", "a|b.tsv: 3 sentence pairs (dropped: 1 empty)"] in rows
    assert any(row[0] == "te|st" for row in rows)
    card = card_of_translator(report)
    stated = yaml.safe_load(card.split("---\n")[1])
    assert stated["pipeline_tag"] == "translation"
    assert stated["language"] == ["en", "de"]
    assert stated["model-index"][0]["results"][0]["metrics"][0] == {"type": "bleu", "value": 30.0}
    for part in ("qkv translate .", 'model.translate("…")', "## Intended use and limits"):
        assert part in card


def test_names_with_bars_are_whole_in_the_card_of_any_model() -> None:
    report = {**FACTS, "data": {"origin": "a|b.txt"}, "results": {"accuracy|all": "1 | 2"}}
    rows = rows_of(model_card("GPT", PURPOSE, report))
    assert {len(row) for row in rows} == {2}
    assert ["trained on", "a|b.txt"] in rows
    assert ["accuracy|all", "1 | 2"] in rows
