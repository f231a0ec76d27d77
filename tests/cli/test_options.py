"""Whatever is wrong with an option is said in one sentence that names it."""

import os
from pathlib import Path

import pytest
from commands import code_of, refused

from qkv.cli.options import one_sentence

TRAIN = ("train", "translator", "--out", "new", "--source", "a", "--target", "b")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*TRAIN, "--stepz", "3"), "there is no option --stepz; did you mean --steps?"),
        ((*TRAIN, "stray"), "there is no place for stray."),
        ((*TRAIN, "--steps", "many"), "--steps cannot be 'many': it takes a whole number."),
        ((*TRAIN, "--minutes", "ten"), "--minutes cannot be 'ten': it takes a number."),
        ((*TRAIN, "--seed", "1.5"), "--seed cannot be '1.5': it takes a whole number."),
        (
            (*TRAIN, "--adam-betas", "0.9", "x"),
            "--adam-betas cannot be '0.9 x': it takes two numbers.",
        ),
        ((*TRAIN, "--languages", "en"), "--languages cannot be 'en': it takes two words."),
        ((*TRAIN, "--steps"), "--steps needs a value after it."),
        ((*TRAIN, "--norm", "mid"), "--norm cannot be 'mid', only one of pre, post."),
        (("train", "translator", "--source", "a"), "--out is missing."),
        (("translate",), "PATH is missing: folder of the model."),
        (("evaluate", "x", "--beam", "two"), "--beam cannot be 'two': it takes a whole number."),
        (("demo", "--target-language", "fr"), "--target-language cannot be 'fr', only one of en, de, es."),
        (("info", "a", "b"), "there is no place for b."),
    ],
)
def test_a_mistake_in_an_option_is_one_sentence(
    arguments: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = code_of(*arguments)
    shown = capsys.readouterr()
    said = refused(shown.err, shown.out, code)
    assert sentence in said
    assert "--help` lists the options." in said
    assert list(tmp_path.iterdir()) == []


def test_a_long_name_is_not_broken_in_two(
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
    assert "Folder of the model." in shown.out
    assert max(len(line) for line in shown.out.splitlines() if not line.startswith("usage: ")) <= 90


FRAMED = """\
╭─ Oh ─────────╮
│ Something    │
│ else is off. │
│ ──────────── │
│ More here    │
╰──────────────╯
"""
PLAIN = """\
 Oh
 ------------
  Something
  else is off.
  ------------
  More here

"""


@pytest.mark.parametrize("box", [FRAMED, PLAIN])
def test_words_that_are_new_are_passed_on_in_a_line(box: str) -> None:
    assert one_sentence(box) == "Something else is off."


def test_silence_is_a_sentence_too() -> None:
    assert one_sentence("") == "the options cannot be read."
