"""The command as people meet it: help, answers on standard output, and one sentence for every mistake."""

import os
import random
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
from commands import code_of

import qkv
from qkv.checkpoint.files import read_json, write_json
from qkv.cli import COMMANDS
from qkv.cli import translate as translate_command
from qkv.core.block import StackConfig
from qkv.models.translator import Translator as TranslatorModel
from qkv.models.translator import TranslatorConfig
from qkv.pipeline import Languages, Translator, TranslatorDefaults
from qkv.text.tokenizer import Tokenizer

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TINY_OPTIONS = """--model.width 16 --model.encoder-depth 1 --model.decoder-depth 1 --model.heads 2
    --model.hidden 16 --training.batch-tokens 256 --training.validate-every 3 --decoding.beam 1"""
TINY = TINY_OPTIONS.split()
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}

OPTIONS = {
    "demo": "--out --source-language --target-language --seed",
    "train translator": """
        --out --recipe --resume --data --source --target --pairs --valid-source --valid-target --valid-pairs
        --source-language --target-language --vocabulary --steps --minutes --seed
        --model.width --model.encoder-depth --model.decoder-depth --model.heads --model.hidden --model.dropout
        --model.attention-dropout --model.norm --model.activation --model.positions --model.context
        --model.smoothing
        --training.batch-tokens --training.rate --training.warmup --training.optimiser --training.schedule --training.betas
        --training.epsilon --training.weight-decay --training.clip --training.validate-every
        --training.average --training.patience --training.processes
        --data.longest --data.ratio --data.valid --data.subword-dropout --data.languages --data.variant
        --decoding.beam --decoding.length-penalty --scoring.tokenize --scoring.lowercase""",
    "translate": "--beam --length-penalty",
    "evaluate": """
        --source --reference --pairs --against --json --output --beam --length-penalty --tokenize --lowercase""",
    "info": "",
}


def process(*arguments: str | bytes, **options: object) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", "qkv", *arguments], env=ENVIRONMENT, **{**pipes, **options}
    )  # type: ignore[call-overload]


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


def digit_lines(count: int) -> list[str]:
    generator = random.Random(1)
    return [" ".join(generator.choices(DIGITS, k=generator.randint(1, 5))) for _ in range(count)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model: it says nonsense, but always the same for the same line."""
    torch.manual_seed(2)
    tokenizer = Tokenizer.learn(digit_lines(50), 290)
    stack = StackConfig(depth=1, width=12, heads=2, hidden=16, norm="pre", activation="relu", dropout=0.0)
    config = TranslatorConfig(
        vocab=len(tokenizer),
        context=40,
        pad=0,
        start=1,
        end=2,
        positions="halves",
        encoder=stack,
        decoder=stack,
    )
    languages = Languages(source="en", target="xx")
    defaults = TranslatorDefaults(languages=languages, longest=30, beam=1, length_penalty=1.0)
    folder = tmp_path_factory.mktemp("models") / "untrained"
    Translator(TranslatorModel(config), tokenizer, defaults).save(folder)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with good files and bad ones."""
    lines = "\n".join(digit_lines(60)) + "\n"
    (tmp_path / "a.en").write_text(lines)
    (tmp_path / "a.xx").write_text(lines)
    (tmp_path / "shorter.xx").write_text("one\ntwo\n")
    (tmp_path / "empty.xx").write_text("")
    (tmp_path / "latin1.xx").write_bytes("Größe\n".encode("latin1"))
    return tmp_path


def training(files: Path, *options: str | Path, out: str = "out", target: str = "a.xx") -> list[str]:
    named = ["--source", files / "a.en", "--target", files / target, "--out", files / out]
    return ["train", "translator", *map(str, [*named, *TINY, *options])]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(error: str, out: str, code: int) -> str:
    """Check the form of a refusal, and give its sentence."""
    assert code == 2
    assert out == ""
    assert "Traceback" not in error
    sentences = [line for line in error.splitlines() if line.startswith("qkv: ")]
    assert len(sentences) == 1, error
    assert error.splitlines()[-1] == sentences[0]
    assert sentences[0].endswith((".", "?")), sentences[0]
    return sentences[0]


# Help -----------------------------------------------------------------------------------------------------


def test_help_answers_in_under_half_a_second() -> None:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        result = subprocess.run([sys.executable, "-m", "qkv", "--help"], capture_output=True, check=True)
        times.append(time.perf_counter() - began)
        assert b"qkv translate" in result.stdout
    assert min(times) < 0.5


def test_importing_the_package_and_its_command_line_imports_no_torch() -> None:
    program = (
        "import sys, qkv, qkv.cli, qkv.configs, qkv.errors, qkv.training.settings, qkv.training.recipes;"
        "print([name for name in ('torch', 'tokenizers', 'sacrebleu', 'numpy') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_the_overview_names_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*arguments) == 0
    shown = capsys.readouterr()
    assert all(f"qkv {name}" in shown.out for name in COMMANDS)
    assert shown.err == ""


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--version") == 0
    assert capsys.readouterr().out == f"qkv {qkv.__version__}\n"


def test_the_public_names_are_these() -> None:
    assert set(qkv.__all__) == {"Translator", "UserError", "__version__", "load"}
    assert all(getattr(qkv, name) for name in qkv.__all__)
    with pytest.raises(AttributeError, match="no attribute 'transalte'"):
        _ = qkv.transalte


@pytest.mark.parametrize("name", OPTIONS)
def test_the_options_of_a_command_are_these_and_no_others(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change here changes what people have in their scripts: say so in the CHANGELOG."""
    assert code_of(*name.split(), "--help") == 0
    shown = capsys.readouterr().out
    found = re.findall(r"^(?:│ | {1,3})(?:-h, )?(--[a-z][a-z.-]+)", shown, flags=re.MULTILINE)
    assert [each for each in found if each != "--help"] == OPTIONS[name].split()


def test_the_commands_are_these_and_no_others() -> None:
    assert set(COMMANDS) == set(OPTIONS)


@pytest.mark.parametrize("arguments", [["train", "--help"], ["train"], ["train", "translator", "--help"]])
def test_help_on_training_shows_an_example_every_group_and_every_recipe(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*arguments) == 0
    shown = capsys.readouterr().out
    assert "qkv train translator --source a.en --target a.de --out runs/en-de" in shown
    for word in ("--model.", "--training.", "--data.", "--decoding.", "automatic", "built-in", "paper-base"):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= 130


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["translat"], "there is no command 'translat'; did you mean `qkv translate`?"),
        (["xyzzy"], "there is no command 'xyzzy'; `qkv --help` lists the commands."),
        (["train", "poet"], "qkv train needs to know what to train: translator, not 'poet'."),
    ],
)
def test_an_unknown_command_gets_a_suggestion(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(*arguments)
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code) == f"qkv: {sentence}"


# Mistakes -------------------------------------------------------------------------------------------------

TRAINING_MISTAKES = {
    "unequal files": (["--target", "shorter.xx"], "has 60 lines but"),
    "an empty file": (["--target", "empty.xx"], "empty.xx is empty"),
    "not UTF-8": (["--target", "latin1.xx"], "latin1.xx is not UTF-8 (line 1)"),
    "a missing file": (["--target", "nowhere.xx"], "nowhere.xx"),
    "a folder for a file": (["--target", "."], "is a folder"),
    "one validation file": (["--valid-source", "a.en"], "either --valid-source and --valid-target, or --valid-pairs"),
    "two files and pairs": (["--pairs", "a.tsv"], "either --source and --target, or --pairs"),
    "too large a vocabulary": (["--vocabulary", "5000"], "the data fill a vocabulary of"),
    "too small a vocabulary": (["--vocabulary", "10"], "a vocabulary of 10 is too small"),
    "an unknown recipe": (["--recipe", "paper-bas"], "there is no recipe 'paper-bas'; did you mean paper-base?"),
    "no step": (["--steps", "0"], "--steps must be at least 1"),
    "never validating": (["--training.validate-every", "0"], "--training.validate-every must be at least 1"),
    "heads that do not divide": (["--model.heads", "3"], "--model.width must be a multiple of --model.heads"),
    "a file above --out": (["--out", "a.en/out"], "Not a directory"),
    "a file as --out": (["--out", "a.en"], "already exists and is not empty: give another --out"),
    "no run to resume": (["--resume"], "holds no training run to resume"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", TRAINING_MISTAKES)
def test_a_mistake_in_training_is_one_sentence_and_nothing_is_written(
    mistake: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    options, sentence = TRAINING_MISTAKES[mistake]
    before = content(files)
    code = code_of(*training(files, "--steps", "3", *options))
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)
    assert content(files) == before


def test_training_without_files_asks_for_them(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = code_of("train", "translator", "--out", files / "out")
    shown = capsys.readouterr()
    assert "give the training data" in refused(shown.err, shown.out, code)


@pytest.mark.parametrize("option", ["--sorce", "--model.widht", "--beam"])
def test_an_unknown_option_is_named_before_any_work_is_done(
    option: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(files)
    code = code_of(*training(files, option, "3"))
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert f"Unrecognized options: {option}" in shown.err
    assert "pairs read" not in shown.err
    assert content(files) == before


def damaged_models(model: Path, folder: Path) -> dict[str, tuple[Path, str]]:
    empty, other, cut = folder / "empty", folder / "other", folder / "cut"
    for each in (empty, other, cut):
        each.mkdir()
    for path in model.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
        (cut / path.name).write_bytes(path.read_bytes())
    write_json(other / "config.json", {**read_json(other / "config.json"), "format": 99})
    (cut / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:-10])
    return {
        "missing": (folder / "nowhere", "there is no folder"),
        "empty": (empty, "is not a model made by qkv"),
        "format": (other, "has bundle format 99"),
        "cut": (cut, "model.safetensors is damaged"),
    }


@pytest.mark.parametrize("harm", ["missing", "empty", "format", "cut"])
@pytest.mark.parametrize("command", ["translate", "evaluate", "info"])
def test_a_folder_that_is_no_whole_model_is_refused(
    command: str, harm: str, model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, sentence = damaged_models(model, files)[harm]
    rest = {
        "translate": ["one"],
        "evaluate": ["--source", files / "a.en", "--reference", files / "a.xx"],
        "info": [],
    }
    code = code_of(command, folder, *rest[command])
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--reference", "shorter.xx"], "has 60 lines but"),
        (["--reference", "empty.xx"], "is empty"),
        (["--reference", "latin1.xx"], "is not UTF-8"),
        (["--reference", "nowhere.xx"], "There is no file"),
        (["--reference", "a.xx", "--beam", "0"], "--beam must be at least 1"),
        (["--reference", "a.xx", "--tokenize", "14a"], "sacrebleu has no tokenizer '14a'"),
    ],
)
def test_a_mistake_in_evaluation_is_one_sentence(
    options: list[str],
    sentence: str,
    model: Path,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    code = code_of("evaluate", model, "--source", "a.en", *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_the_real_process_ends_with_code_two_and_no_traceback(files: Path) -> None:
    running = process(*training(files, target="shorter.xx"))
    out, error = running.communicate(timeout=60)
    assert "make them equally long" in refused(error.decode(), out.decode(), running.returncode)


def test_processes_that_help_add_nothing_to_the_sentence(files: Path) -> None:
    before = content(files)
    running = process(*training(files, "--vocabulary", "5000", "--training.processes", "2"))
    out, error = running.communicate(timeout=60)
    assert "the data fill a vocabulary of" in refused(error.decode(), out.decode(), running.returncode)
    assert content(files) == before


def test_an_argument_that_is_not_utf8_is_refused(model: Path) -> None:
    running = process("translate", str(model), b"\xff\xfe")
    out, error = running.communicate(timeout=60)
    assert "the text is not UTF-8" in refused(error.decode(), out.decode(), running.returncode)


# Translating ----------------------------------------------------------------------------------------------

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
    assert answers == [*(translate_command.one_line(translator.translate(line)) for line in LINES), ""]
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
            assert answer == f"{translate_command.one_line(translator.translate(line))}\n"
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


# Training, stopping and going on --------------------------------------------------------------------------


def test_nothing_of_training_goes_to_standard_output(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    for part in ("60 pairs read; dropped: 0 empty", "to train on", "validation loss", "exact match"):
        assert part in shown.err
    assert f"qkv translate {files / 'out'}" in shown.err


def test_a_path_in_brackets_is_shown_as_it_is(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*training(files, "--steps", "3", out="runs [b] of a long name" * 4)) == 0
    assert f"qkv translate '{files}/{'runs [b] of a long name' * 4}'" in capsys.readouterr().err


def test_minutes_take_the_place_of_steps_and_a_dotted_option_that_of_the_recipe(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*training(files, "--minutes", "0.01", "--training.rate", "0.123", "--seed", "9")) == 0
    settings = read_json(files / "out" / "report.json")["settings"]
    assert (settings["steps"], settings["minutes"], settings["seed"]) == (None, 0.01, 9)
    assert settings["training"]["rate"] == 0.123
    assert settings["model"]["width"] == 16
    assert "validation loss" in capsys.readouterr().err


def test_a_folder_with_a_run_is_refused_and_left_alone(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    capsys.readouterr()
    before = content(files)
    code = code_of(*training(files, "--steps", "3"))
    shown = capsys.readouterr()
    assert "already holds a training run: give --resume" in refused(shown.err, shown.out, code)
    assert content(files) == before


def test_resuming_with_a_changed_option_is_refused_by_name(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    capsys.readouterr()
    before = content(files)
    resume = ["train", "translator", "--resume", "--out", files / "out"]
    code = code_of(*resume, "--model.width", "32", "--seed", "2", "--source", files / "a.xx")
    shown = capsys.readouterr()
    assert "these differ: --model.width, --seed, --source." in refused(shown.err, shown.out, code)
    assert content(files) == before
    monkeypatch.chdir(files)  # the same options again, and the same file by another path, are no change
    assert code_of(*resume, "--model.width", "16", "--source", "a.en", "--steps", "3") == 0


def test_resuming_with_changed_data_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*training(files, "--steps", "3")) == 0
    capsys.readouterr()
    (files / "a.xx").write_text("\n".join(reversed(digit_lines(60))) + "\n")
    code = code_of("train", "translator", "--resume", "--out", files / "out")
    shown = capsys.readouterr()
    assert "resume with the same files" in refused(shown.err, shown.out, code)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_interrupting_training_saves_says_how_to_go_on_and_that_command_works(
    processes: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a terminal does it, Ctrl-C goes to the command and to the processes that help it."""
    options = ["--steps", "300", "--training.validate-every", "50", "--training.processes", processes]
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
    assert last.startswith("stopped and saved; to go on: python -m qkv train translator --resume")
    stopped = max(int(path.name[5:]) for path in (files / "my run" / "training").glob("step-*"))
    assert 50 <= stopped < 300
    resume = shlex.split(last.partition("to go on: ")[2])
    assert resume[:3] == ["python", "-m", "qkv"]
    assert code_of(*resume[3:]) == 0
    assert read_json(files / "my run" / "report.json")["training"]["steps"] == 300
    assert f"step {stopped:>6,} " not in capsys.readouterr().err, "what was done is not done again"
