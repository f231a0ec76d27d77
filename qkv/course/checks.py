"""Checks: what a notebook of the course calls. Each method checks the answer to one exercise."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from qkv.course.exercise import Answer, Exercise, problem_with
from qkv.course.messages import LANGUAGES, text_of


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what to do if it is not. Notebooks show it in color."""

    right: bool
    text: str

    def __repr__(self) -> str:
        return f"{'✓' if self.right else '✗'} {self.text}"

    def _repr_html_(self) -> str:
        import html

        color = "#1a7f37" if self.right else "#b35900"
        return f'<p style="color:{color};font-weight:600">{html.escape(repr(self))}</p>'


class Checks:
    """The checks of all exercises, in one language.

    Args:
        language: The language of the explanations: en, es or ko.

    Example:
        >>> check = Checks("en")
        >>> check.scale(lambda scores, width: scores / width)
        ✗ You divided by the width of the keys. Divide by its square root.
    """

    def __init__(self, language: str = "en"):
        if language not in LANGUAGES:
            raise ValueError(f"language is {language!r}; expected one of {', '.join(LANGUAGES)}.")
        self.language = language

    @cached_property
    def exercises(self) -> dict[str, Exercise]:
        from qkv.course.exercises import EXERCISES

        return EXERCISES

    def __dir__(self) -> list[str]:
        return sorted([*self.exercises, "language"])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.exercises:
            raise AttributeError(f"there is no exercise {name!r}. Exercises: {', '.join(self.exercises)}.")

        def check(answer: Answer) -> Verdict:
            problem = problem_with(self.exercises[name], answer)
            if problem is None:
                return Verdict(True, text_of("right", self.language))
            return Verdict(False, text_of(problem.name, self.language).format(**problem.values))

        return check
