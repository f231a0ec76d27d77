"""`qkv train translator`: error messages, interrupting and resuming."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import TINY, code_of, content, process, refused, training
from digits import digit_lines

from qkv.checkpoint.files import read_json
from qkv.cli import DATA
from qkv.cli.fields import names_in

TRAINING_MISTAKES = {
    "unequal files": (["--target", "shorter.xx"], "has 60 lines but"),
    "an empty file": (["--target", "empty.xx"], "empty.xx is empty"),
    "not UTF-8": (["--target", "latin1.xx"], "latin1.xx is not UTF-8 (line 1)"),
    "a missing file": (["--target", "nowhere.xx"], "nowhere.xx"),
    "a folder for a file": (["--target", "."], "is a folder"),
    "one validation file": (["--valid-source", "a.en"], "either as --valid-source and --valid-target, or as --valid-pairs"),
    "two files and pairs": (["--pairs", "a.tsv"], "--pairs and --source cannot be combined"),
    "too large a vocabulary": (["--vocab-size", "5000"], "the data yield a vocabulary of"),
    "too small a vocabulary": (["--vocab-size", "10"], "a vocabulary of 10 is too small"),
    "an unknown recipe": (["--recipe", "paper-bas"], "there is no recipe 'paper-bas'; did you mean paper-base?"),
    "no step": (["--steps", "0"], "--steps must be at least 1"),
    "never validating": (["--validate-every", "0"], "--validate-every must be at least 1"),
    "heads that do not divide": (["--heads", "3"], "--width must be a multiple of --heads"),
    "a file above --out": (["--out", "a.en/out"], "a.en is a file, not a folder: give another --output."),
    "one file for both sides": (["--target", "./a.en"], "--source and --target are the same file"),
    "a file as --out": (["--out", "a.en"], "a.en is a file, not a folder: give another --output."),
}  # fmt: skip


def test_help_on_training_shows_an_example_and_every_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("train", "translator", "--help") == 0
    shown = capsys.readouterr().out
    assert "qkv train translator --source a.en --target a.de --output runs/en-de" in shown
    for word in (
        "--width",
        "--learning-rate",
        "--source",
        "automatic",
        "built-in",
        "paper-base",
        "--help-all",
    ):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= 130


@pytest.mark.parametrize("mistake", TRAINING_MISTAKES)
def test_a_mistake_in_training_is_one_error_message_and_nothing_is_written(
    mistake: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    options, sentence = TRAINING_MISTAKES[mistake]
    before = content(files)
    code = code_of(*training(files, "--steps", "3", *options))
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)
    assert content(files) == before


def test_a_missing_model_is_reported_before_the_data_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["--source", "no-file.en", "--target", "no-file.de"]
    assert code_of("train", "translator", "--fine-tune", "no-model", *files, "--out", "out") == 3
    assert "there is no folder no-model" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_training_without_files_asks_for_them(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = code_of("train", "translator", "--out", files / "out")
    shown = capsys.readouterr()
    assert "give the training data" in refused(shown.err, shown.out, code)
    code = code_of("train", "translator", "--source", files / "a.en", "--out", files / "out")
    shown = capsys.readouterr()
    assert "--target is missing" in refused(shown.err, shown.out, code)


def test_resuming_a_run_that_does_not_exist_needs_the_data(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of("train", "translator", "--resume", "--out", files / "out")
    shown = capsys.readouterr()
    assert "name the training data to start a new run" in refused(shown.err, shown.out, code)


@pytest.mark.parametrize("killed", ["before anything", "while the vocabulary was written"])
def test_the_same_command_with_resume_starts_and_resumes_a_run(killed: str, files: Path) -> None:
    if killed == "while the vocabulary was written":
        (files / "out" / "training").mkdir(parents=True)
        (files / "out" / "training" / "tokenizer.json").write_text("{")
    command = training(files, "--steps", "3", "--resume")
    assert code_of(*command) == 0
    before = content(files)
    assert code_of(*command) == 0
    assert content(files).keys() == before.keys()
    assert read_json(files / "out" / "report.json")["training"]["steps"] == 3


@pytest.mark.parametrize("option", ["--sorce", "--widht", "--beam"])
def test_an_unknown_option_is_named_before_any_work_is_done(
    option: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(files)
    code = code_of(*training(files, option, "3"))
    shown = capsys.readouterr()
    assert f"unrecognized argument {option}" in refused(shown.err, shown.out, code)
    assert "pairs read" not in shown.err
    assert content(files) == before


def test_an_option_with_underscores_counts_as_given() -> None:
    """Otherwise the default that follows from other options would replace it."""
    assert names_in(["--validate_every=50", "--steps", "100"]) == {
        "--validate-every",
        "--steps",
    }


def test_the_real_process_ends_with_code_two_and_no_traceback(files: Path) -> None:
    running = process(*training(files, target="shorter.xx"))
    out, error = running.communicate(timeout=60)
    assert "the files must match line by line" in refused(error.decode(), out.decode(), running.returncode)


def test_only_the_first_process_prints_an_error(files: Path) -> None:
    before = content(files)
    running = process(*training(files, "--vocab-size", "5000", "--processes", "2"))
    out, error = running.communicate(timeout=60)
    assert "the data yield a vocabulary of" in refused(error.decode(), out.decode(), running.returncode)
    assert content(files) == before


def test_training_prints_nothing_on_standard_output(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    for part in ("60 pairs read\n", "to train on", "validation loss", "exact match"):
        assert part in shown.err
    assert f"qkv translate {files / 'out'}" in shown.err


def test_a_path_in_brackets_is_shown_as_it_is(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*training(files, "--steps", "3", out="runs [b] of a long name" * 4)) == 0
    assert f"qkv translate '{files}/{'runs [b] of a long name' * 4}'" in capsys.readouterr().err


def test_minutes_replace_steps_and_options_replace_the_recipe(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--learning-rate", "0.123", "--warmup-steps", "100000")
    assert code_of(*training(files, "--minutes", "0.01", *options, "--seed", "9")) == 0
    report = read_json(files / "out" / "report.json")
    settings = report["settings"]
    assert settings["training"]["warmup_steps"] == -(-report["training"]["steps"] // 8) + 1, (
        "not the recipe's"
    )
    assert (settings["steps"], settings["minutes"], settings["seed"]) == (None, 0.01, 9)
    assert settings["training"]["learning_rate"] == 0.123
    assert settings["model"]["width"] == 16
    assert "validation loss" in capsys.readouterr().err


def test_a_folder_with_a_run_is_rejected_and_not_changed(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    capsys.readouterr()
    before = content(files)
    code = code_of(*training(files, "--steps", "3"))
    shown = capsys.readouterr()
    assert "already holds a training run: add --resume" in refused(shown.err, shown.out, code)
    assert content(files) == before


def test_resuming_with_a_changed_option_is_an_error_that_names_it(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    capsys.readouterr()
    before = content(files)
    resume = ["train", "translator", "--resume", "--out", files / "out"]
    code = code_of(*resume, "--width", "32", "--seed", "2", "--pairs", files / "a.tsv")
    shown = capsys.readouterr()
    assert "these differ: --pairs, --seed, --width." in refused(shown.err, shown.out, code)
    assert content(files) == before
    monkeypatch.chdir(files)  # the same options again, and the same file by another path, are no change
    assert code_of(*resume, "--width", "16", "--source", "a.en", "--steps", "3") == 0


def test_a_run_is_resumed_with_data_that_were_moved_and_renamed(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As when a scheduler copies them to a folder for each job. The content must be the same."""
    assert code_of(*training(files, "--steps", "3")) == 0
    staged = files / "job-2"
    staged.mkdir()
    source, target = (files / "a.en").rename(staged / "one"), (files / "a.xx").rename(staged / "two.txt")
    resume = ["train", "translator", "--resume", "--out", files / "out"]
    assert code_of(*resume, "--source", source, "--target", target) == 0
    assert code_of(*resume, "--source", source, "--target", target, "--source-language", "en") == 0
    capsys.readouterr()
    assert code_of(*resume) == DATA, "the files are no longer at their old paths"
    assert "a.en" in capsys.readouterr().err
    target.write_text("\n".join(reversed(digit_lines(60))) + "\n")
    code = code_of(*resume, "--source", source, "--target", target)
    shown = capsys.readouterr()
    assert "the training data" in refused(shown.err, shown.out, code)


def pipe_of(path: Path) -> str:
    """The path of a pipe with the content of a file, as bash makes it for `<(cat FILE)`."""
    reader, writer = os.pipe()
    os.write(writer, path.read_bytes())
    os.close(writer)
    return f"/dev/fd/{reader}"


def test_a_run_with_data_from_pipes_is_resumed(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for message in ("starting a new one", "already complete"):
        given = ["--source", pipe_of(files / "a.en"), "--target", pipe_of(files / "a.xx")]
        options = ["--out", files / "out", *TINY, "--steps", "3", "--resume"]
        assert code_of("train", "translator", *given, *options) == 0
        assert message in capsys.readouterr().err
        for path in given[1::2]:
            os.close(int(path.rpartition("/")[2]))


def test_a_resumed_run_keeps_its_defaults_but_may_change_processes(files: Path) -> None:
    left_to_it = ["--processes", "0", "--precision", "auto"]
    assert code_of(*training(files, "--steps", "3", *left_to_it)) == 0
    assert code_of(*training(files, "--steps", "3", *left_to_it, "--resume")) == 0
    assert code_of(*training(files, "--steps", "4", "--processes", "2", "--resume")) == 0
    assert read_json(files / "out" / "report.json")["made_with"]["processes"] == 2


def test_checkpoints_without_settings_are_not_overwritten(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    (files / "out" / "training" / "run.json").unlink()
    before = content(files)
    capsys.readouterr()
    code = code_of(*training(files, "--steps", "3", "--resume"))
    shown = capsys.readouterr()
    assert "holds checkpoints but no run.json" in refused(shown.err, shown.out, code)
    assert content(files) == before


def test_a_full_disk_for_messages_does_not_end_a_run(files: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "qkv", *map(str, training(files, "--steps", "4", "--tensorboard"))]
        ended = subprocess.run(command, stderr=full)
    assert ended.returncode == 0
    assert (files / "out" / "report.json").exists()


def reading_until(running: subprocess.Popen[bytes], wanted: bytes) -> None:
    assert running.stderr is not None
    seen = b""
    while wanted not in seen:
        line = running.stderr.readline()
        assert line, seen.decode()
        seen += line


def test_a_closed_pipe_does_not_end_a_run(files: Path) -> None:
    """`qkv train … 2>&1 | head`"""
    options = ["--steps", "12", "--validate-every", "3"]
    with process(*training(files, *options)) as running:
        reading_until(running, b"to validate on")
        assert running.stderr is not None
        running.stderr.close()
        assert running.wait(timeout=60) == 0
    assert read_json(files / "out" / "report.json")["training"]["steps"] == 12


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_also_ends_the_reader_saves_the_run_and_sets_the_exit_code(
    number: signal.Signals, code: int, files: Path
) -> None:
    """`qkv train … 2>&1 | tee log`, and Ctrl-C."""
    with process(*training(files, "--steps", "30000", "--validate-every", "197")) as running:
        reading_until(running, b"validation loss")
        assert running.stderr is not None
        running.stderr.close()
        running.send_signal(number)
        assert running.wait(timeout=60) == code
    saved = [int(path.name[5:]) for path in (files / "out" / "training").glob("step-*")]
    assert max(saved) % 197, "the steps since the last validation are saved"


def test_a_mistake_exits_with_code_two_even_if_stderr_is_closed(files: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with process(*training(files, "--steps", "0"), stderr=writer) as running:
        os.close(writer)
        assert running.wait(timeout=60) == 2


def test_resuming_with_changed_data_is_rejected(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    capsys.readouterr()
    (files / "a.xx").write_text("\n".join(reversed(digit_lines(60))) + "\n")
    code = code_of("train", "translator", "--resume", "--out", files / "out")
    shown = capsys.readouterr()
    assert "Resume with the same files" in refused(shown.err, shown.out, code)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_interrupting_training_saves_it_and_prints_a_command_that_resumes_it(
    processes: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal sends Ctrl-C to all processes of the command."""
    options = ["--steps", "400", "--validate-every", "20", "--processes", processes]
    with process(*training(files, *options, out="my run"), start_new_session=True) as running:
        assert running.stderr is not None
        seen = b""
        while b"validation loss" not in seen:
            line = running.stderr.readline()
            assert line, seen.decode()
            seen += line
        os.killpg(running.pid, signal.SIGINT)
        out, error = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b"")
    assert b"Traceback" not in error
    last = error.decode().splitlines()[-1]
    stopped = max(int(path.name[5:]) for path in (files / "my run" / "training").glob("step-*"))
    start = f"stopped at step {stopped}, saved. To resume: python -m qkv train translator --resume"
    assert last.startswith(start)
    assert 20 <= stopped < 400
    resume = shlex.split(last.partition("To resume: ")[2])
    assert resume[:3] == ["python", "-m", "qkv"]
    assert code_of(*resume[3:]) == 0
    assert read_json(files / "my run" / "report.json")["training"]["steps"] == 400
    shown = capsys.readouterr().err
    assert f"resuming at step {stopped:,}\n" in shown
    assert f"step {stopped:>6,} " not in shown, "no step is repeated"


def test_tensorboard_shows_the_values_of_the_log(files: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = training(files, "--steps", "6", "--tensorboard", "--log-every", "2", "--processes", "1")
    assert code_of(*run) == 0
    events = EventAccumulator(str(files / "out" / "training" / "tensorboard")).Reload()
    folder = files / "out" / "training"
    lines = [
        line for name in ("log", "timing") for line in (folder / f"{name}.jsonl").read_text().splitlines()
    ]
    logged: dict[str, list[tuple[int, float]]] = {}
    for facts in map(json.loads, lines):
        for name in facts.keys() - {"step"}:
            logged.setdefault(name, []).append((facts["step"], facts[name]))
    assert {"loss", "learning_rate", "tokens_per_second", "validation_loss"} <= logged.keys()
    for name, points in logged.items():
        shown = [(event.step, event.value) for event in events.Scalars(name)]
        assert [step for step, _ in shown] == [step for step, _ in points]
        assert [value for _, value in shown] == pytest.approx([value for _, value in points], rel=1e-5)


def test_a_missing_tensorboard_is_reported_before_training(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    code = code_of(*training(files, "--steps", "3", "--tensorboard"))
    shown = capsys.readouterr()
    assert "extra `tensorboard`" in refused(shown.err, shown.out, code)
    assert not (files / "out").exists()
