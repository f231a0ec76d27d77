"""A mistake in an option gives one error message that names the option."""

import os
from pathlib import Path

import pytest
from commands import code_of, refused

TRAIN = ("train", "translator", "--out", "new", "--source", "a", "--target", "b")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*TRAIN, "--widht", "3"), "unrecognized argument --widht; did you mean --width?"),
        ((*TRAIN, "--foo", "3"), "unrecognized argument --foo. See `qkv train translator --help`."),
        ((*TRAIN, "--widht=3"), "unrecognized argument --widht; did you mean --width?"),
        ((*TRAIN, "--xyzzy"), "unrecognized argument --xyzzy. See `qkv train translator --help`."),
        ((*TRAIN, "stray"), "unrecognized argument stray. See `qkv train translator --help`."),
        ((*TRAIN, "--steps", "many"), "--steps must be a whole number, not 'many'."),
        ((*TRAIN, "--steps=1.5"), "--steps must be a whole number, not '1.5'."),
        ((*TRAIN, "--minutes", "ten"), "--minutes must be a number, not 'ten'."),
        ((*TRAIN, "--adam-betas", "0.9", "x"), "--adam-betas needs two numbers, not '0.9 x'."),
        ((*TRAIN, "--languages", "en"), "--languages needs two values, not 'en'."),
        ((*TRAIN, "--steps"), "--steps needs a value."),
        ((*TRAIN, "--steps", "--minutes", "3"), "--steps needs a value."),
        ((*TRAIN, "--norm", "mid"), "--norm must be one of pre, post, not 'mid'."),
        (("train", "translator", "--source", "a"), "--output is missing. See `qkv train translator --help`."),
        (
            ("translate",),
            "MODEL is missing (folder of the model, or a language pair such as en-de). See `qkv translate --help`.",
        ),
        (
            ("translate", "--avoid", "a", "--avoid", "b"),
            "MODEL is missing (folder of the model, or a language pair such as en-de).",
        ),
        (("evaluate", "x", "--beam", "two"), "--beam must be a whole number, not 'two'."),
        (("demo", "--target-language", "fr"), "--target-language must be one of en, de, es, not 'fr'."),
        (("info", "a", "b"), "unrecognized argument b. See `qkv info --help`."),
    ],
)
def test_a_mistake_in_an_option_is_one_error_message(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = code_of(*arguments)
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code).startswith(f"error: {message}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--norm", "' for argument '" * 20_000),
        ("--steps", "['" * 20_000),
        ("--" + "Error parsing --steps: " * 20_000,),
        ("\x1b[31m" * 20_000,),
    ],
)
def test_a_hostile_argument_gives_a_short_error_message(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(*TRAIN, *arguments)
    shown = capsys.readouterr()
    message = refused(shown.err, shown.out, code)
    assert len(message) < 300
    assert message.isprintable()


def test_a_long_name_is_not_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    name = "--" + "very-" * 30 + "long"
    code_of(*TRAIN, name, "3")
    assert name in capsys.readouterr().err
    assert os.environ["COLUMNS"] == "40"


def test_help_keeps_to_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert code_of("translate", "--help") == 0
    shown = capsys.readouterr()
    assert "Folder of the model" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 90


def test_distill_shows_no_option_that_it_rejects(capsys: pytest.CaptureFixture[str]) -> None:
    from qkv.cli import main

    with pytest.raises(SystemExit):
        main(["distill", "--help-all"])
    shown = capsys.readouterr().out
    assert "--distillation-weight" in shown
    assert "--teacher-models" not in shown
