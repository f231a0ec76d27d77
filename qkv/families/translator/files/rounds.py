"""Run the steps of all segments together: the tasks of one round are translated at once."""

from collections.abc import Callable, Generator, Mapping, Sequence

from qkv.families.translator.files.task import Answers, Draft, Steps, Task

Ask = Callable[[Sequence[Task]], Mapping[Task, Answers]]
Together = Generator[Sequence[Task], list[Answers], list[list[Draft]]]


def drafts_of(steps: Sequence[Steps], ask: Ask) -> list[list[Draft]]:
    """The drafts of each item. Equal tasks are asked once in a round."""
    everything = side_by_side(steps)
    try:
        tasks = next(everything)
        while True:
            answers = ask(list(dict.fromkeys(tasks)))
            tasks = everything.send([answers[task] for task in tasks])
    except StopIteration as finished:
        found: list[list[Draft]] = finished.value
        return found


def side_by_side(steps: Sequence[Steps]) -> Together:
    """Advance all steps by one round at a time. Returns the drafts of each."""
    found: list[list[Draft]] = [[] for _ in steps]
    waiting: dict[int, Sequence[Task]] = {}
    for place, each in enumerate(steps):
        advance(each, None, place, waiting, found)
    while waiting:
        answers = iter((yield [task for tasks in waiting.values() for task in tasks]))
        asked, waiting = waiting, {}
        for place, tasks in asked.items():
            advance(steps[place], [next(answers) for _ in tasks], place, waiting, found)
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
