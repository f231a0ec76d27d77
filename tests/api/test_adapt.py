"""`qkv adapt`: the result is within the limit and has a receipt, or nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import code_of
from distillation_runs import TINY
from training_commands import number_pairs

import qkv
from qkv.api import adapting
from qkv.evaluation.display import Display
from qkv.families.translator.adaptation.data import mixture, split, text_of
from qkv.families.translator.adaptation.job import Stage
from qkv.families.translator.adaptation.receipt import lost_words

PROJECT = [(f"the {a} {b}", f"der {b} {a}") for a in "abcdefgh" for b in "abcdefgh"]
GENERAL = "".join(f"{a} {b}\t{b} {a}\n" for a in "abcdefgh" for b in "abcdefgh")
OPTIONS: dict[str, Any] = {
    "learning_rates": [1e-3, 1e-6], "epochs": 10, "batch_tokens": 256, "processes": 1, "max_loss": 90, "minutes": 1e6, "progress": False,
}  # fmt: skip


@pytest.fixture(autouse=True)
def general(folder: Path) -> None:
    (folder / "general.tsv").write_text(GENERAL)


class Stages:
    """Counts the stages that are trained, and can stop before one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.count, self.stop_before, real = 0, -1, adapting.train_stage

        def train_stage(stage: Stage) -> None:
            if self.count == self.stop_before:
                raise KeyboardInterrupt
            self.count += 1
            real(stage)

        monkeypatch.setattr(adapting, "train_stage", train_stage)


def test_an_interrupted_adaptation_continues_and_ends_with_a_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The general pairs are those that the base model was trained on."""
    rows = [line.split("\t") for line in number_pairs(Path("pairs.tsv")).read_text().splitlines()]
    languages = {"source_language": "en", "target_language": "de"}
    qkv.train_translator("pairs.tsv", output="base", steps=150, progress=False, **TINY, **languages)
    project = [(f"{source} !", target.replace(" ", " zu ")) for source, target in rows]
    stages = Stages(monkeypatch)
    stages.stop_before = 1
    with pytest.raises(KeyboardInterrupt):
        qkv.adapt("base", project, output="adapted", **OPTIONS)
    assert not Path("adapted").exists()
    stages.stop_before = -1
    model = qkv.adapt("base", project, output="adapted", **OPTIONS)
    receipt = model.report["adaptation"]
    assert stages.count == len(receipt["snapshots"]) > 2  # none twice
    assert json.loads(Path("adapted/adaptation.json").read_text()) == receipt
    assert not Path("adapted.adapting").exists()
    assert receipt["chosen"]["rate"] == 1e-3
    assert receipt["chosen"]["domain"] == max(each["domain"] for each in receipt["snapshots"])
    own = receipt["data"]["domain"]
    assert own["train"] + own["dev"] + own["test"] == len(project)
    gained = receipt["domain"]["chrf_difference"]
    assert 5 < gained["low"] < gained["value"] < gained["high"]
    loss = receipt["general"]["before"]["chrf"]["value"] - receipt["general"]["after"]["chrf"]["value"]
    assert loss <= 90
    assert "## Adaptation" in Path("adapted/README.md").read_text(encoding="utf-8")
    said: list[str] = []
    display = Display(say=said.append, warn=said.append)
    assert adapting.base_of(Path("adapted"), display) == Path("base").absolute()
    Path("base").rename("moved")
    assert adapting.base_of(Path("adapted"), display) == Path("adapted")
    assert "not there any more" in said[-1]


def test_a_model_that_does_not_become_better_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("project.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PROJECT))
    words = [
        "adapt",
        "runs/en-de",
        "--pairs",
        "project.tsv",
        "--output",
        "adapted",
        "--processes",
        "1",
        "--epochs",
        "0.1",
    ]
    more = ["--general", "general.tsv", "--learning-rates", "1e-12"]
    assert code_of(*words, *more) == 3
    assert "none of 1 snapshots can be used" in capsys.readouterr().err
    assert not Path("adapted").exists()
    assert code_of(*words, *more, "--seed", "2") == 2  # the work folder has another adaptation
    assert "holds an adaptation of another model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give the translations to learn"),
        ({"pairs": PROJECT, "general_text": ["a.txt"]}, "also give `general_test`"),
        ({"pairs": PROJECT[:20], "general": "general.tsv"}, "20 translations of the project are too few"),
        ({"pairs": PROJECT, "output": "runs"}, "runs is not empty"),
    ],
)
def test_what_cannot_work_is_rejected_first(options: dict[str, Any], message: str) -> None:
    with pytest.raises(qkv.QkvError, match=message):
        qkv.adapt("runs/en-de", **{"output": "adapted", "progress": False, **options})


def test_no_source_is_in_two_parts_and_replay_is_half_of_the_training() -> None:
    parts = split(text_of([*PROJECT, *PROJECT]), 6, 1, "pairs")
    sources = [set(part.source) for part in (parts.train, parts.dev, parts.test)]
    assert sum(map(len, sources)) == len(set.union(*sources)) == len(PROJECT)
    general = text_of((f"{n}", f"{n}") for n in range(500))
    mixed = mixture(parts.train, general, 1)
    assert len(mixed.pairs) == 2 * mixed.repeats * len(parts.train)
    assert mixed.replayed == mixed.repeats * len(parts.train) <= 500
    few = mixture(parts.train, text_of([("x", "y")]), 1)
    assert few.pairs.count(("x", "y")) == len(parts.train)


def test_lost_words_are_those_that_no_output_has_any_more() -> None:
    test = text_of([("1", "das Haus"), ("2", "der Hund")])
    lost = lost_words(["das Haus", "der Hund"], ["das Heim", "der Hund"], test)
    assert lost == [{"word": "Haus", "count": 1, "in_references": True}]


def test_the_model_of_an_interrupted_call_is_not_taken_for_another(tmp_path: Path) -> None:
    class InMemory:
        def __init__(self, weights: str):
            self.weights = weights

        def save(self, folder: Path) -> None:
            folder.mkdir()
            (folder / "model.safetensors").write_text(self.weights)

    folder = tmp_path / "adapted.adapting" / "base"
    assert adapting.saved(InMemory("a"), folder) == adapting.saved(InMemory("a"), folder) == folder
    with pytest.raises(qkv.QkvError, match="another model"):
        adapting.saved(InMemory("b"), folder)
    assert [each.name for each in folder.parent.iterdir()] == ["base"]
