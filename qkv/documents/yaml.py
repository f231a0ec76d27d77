"""YAML (.yaml, .yml): every string value is a segment. In files of Rails, the root key is the language.

PyYAML finds the values and their places. Only these are replaced, in the style that they have, as long as that style can
express the new text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from qkv.documents.comparing import among_segments, differences
from qkv.documents.document import Document, Edit, NewTexts, Segment
from qkv.documents.encodings import Decoded, decode
from qkv.documents.plural_forms import plural_forms
from qkv.documents.unicode_escapes import UnicodeEscapes
from qkv.documents.yaml_scanner import STRING, Scalar, scalars_of
from qkv.documents.yaml_text import Block, is_plain, quoted_double, quoted_single

CATEGORIES = frozenset({"zero", "one", "two", "few", "many", "other"})
LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*")
SYMBOL = re.compile(r":[\w.]+[?!]?")
DIRECTIVE = re.compile(r"%\{[^{}]*\}|%<\w+>|%[-0^#:]*\d*[A-Za-z]")
CODES = re.compile(r"\\u([0-9a-fA-F]{4})")


def read_yaml(content: bytes, target: str | None = None) -> Document:
    decoded = decode(content)
    scalars = list(scalars_of(decoded.text))
    root = language_key(scalars)
    values = [each for each in scalars if not each.is_key]
    chosen = [each for each in values if is_text(each, is_rails=root is not None)]
    offsets = decoded.offsets(place for each in scalars for place in (each.start, each.end))
    writer = Writer.of(decoded)
    segments = [
        Segment(
            text=each.text,
            start=offsets[each.start],
            end=offsets[each.end],
            encode=partial(writer.encode, each),
            key=".".join(each.path[1:] if root else each.path),
            dialect="ruby-format" if root else None,
            plural=each.path[-1] if each.path and each.path[-1] in CATEGORIES else "",
        )
        for each in chosen
    ]

    def marks(new: NewTexts) -> Iterator[Edit]:
        if root and target and any(each is not None for each in new):
            yield Edit(offsets[root.start], offsets[root.end], writer.encode(root, target))

    def compare(written: bytes, new: NewTexts) -> list[range]:
        wanted = {each.start: each.value for each in values}
        for each, text in zip(chosen, new, strict=True):
            if text is not None and text.text != each.text:
                wanted[each.start] = each.whole(text.text)
        made = [each.value for each in scalars_of(decode(written).text) if not each.is_key]
        found = differences([wanted[each.start] for each in values], made)
        starts = [each.start for each in chosen]
        return among_segments(found, [*(bisect_left(starts, each.start) for each in values), len(chosen)])

    return Document(
        content=content,
        segments=tuple(segments),
        media_type="application/yaml",
        encoding=decoded.encoding,
        source_language=root.value if root else None,
        marks=marks,
        compare=compare,
    )


def is_text(scalar: Scalar, *, is_rails: bool) -> bool:
    """Whether it has letters that are neither a Ruby symbol nor, in Rails, a directive such as %B."""
    if SYMBOL.fullmatch(scalar.value):
        return False
    text = DIRECTIVE.sub("", scalar.value) if is_rails else scalar.value
    return any(map(str.isalpha, text))


def language_key(scalars: Sequence[Scalar]) -> Scalar | None:
    """The only key at the top, if it is a language."""
    roots = [each for each in scalars if each.is_key and len(each.path) == 1]
    language = LANGUAGE.fullmatch(roots[0].value) if len(roots) == 1 else None
    inside = any(len(each.path) > 1 and each.path[0] == roots[0].value for each in scalars if roots)
    return roots[0] if language and inside and plural_forms(language[1]) else None


# Writing ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Writer:
    decoded: Decoded
    escapes: UnicodeEscapes

    @classmethod
    def of(cls, decoded: Decoded) -> "Writer":
        codes = CODES.findall(decoded.text)
        return cls(decoded, UnicodeEscapes.of(codes, is_ascii=decoded.text.isascii()))

    def encode(self, scalar: Scalar, text: str) -> bytes:
        return self.decoded.encode(self.written(scalar, text))

    def written(self, scalar: Scalar, text: str) -> str:
        """In the style of the scalar if it can express the text, otherwise in quotes."""
        whole = scalar.whole(text)
        if scalar.style in ("|", ">"):
            block = Block.of(self.decoded.text[scalar.start : scalar.end], scalar.style, scalar.text)
            if block.can_write(text):
                return block.write(text)
        if scalar.style == "" and is_plain(whole, in_flow=scalar.in_flow, is_string=is_plain_string):
            return whole
        if scalar.style != '"':
            single = quoted_single(whole)
            if single is not None:
                return single
        return quoted_double(whole, self.escapes)


def is_plain_string(text: str) -> bool:
    """Whether a plain scalar is read as a string, not as a number, a date or a truth value."""
    import yaml

    resolver = yaml.resolver.Resolver()
    return resolver.resolve(yaml.ScalarNode, text, (True, False)) == STRING
