"""Select the segments of a document, and translate them."""

from collections.abc import Mapping
from dataclasses import replace

from qkv.documents import Document, Segment
from qkv.families.translator.files.accelerators import with_accelerator
from qkv.families.translator.files.outcome import Outcome, outcome_of
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.rounds import Ask, drafts_of
from qkv.families.translator.files.steps import steps_of
from qkv.families.translator.files.task import Draft
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import FileOptions


def is_selected(segment: Segment, files: FileOptions) -> bool:
    """Only what is missing, unless more is asked for. A file of one language has nothing but sources."""
    if segment.held or not segment.text:
        return False
    if files.all or segment.target is None or segment.state == "untranslated":
        return True
    return files.also_fuzzy and segment.state == "fuzzy"


def translate(document: Document, lines: LineTranslation, request: Request, ask: Ask) -> list[Outcome]:
    files = request.files
    selected = [place for place, segment in enumerate(document.segments) if is_selected(segment, files)]
    steps = [steps_of(document.segments[place], request) for place in selected]
    found = {place: draft for place, [draft] in zip(selected, drafts_of(steps, ask), strict=True)}
    drafts = with_accelerators(document, found)
    return [
        outcome_of(document, segment, drafts[place], lines, files)
        if place in drafts
        else Outcome(origin="held" if segment.held else "file", checks=held_checks(segment))
        for place, segment in enumerate(document.segments)
    ]


def with_accelerators(document: Document, drafts: Mapping[int, Draft]) -> dict[int, Draft]:
    """Put accelerators back. Strings of one context, such as a dialog, get different letters as far as possible."""
    taken: dict[str, set[str]] = {}
    done = dict(drafts)
    for place, draft in drafts.items():
        if draft.accelerator is not None:
            context = document.segments[place].context
            used = taken.setdefault(context, set()) if context else set()
            text, letter = with_accelerator(draft.text, *draft.accelerator, used)
            used.add(letter)
            done[place] = replace(draft, text=text)
    return done


def held_checks(segment: Segment) -> tuple[str, ...]:
    return (segment.held,) if segment.held else ()
