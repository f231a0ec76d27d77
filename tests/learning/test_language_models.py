"""Through the real commands, a small language model learns to count, and a small classifier to tell words apart."""

import json
from pathlib import Path

import pytest
from commands import code_of
from language_models import counting_text

SHAPE = [
    "--width",
    "32",
    "--depth",
    "2",
    "--heads",
    "2",
    "--ffn-width",
    "64",
    "--max-length",
    "32",
    "--dropout",
    "0",
    "--processes",
    "1",
]
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counting")
    (folder / "text.txt").write_text(counting_text(400))
    options = ["--vocab-size", "290", "--steps", "120", "--batch-tokens", "256", *SHAPE]
    assert code_of("train", "gpt", "--text", folder / "text.txt", "--out", folder / "model", *options) == 0
    return folder / "model"


def test_it_has_learned_to_count(counts: Path, capsys: Output) -> None:
    capsys.readouterr()
    assert (
        code_of(
            "generate",
            counts,
            "three four five six seven eight\nfour five",
            "--temperature",
            "0",
            "--stop",
            "\n",
        )
        == 0
    )
    assert capsys.readouterr().out.splitlines()[1] == "four five six seven eight nine"


def test_known_text_has_a_low_perplexity(counts: Path, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "known.txt").write_text(counting_text(30))
    (tmp_path / "other.txt").write_text("nine one five zero two two\n" * 30)
    found = {}
    for name in ("known", "other"):
        capsys.readouterr()
        assert code_of("evaluate", counts, "--text", tmp_path / f"{name}.txt", "--json") == 0
        found[name] = json.loads(capsys.readouterr().out)["bits_per_byte"]
    assert found["known"] < 0.2 < 5 * found["known"] < found["other"]


def test_a_classifier_learns_from_it(counts: Path, tmp_path: Path, capsys: Output) -> None:
    """The label is whether the words go up; the settings are the automatic ones, and the texts asked about are new."""
    words = [*counting_text(1).split(), "six", "seven", "eight", "nine"]
    up = [[words[(first + n) % 10] for n in range(size)] for first in range(10) for size in range(4, 10)]
    rows = [f"{' '.join(each)}\tup" for each in up] + [f"{' '.join(each[::-1])}\tdown" for each in up]
    (tmp_path / "a.tsv").write_text(
        "".join(f"{row}\n" for row in [r for n, r in enumerate(rows) if n % 5] * 20)
    )
    (tmp_path / "new.tsv").write_text("".join(f"{row}\n" for row in rows[::5]))
    given = ["--fine-tune", counts, "--labels", tmp_path / "a.tsv", "--out", tmp_path / "m"]
    assert code_of("train", "gpt", *given, "--processes", "1") == 0
    capsys.readouterr()
    assert code_of("classify", tmp_path / "m", "--labels", tmp_path / "new.tsv") == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] >= 0.9
