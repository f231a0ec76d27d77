"""`qkv translate`: one output line per input line, in order, and nothing else on standard output."""

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from commands import ENVIRONMENT, code_of, process, refused

import qkv
from qkv.engine import NoEngineError
from qkv.engine.library import CACHE, cache_folder, library
from qkv.families.translator.lines import LineTranslation, without_line_breaks


@contextmanager
def standard_input(content: bytes, folder: Path) -> Iterator[None]:
    path = folder / "standard-input"
    path.write_bytes(content)
    before, handle = os.dup(0), os.open(path, os.O_RDONLY)
    os.dup2(handle, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(handle)


def test_an_argument_that_is_not_utf8_is_rejected(model: Path) -> None:
    running = process("translate", str(model), b"\xff\xfe")
    out, error = running.communicate(timeout=60)
    assert "the text is not UTF-8" in refused(error.decode(), out.decode(), running.returncode)


LINES = ["one two", "", "three", " ", "👍", "\x07\x1b", "4 5 6", "  four five  ", "six " * 300, "seven"]


@pytest.mark.parametrize("lines_at_once", [1, 3, 2_000])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_every_line_is_translated_in_order_with_any_batch_size(
    ending: str,
    lines_at_once: int,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("qkv.cli.texts.LINES_AT_ONCE", lines_at_once)
    with standard_input(("\n".join(LINES) + ending).encode(), tmp_path):
        assert code_of("translate", model) == 0
    answers = capsys.readouterr().out.split("\n")
    translator = qkv.load(model)
    assert answers == [
        *(without_line_breaks(translator.translate(line)) for line in LINES),
        "",
    ]
    assert [answers[place] for place in (1, 3, 4, 5, 6)] == ["", " ", "👍", "\x07\x1b", "4 5 6"]


def test_windows_line_endings_change_nothing(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with standard_input(b"one two\r\n\r\nthree\r\n", tmp_path):
        assert code_of("translate", model) == 0
    windows = capsys.readouterr().out
    with standard_input(b"one two\n\nthree\n", tmp_path):
        assert code_of("translate", model) == 0
    assert windows == capsys.readouterr().out
    assert windows.count("\n") == 3


def test_all_lines_of_a_large_file_are_translated(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """More than one block of reading and more than one batch of lines, with lines across the seams."""
    numbers = [str(number) for number in range(30_000)]
    with standard_input("\n".join(numbers).encode(), tmp_path):
        assert code_of("translate", model) == 0
    assert capsys.readouterr().out.splitlines() == numbers


def test_no_input_gives_no_output(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with standard_input(b"", tmp_path):
        assert code_of("translate", model) == 0
    assert capsys.readouterr().out == ""


def test_input_that_is_not_utf8_is_rejected_with_its_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with standard_input(b"one\ntwo\n\xff\xfe\nfour\n", tmp_path):
        code = code_of("translate", model)
    shown = capsys.readouterr()
    assert "line 3 of standard input is not UTF-8" in refused(shown.err, shown.out, code)


def test_text_arguments_get_one_line_each(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("translate", model, "one two", "", "three", "--beam", "2") == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") == 3
    assert shown.out.split("\n")[1] == ""
    assert shown.err == ""


def test_every_line_of_a_text_argument_is_translated_and_line_breaks_are_kept(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("translate", model, "one two\n\nthree\r\nfour", "five") == 0
    found = capsys.readouterr().out
    assert code_of("translate", model, "one two", "", "three", "four", "five") == 0
    assert found == capsys.readouterr().out
    assert found.count("\n") == 5


def test_an_invalid_beam_size_is_rejected(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = code_of("translate", model, "one", "--beam", "0")
    shown = capsys.readouterr()
    assert "--beam-size must be from 1" in refused(shown.err, shown.out, code)


@pytest.mark.parametrize("penalty", ["1000", "inf", "-1", "nan"])
def test_an_infinite_length_penalty_is_rejected(
    penalty: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of("translate", model, "one", "--beam", "2", f"--length-penalty={penalty}")
    shown = capsys.readouterr()
    assert "--length-penalty must be from 0 to 50" in refused(shown.err, shown.out, code)


def test_the_largest_length_penalty_works(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("translate", model, "one two", "--beam", "2", "--length-penalty", "50") == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_a_line_on_a_pipe_is_translated_before_the_next_is_sent(model: Path) -> None:
    translator = qkv.load(model)
    with process("translate", str(model)) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for line in ("one two", "", "seven"):
            running.stdin.write(f"{line}\n".encode())
            running.stdin.flush()
            ready, _, _ = select.select([running.stdout], [], [], 60)
            assert ready, "the answer did not come while the pipe was open"
            answer = running.stdout.readline().decode()
            assert answer == f"{without_line_breaks(translator.translate(line))}\n"
        out, _ = running.communicate(timeout=60)
    assert (out, running.returncode) == (b"", 0)


def test_a_closed_pipe_is_not_an_error(model: Path) -> None:
    with process("translate", str(model)) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(b"1\n2\n")
        running.stdin.flush()
        assert running.stdout.readline() == b"1\n"
        running.stdout.close()
        with suppress(BrokenPipeError):  # it may have ended before it has read all of this
            running.stdin.write(b"3\n" * 50_000)
        with suppress(BrokenPipeError):
            running.stdin.close()
        error = running.stderr.read()
        running.wait(timeout=60)
    assert (running.returncode, error) == (0, b"")


# What can be asked for ------------------------------------------------------------------------------------


def columns(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_scores_and_alignments_are_columns(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("translate", model, "one two", "three", "--scores", "--alignments") == 0
    for text, score, sure, alignment in columns(capsys):
        assert float(score) < 0
        assert sure == ""  # nobody has calibrated this model
        pairs = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        assert all(target < len(text.split()) for _, target in pairs)


def test_several_hypotheses_have_the_number_of_their_line(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        code_of(
            "translate",
            model,
            "one two",
            "three",
            "--num_hypotheses",
            "3",
            "--beam",
            "4",
            "--compute-type",
            "float32",
        )
        == 0
    )
    assert [row[0] for row in columns(capsys)] == ["1", "1", "1", "2", "2", "2"]


def test_json_has_scores_words_and_alignments(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("translate", model, "one two", "", "--json", "--num_hypotheses", "2") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["line"], first["source"], second["line"]) == (1, "one two", 2)
    best = first["translations"][0]
    assert set(best) == {"text", "score", "log_probability", "confidence", "words", "alignment"}
    assert [word for word, _ in best["words"]] == best["text"].split()
    assert len(first["translations"]) == 2
    assert second["translations"][0]["text"] == ""


def test_glossary_terms_and_phrases_are_in_the_output(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "terms.tsv").write_text("two\tzwei\n")
    options = [
        "--glossary",
        tmp_path / "terms.tsv",
        "--contain",
        "seven",
        "--avoid",
        "nine",
        "--prefix",
        "six",
    ]
    assert code_of("translate", model, "one two", "three {x}", *options) == 0
    first, second = (row[0] for row in columns(capsys))
    for answer in (first, second):
        assert answer.startswith("six")
        assert "seven" in answer
        assert "nine" not in answer
    assert "zwei" in first
    assert second.count("{x}") == 1


def test_the_same_seed_gives_the_same_sample(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for seed in ("1", "1", "2"):
        assert (
            code_of("translate", model, "one two three", "--sample", "--temperature", "2", "--seed", seed)
            == 0
        )
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] != found[2]


def test_without_a_compiler_translations_are_the_same_with_one_warning(model: Path, tmp_path: Path) -> None:
    lines = ["one two", "three four five", "six"]
    usual, without = (
        process("translate", str(model), *lines, env={**ENVIRONMENT, **changed})
        for changed in ({}, {"CXX": "no-such-compiler", "QKV_CACHE": str(tmp_path)})
    )
    wanted, silence = usual.communicate(timeout=120)
    found, warning = without.communicate(timeout=120)
    assert (usual.returncode, without.returncode) == (0, 0)
    assert found == wanted
    assert warning.decode().count("the compiled engine is unavailable") == 1
    assert b"engine" not in silence


@pytest.mark.parametrize("compute", ["float32", "bf16", "int8"])
def test_every_compute_type_translates(compute: str, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("translate", model, "one two", "--compute-type", compute, "--threads", "1") == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--top-p", "0.5"], "can only be used with --sample"),
        (["--seed", "1"], "can only be used with --sample"),
        (["--sample", "--top-p", "2"], "top-p must be in"),
        (["--sample", "--temperature", "0"], "temperature must be above 0"),
        (["--min-confidence", "0.5"], "has no calibrated confidence"),
        (["--min-confidence", "5"], "--min-confidence must be in [0, 1]"),
        (["--withhold"], "--withhold needs --min-confidence"),
        (["--protect", "names"], "--protect accepts"),
        (["--threads", "0"], "--threads must be from 1 to"),
        (["--num_hypotheses", "0"], "--num-hypotheses must be from 1 to"),
        (["--glossary", "none.tsv"], "there is no glossary"),
        (["--contain", "nine", "--avoid", "nin"], "cannot contain"),
        (["--ensemble", "nowhere"], "there is no folder nowhere"),
    ],
    ids=str,
)
def test_contradictory_options_are_rejected(
    options: list[str], sentence: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of("translate", model, "one", *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_unsure_translations_are_marked_or_withheld(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sure = tmp_path / "sure"
    shutil.copytree(model, sure)
    config = json.loads((sure / "config.json").read_text())
    config["confidence"] = {"bias": 0.0, "weights": [0.0, 0.0, 0.0], "good": "always half"}
    (sure / "config.json").write_text(json.dumps(config))
    assert code_of("translate", sure, "one two", "42", "--min-confidence", "0.6") == 0
    marked, copied = capsys.readouterr().out.splitlines()
    assert marked.startswith("[unsure] ")
    assert copied == "42"
    assert code_of("translate", sure, "one two", "42", "--min-confidence", "0.6", "--withhold") == 0
    assert capsys.readouterr().out == "\n42\n"
    assert code_of("translate", sure, "one two", "--min-confidence", "0.4", "--scores") == 0
    ((text, _, confidence),) = columns(capsys)
    assert (text.startswith("[unsure]"), confidence) == (False, "0.500")


def test_lines_are_printed_before_the_next_ones_are_translated(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[int] = []
    records = LineTranslation.records

    def watched(*given: Any, **named: Any) -> list[str]:
        printed.append(capsys.readouterr().out.count("\n"))
        return records(*given, **named)

    monkeypatch.setattr(LineTranslation, "records", watched)
    (tmp_path / "lines").write_text("".join(f"{number}\n" for number in range(300)))
    assert code_of("translate", model, "--input", tmp_path / "lines") == 0
    assert printed[0] == 0
    assert all(more > 0 for more in printed[1:])
    assert len(printed) >= 3


WITHOUT_NUMPY = """
import sys
from qkv.cli import main
from qkv.engine import packed_file
from qkv.families.translator.guarantees.retry import Retry
packed_file.LEAST = 1
Retry.is_sound = lambda *_: True  # an untrained model loops, and retries need NumPy
main(["translate", sys.argv[1], "one two"])
assert ("numpy" in sys.modules) == (sys.argv[2] == "first"), sys.argv[2]
assert "sqlite3" not in sys.modules, "only a translation memory needs it"
"""


def test_numpy_is_imported_only_to_pack_the_weights(model: Path, tmp_path: Path) -> None:
    """Importing NumPy takes longer than all that a short translation needs."""
    try:
        library()
    except NoEngineError as reason:
        pytest.skip(f"the engine cannot be built here: {reason}")
    shutil.copytree(cache_folder(), tmp_path / "cache", ignore=shutil.ignore_patterns("packed-*"))
    said = [
        subprocess.run(
            [sys.executable, "-c", WITHOUT_NUMPY, str(model), turn],
            env={**ENVIRONMENT, CACHE: str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for turn in ("first", "second")
    ]
    assert said[0] == said[1] != ""
