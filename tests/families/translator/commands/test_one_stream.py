"""A translator without an encoder (T-D) is trained, used and measured by the commands of any other."""

import json
from pathlib import Path

import pytest
from commands import code_of, training

from qkv.checkpoint.files import read_json


@pytest.fixture(scope="module")
def one_stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from digits import digit_lines

    folder = tmp_path_factory.mktemp("one-stream")
    for name in ("a.en", "a.xx"):
        (folder / name).write_text("\n".join(digit_lines(60)) + "\n")
    options = [
        "--encoder-depth",
        "0",
        "--decoder-depth",
        "2",
        "--steps",
        "6",
        "--vocab-size",
        "270",
    ]
    assert code_of(*training(folder, *options)) == 0
    return folder


def test_it_has_one_stack(one_stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = read_json(one_stream / "out" / "config.json")["model"]
    assert "encoder" not in config
    assert config["decoder"]["depth"] == 2
    assert code_of("info", one_stream / "out") == 0
    shown = capsys.readouterr().out
    assert "encoder" not in shown
    assert "2 blocks" in shown


def test_it_translates_with_every_option(one_stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--beam",
        "3",
        "--num_hypotheses",
        "2",
        "--coverage-penalty",
        "0.2",
        "--alignments",
        "--json",
        "--contain",
        "seven",
    ]
    assert code_of("translate", one_stream / "out", "one two three", *options) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[0])
    assert "seven" in json.dumps(said)


def test_it_is_evaluated(one_stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--source", one_stream / "a.en", "--reference", one_stream / "a.xx"]
    assert code_of("evaluate", one_stream / "out", *files, "--json") == 0
    assert json.loads(capsys.readouterr().out)
