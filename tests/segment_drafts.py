"""Drafts of segments by a function in place of a model."""

from collections.abc import Callable, Sequence

from qkv.documents import Segment
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.rounds import drafts_of
from qkv.families.translator.files.steps import steps_of
from qkv.families.translator.files.task import Answer, Draft, Task
from qkv.families.translator.options import DEFAULTS


def drafts(
    segments: Sequence[Segment],
    model: Callable[[str], str],
    source: str | None = "en",
    target: str | None = None,
) -> list[Draft]:
    def ask(tasks: Sequence[Task]) -> dict[Task, tuple[Answer, ...]]:
        return {task: (Answer(text=model(task.text)),) for task in tasks}

    request = Request(options=DEFAULTS, source=source, target=target)
    return [draft for [draft] in drafts_of([steps_of(each, request) for each in segments], ask)]
