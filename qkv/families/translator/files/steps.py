"""Choose how a segment is translated."""

from dataclasses import replace

from qkv.documents import Segment
from qkv.families.translator.files.messages import message_steps
from qkv.families.translator.files.plurals import plural_steps
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.task import Draft, Steps, task_of
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.recall import Recall


def steps_of(segment: Segment, request: Request) -> Steps:
    if request.recall is None or segment.is_ambiguous:  # the forms of a plural have equal sources
        return model_steps(segment, request)
    return memory_steps(segment, request, request.recall)


def model_steps(segment: Segment, request: Request) -> Steps:
    if segment.is_message:
        return message_steps(segment, request)
    if segment.is_ambiguous:
        return plural_steps(segment, request.options)
    return plain_steps(segment, request.options)


def plain_steps(segment: Segment, options: TranslationOptions) -> Steps:
    [answers] = yield [task_of(segment, options)]
    return [Draft.of(answers[0])]


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
