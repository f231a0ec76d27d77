"""Choose how a segment is translated."""

from dataclasses import replace

from qkv.documents import Segment
from qkv.families.translator.files.accelerators import without_accelerator
from qkv.families.translator.files.checks import failed_checks, limit_of
from qkv.families.translator.files.messages import message_steps
from qkv.families.translator.files.plurals import plural_steps
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.task import Draft, Steps, task_of
from qkv.families.translator.recall import Recall

SEVERAL = 8  # translations, if the best one is too long


def steps_of(segment: Segment, request: Request) -> Steps:
    if request.recall is None or segment.is_ambiguous:  # the forms of a plural have equal sources
        return model_steps(segment, request)
    return memory_steps(segment, request, request.recall)


def model_steps(segment: Segment, request: Request) -> Steps:
    if segment.is_message:
        return message_steps(segment, request)
    mark = request.files.accelerator or ("&" if segment.dialect == "qt-format" else None)
    found = without_accelerator(segment.text, mark) if mark and not segment.spans else None
    if mark and found:
        return accelerator_steps(replace(segment, text=found[0]), request, (mark, found[1]))
    return text_steps(segment, request)


def text_steps(segment: Segment, request: Request) -> Steps:
    if segment.is_ambiguous:
        return plural_steps(segment, request.options)
    return plain_steps(segment, request)


def accelerator_steps(segment: Segment, request: Request, accelerator: tuple[str, str]) -> Steps:
    """The text without its accelerator, which comes back when those of all segments are known."""
    drafts = yield from text_steps(segment, request)
    return [replace(draft, accelerator=accelerator) for draft in drafts]


def plain_steps(segment: Segment, request: Request) -> Steps:
    """If the translation is too long, the best one that fits."""
    task = task_of(segment, request.options)
    [[best, *_]] = yield [task]
    limit = limit_of(segment, request.files)
    if limit is None or len(best.text) <= limit or best.copied or request.options.sample:
        return [Draft.of(best)]
    [several] = yield [replace(task, num_hypotheses=SEVERAL)]
    protected = task.options(request.options).protected
    fitting = (
        each
        for each in several
        if len(each.text) <= limit and not any(failed_checks(segment, each.text, protected))
    )
    return [Draft.of(next(fitting, best))]


def memory_steps(segment: Segment, request: Request, recall: Recall) -> Steps:
    """What the memory has, or else a translation, with the most similar text of the memory in the report."""
    protected = task_of(segment, request.options).options(request.options).protected
    match = recall.usable(segment.text, () if segment.is_message else protected, segment.context)
    if match is not None and not (segment.is_message and match.level == "adapted"):
        origin = (("memory", {"level": match.level, "source": match.source, "origin": match.origin}),)
        return [Draft(text=match.target, origin="memory", is_checked=segment.is_message, details=origin)]
    drafts = yield from model_steps(segment, request)
    match = recall.similar(segment.text, segment.context)
    if match is None or match.level != "fuzzy":
        return drafts
    similar = {"source": match.source, "target": match.target, "score": round(match.score, 3)}
    return [replace(draft, details=(*draft.details, ("similar", similar))) for draft in drafts]
