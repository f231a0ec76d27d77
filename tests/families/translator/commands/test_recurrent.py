"""`--architecture recurrent`, through the real command: it learns, and everything that a translator can be asked for works."""

import re
from pathlib import Path

import numpy as np
import pytest
from commands import code_of, refused, training
from digits import digit_lines

import qkv
from qkv.checkpoint.files import read_json

SMALL = """--architecture recurrent --steps 300 --beam-size 1 --width 48 --ffn-width 64 --encoder-depth 1
    --decoder-depth 2 --dropout 0 --batch-tokens 768 --learning-rate 0.01
    --warmup-steps 40 --validate-every 150 --processes 1"""


def backwards(line: str) -> str:
    return " ".join(reversed(line.split()))


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that has learned to say digits in reverse."""
    folder = tmp_path_factory.mktemp("recurrent")
    lines = digit_lines(3_000, seed=1, shortest=2)
    (folder / "a.en").write_text("\n".join(lines) + "\n")
    (folder / "a.xx").write_text("\n".join(map(backwards, lines)) + "\n")
    files = ["--source", folder / "a.en", "--target", folder / "a.xx", "--out", folder / "model"]
    assert code_of("train", "translator", *files, *SMALL.split()) == 0
    return folder / "model"


def test_it_learns_to_reverse_digits(learned: Path) -> None:
    report = read_json(learned / "report.json")
    assert report["validation"]["exact_match"] >= 90
    assert report["settings"]["model"]["architecture"] == "recurrent"
    assert report["training"]["steps"] == 300


def test_the_bundle_names_the_architecture_and_info_describes_it(
    learned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_json(learned / "config.json")["architecture"] == "recurrent"
    assert code_of("info", learned) == 0
    shown = capsys.readouterr().out
    assert "1 LSTM in both directions" in shown
    assert "2 LSTMs, hidden 64, attention with 1 head" in shown


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--beam", "4", "--coverage-penalty", "0.2"],
        ["--beam", "3", "--prefix", "nine"],
        ["--beam", "3", "--contain", "seven"],
        ["--compute-type", "int8"],
        ["--compute-type", "bf16"],
    ],
    ids=" ".join,
)
def test_it_translates_with_every_option(
    options: list[str], learned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("translate", learned, "two seven nine", *options) == 0
    assert capsys.readouterr().out == "nine seven two\n"


def test_scores_confidence_and_alignments_are_printed(
    learned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("translate", learned, "two seven nine", "--scores", "--alignments") == 0
    text, score, confidence, alignment = capsys.readouterr().out.rstrip("\n").split("\t")
    assert (text, alignment) == ("nine seven two", "0-2 1-1 2-0")
    assert float(score) < 0 < float(confidence) <= 1


def test_it_is_evaluated(learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = digit_lines(100, seed=2, shortest=2)
    (tmp_path / "source").write_text("\n".join(lines) + "\n")
    (tmp_path / "reference").write_text("\n".join(map(backwards, lines)) + "\n")
    files = ["--source", tmp_path / "source", "--reference", tmp_path / "reference"]
    assert code_of("evaluate", learned, *files, "--json") == 0
    assert '"exact_match"' in capsys.readouterr().out


def test_its_attention_is_on_the_translated_word(learned: Path) -> None:
    translator, right, total = qkv.load(learned), 0, 0
    for line in digit_lines(20, seed=3, shortest=3):
        attention = translator._pipeline.attention(line)
        assert attention.weights.shape[:2] == (1, 1)
        assert np.allclose(attention.weights.sum(-1), 1, atol=1e-5)
        links = translator.align(line, backwards(line))
        right += len({(len(line.split()) - 1 - said, said) for said in range(len(line.split()))} & set(links))
        total += len(line.split())
    assert right > 0.8 * total


def test_its_run_is_resumed(files: Path) -> None:
    options = ["--architecture", "recurrent", "--processes", "1"]
    assert code_of(*training(files, *options, "--steps", "6", out="whole")) == 0
    # Nothing is left to do, but the run is taken up with all of its options.
    assert code_of("train", "translator", "--resume", "--out", files / "whole") == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--architecture", "recurrent", "--norm", "pre"],
            "--norm cannot be used with LSTMs",
        ),
        (["--architecture=recurrent", "--positions=none"], "--positions cannot be used with LSTMs"),
        (["--architecture", "recurrent", "--ffn-width", "15"], "--ffn-width must be even"),
        (["--architecture", "recurrent", "--encoder-depth", "0"], "--encoder-depth must be at least 1"),
        (
            ["--architecture", "recurent"],
            "--architecture must be one of transformer, recurrent, not 'recurent'",
        ),
    ],
    ids=str,
)
def test_a_mistake_is_one_error_message(
    options: list[str], sentence: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(*training(files, *options))
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_help_shows_the_architecture_and_the_defaults_of_lstms(capsys: pytest.CaptureFixture[str]) -> None:
    defaults = []
    for options in ([], ["--architecture", "recurrent"]):
        assert code_of("train", "translator", *options, "--help") == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "--architecture transformer|recurrent" in shown
        defaults.append(
            re.findall(r"--(?:architecture transformer\|recurrent|heads N) .*?\[default: (\w+)\]", shown)
        )
    assert defaults == [["transformer", "4"], ["recurrent", "1"]]
