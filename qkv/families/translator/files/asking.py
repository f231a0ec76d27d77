"""Ask the model: tasks with equal options together, in portions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from qkv.families.translator.files.answers import StoredAnswers
from qkv.families.translator.files.task import Answer, Answers, Task
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.pipeline import Done, Pipeline
from qkv.progress.delayed import count_progress
from qkv.runtime.file_job import LineCounter
from qkv.runtime.pace import Pace
from qkv.runtime.running import silent

STRINGS_AT_ONCE = 1_000  # at most


@dataclass(frozen=True)
class Asking:
    """A model with the options that all tasks share, and the answers that it has given."""

    pipeline: Pipeline
    options: TranslationOptions
    stored: StoredAnswers
    progress: bool

    def __call__(self, tasks: Sequence[Task]) -> Mapping[Task, Answers]:
        known = {task: answers for task in tasks if (answers := self.stored.get(task)) is not None}
        shown = count_progress("translating", len(tasks), before=len(known), lines=True)
        counted: AbstractContextManager[Done] = shown if self.progress else nullcontext(silent)
        with counted as count:
            return {**known, **dict(self.answers([task for task in tasks if task not in known], count))}

    def answers(self, tasks: Sequence[Task], count: Done) -> Iterator[tuple[Task, Answers]]:
        alike: dict[TranslationOptions, list[Task]] = {}
        for task in tasks:
            alike.setdefault(task.options(self.options), []).append(task)
        for options, group in alike.items():
            for portion in Pace(STRINGS_AT_ONCE).portions(group):
                counter = LineCounter(len(portion), count)
                found = self.pipeline.hypotheses([task.text for task in portion], options, counter.advance)
                counter.finish()
                answers = [
                    (task, tuple(map(Answer.of, translations)))
                    for task, translations in zip(portion, found, strict=True)
                ]
                self.stored.add(answers)
                yield from answers
