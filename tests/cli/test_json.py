"""`--json`: the results on standard output are JSON, and nothing else is there."""

import json
from pathlib import Path
from typing import Any

import language_models
import pytest
from commands import code_of, training
from tiny_bert import tiny_bert

from qkv.checkpoint.files import read_json
from qkv.cli import all_commands, trainings
from qkv.cli.option_tables import tables_of

NO_REPORT = {"tour", "explore", "completion", "serve"}
ALL = [[name] for name in all_commands()] + [["train", name] for name in trainings()]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    capsys.readouterr()
    assert code_of(*arguments, "--json") == 0
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    return json.loads(printed(capsys, *arguments))


def test_every_command_that_reports_can_print_json() -> None:
    lacking = {
        words[0]
        for words in ALL
        for table in tables_of(words)
        if not any(field.name == "json" and field.is_switch for field in table)
    }
    assert lacking == NO_REPORT


def test_training_prints_its_report(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, *training(files, "--steps", "3"))
    assert found == {"output": str(files / "out"), "report": read_json(files / "out" / "report.json")}
    facts = document(capsys, "info", files / "out")
    assert facts["report"] == found["report"]
    assert facts["facts"]["kind"].startswith("translator")


def test_info_has_no_report_for_a_model_without_one(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "--json", "info", model)
    assert (found["model"], found["report"]) == (str(model), None)


def test_cleaning_prints_its_report(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = ["--source", files / "a.en", "--target", files / "a.xx", "--language-confidence", "0"]
    found = document(capsys, "clean", *two, "--report", files / "report.json")
    assert found == read_json(files / "report.json")


def test_texts_are_compared_and_embedded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bert = tmp_path / "bert"
    tiny_bert().save(bert)
    found = document(capsys, "similar", bert, "the cat", "the cat")
    assert found == {"pair": 1, "similarity": 1.0}
    assert document(capsys, "embed", bert, "the cat", "-o", tmp_path / "v.npy") == {
        "output": str(tmp_path / "v.npy"),
        "texts": 1,
        "width": 20,
    }
    assert document(capsys, "embed", bert, "the cat").keys() == {"text", "vector"}


def test_a_continuation_is_what_follows_the_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpt = tmp_path / "gpt"
    language_models.untrained("subwords").save(gpt)
    options = [gpt, "the cat", "--max-new-tokens", "4"]
    found = document(capsys, "generate", *options)
    assert found["prompt"] == "the cat"
    capsys.readouterr()
    assert code_of("generate", *options) == 0
    assert capsys.readouterr().out == f"{found['prompt']}{found['continuation']}\n"
