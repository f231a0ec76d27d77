"""The part of YAML that Marian writes: a mapping of scalars and lists, and vocabularies with a token and its id on each line."""

import re
from typing import Any

from qkv.errors import DataError

Value = str | list[Any]
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v",
           "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}  # fmt: skip
DOUBLE, SINGLE = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL), re.compile(r"'(?:[^']|'')*'")


def read_mapping(text: str, where: str) -> dict[str, Value]:
    """Scalars stay text. Lists may contain lists, as `dim-vocabs` and `transformer-tied-layers` do not."""
    found: dict[str, Value] = {}
    name = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or stripped in ("---", "..."):
            continue
        current = found.get(name)
        if stripped.startswith("- ") or stripped == "-":
            if not isinstance(current, list):
                raise fault(where, line)
            current.append(scalar(stripped[1:].strip()))
            continue
        if line[0].isspace():
            raise fault(where, line)
        name, rest = split_entry(line, where)
        found[name] = value_of(rest)
    return found


def read_vocabulary(text: str, where: str) -> list[str]:
    """The tokens in the order of their ids: `token: id` on each line, or one token on each line."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if not lines[0].rstrip().endswith(": 0") and ": " not in lines[0]:
        return lines
    ids: dict[int, str] = {}
    for line in lines:
        if not line.strip() or line.strip() == "---":
            continue
        token, number = split_entry(line, where)
        if not number.isdecimal() or len(number) > 9 or int(number) in ids or int(number) >= len(lines):
            raise fault(where, line)
        ids[int(number)] = token
    if sorted(ids) != list(range(len(ids))):
        raise DataError(f"{where} does not give every id below {len(ids):,} to a token.")
    return [ids[number] for number in range(len(ids))]


def split_entry(line: str, where: str) -> tuple[str, str]:
    quoted = DOUBLE.match(line) or SINGLE.match(line)
    if quoted is not None:
        name, rest = scalar(quoted[0]), line[quoted.end() :]
        if not rest.startswith(":"):
            raise fault(where, line)
        return name, rest[1:].strip()
    name, colon, rest = line.rpartition(": ") if re.search(r": \d+\s*$", line) else line.partition(":")
    if not colon:
        raise fault(where, line)
    return name.strip(), rest.strip()


def value_of(text: str) -> Value:
    if not text:
        return []
    if text.startswith("[") and text.endswith("]"):
        return [scalar(each.strip()) for each in text[1:-1].split(",") if each.strip()]
    return scalar(text)


def scalar(text: str) -> str:
    if len(text) > 1 and DOUBLE.fullmatch(text):
        return ESCAPE.sub(unescaped, text[1:-1])
    if len(text) > 1 and SINGLE.fullmatch(text):
        return text[1:-1].replace("''", "'")
    return text


def unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return LETTERS.get(code, code)


def fault(where: str, line: str) -> DataError:
    return DataError(f"{where} is not a file that Marian writes: '{line.strip()[:60]}'.")
