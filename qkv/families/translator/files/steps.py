"""Choose how a segment is translated."""

from qkv.documents import Segment
from qkv.families.translator.files.messages import message_steps
from qkv.families.translator.files.plurals import plural_steps
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.task import Draft, Steps, task_of
from qkv.families.translator.options import TranslationOptions


def steps_of(segment: Segment, request: Request) -> Steps:
    if segment.is_message:
        return message_steps(segment, request)
    if segment.is_ambiguous:
        return plural_steps(segment, request.options)
    return plain_steps(segment, request.options)


def plain_steps(segment: Segment, options: TranslationOptions) -> Steps:
    [answers] = yield [task_of(segment, options)]
    return [Draft.of(answers[0])]
