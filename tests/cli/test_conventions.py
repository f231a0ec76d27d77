"""Options that every command accepts, and the environment."""

from pathlib import Path

import pytest
from commands import code_of, process, refused

from qkv.cli import all_commands, trainings
from qkv.cli.config_files import variable
from qkv.cli.conventions import RESERVED, Conventions, split_conventions
from qkv.cli.expanding import long_names
from qkv.cli.option_tables import tables_of

ALL = [[name] for name in all_commands()] + [["train", name] for name in trainings()]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--quiet", "--config", "a.toml", "info", "M"],
        ["info", "--quiet", "M", "--config=a.toml"],
        ["info", "M", "--config", "a.toml", "--quiet"],
    ],
)
def test_conventions_come_before_or_after_the_command(arguments: list[str]) -> None:
    wanted = Conventions(config=(Path("a.toml"),), quiet=True)
    assert split_conventions(arguments, {}) == (wanted, ["info", "M"])


def test_what_follows_two_dashes_is_text() -> None:
    arguments = ["translate", "M", "--", "--quiet", "--config"]
    assert split_conventions(arguments, {}) == (Conventions(), arguments)


def test_a_flag_comes_before_a_variable() -> None:
    assert split_conventions(["info", "--verbose"], {"QKV_QUIET": "1"})[0] == Conventions(verbose=True)
    assert split_conventions(["info"], {"QKV_QUIET": "1", "QKV_VERBOSE": "off"})[0] == Conventions(quiet=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "--quiet", "--verbose"], "--quiet and --verbose cannot be combined."),
        (["info", "--config"], "--config needs a file."),
        (["info", "--config", "--quiet"], "--config needs a file."),
    ],
)
def test_a_mistake_in_a_convention_is_one_error_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(*arguments)
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code) == f"error: {message}"


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_option_has_one_variable_and_none_of_them_is_reserved(words: list[str]) -> None:
    for table in tables_of(words):
        names = [variable(name) for field in table for name in long_names(field)]
        assert len(names) == len(set(names))
        assert not {*RESERVED, *map(variable, ("config", "quiet", "verbose"))} & set(names)


def test_quiet_prints_errors_and_results_only(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("translate", model, "one", "--quiet", "--compute-type", "float32") == 0
    shown = capsys.readouterr()
    assert shown.out != ""
    assert shown.err == ""
    assert code_of("--quiet", "translate", model / "nowhere", "one") == 3
    assert capsys.readouterr().err.startswith("error: there is no folder")


def test_verbose_says_what_is_loaded_and_what_computes(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("translate", model, "one", "--verbose") == 0
    shown = capsys.readouterr().err
    assert f"opened {model}" in shown
    assert "engine" in shown or "NumPy" in shown


def test_verbose_shows_the_traceback_of_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("info", tmp_path / "nothing", "--verbose") == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1].startswith("error: there is no folder")


@pytest.mark.parametrize(("variables", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True)])
def test_colours_are_for_terminals_unless_they_are_forced(
    variables: dict[str, str], coloured: bool, files: Path
) -> None:
    """A bar that moves is for terminals only."""
    assert ("\x1b[" in cleaned(files, variables)) == coloured


def test_no_color_turns_colours_off(files: Path) -> None:
    assert "\x1b[3" not in cleaned(files, {"FORCE_COLOR": "1", "NO_COLOR": "1"})


def cleaned(files: Path, variables: dict[str, str]) -> str:
    import os

    options = ["--source", "a.en", "--target", "a.xx", "--language-confidence", "0"]
    started = process("clean", *options, cwd=files, env={**os.environ, **variables})
    out, err = started.communicate()
    assert started.returncode == 0, err
    assert b"\r" not in err
    return out.decode()
