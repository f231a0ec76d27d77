"""The strings of YAML files and where they are, from the events of PyYAML."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from qkv.errors import DataError, MissingExtraError

MOST_CHARACTERS = 10_000_000  # PyYAML reads less than a million in a second
DEEPEST = 500  # collections inside each other
PROPERTIES = re.compile(r"(?:[&!]\S*+\s++)*")  # an anchor and a tag
STRING = "tag:yaml.org,2002:str"


@dataclass(frozen=True)
class Scalar:
    """A string and its place, without anchor and tag."""

    path: tuple[str, ...]
    value: str
    style: str
    start: int
    end: int
    in_flow: bool
    """Whether it is inside brackets, where commas separate values."""
    is_key: bool = False

    @property
    def text(self) -> str:
        """Without the line breaks around it: those of a block scalar are not part of the text."""
        return self.value.strip("\n")

    def whole(self, text: str) -> str:
        """A new text with the line breaks of the value around it."""
        before = len(self.value) - len(self.value.lstrip("\n"))
        return self.value[:before] + text + self.value[before + len(self.text) :]


@dataclass
class Level:
    """An open mapping or sequence."""

    is_mapping: bool
    in_flow: bool
    key: str = ""
    wants_key: bool = True
    count: int = 0

    def next_path(self) -> str:
        return self.key if self.is_mapping else str(self.count)

    def finish_value(self) -> None:
        self.wants_key, self.count = True, self.count + 1


def scalars_of(text: str) -> Iterator[Scalar]:
    """The strings of a file, and the keys. Aliases are not followed, so they cannot multiply."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("a .yaml file", package="PyYAML", extra="documents") from None
    if len(text) > MOST_CHARACTERS:
        raise DataError(f"a .yaml file may have {MOST_CHARACTERS:,} characters: divide it.")
    try:
        yield from walk(lenient_loader(yaml)(text), text, yaml)
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the last two: an escape for no character
        raise DataError(f"it is not valid YAML: {described(error)}. Correct it.") from None


def lenient_loader(yaml: Any) -> Any:
    """PyYAML's loader, which also reads [:day, :month] as older files of Rails have it."""
    ends = "\0 \t\r\n\x85\u2028\u2029,[]{}"

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def check_value(self) -> bool:
            if self.flow_level and self.peek(1) not in ends and self.prefix_is_open():
                return False
            return bool(super().check_value())

        def check_plain(self) -> bool:
            return bool(super().check_plain()) or (
                bool(self.flow_level) and self.peek() == ":" and self.peek(1) not in ends
            )

        def prefix_is_open(self) -> bool:
            """Whether no key ends here: {"a":1} has one."""
            return self.pointer == 0 or self.buffer[self.pointer - 1] in ends

    return Loader


def described(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = (
        getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).partition("\n")[0]
    )
    return f"line {mark.line + 1:,}: {problem}" if mark else problem


def walk(loader: Any, text: str, yaml: Any) -> Iterator[Scalar]:
    levels: list[Level] = []
    while loader.check_event():
        event = loader.get_event()
        if isinstance(event, yaml.CollectionStartEvent):
            begin_value(levels)
            in_flow = bool(event.flow_style) or (bool(levels) and levels[-1].in_flow)
            levels.append(Level(isinstance(event, yaml.MappingStartEvent), in_flow))
            if len(levels) > DEEPEST:
                raise DataError(f"line {event.start_mark.line + 1:,}: more than {DEEPEST} levels of nesting.")
        elif isinstance(event, yaml.CollectionEndEvent):
            levels.pop()
            end_value(levels)
        elif isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
            is_key = bool(levels) and levels[-1].is_mapping and levels[-1].wants_key
            is_scalar = isinstance(event, yaml.ScalarEvent)
            if is_key:
                levels[-1].key, levels[-1].wants_key = event.value if is_scalar else "*", False
            if is_scalar and (is_key or is_string(loader, event, yaml)):
                yield scalar_of(event, levels, text, is_key)
            if not is_key:
                end_value(levels)


def begin_value(levels: Sequence[Level]) -> None:
    """A collection as a key has no name."""
    if levels and levels[-1].is_mapping and levels[-1].wants_key:
        levels[-1].key = "?"


def end_value(levels: Sequence[Level]) -> None:
    if not levels:
        return
    level = levels[-1]
    if level.is_mapping and level.wants_key:  # the end of a collection that is a key
        level.wants_key = False
    else:
        level.finish_value()


def is_string(loader: Any, event: Any, yaml: Any) -> bool:
    """By its tag, or by what a plain scalar looks like: a number, a date and `yes` are no strings."""
    if event.tag is not None and event.tag != "!":
        return event.tag == STRING and bool(event.value)
    if event.style is None and event.tag is None:
        return loader.resolve(yaml.ScalarNode, event.value, (True, False)) == STRING and bool(event.value)
    return bool(event.value)


def scalar_of(event: Any, levels: Sequence[Level], text: str, is_key: bool) -> Scalar:
    start, end = event.start_mark.index, event.end_mark.index
    properties = PROPERTIES.match(text, start, end)
    start = properties.end() if properties else start
    path = tuple(level.next_path() for level in levels)
    in_flow = bool(levels) and levels[-1].in_flow
    if event.style in ("|", ">"):
        end = start + len(text[start:end].rstrip())
    return Scalar(path, event.value, event.style or "", start, end, in_flow, is_key)
