"""ICU messages such as `{n, plural, one {# file} other {# files}}`: read, with a bound on depth, in linear time."""

import re
from dataclasses import dataclass

DEEPEST = 20
LONGEST = 100_000  # characters
TEXT = re.compile(r"(?:[^{}'#]++|''|'(?![{}#]))++")
QUOTED = re.compile(r"'[{}#](?:[^']++|'')*+(?:'|\Z)")
NAME = re.compile(r"\s*([^\s{},#']{1,200})\s*")
KIND = re.compile(r",\s*(plural|select|selectordinal)\s*,\s*")
OFFSET = re.compile(r"offset:\s*(\d{1,9})\s*")
SELECTOR = re.compile(r"\s*(=\d{1,9}|[^\s{}=#',]{1,100})\s*(?=\{)")
REST = re.compile(r"[^{}]*+\}")  # of an argument with a format: {day, date, short}
CHOICE = re.compile(r"\{\s*[^\s{},#']{1,200}\s*,\s*(?:plural|select|selectordinal)\s*,")


@dataclass(frozen=True)
class Argument:
    raw: str
    name: str


@dataclass(frozen=True)
class Number:
    """The sign #: the number of the plural around it."""

    owner: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    name: str
    kind: str
    """plural, select or selectordinal."""
    offset: int
    options: "tuple[tuple[str, Message], ...]"


Part = str | Argument | Number | Choice
Message = tuple[Part, ...]


def is_message(text: str) -> bool:
    """Whether a text seems to be an ICU message with choices."""
    return CHOICE.search(text) is not None


def parse_message(text: str) -> Message:
    """The parts of a message. Texts keep their quotes.

    Raises:
        ValueError: It is not a valid message.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters")
    reader = MessageReader(text)
    found = reader.message("", 0)
    if reader.place < len(text):
        raise ValueError("a } without its {")
    return found


def can_be_read(text: str) -> bool:
    try:
        parse_message(text)
    except ValueError:
        return False
    return True


class MessageReader:
    def __init__(self, text: str):
        self.text, self.place = text, 0

    def message(self, owner: str, depth: int) -> Message:
        """Up to a closing brace or the end. `owner` is the argument of the plural around it."""
        parts: list[Part] = []
        while self.place < len(self.text) and self.text[self.place] != "}":
            if self.text[self.place] == "{":
                parts.append(self.argument(owner, depth))
            elif self.text[self.place] == "#" and owner:
                self.place += 1
                parts.append(Number(owner))
            else:
                parts.append(self.plain())
        return tuple(parts)

    def plain(self) -> str:
        found = TEXT.match(self.text, self.place) or QUOTED.match(self.text, self.place)
        self.place = found.end() if found else self.place + 1  # a # outside plurals
        return found[0] if found else "#"

    def argument(self, owner: str, depth: int) -> Argument | Choice:
        if depth == DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels of braces")
        start = self.place
        name = self.expect(NAME, start + 1, "a { without a name")
        kind = KIND.match(self.text, self.place)
        if kind is None:
            self.expect(REST, self.place, "a { without its }")
            return Argument(self.text[start : self.place], name[1])
        self.place = kind.end()
        offset = OFFSET.match(self.text, self.place)
        self.place = offset.end() if offset else self.place
        options = self.options(owner if kind[1] == "select" else name[1], depth)
        if "other" not in dict(options) or len(dict(options)) < len(options):
            raise ValueError("other is missing, or an option occurs twice")
        return Choice(name=name[1], kind=kind[1], offset=int(offset[1]) if offset else 0, options=options)

    def options(self, owner: str, depth: int) -> tuple[tuple[str, Message], ...]:
        found = []
        while selector := SELECTOR.match(self.text, self.place):
            self.place = selector.end() + 1
            found.append((selector[1], self.message(owner, depth + 1)))
            self.expect(re.compile(r"\}\s*"), self.place, "a { without its }")
        self.expect(re.compile(r"\s*\}"), self.place, "an option without braces")
        return tuple(found)

    def expect(self, pattern: re.Pattern[str], place: int, problem: str) -> re.Match[str]:
        found = pattern.match(self.text, place)
        if found is None:
            raise ValueError(problem)
        self.place = found.end()
        return found


# Write ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """White space as a message has it."""

    after_comma: str
    before_brace: str

    @classmethod
    def of(cls, text: str) -> "Style":
        comma = " " if re.search(r",\s+(?:plural|select)", text) else ""
        return cls(comma, " " if re.search(r"(?:other|one)\s+\{", text) else "")

    def written(self, message: Message) -> str:
        return "".join(map(self.part, message))

    def part(self, part: Part) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, Number):
            return "#"
        if isinstance(part, Argument):
            return part.raw
        offset = f"offset:{part.offset} " if part.offset else ""
        options = " ".join(
            f"{selector}{self.before_brace}{{{self.written(message)}}}" for selector, message in part.options
        )
        return f"{{{part.name},{self.after_comma}{part.kind},{self.after_comma}{offset}{options}}}"


# Whole sentences ------------------------------------------------------------------------------------


def count_sentences(message: Message) -> int:
    """How many sentences a message can become."""
    count = 1
    for part in message:
        if isinstance(part, Choice):
            count *= sum(count_sentences(option) for _, option in part.options)
    return count


def whole_sentences(message: Message) -> Message:
    """The same message with its choices outermost, so that every option is a whole sentence."""
    for place, part in enumerate(message):
        if isinstance(part, Choice):
            around = message[:place], message[place + 1 :]
            options = tuple(
                (selector, whole_sentences((*around[0], *option, *around[1])))
                for selector, option in part.options
            )
            return (Choice(name=part.name, kind=part.kind, offset=part.offset, options=options),)
    return message
