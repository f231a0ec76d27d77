"""ICU messages: every option becomes a whole sentence, and the translations become a message in the target language again.

The model never reads the syntax of a message. A number stands for the sign #, one of the target language's category.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qkv.documents import Segment
from qkv.documents.icu import (
    Argument,
    Choice,
    Message,
    Number,
    Part,
    Style,
    count_sentences,
    parse_message,
    whole_sentences,
)
from qkv.documents.plural_forms import Numbers, categories, usual_categories
from qkv.families.translator.files.checks import failed_checks
from qkv.families.translator.files.numbers import find_numbers, probes
from qkv.families.translator.files.plurals import CHECK, TRIES
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.rounds import side_by_side
from qkv.families.translator.files.task import Draft, Steps, least, task_of

MOST_SENTENCES = 200  # of one message, with the categories of the target language
UNQUOTED = re.compile(r"'(?=[{}#])")
GUESSED: dict[str, Numbers] = {
    "zero": ("0",),
    "one": ("1",),
    "two": ("2",),
    "few": ("3",),
    "other": ("5", "20", "30"),
}
"""Numbers for languages whose categories are not known."""
QUOTATION = re.compile(r"'[{}#][^']*'")


@dataclass(frozen=True)
class Sentence:
    """A message without choices, and the numbers that can stand for its plurals."""

    parts: Message
    numbers: tuple[tuple[str, Numbers], ...] = ()
    """Arguments of the plurals around it, the innermost last, and numbers that select this sentence."""
    is_new: bool = False
    """Whether the source has no sentence for this category."""


Tree = Sentence | tuple[Choice, tuple[tuple[str, "Tree"], ...]]


def message_steps(segment: Segment, request: Request) -> Steps:
    message = parse_message(segment.text)
    if has_unclear_numbers(message) or count_sentences(message) > MOST_SENTENCES:
        return held(segment)
    tree = grown(whole_sentences(message), Around(), request)
    sentences = list(sentences_of(tree))
    return folded(segment, tree, sentences, request) if len(sentences) <= MOST_SENTENCES else held(segment)


def held(segment: Segment) -> Steps:
    """Left as it is: such a message cannot be divided into sentences."""
    yield from ()
    return [Draft(text=segment.text, origin="held", checks=("message",), is_checked=True)]


def folded(segment: Segment, tree: Tree, sentences: Sequence[Sentence], request: Request) -> Steps:
    steps = [sentence_steps(segment, sentence, request) for sentence in sentences]
    drafts = [draft for [draft] in (yield from side_by_side(steps))]
    text = Style.of(segment.text).written(rebuilt(tree, iter(drafts)))
    checks = tuple(dict.fromkeys(check for draft in drafts for check in draft.checks))
    if not has_same_arguments(text, segment.text):
        return [Draft(text=segment.text, checks=("message",), is_checked=True)]
    origin = "model" if any(draft.origin == "model" for draft in drafts) else "copied"
    confidence = least([draft.confidence for draft in drafts])
    return [Draft(text=text, origin=origin, confidence=confidence, checks=checks, is_checked=True)]


# The options of the target language -----------------------------------------------------------------


@dataclass(frozen=True)
class Around:
    """The options around a sentence."""

    numbers: tuple[tuple[str, Numbers], ...] = ()
    chosen: tuple[tuple[str, str], ...] = ()
    """The argument and the source's option of each choice."""
    is_new: bool = False

    def into(self, choice: Choice, source: str, numbers: Numbers | None, *, is_new: bool) -> "Around":
        more = () if numbers is None else ((choice.name, numbers),)
        return Around((*self.numbers, *more), (*self.chosen, (choice.name, source)), self.is_new or is_new)


def grown(message: Message, around: Around, request: Request) -> Tree:
    """The message with an option for each category of the target language."""
    if len(message) != 1 or not isinstance(message[0], Choice):
        return Sentence(message, around.numbers, around.is_new)
    choice, given = message[0], dict(message[0].options)
    known = dict(around.chosen).get(choice.name)
    if known is not None:  # a second choice by the same argument
        return grown(given.get(known, given["other"]), around, request)
    if choice.kind == "select":
        inner = ((name, around.into(choice, name, None, is_new=False)) for name in given)
        return choice, tuple((name, grown(given[name], each, request)) for name, each in inner)
    return choice, tuple(
        (name, grown(given[source], around.into(choice, source, own, is_new=name not in given), request))
        for name, source, own in wanted_options(choice, request)
    )


def wanted_options(choice: Choice, request: Request) -> Iterator[tuple[str, str, Numbers]]:
    """Each option that the target needs, the option of the source that says it, and numbers that select it."""
    given, ordinal = dict(choice.options), choice.kind == "selectordinal"
    for name in given:
        if name.startswith("="):
            yield name, name, (str(int(name[1:]) - choice.offset),)
    wanted = usual_categories(request.target or "", ordinal=ordinal)
    every = categories(request.target or "", ordinal=ordinal)
    also = {name: every.get(name, ()) for name in given if not name.startswith("=")}
    if wanted:
        also = {name: numbers for name, numbers in also.items() if name in every or name == "other"}
    for name in dict.fromkeys([*(each for each in every if each in wanted or each in also), *also]):
        numbers = every.get(name) or GUESSED.get(name, ())
        ordered = sorted(numbers, key=lambda number: number != "1" if name == "one" else float(number) < 2)
        source = source_option(name, ordered, given, request.source, ordinal=ordinal)
        fitting = [
            each
            for each in ordered
            if source_option(name, [each], given, request.source, ordinal=ordinal) == source
        ]
        yield name, source, tuple(fitting)


def source_option(
    name: str, numbers: Sequence[str], given: dict[str, Message], language: str | None, *, ordinal: bool
) -> str:
    """The option that the source language has for the first of these numbers."""
    for category, members in categories(language or "", ordinal=ordinal).items():
        if numbers and numbers[0] in members and category in given:
            return category
    return name if name in given else "other"


def sentences_of(tree: Tree) -> Iterator[Sentence]:
    if isinstance(tree, Sentence):
        yield tree
        return
    for _, inner in tree[1]:
        yield from sentences_of(inner)


def rebuilt(tree: Tree, drafts: Iterator[Draft]) -> Message:
    if isinstance(tree, Sentence):
        return (next(drafts).text,)
    choice, options = tree
    return (replace(choice, options=tuple((name, rebuilt(inner, drafts)) for name, inner in options)),)


# One sentence ----------------------------------------------------------------------------------------


def sentence_steps(segment: Segment, sentence: Sentence, request: Request) -> Steps:
    """Try numbers until all of them are found in the translation."""
    counts = Counter(owner for part in sentence.parts if (owner := owner_of(part, sentence)))
    known = dict(sentence.numbers)
    written = "".join(part for part in sentence.parts if isinstance(part, str))
    candidates = {owner: probes(known[owner], written)[:TRIES] for owner in counts}
    rounds = max(map(len, candidates.values()), default=0)
    for attempt in range(rounds if all(candidates.values()) else 0):
        chosen = distinct_numbers(candidates, attempt)
        if chosen is None:
            continue
        source = part_of(segment, with_numbers(sentence, chosen))
        [[answer, *_]] = yield [task_of(source, request.options)]
        text = exchanged(answer.text, chosen, counts, sentence)
        if text is not None:
            return [checked(replace(Draft.of(answer), text=text), source, answer.text, request)]
    source = part_of(segment, with_signs(sentence))
    [[answer, *_]] = yield [task_of(source, request.options)]
    doubts = (CHECK,) if counts or sentence.is_new else ()
    draft = checked(Draft.of(answer, *doubts), source, answer.text, request)
    return [replace(draft, text=back_to_signs(draft.text, sentence))]


def part_of(segment: Segment, text: str) -> Segment:
    return replace(
        segment, text=text, spans=(), protect_pattern=(*segment.protect_pattern, QUOTATION.pattern)
    )


def owner_of(part: Part, sentence: Sentence) -> str:
    """The plural whose number a part shows: # or {n}."""
    if isinstance(part, Number):
        return part.owner
    if isinstance(part, Argument) and part.name in dict(sentence.numbers) and "," not in part.raw:
        return part.name
    return ""


def distinct_numbers(candidates: dict[str, list[str]], attempt: int) -> dict[str, str] | None:
    chosen: dict[str, str] = {}
    for owner, numbers in candidates.items():
        free = [number for number in numbers if number not in chosen.values()]
        if not free:
            return None
        chosen[owner] = free[min(attempt, len(free) - 1)]
    return chosen


def with_numbers(sentence: Sentence, chosen: dict[str, str]) -> str:
    return "".join(
        part if isinstance(part, str) else chosen.get(owner_of(part, sentence)) or raw_of(part)
        for part in sentence.parts
    )


def with_signs(sentence: Sentence) -> str:
    """The sentence with placeholders for its numbers: {n} in place of #."""
    return "".join(part if isinstance(part, str) else raw_of(part) for part in sentence.parts)


def raw_of(part: Part) -> str:
    return part.raw if isinstance(part, Argument) else f"{{{part.owner}}}" if isinstance(part, Number) else ""


def exchanged(text: str, chosen: dict[str, str], counts: Counter[str], sentence: Sentence) -> str | None:
    """The translation with # and arguments in place of the numbers; None if they are not all there."""
    if "#" in text:  # it would be read as a number
        return None
    edits = []
    for owner, number in chosen.items():
        places = find_numbers(text, number)
        if len(places) != counts[owner]:
            return None
        edits += [(place, sign_of(owner, sentence)) for place in places]
    parts, last = [], 0
    for (start, end), sign in sorted(edits):
        parts += [text[last:start], sign]
        last = end
    return safe("".join([*parts, text[last:]]), sentence)


def sign_of(owner: str, sentence: Sentence) -> str:
    """# for the plural next to the sentence, and otherwise its argument."""
    raw = {part.raw for part in sentence.parts if isinstance(part, Argument) and part.name == owner}
    if raw:
        return raw.pop()
    return "#" if sentence.numbers and sentence.numbers[-1][0] == owner else f"{{{owner}}}"


def back_to_signs(text: str, sentence: Sentence) -> str:
    for part in sentence.parts:
        if isinstance(part, Number):
            text = text.replace(raw_of(part), sign_of(part.owner, sentence), 1)
    return safe(text, sentence)


def safe(text: str, sentence: Sentence) -> str:
    """An apostrophe before a brace would begin a quotation, unless the source has quotations."""
    quotes = any(isinstance(part, str) and QUOTATION.match(part) for part in sentence.parts)
    return text if quotes else UNQUOTED.sub("\u2019", text)


# Checks ----------------------------------------------------------------------------------------------


def checked(draft: Draft, source: Segment, text: str, request: Request) -> Draft:
    protected = task_of(source, request.options).options(request.options).protected
    return replace(draft, checks=(*draft.checks, *failed_checks(source, text, protected)))


def has_unclear_numbers(message: Message) -> bool:
    """Whether a # would change its meaning in a whole sentence: one outside plurals, or with an offset among other choices."""
    every = list(parts_of(message))
    names = [part.name for part in every if isinstance(part, (Argument, Choice))]
    offsets = [part.name for part in every if isinstance(part, Choice) and part.offset]
    choices = sum(isinstance(part, Choice) for part in every)
    return "#" in every or any(choices > 1 or names.count(name) > 1 for name in offsets)


def parts_of(message: Message) -> Iterator[Part]:
    for part in message:
        yield part
        for _, option in part.options if isinstance(part, Choice) else ():
            yield from parts_of(option)


def has_same_arguments(text: str, source: str) -> bool:
    """Whether a new message can be read and has the arguments of its source."""
    try:
        return names_in(parse_message(text)) == names_in(parse_message(source))
    except ValueError:
        return False


def names_in(message: Message) -> set[str]:
    return {part.name for part in parts_of(message) if isinstance(part, (Argument, Choice))}
