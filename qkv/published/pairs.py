"""Language pairs as users and publishers write them: en-de, eng-deu, pt_BR-en."""

import re

from qkv.data.language_codes import two_letters
from qkv.data.language_tags import language_tag

Pair = tuple[str, str]
WRITTEN = re.compile(r"([A-Za-z]{2,3}(?:_[A-Za-z]{2,4})?)-([A-Za-z]{2,3}(?:_[A-Za-z]{2,4})?)")


def pair_of(text: str) -> Pair | None:
    """The pair, or None if the text is something else."""
    match = WRITTEN.fullmatch(text)
    return None if match is None else (code_of(match[1]), code_of(match[2]))


def code_of(language: str) -> str:
    """en for en, eng and EN; pt-br for pt_BR."""
    language, *region = language_tag(language).split("-")
    return "-".join([two_letters(language) or language, *region])


def matches(published: Pair, wanted: Pair) -> bool:
    return tuple(code_of(each) for each in published) == tuple(code_of(each) for each in wanted)


def written(pair: Pair) -> str:
    """As `pair_of` reads it: zh_Hans-en."""
    return "-".join(code.replace("-", "_") for code in pair)
