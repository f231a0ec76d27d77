"""`qkv translate --input --output`: in order, in parts, and resumed after an interruption."""

import errno
import json
import os
from pathlib import Path

import pytest
from commands import code_of, refused
from digits import digit_lines

import qkv
from qkv.checkpoint.files import lock_file
from qkv.errors import DataError
from qkv.families.translator.lines import LineTranslation, without_line_breaks
from qkv.progress import terminal
from qkv.runtime import file_job

LINES = ["one two", "", "three", "👍", "  four ", "{name} five", *digit_lines(40)]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(file_job, "LINES_OF_A_PART", 7)
    path = tmp_path / "in.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def test_every_line_is_translated_in_order(model: Path, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    files = ("--input", source, "--output", out)
    assert code_of("translate", model, *files, "--compute-type", "float32") == 0
    translator = qkv.load(model, compute_type="float32")
    wanted = [without_line_breaks(text) for text in translator.translate(LINES)]
    assert out.read_text(encoding="utf-8").split("\n") == [*wanted, ""]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_an_ensemble_can_translate_a_file(model: Path, source: Path, tmp_path: Path) -> None:
    files = ("--input", source, "--output", tmp_path / "out.txt")
    assert code_of("translate", model, "--ensemble", model, *files, "--compute-type", "float32") == 0
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8").split("\n")) == len(LINES) + 1


def test_a_file_can_be_translated_to_standard_output(
    model: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("translate", model, "--input", source, "--num-hypotheses", "2") == 0
    printed = capsys.readouterr().out
    assert (
        code_of("translate", model, "--input", source, "--num-hypotheses", "2", "--output", tmp_path / "out")
        == 0
    )
    assert printed == (tmp_path / "out").read_text(encoding="utf-8")
    numbers = [int(line.split("\t")[0]) for line in printed.split("\n")[:-1]]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, len(LINES) + 1))


@pytest.mark.parametrize("options", [[], ["--json"], ["--num-hypotheses", "3"]], ids=str)
@pytest.mark.parametrize("parts", [0, 1, 3])
def test_an_interrupted_job_is_resumed_with_the_same_result(
    parts: int,
    options: list[str],
    model: Path,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert code_of("translate", model, "--input", source, "--output", whole, *options) == 0
    translated, real = [], LineTranslation.records

    def interrupted(*arguments: object, **more: object) -> list[str]:
        if len(translated) == parts:
            raise KeyboardInterrupt
        translated.append(1)
        return real(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(LineTranslation, "records", interrupted)
    command = ("translate", model, "--input", source, "--output", out, *options)
    assert code_of(*command) == 130
    assert ("Start the job again to resume it." in capsys.readouterr().err) == (parts > 0)
    assert not out.exists()
    with open(tmp_path / "out.part", "ab") as file:
        file.write(b"half a li")  # what was being written when it was killed
    monkeypatch.setattr(LineTranslation, "records", real)
    capsys.readouterr()
    assert code_of(*command) == 0
    assert out.read_bytes() == whole.read_bytes()
    assert ("resuming " in capsys.readouterr().err) == (parts > 0)
    assert not (tmp_path / "out.part").exists()
    assert not (tmp_path / "out.job").exists()


def test_a_job_without_a_terminal_prints_its_progress(
    model: Path,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "one two three. " * 40  # many pieces, and yet one line
    source.write_text("\n".join([*LINES, long, long]) + "\n", encoding="utf-8")
    monkeypatch.setattr("qkv.progress.delayed.QUIET", 0.0)
    monkeypatch.setattr(terminal, "LINE_EVERY", 0.0)
    command = ("translate", model, "--input", source, "--output")
    assert code_of(*command, tmp_path / "out") == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("translating: ")]
    total = len(LINES) + 2
    counts = [int(line.split()[1]) for line in told]
    assert len(counts) > 3
    assert counts == sorted(counts)
    assert all(line.split()[2:4] == ["of", f"{total},"] for line in told)
    assert counts[-1] < total
    monkeypatch.setattr(terminal, "LINE_EVERY", 60.0)
    assert code_of(*command, tmp_path / "quiet") == 0
    assert capsys.readouterr().err == ""


def test_a_job_with_other_options_is_not_resumed(
    model: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.part").write_text("something\n")
    note = {"job": {"other": 1}, "lines": 1, "bytes": 10}
    (tmp_path / "out.job").write_text(json.dumps(note))
    code = code_of("translate", model, "--input", source, "--output", tmp_path / "out")
    shown = capsys.readouterr()
    assert "was started with other options" in refused(shown.err, shown.out, code)
    assert (tmp_path / "out.part").read_text() == "something\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--input", "none.txt", "--output", "out"], "there is no file"),
        (["--input", "none.txt"], "cannot be read"),
        (["--input", "in.txt", "--output", "."], "--output . is a folder"),
        (["--input", "in.txt", "--output", "./in.txt"], "--output would overwrite the input"),
        (["--input", "in.txt", "--output", "/dev/null"], "/dev/null is not a regular file"),
        (["--input", "in.txt", "--output", "no/folder/out"], "there is no folder"),
        (["--input", "in.txt", "--output", "there"], "there already exists: .* or add --overwrite"),
        (["--input", "in.txt", "--output", "./in.txt", "--overwrite"], "--output would overwrite the input"),
        (["--output", "out"], "--output needs --input"),
        (["one", "--input", "in.txt"], "either texts or --input"),
        (["--input", "latin1.txt", "--output", "out"], "line 2 of .*latin1.txt is not UTF-8"),
    ],
    ids=str,
)
def test_wrong_files_are_rejected(
    options: list[str],
    sentence: str,
    model: Path,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("kept")
    (tmp_path / "latin1.txt").write_bytes("one\ngrößer\n".encode("latin1"))
    code = code_of("translate", model, *options)
    shown = capsys.readouterr()
    assert re.search(sentence, refused(shown.err, shown.out, code))
    assert (tmp_path / "there").read_text() == "kept"


def test_an_output_file_is_replaced_only_with_overwrite(model: Path, source: Path, tmp_path: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    out.write_text("of an earlier run")
    assert code_of("translate", model, "--input", source, "--output", whole) == 0
    assert code_of("translate", model, "--input", source, "--output", out, "--overwrite") == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("out.*"))


def test_two_processes_cannot_run_the_same_job(
    model: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.txt"
    part = tmp_path / "out.txt.part"
    with lock_file(part, "not reached"):
        code = code_of("translate", model, "--input", source, "--output", out)
        shown = capsys.readouterr()
        assert "another process is writing" in refused(shown.err, shown.out, code)
    assert part.exists()  # it is the first one's
    assert code_of("translate", model, "--input", source, "--output", out) == 0
    assert not part.exists()
    assert out.read_text(encoding="utf-8").count("\n") == len(LINES)


@pytest.mark.parametrize("appears", ["file", "folder", "link"])
def test_a_file_that_appears_during_a_job_is_not_overwritten_and_the_result_is_kept(
    appears: str,
    model: Path,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, whole, real = tmp_path / "out", tmp_path / "whole", LineTranslation.records
    assert code_of("translate", model, "--input", source, "--output", whole) == 0

    def meanwhile(*arguments: object, **more: object) -> list[str]:
        if not os.path.lexists(out):
            {
                "file": lambda: out.write_text("kept"),
                "folder": out.mkdir,
                "link": lambda: out.symlink_to(tmp_path / "nowhere"),
            }[appears]()
        return real(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(LineTranslation, "records", meanwhile)
    command = ("translate", model, "--input", source, "--output", out)
    code = code_of(*command)
    shown = capsys.readouterr()
    assert "start the job again" in refused(shown.err, shown.out, code)
    assert appears != "file" or out.read_text() == "kept"
    out.rename(tmp_path / "moved")
    monkeypatch.setattr(
        LineTranslation, "records", lambda *_, **__: pytest.fail("nothing is translated twice")
    )
    assert code_of(*command) == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.parametrize(
    "note",
    [
        "",
        "[]",
        "null",
        "{",
        "[" * 100_000,
        '{"job": "x"}',
        '{"job": 1, "lines": "1", "bytes": 1}',
        '{"job": "x", "lines": -1, "bytes": 1}',
        '{"job": "x", "lines": 1, "bytes": 1e99}',
        '{"job": "x", "lines": 1, "bytes": 1, "more": 1}',
        '{"job": "x", "lines": 99999, "bytes": 1}',
    ],
    ids=lambda note: note[:40],
)
def test_a_damaged_note_of_a_job_is_one_error_message(note: str, source: Path, tmp_path: Path) -> None:
    part = tmp_path / "out.part"
    part.write_text("something\n")
    (tmp_path / "out.job").write_text(note)
    with pytest.raises(DataError, match=r"out\.job is damaged: remove it and .*out\.part"):
        file_job.FileJob(source, tmp_path / "out", {}).run(lambda *_: pytest.fail("nothing is translated"))
    assert part.read_text() == "something\n"


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_just_before_the_renaming_is_not_replaced(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, output = tmp_path / "out.part", tmp_path / "out"
    part.write_text("ours")
    if links:  # nothing looks at the output first, so nothing can come between
        monkeypatch.setattr(os.path, "lexists", lambda _: False)
    else:
        monkeypatch.setattr(os, "link", lambda *_: raise_not_supported())
    output.write_text("theirs")
    with pytest.raises(FileExistsError):
        file_job.rename_new(part, output)
    assert (part.read_text(), output.read_text()) == ("ours", "theirs")
    output.unlink()
    file_job.rename_new(part, output)
    assert output.read_text() == "ours"
    assert not part.exists()


def raise_not_supported() -> None:
    raise OSError(errno.EOPNOTSUPP, "no hard links here")
