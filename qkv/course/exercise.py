"""Exercise: a function that a student writes, and how wrong answers are explained.

An answer is compared with the right function on some inputs. If it gives what a typical mistake gives, that mistake is
explained. So a mistake is a function, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Answer = Callable[..., Any]
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Message:
    """A text in the course's languages, by its name in messages.py, and the values in it."""

    name: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Exercise:
    solution: Answer
    cases: tuple[tuple[Any, ...], ...]
    """The arguments of each call."""
    mistakes: Mapping[str, Answer] = field(default_factory=dict)
    """Typical wrong answers, by the name of the message that explains them. The first one that fits is shown."""


def problem_with(exercise: Exercise, answer: Answer) -> Message | None:
    """What is wrong with an answer; None if it is right."""
    found: list[Any] = []
    for case in exercise.cases:
        try:
            found.append(answer(*map(copied, case)))
        except Exception as error:
            return Message("raised", {"error": f"{type(error).__name__}: {error}"})
    if all(each is None for each in found):
        return Message("nothing yet")
    if matches(exercise, exercise.solution, found):
        return None
    for name, mistake in exercise.mistakes.items():
        if matches(exercise, mistake, found):
            return Message(name)
    for case, each in zip(exercise.cases, found, strict=True):
        problem = difference(exercise.solution(*case), each)
        if problem is not None:
            return problem
    raise AssertionError("an answer differs from the solution, but no difference was found")


def matches(exercise: Exercise, function: Answer, found: list[Any]) -> bool:
    return all(
        difference(function(*case), each) is None for case, each in zip(exercise.cases, found, strict=True)
    )


def difference(wanted: Any, found: Any) -> Message | None:
    """The first difference between two results: numbers, arrays, or lists and tuples of them."""
    if isinstance(wanted, list | tuple) and wanted and not np.isscalar(wanted[0]):
        return difference_of_several(wanted, found)
    try:
        ours, theirs = np.asarray(wanted), np.asarray(found)
        theirs = theirs.astype(bool) if ours.dtype == bool else theirs.astype(float)
    except (TypeError, ValueError):
        return Message("not numbers", {"type": type(found).__name__})
    if ours.shape != theirs.shape:
        return Message("shape", {"wanted": ours.shape, "found": theirs.shape})
    if np.isnan(theirs).any() and not np.isnan(ours.astype(float)).any():
        return Message("nan")
    wrong = ~np.isclose(ours.astype(float), theirs.astype(float), atol=TOLERANCE, equal_nan=True)
    if not wrong.any():
        return None
    place = tuple(int(each) for each in np.argwhere(wrong)[0]) if ours.ndim else ()
    shown = {"wanted": value_of(ours[place]), "found": value_of(theirs[place])}
    return Message("value", {**shown, "place": list(place)}) if place else Message("number", shown)


def difference_of_several(wanted: Any, found: Any) -> Message | None:
    if not isinstance(found, list | tuple) or len(found) != len(wanted):
        return Message("several", {"count": len(wanted)})
    problems = (difference(one, other) for one, other in zip(wanted, found, strict=True))
    return next((each for each in problems if each is not None), None)


def value_of(number: Any) -> object:
    return bool(number) if isinstance(number, np.bool_) else round(float(number), 4)


def copied(value: Any) -> Any:
    """An answer may change its arguments."""
    return value.copy() if isinstance(value, np.ndarray) else value
