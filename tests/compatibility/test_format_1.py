"""Bundles and runs that qkv 0.1.0 wrote still load, give the same outputs, and can be resumed.

make_bundles.py documents how the fixtures were made. They are never written again: a test that fails here means that
people can no longer open their models.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import code_of
from observed import FORMAT_1, observe, read_expected

import qkv
from qkv.checkpoint.bundle import read_config
from qkv.families import bundle_kinds

RUNS = sorted(path.name for path in FORMAT_1.glob("run-*"))
BUNDLES = sorted(path.parent.name for path in FORMAT_1.glob("*/config.json") if path.parent.name not in RUNS)
TOLERANCE, OF_A_PIXEL = 2e-4, 1  # other processors round differently


def assert_same(found: Any, expected: Any, where: str = "", tolerance: float = TOLERANCE) -> None:
    """Numbers are compared with a tolerance, everything else exactly."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}.{key}", OF_A_PIXEL if key == "pixels" else tolerance)
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{where}[{number}]", tolerance)
    elif isinstance(expected, float) or where.partition("[")[0] == ".pixels":
        assert found == pytest.approx(expected, abs=tolerance, rel=TOLERANCE), where
    else:
        assert found == expected, where


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_of_format_1_gives_the_same_output(name: str) -> None:
    folder = FORMAT_1 / name
    expected = read_expected(folder)
    assert_same(
        observe(qkv.load(folder, compute_type="float32"), expected["given"], folder), expected["observed"]
    )


def test_there_is_a_fixture_of_every_kind_of_bundle() -> None:
    assert {read_config(FORMAT_1 / name)["kind"] for name in BUNDLES} == set(bundle_kinds())


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_of_format_1_is_described(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("info", FORMAT_1 / name) == 0
    assert "parameters" in capsys.readouterr().out


# Runs -------------------------------------------------------------------------------------------------------------

DATA = {
    "run-translator": ["--pairs", "pairs.tsv"],
    "run-translator-recurrent": ["--pairs", "pairs.tsv"],
    "run-gpt": ["--text", "text.txt"],
    "run-bert": ["--text", "documents.txt"],
    "run-vit": ["--images", "images"],
    "run-codebook": [],
}


def data_of(name: str) -> list[str | Path]:
    """The training files, which are elsewhere than when the run began."""
    return [each if each.startswith("--") else FORMAT_1 / "data" / each for each in DATA[name]]


def rows_of(out: Path, log: str = "log.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "training" / log).read_text().splitlines()]


@pytest.fixture
def copied(name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(FORMAT_1 / name, tmp_path / name))


@pytest.mark.parametrize("name", RUNS)
def test_an_interrupted_run_of_format_1_has_a_bundle(name: str) -> None:
    assert qkv.load(FORMAT_1 / name).info()["parameters"]


@pytest.mark.parametrize("name", RUNS)
def test_an_interrupted_run_of_format_1_is_resumed_with_the_same_result(name: str, copied: Path) -> None:
    expected, before = read_expected(copied), rows_of(copied)
    stopped_at = before[-1]["step"]
    assert code_of("train", expected["resume"], "--resume", "--out", copied, *data_of(name)) == 0
    rows = rows_of(copied)
    assert rows[: len(before)] == before
    # The fixture has no timing.jsonl: a run that started again would have written the first steps to it too.
    assert rows_of(copied, "timing.jsonl")[0]["step"] == stopped_at + 1
    assert rows[-1]["step"] == expected["steps"]
    losses = [row["validation_loss"] for row in rows if "validation_loss" in row]
    assert losses == pytest.approx(expected["validation_losses"], rel=1e-2)
    assert (copied / "report.json").is_file()


FINE_TUNING: dict[str, list[str]] = {
    "translator": ["translator", "--pairs", "pairs.tsv"],
    "gpt": ["gpt", "--text", "text.txt"],
    "bert": ["bert", "--labels", "labels.tsv"],
    "vit": ["vit", "--images", "images"],
}


@pytest.mark.parametrize("name", FINE_TUNING)
def test_a_bundle_of_format_1_is_fine_tuned(name: str, tmp_path: Path) -> None:
    command, option, data = FINE_TUNING[name]
    arguments = ["train", command, "--fine-tune", FORMAT_1 / name, option, FORMAT_1 / "data" / data]
    assert code_of(*arguments, "--steps", "2", "--processes", "1", "--out", tmp_path / "out") == 0
    assert qkv.load(tmp_path / "out").info()["parameters"]
