"""`qkv translate`: a line for every line, in order, and nothing else on standard output."""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from commands import code_of, process, refused

import qkv
from qkv.cli import translate as translate_command


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


def test_an_argument_that_is_not_utf8_is_refused(model: Path) -> None:
    running = process("translate", str(model), b"\xff\xfe")
    out, error = running.communicate(timeout=60)
    assert "the text is not UTF-8" in refused(error.decode(), out.decode(), running.returncode)


LINES = ["one two", "", "three", " ", "👍", "\x07\x1b", "4 5 6", "  four five  ", "six " * 300, "seven"]


@pytest.mark.parametrize("lines_at_once", [1, 3, 2_000])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_every_line_is_answered_in_order_whatever_the_batching(
    ending: str,
    lines_at_once: int,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(translate_command, "LINES_AT_ONCE", lines_at_once)
    with standard_input(("\n".join(LINES) + ending).encode(), tmp_path):
        assert code_of("translate", model) == 0
    answers = capsys.readouterr().out.split("\n")
    translator = qkv.load(model)
    assert answers == [*(translate_command.without_breaks(translator.translate(line)) for line in LINES), ""]
    assert [answers[place] for place in (1, 3, 4, 5, 6)] == ["", " ", "👍", "\x07\x1b", "4 5 6"]


def test_windows_line_ends_change_nothing(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with standard_input(b"one two\r\n\r\nthree\r\n", tmp_path):
        assert code_of("translate", model) == 0
    windows = capsys.readouterr().out
    with standard_input(b"one two\n\nthree\n", tmp_path):
        assert code_of("translate", model) == 0
    assert windows == capsys.readouterr().out
    assert windows.count("\n") == 3


def test_many_lines_of_a_large_file_are_all_answered(
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


def test_input_that_is_not_utf8_is_refused_with_its_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with standard_input(b"one\ntwo\n\xff\xfe\nfour\n", tmp_path):
        code = code_of("translate", model)
    shown = capsys.readouterr()
    assert "line 3 of standard input is not UTF-8" in refused(shown.err, shown.out, code)


def test_text_arguments_get_one_line_each(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("translate", model, "one two", "", "three\nfour", "--beam", "2") == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") == 3
    assert shown.out.split("\n")[1] == ""
    assert shown.err == ""


def test_a_bad_beam_is_refused(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = code_of("translate", model, "one", "--beam", "0")
    shown = capsys.readouterr()
    assert "--beam must be at least 1" in refused(shown.err, shown.out, code)


def test_a_line_on_a_pipe_is_answered_before_the_next_is_sent(model: Path) -> None:
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
            assert answer == f"{translate_command.without_breaks(translator.translate(line))}\n"
        out, _ = running.communicate(timeout=60)
    assert (out, running.returncode) == (b"", 0)


def test_a_reader_that_leaves_early_is_no_error(model: Path) -> None:
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
