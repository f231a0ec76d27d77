"""Plural forms that the source language does not have: translated with a number in the place of the placeholder."""

from dataclasses import replace

from qkv.documents import Segment
from qkv.families.translator.files.numbers import counted_placeholder, find_number, probes
from qkv.families.translator.files.task import Draft, Steps, task_of
from qkv.families.translator.options import TranslationOptions
from qkv.text.protect import ProtectedSpan

TRIES = 3  # numbers
CHECK = "plural form"


def plural_steps(segment: Segment, options: TranslationOptions) -> Steps:
    """Without a number that can be found again, the form is a guess, and therefore doubtful."""
    plain = task_of(segment, options)
    counted = counted_placeholder(segment.text, plain.protect)
    if counted is not None:
        for number in probes(segment.numbers, segment.text)[:TRIES]:
            [[answer, *_]] = yield [task_of(with_number(segment, counted, number), options)]
            place = find_number(answer.text, number)
            if place is not None:
                text = f"{answer.text[: place[0]]}{counted.text}{answer.text[place[1] :]}"
                return [replace(Draft.of(answer), text=text, alignment=None)]
    [[answer, *_]] = yield [plain]
    return [Draft.of(answer, CHECK)]


def with_number(segment: Segment, counted: ProtectedSpan, number: str) -> Segment:
    longer = len(number) - len(counted.text)
    spans = [
        (start, end) if end <= counted.start else (start + longer, end + longer)
        for start, end in segment.spans
        if end <= counted.start or start >= counted.end
    ]
    text = f"{segment.text[: counted.start]}{number}{segment.text[counted.end :]}"
    return replace(segment, text=text, spans=tuple(spans))
