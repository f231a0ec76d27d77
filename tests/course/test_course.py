"""The course: its notebooks run, its exercises can be solved, and its translations are complete."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from qkv.course import Checks
from qkv.course.exercises import EXERCISES
from qkv.course.messages import LANGUAGES, TEXTS

ROOT = Path(__file__).parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("course_tool", ROOT / "tools" / "course.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()
LESSONS = TOOL.lessons()
EXERCISE = re.compile(r"check\.(\w+)\((\w+)\)")


def page(lesson: str, language: str) -> str:
    return (ROOT / "docs" / "course" / language / f"{lesson}.md").read_text(encoding="utf-8")


def cells(lesson: str, language: str = "en") -> list[str]:
    return TOOL.CODE.findall(page(lesson, language))


def outputs(code: list[str], names: dict[str, Any]) -> tuple[str, list[Any]]:
    """What is printed, and what the checks say. As in a notebook, the last line of a cell is an expression."""
    verdicts: list[Any] = []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for each in code:
            body, _, last = each.rstrip().rpartition("\n")
            if EXERCISE.fullmatch(last):
                exec(body, names)
                verdicts.append(eval(last, names))
            else:
                exec(each, names)
    return printed.getvalue(), verdicts


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_before_and_after_its_exercises_are_solved(lesson: str) -> None:
    code = cells(lesson)
    _, verdicts = outputs(code, {})
    assert len(verdicts) >= 2
    assert {each.text for each in verdicts} == {TEXTS["nothing yet"][0]}

    solved = [
        each
        if not (match := EXERCISE.search(each))
        else f"{match[2]} = solutions[{match[1]!r}]\n{match[0]}\n"
        for each in code
    ]
    _, verdicts = outputs(solved, {"solutions": {name: each.solution for name, each in EXERCISES.items()}})
    assert all(each.right for each in verdicts), verdicts


def test_every_exercise_is_in_one_lesson() -> None:
    used = [match[0] for lesson in LESSONS for each in cells(lesson) for match in EXERCISE.findall(each)]
    assert sorted(used) == sorted(EXERCISES)


@pytest.mark.parametrize("name", EXERCISES)
def test_each_mistake_gets_its_own_explanation(name: str) -> None:
    check, exercise = getattr(Checks("en"), name), EXERCISES[name]
    assert check(exercise.solution).right
    for mistake, wrong in exercise.mistakes.items():
        assert check(wrong).text == TEXTS[mistake][0]


def test_other_wrong_answers_are_explained_in_general() -> None:
    check = Checks("en")

    def broken(scores: np.ndarray) -> np.ndarray:
        raise KeyError("x")

    assert "KeyError" in check.softmax(broken).text
    assert "shape (2, 3)" in check.softmax(lambda scores: scores[:, :1]).text
    assert "NaN" in check.softmax(lambda scores: scores * np.nan).text
    assert "[0, 0] must be 0.09" in check.softmax(lambda scores: scores).text
    assert "it is a str" in check.softmax(lambda scores: "x").text


def test_every_message_exists_in_all_languages_with_the_same_values() -> None:
    for name, texts in TEXTS.items():
        assert len(set(texts)) == len(LANGUAGES) or name == "right", name
        fields = [sorted(re.findall(r"\{(\w+)\}", text)) for text in texts]
        assert fields[0] == fields[1] == fields[2], name
    assert all(re.search("[가-힣]", korean) for _, _, korean in TEXTS.values())


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_translations_are_complete_and_up_to_date(language: str) -> None:
    for lesson in TOOL.pages():
        text, english = page(lesson, language), page(lesson, "en")
        assert TOOL.stated_hash(text) == TOOL.hash_of(english), (
            f"{language}/{lesson}.md translates another version"
        )
        code = [each.replace(f'Checks("{language}")', 'Checks("en")') for each in cells(lesson, language)]
        assert without_comments(code) == without_comments(cells(lesson))
        for mark in ("\n## ", "\n|", "http://", "**"):
            assert text.count(mark) == english.count(mark), f"{language}/{lesson}.md differs in {mark!r}"


def without_comments(code: list[str]) -> list[str]:
    return [re.sub(r" *#.*", "", each) for each in code]


def test_the_notebooks_are_written_from_the_pages() -> None:
    for language in LANGUAGES:
        for lesson in LESSONS:
            path = ROOT / "examples" / "course" / language / f"{lesson}.ipynb"
            wanted = TOOL.written(TOOL.notebook_of(page(lesson, language), language))
            assert path.read_text(encoding="utf-8") == wanted, (
                f"run `python tools/course.py`: {path.name} is outdated"
            )
