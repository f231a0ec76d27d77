"""Advice of `qkv train translator` about its data, and runs with the split of an earlier version."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import code_of, training
from digits import digit_lines

from qkv.checkpoint.files import read_json
from qkv.families.translator import corpus


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Every pair twice."""
    lines = list(dict.fromkeys(digit_lines(90, shortest=3)))[:60]
    for name in ("a.en", "a.xx"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines * 2))
    return tmp_path


def test_few_pairs_duplicates_and_a_time_limit_give_advice(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*training(files, "--minutes", "0.0000001")) == 0
    error = capsys.readouterr().err
    assert "120 pairs read" in error
    assert "108 to train on, 6 to validate on" in error
    assert "54 of the training pairs are exact duplicates" in error
    before, short, after = (line for line in error.splitlines() if line.startswith("advice: "))
    assert "108 sentence pairs are few" in before
    assert "the time limit ended training while the validation loss was still falling" in short
    assert "epochs are too few to judge the data" in after
    assert read_json(files / "out" / "report.json")["data"]["duplicates"] == 54


def test_validation_sentences_in_the_training_data_are_reported(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--valid-source", files / "a.en", "--valid-target", files / "a.xx"]
    assert code_of(*training(files, "--steps", "1", *given)) == 0
    assert "120 of the 120 validation pairs are in the training data too" in capsys.readouterr().err


def test_a_run_of_an_earlier_version_is_resumed_with_its_split(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare: Any = corpus.prepare_corpus
    with monkeypatch.context() as earlier:
        earlier.setattr(corpus, "prepare_corpus", partial(prepare, repeated=True))
        assert code_of(*training(files, "--steps", "1")) == 0
    assert "108 to train on, 12 to validate on" in capsys.readouterr().err
    assert code_of("train", "translator", "--resume", "--out", files / "out") == 0
    assert "108 to train on, 12 to validate on" in capsys.readouterr().err
