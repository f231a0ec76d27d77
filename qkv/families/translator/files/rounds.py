"""Run the steps of all segments together: the tasks of one round are translated at once."""

from collections.abc import Callable, Mapping, Sequence

from qkv.families.translator.files.task import Answers, Draft, Steps, Task

Ask = Callable[[Sequence[Task]], Mapping[Task, Answers]]


def drafts_of(steps: Sequence[Steps], ask: Ask) -> list[list[Draft]]:
    """The drafts of each item. Equal tasks are asked once in a round."""
    found: list[list[Draft]] = [[] for _ in steps]
    waiting: dict[int, Sequence[Task]] = {}
    for place, each in enumerate(steps):
        advance(each, None, place, waiting, found)
    while waiting:
        answers = ask(list(dict.fromkeys(task for tasks in waiting.values() for task in tasks)))
        asked, waiting = waiting, {}
        for place, tasks in asked.items():
            advance(steps[place], [answers[task] for task in tasks], place, waiting, found)
    return found


def advance(
    steps: Steps,
    answers: list[Answers] | None,
    place: int,
    waiting: dict[int, Sequence[Task]],
    found: list[list[Draft]],
) -> None:
    try:
        waiting[place] = next(steps) if answers is None else steps.send(answers)
    except StopIteration as finished:
        found[place] = finished.value
