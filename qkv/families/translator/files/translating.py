"""Select the segments of a document, and translate them."""

from qkv.documents import Document, Segment
from qkv.families.translator.files.asking import Asking
from qkv.families.translator.files.outcome import Outcome, outcome_of
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.rounds import drafts_of
from qkv.families.translator.files.steps import steps_of
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import FileOptions
from qkv.families.translator.pipeline import Pipeline
from qkv.families.translator.recall import Recall


def is_selected(segment: Segment, files: FileOptions) -> bool:
    """Only what is missing, unless more is asked for. A file of one language has nothing but sources."""
    if segment.held or not segment.text:
        return False
    if files.all or segment.target is None or segment.state == "untranslated":
        return True
    return files.also_fuzzy and segment.state == "fuzzy"


def translate(
    document: Document,
    pipeline: Pipeline,
    lines: LineTranslation,
    files: FileOptions,
    target: str | None,
    recall: Recall | None,
    progress: bool,
) -> list[Outcome]:
    selected = [place for place, segment in enumerate(document.segments) if is_selected(segment, files)]
    source, _ = pipeline.defaults.languages.named()
    request = Request(options=lines.options, source=source, target=target, recall=recall)
    steps = [steps_of(document.segments[place], request) for place in selected]
    ask = Asking(pipeline, lines.options, progress)
    drafts = {place: draft for place, [draft] in zip(selected, drafts_of(steps, ask), strict=True)}
    return [
        outcome_of(document, segment, drafts[place], lines)
        if place in drafts
        else Outcome(origin="held" if segment.held else "file", checks=held_checks(segment))
        for place, segment in enumerate(document.segments)
    ]


def held_checks(segment: Segment) -> tuple[str, ...]:
    return (segment.held,) if segment.held else ()
