"""The arguments that the placeholders of a text need, as programs read them.

Two texts fit together if they need the same arguments. That is what `msgfmt -c` compares: the width and the precision of a
number may differ, and so may the order of arguments with names or numbers.
"""

import re
from collections.abc import Callable, Mapping

from qkv.text.protect import Kind

Arguments = Mapping[str, str]
"""The type of each argument by its name or number."""
Reader = Callable[[str], Arguments | None]
"""Returns None for a text that the program could not read."""

PRINTF = re.compile(
    r"%(?:(?P<percent>%)|\{(?P<brace>[^{}]*+)\}|(?:(?P<number>\d{1,9})\$|\((?P<name>[^()]*+)\)|<(?P<ruby>\w{1,100})>)?"
    r"(?P<flags>[-+ #0'I]*+)(?P<width>\*|\d*+)(?:\.(?P<precision>\*|\d*+))?"
    r"(?P<length>hh|h|ll|l|L|q|z|j|t)?(?P<type>[A-Za-z@]|<PRI(?P<pri>\w{1,20})>)|)"
)
QT = re.compile(r"%L?(\d{1,2})")
BRACE = re.compile("[{}]")
FIELD = re.compile(r"(\w*)((?:\.\w+|\[[^\]{}]*+\])*+)(?:![a-z])?(?::(?:[^{}]|\{[^{}]*+\})*+)?\}")
C_TYPES = {
    **dict.fromkeys("di", "signed"), **dict.fromkeys("ouxX", "unsigned"), **dict.fromkeys("eEfFgGaA", "float"),
    **{letter: letter for letter in "cCsSpn@"},
}  # fmt: skip
PYTHON_TYPES = {
    **dict.fromkeys("diuoxX", "integer"), **dict.fromkeys("eEfFgG", "float"), "c": "c",
    **dict.fromkeys("sra", "text"),
}  # fmt: skip


def printf_arguments(types: Mapping[str, str], *, names: bool, ruby: bool = False) -> Reader:
    """Placeholders such as %d, %2$s, %(name)s and, in Ruby, %{name} and %<name>d."""

    def read(text: str) -> Arguments | None:
        found: dict[str, str] = {}
        numbered = unnumbered = 0
        for match in PRINTF.finditer(text):
            if match["percent"] or match["type"] == "m":
                continue
            if ruby and match["brace"] is not None:
                found[match["brace"]] = "any"
                continue
            kind = types.get(match["type"] or "") or match["pri"]
            name = match["name"] if names else match["ruby"] if ruby else None
            if kind is None or match["brace"] is not None or (name is None and match["name"] is not None):
                return None
            for part in ("width", "precision"):
                if match[part] == "*":
                    unnumbered += 1
                    found[str(unnumbered)] = "signed"
            if match["number"]:
                numbered += 1
                place = match["number"].lstrip("0")
            elif name is None:
                unnumbered += 1
                place = str(unnumbered)
            else:
                place = name
            if found.setdefault(place, kind + (match["length"] or "")) != kind + (match["length"] or ""):
                return None
        if numbered and (unnumbered or not all(str(place + 1) in found for place in range(len(found)))):
            return None
        return found

    return read


def qt_arguments(text: str) -> Arguments:
    return dict.fromkeys(QT.findall(text), "any")


def brace_arguments(text: str) -> Arguments | None:
    """Fields of str.format. An attribute or an index belongs to the name."""
    found: dict[str, str] = {}
    place = count = 0
    while brace := BRACE.search(text, place):
        place = brace.start()
        if text[place : place + 2] in ("{{", "}}"):
            place += 2
            continue
        match = FIELD.match(text, place + 1)
        if text[place] == "}" or match is None:
            return None
        name = match[1] or str(count)
        count += not match[1]
        found[name + match[2]] = "any"
        place = match.end()
    return found


READERS: dict[Kind, Reader] = {
    "c-format": printf_arguments(C_TYPES, names=False),
    "python-format": printf_arguments(PYTHON_TYPES, names=True),
    "ruby-format": printf_arguments(C_TYPES, names=False, ruby=True),
    "qt-format": qt_arguments,
    "python-brace-format": brace_arguments,
}


def argument_problems(source: str, target: str, dialect: Kind, *, may_omit: bool = False) -> str | None:
    """What is wrong with the arguments of a translation; None if nothing is, or if the source is not valid itself."""
    read = READERS[dialect]
    wanted, given = read(source), read(target)
    if wanted is None:
        return None
    if given is None:
        return f"it is not valid as {dialect}"
    missing = [] if may_omit else [name for name in wanted if name not in given]
    added = [name for name in given if name not in wanted]
    other = [name for name in given if name in wanted and given[name] != wanted[name]]
    parts = [
        f"{what} {', '.join(names)}"
        for what, names in (("lacks", missing), ("adds", added), ("changes the type of", other))
        if names
    ]
    return f"it {' and '.join(parts)}" if parts else None
