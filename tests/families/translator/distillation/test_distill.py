"""`qkv distill`: what a student learns from, what is repeated, and what is rejected."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import code_of, refused
from distillation_runs import STUDENT

import qkv
from qkv.cli import DATA, USAGE
from qkv.families.translator.distillation import reading
from qkv.families.translator.distillation.teachers import Teachers

FULL = [
    "one", "two", "--text", "text.txt", "--pairs", "pairs.tsv", "--valid-pairs", "valid.tsv", "--reverse", "reverse",
    "--target-text", "target.txt", "--max-copied", "1",
]  # fmt: skip


def distill(*options: str, out: str = "student") -> int:
    return code_of("distill", "--output", out, *STUDENT, *options)


def report_of(out: str = "student") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(out, "report.json").read_text())["distillation"]
    return found


def training_data(work: str = "student/training/distillation") -> list[str]:
    [path] = Path(work).glob("training-data-*.tsv")
    return path.read_text().splitlines()


def nothing_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the teachers translate again")

    monkeypatch.setattr(Teachers, "propose", fail)


@pytest.mark.usefixtures("data")
def test_a_student_is_made_from_text_pairs_and_target_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert distill(*FULL, "--repeat-pairs", "2") == 0
    rows, report = training_data(), report_of()
    parts = report["data"]["parts"]
    assert parts["true pairs"] == {"pairs": 60, "kept": 60, "dropped": {}}
    assert parts["translated text"]["pairs"] == 49  # the blank line and the repeated one are gone
    back = parts["back-translated text"]
    assert back["pairs"] == 9
    assert sum(row.startswith("<bt> ") for row in rows) == back["kept"] > 0
    assert rows.count("one one one\tone one one") == 2  # a true pair, twice
    kept = sum(part["kept"] for part in parts.values())
    assert len(rows) == kept + 60
    assert [each["name"] for each in report["teachers"]] == ["one", "two"]
    assert report["size"]["parameters"] == qkv.load("student")._network.parameters
    assert report["speed"]["student_words_per_second"] > 0
    part = report["sets"]["valid"]
    for key in ("bleu", "chrf"):
        lost = part["student"][key]["value"] - part["teachers"][key]["value"]
        assert part["difference"][key]["value"] == pytest.approx(lost)
        interval = part["difference"][key]["interval"]
        assert interval["low"] <= interval["mean"] <= interval["high"]
    assert report["shortlist"]["kept"] == Path("student/shortlist.safetensors").is_file()
    card = Path("student/README.md").read_text()
    assert "| two | " in card
    assert "95 % interval" in capsys.readouterr().err


@pytest.mark.usefixtures("data")
def test_the_same_command_repeats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert distill(*FULL) == 0
    before = Path("student/report.json").read_bytes()
    nothing_is_translated(monkeypatch)
    monkeypatch.setattr("qkv.api.distillation.execute", None)  # nothing is trained either
    assert distill(*FULL) == 0
    assert Path("student/report.json").read_bytes() == before


@pytest.mark.usefixtures("data")
def test_a_changed_filter_translates_nothing_again() -> None:
    assert distill(*FULL, "--work", "work") == 0
    valid = report_of()["sets"]["valid"]["teachers"]
    translated = {path: path.stat().st_mtime_ns for path in Path("work").glob("translated-*")}
    assert distill(*FULL, "--work", "work", "--reverse-drop", "0.5", "--seed", "3", out="second") == 0
    assert {path: path.stat().st_mtime_ns for path in Path("work").glob("translated-*")} == translated
    assert len(list(Path("work").glob("training-data-*.tsv"))) == 2
    assert report_of("second")["sets"]["valid"]["teachers"] == valid
    dropped = report_of("second")["data"]["parts"]["translated text"]["dropped"]
    assert dropped["low reverse score"] > report_of()["data"]["parts"]["translated text"]["dropped"].get(
        "low reverse score", 0
    )


@pytest.mark.usefixtures("data")
def test_a_student_in_training_keeps_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert distill(*FULL) == 0
    before = Path("student/model.safetensors").read_bytes()
    capsys.readouterr()
    code = distill(*FULL, "--max-ratio", "3")
    message = refused(capsys.readouterr().err, "", code)
    assert "changed: --max-ratio." in message
    code = distill(*FULL, "--width", "32")
    assert "these differ: --width" in refused(capsys.readouterr().err, "", code)
    assert Path("student/model.safetensors").read_bytes() == before
    compared = report_of()
    qkv.resume("student", steps=10, progress=False)
    assert report_of() == {**compared, "trained_further": True}
    assert "trained further after this comparison" in Path("student/README.md").read_text()


@pytest.mark.usefixtures("data")
def test_without_true_pairs_the_student_is_compared_on_held_out_text() -> None:
    assert distill("one", "--text", "text.txt", "--max-copied", "1") == 0
    part = report_of()["sets"]["valid"]
    assert part["references"] == "teachers"
    assert part["teachers"]["chrf"]["value"] == 100
    [held] = Path("student/training/distillation").glob("text-*.held.txt")
    sources = {row.split("\t")[0] for row in training_data()}
    assert held.read_text().splitlines()
    assert sources.isdisjoint(held.read_text().splitlines())


@pytest.mark.usefixtures("data")
def test_teachers_with_different_vocabularies_agree_on_a_translation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        distill("one", "other", "--text", "text.txt", "--valid-pairs", "valid.tsv", "--max-copied", "1") == 0
    )
    assert "2 different vocabularies" in capsys.readouterr().err
    assert report_of()["sets"]["valid"]["teachers"]["chrf"]["value"] > 60


@pytest.mark.usefixtures("data")
def test_word_level_distillation_takes_the_vocabulary_of_the_teachers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = ["--text", "text.txt", "--valid-pairs", "valid.tsv", "--max-copied", "1", "--word-level"]
    without = [each for each in STUDENT if each not in ("--vocab-size", "270")]
    assert code_of("distill", "--output", "student", *without, "one", "two", *own) == 0
    tokenizers = [Path(name, "tokenizer.json").read_bytes() for name in ("student", "one")]
    assert tokenizers[0] == tokenizers[1]
    settings = json.loads(Path("student/training/run.json").read_text())["settings"]
    assert [Path(each).name for each in settings["distillation"]["teacher_models"]] == ["one", "two"]
    assert (
        code_of("distill", "--output", "student", *without, "one", "two", *own) == 0
    )  # resumes, and is complete
    code = code_of("distill", "--output", "other-student", *without, "one", "other", *own)
    assert "different vocabularies" in capsys.readouterr().err
    assert code == DATA


@pytest.mark.usefixtures("data")
def test_data_and_models_of_a_program_become_a_student() -> None:
    text = [line for line in Path("text.txt").read_text().splitlines() if line]
    pairs = [tuple(line.split("\t")) for line in Path("pairs.tsv").read_text().splitlines()]
    teacher = qkv.load("one")
    teacher._opened = None  # in memory only
    options = dict(zip(STUDENT[::2], STUDENT[1::2], strict=True))
    numbers = {
        name[2:].replace("-", "_"): int(value) for name, value in options.items() if name != "--precision"
    }
    others = {"dropout": 0.0, "precision": "float32"}
    student = qkv.distill(
        teacher, text, pairs=pairs, output="python", progress=False, **{**numbers, **others}
    )
    assert student.report["distillation"]["data"]["text"]["kept"] == 49
    assert student.report["distillation"]["teachers"][0]["name"] == "teacher-1"
    assert student.translate("one two") == qkv.load("python").translate("one two")


# Bad input ---------------------------------------------------------------------------------------------------


def bad(data: Path) -> dict[str, tuple[list[str], int, str]]:
    (data / "empty.txt").write_text("\n \n")
    (data / "latin.txt").write_bytes("Größe\n".encode("latin1"))
    (data / "swapped.de").write_text("one two\n" * 20)
    (data / "swapped.en").write_text("two one\n" * 20)
    text = ["--text", "text.txt"]
    return {
        "languages": (["one", "reverse", *text], DATA, "one from en to de, reverse from de to en"),
        "direction": (["one", *text, "--reverse", "two"], DATA, "must translate from de to en"),
        "no model": (["missing", *text], DATA, "there is no folder missing"),
        "empty": (["one", "--text", "empty.txt"], DATA, "empty.txt is empty"),
        "missing text": (["one", "--text", "no.txt"], DATA, "there is no file no.txt"),
        "encoding": (["one", "--text", "latin.txt"], DATA, "latin.txt is not UTF-8 (line 1)"),
        "nothing": (["one"], USAGE, "give the teachers something to translate: --text"),
        "no reverse": (["one", *text, "--target-text", "target.txt"], USAGE, "--target-text needs --reverse"),
        "sides": (["one", *text, "--source", "swapped.de", "--target", "swapped.en"], DATA, "the pairs are de to en"),
        "share": (["one", *text, "--reverse-drop", "1"], USAGE, "--reverse-drop must be at least 0 and below 1"),
        "two tests": (["one", *text, "--test-source", "text.txt"], USAGE, "--test-source and --test-target"),
        "another run": (["one", *text, "--output", "two"], USAGE, "two already holds another training run"),
    }  # fmt: skip


NAMES = (
    "languages", "direction", "no model", "empty", "missing text", "encoding", "nothing", "no reverse", "sides", "share",
    "two tests", "another run",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_one_message_and_leaves_nothing(
    name: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, code, message = bad(data)[name]
    out = [] if "--output" in arguments else ["--output", "student"]
    assert code_of("distill", *arguments, *out, *STUDENT) == code
    printed = capsys.readouterr()
    assert message in refused(printed.err, printed.out, code)
    assert not Path("student/model.safetensors").exists()


def test_text_in_another_language_is_a_warning_with_a_figure(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("py3langid")
    german = "Der alte Mann saß gestern Abend mit seinem Hund am Fluss und las die Zeitung, Nummer"
    (data / "german.txt").write_text("".join(f"{german} {n}.\n" for n in range(30)))
    assert (
        distill("one", "--text", "german.txt", "text.txt", "--valid-pairs", "valid.tsv", "--max-copied", "1")
        == 0
    )
    printed = " ".join(capsys.readouterr().err.split())
    assert "100 % of 30 lines from german.txt, text.txt are not in the language 'en'" in printed
    assert "look like 'de'" in printed


def test_a_line_without_an_end_is_never_held_in_memory(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE", 64)
    (data / "long.txt").write_text("one two\n" + "three " * 1_000 + "\nfour\n")
    lines = list(reading.plain_lines(data / "long.txt"))
    assert lines == ["one two", reading.TOO_LONG_MARK, "four"]


@pytest.mark.usefixtures("data")
def test_a_damaged_result_is_made_again() -> None:
    assert distill("one", "--text", "text.txt", "--max-copied", "1", "--work", "work") == 0
    [path] = Path("work").glob("translated-text-*.tsv")
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    shutil.rmtree("student")
    assert distill("one", "--text", "text.txt", "--max-copied", "1", "--work", "work") == 0
    assert path.read_bytes() == content
