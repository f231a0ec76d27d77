"""`qkv clean` from the command line."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ENVIRONMENT, code_of

from qkv.data.worlds import pairs

QUICK = ["--near-duplicates", "0", "--processes", "1"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Good pairs, one of them twice, and one in another language."""
    found = dict.fromkeys((pair.source, pair.target) for pair in pairs("en", "de", 400, part="train"))
    lines = [f"{source}\t{target}\tworld\n" for source, target in found]
    lines += [
        lines[0],
        "The committee has adopted the report.\tLa commissione ha approvato la relazione.\teu\n",
    ]
    path = tmp_path / "train.en-de.tsv"
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return path


def test_dropped_pairs_are_not_written_and_the_report_says_why(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, report = tmp_path / "clean.tsv.gz", tmp_path / "report.json"
    lines = corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    assert code_of("clean", "--pairs", corpus, "--output", output, "--report", report, *QUICK) == 0
    shown = capsys.readouterr().out
    found = json.loads(report.read_text(encoding="utf-8"))
    kept = gzip.decompress(output.read_bytes()).decode("utf-8").splitlines(keepends=True)
    assert kept[0] == lines[0]
    assert set(kept) <= set(lines)
    assert len(kept) == found["kept"] == len(lines) - sum(found["dropped"].values())
    assert found["dropped"]["duplicate"] == found["dropped"]["other language"] == 1
    assert f"kept {len(kept):,} of {len(lines):,} pairs" in shown
    assert "La commissione ha approvato la relazione." in shown
    again = tmp_path / "again.tsv.gz"
    assert code_of("clean", "--pairs", corpus, "--output", again, *QUICK) == 0
    assert again.read_bytes() == output.read_bytes()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "give the corpus: either --pairs, or both --source and --target"),
        (["--source", "train.en-de.tsv"], "give the corpus"),
        (["--pairs", "no.tsv"], "there is no file no.tsv"),
        (["--pairs", "."], "the languages are unknown: give --source-language"),
        (
            ["--pairs", "/dev/null", "--language-confidence", "0"],
            "/dev/null is not a regular file. A corpus is read several",
        ),
        (["--pairs", "train.en-de.tsv", "--output", "train.en-de.tsv"], "--output would overwrite"),
        (["--pairs", "train.en-de.tsv", "--output", "clean.txt"], "must end in .tsv or .tsv.gz"),
        (["--pairs", "train.en-de.tsv", "--max-ratio", "0"], "max-ratio must be at least 1"),
        (["--pairs", "train.en-de.tsv", "--max-words", "1", "--output", "x.tsv"], "no pairs are left"),
    ],
)
def test_a_mistake_is_one_error_message_and_nothing_is_written(
    options: list[str],
    sentence: str,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(corpus.parent)
    assert code_of("clean", *options) == (3 if "there is no file" in sentence else 2)
    assert sentence in capsys.readouterr().err
    assert [path.name for path in corpus.parent.iterdir()] == [corpus.name]


def test_cleaning_needs_no_torch(corpus: Path) -> None:
    program = "import sys; from qkv.cli import main; main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    command = [sys.executable, "-c", program, "clean", "--pairs", str(corpus), *QUICK]
    found = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, encoding="utf-8")
    assert found.returncode == 0, found.stderr
    assert "kept " in found.stdout


def test_a_small_corpus_is_warned_of_the_good_pairs_that_it_may_lose(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for least, warned in (("9", True), ("None", False)):
        code_of("clean", "--pairs", corpus, "--language-confidence", "0", "--min-alignment", least)
        assert ("402 pairs are few to learn a dictionary from" in capsys.readouterr().err) == warned
