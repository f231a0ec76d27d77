"""Keys of i18next for plural forms that only the target language has: `file_few` beside `file_one` and `file_other`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qkv.documents.json_scanner import JsonString
from qkv.documents.plural_forms import Numbers, categories

KEY = re.compile(r"(.*?(_ordinal)?_)(zero|one|two|few|many|other)", re.DOTALL)

STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
LONGEST_SPACE = 200  # characters of indentation


@dataclass(frozen=True)
class MissingKey:
    """A key to insert behind a string, like the key of that string is written."""

    path: tuple[str | int, ...]
    category: str
    numbers: Numbers
    text: str
    """The source: that of the key for other numbers."""
    behind: JsonString


def category_of(string: JsonString) -> str:
    found = KEY.fullmatch(str(string.path[-1])) if string.path else None
    return found[3] if found else ""


def missing_keys(strings: Sequence[JsonString], target: str) -> Iterator[MissingKey]:
    """In the order of the strings behind which they belong."""
    families: dict[tuple[str | int, ...], dict[str, JsonString]] = {}
    for string in strings:
        found = KEY.fullmatch(string.path[-1]) if string.path and isinstance(string.path[-1], str) else None
        if found:
            families.setdefault((*string.path[:-1], found[1]), {})[found[3]] = string
    for path, forms in sorted(families.items(), key=lambda each: max(form.end for form in each[1].values())):
        if "other" not in forms or len(forms) == 1:  # a key such as see_other
            continue
        last = max(forms.values(), key=lambda form: form.end)
        wanted = categories(target, ordinal=str(path[-1]).endswith("_ordinal_"))
        for category, numbers in wanted.items():
            if category not in forms:
                key = (*path[:-1], f"{path[-1]}{category}")
                yield MissingKey(key, category, numbers, forms["other"].text, last)


def inserted(text: str, missing: MissingKey, quoted_key: str, quoted_text: str) -> str:
    """What is inserted behind a string, with the white space around its key."""
    behind = missing.behind
    before = text[max(0, behind.key - LONGEST_SPACE) : behind.key]
    space = before[len(before.rstrip()) :]
    written_key = STRING.match(text, behind.key)
    between = text[written_key.end() : behind.start] if written_key else ": "
    return f",{space}{quoted_key}{between}{quoted_text}"
