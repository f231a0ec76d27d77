"""Markdown (.md) and MDX (.mdx): paragraphs, headings, cells of tables, and the title and description in the front matter.

Code, images, targets of links, HTML tags, JSX, shortcodes, math, footnote marks and anchors stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from qkv.documents.codes import Part, coded
from qkv.documents.comparing import differences
from qkv.documents.document import Document, NewTexts, Segment
from qkv.documents.encodings import Decoded, decode
from qkv.documents.markdown_blocks import Block, blocks_of, parser
from qkv.documents.markdown_masks import TAG_LINE, mask
from qkv.documents.markdown_text import EMPHASIS, EMPHASIS_TAGS, written
from qkv.documents.markup import HTML, cut_markup, loose_markup
from qkv.documents.yaml import Writer
from qkv.documents.yaml_scanner import Scalar, scalars_of
from qkv.errors import DataError

MOST_CHARACTERS = 10_000_000
FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n|\r|\n)(?P<yaml>.*?)^---[ \t]*(?:$|\r)|\+\+\+[ \t]*\r?\n.*?^\+\+\+[ \t]*(?:$|\r)",
    re.DOTALL | re.MULTILINE,
)
TRANSLATED_KEYS = frozenset({
    "title", "description", "summary", "subtitle", "excerpt", "linktitle", "linkTitle", "sidebar_label", "tagline", "lead", "heading",
})  # fmt: skip
NOT_SPACE = re.compile(r"[^\r\n]")
UNTOUCHED_HTML = re.compile(r"\s*<(?:pre|script|style|svg|textarea|!--)", re.IGNORECASE)


def read_markdown(content: bytes, target: str | None = None) -> Document:
    return read(content, mdx=False)


def read_mdx(content: bytes, target: str | None = None) -> Document:
    return read(content, mdx=True)


def read(content: bytes, *, mdx: bool) -> Document:
    decoded = decode(content)
    segments = list(segments_of(decoded, mdx=mdx))

    def compare(made: bytes, new: NewTexts) -> list[range]:
        texts = [
            segment.text if each is None else each.text for segment, each in zip(segments, new, strict=True)
        ]
        wanted = [
            words_of(segment, text) if has_same_pairs(segment, text) else None
            for segment, text in zip(segments, texts, strict=True)
        ]
        return differences(wanted, [words_of(each, each.text) for each in segments_of(decode(made), mdx=mdx)])

    return Document(
        content=content,
        segments=tuple(segments),
        media_type="text/markdown",
        encoding=decoded.encoding,
        compare=compare,
    )


def has_same_pairs(segment: Segment, text: str) -> bool:
    """Whether the tags of a translated piece of HTML are balanced as they were."""
    is_html = segment.markup and segment.codes is None
    return not is_html or loose_markup(segment.text, HTML) == loose_markup(text, HTML)


def words_of(segment: Segment, text: str) -> str:
    """What readers of the page see, without codes and white space. Codes are written as they were."""
    words = "".join(piece.text for piece in segment.codes.pieces(text)) if segment.codes else text
    return "".join(words.split())


def segments_of(decoded: Decoded, *, mdx: bool) -> Iterator[Segment]:
    text = decoded.text
    if len(text) > MOST_CHARACTERS:
        raise DataError(f"a Markdown file may have {MOST_CHARACTERS:,} characters: divide it.")
    front = FRONT_MATTER.match(text)
    body = front.end() if front else 0
    masked = NOT_SPACE.sub(" ", text[:body]) + mask(
        without_tag_lines(text[body:]) if mdx else text[body:], mdx=mdx
    )
    blocks = list(blocks_of(masked, text, mdx=mdx))
    made = list(front_matter(decoded, front)) if front and front["yaml"] else []
    for block in blocks:
        made += (
            html_segments(decoded, block) if block.kind == "html" else block_segments(decoded, block, mdx=mdx)
        )
    offsets = decoded.offsets(place for each in made for place in (each.start, each.end))
    for each in sorted(made, key=lambda segment: segment.start):
        yield replace(each, start=offsets[each.start], end=offsets[each.end])


def without_tag_lines(text: str) -> str:
    """In MDX, Markdown goes on between lines that are a tag."""
    return TAG_LINE.sub(lambda match: NOT_SPACE.sub(" ", match[0]), text)


def block_segments(decoded: Decoded, block: Block, *, mdx: bool) -> Iterator[Segment]:
    found = coded(block.parts, is_emphasis)
    if found is None or not found.has_letters:
        return

    own = found.text
    before, behind = own[: len(own) - len(own.lstrip())], own[len(own.rstrip()) :]

    def encode(text: str) -> bytes:
        made = written(text, found.codes, parser(mdx=mdx), mdx=mdx, in_table=block.kind == "cell")
        return decoded.encode(f"{before}{made}{behind}")

    yield Segment(
        text=found.text,
        start=found.start,
        end=found.end,
        encode=encode,
        markup=found.codes is not None,
        codes=found.codes,
        context=block.kind if block.kind != "paragraph" else "",
    )


def is_emphasis(part: Part) -> bool:
    return part.content in EMPHASIS or part.content.lower() in EMPHASIS_TAGS


def html_segments(decoded: Decoded, block: Block) -> Iterator[Segment]:
    raw = decoded.text[block.start : block.end]
    if UNTOUCHED_HTML.match(raw):
        return
    for piece in cut_markup(raw, HTML):
        encode: Callable[[str], bytes] = partial(encoded_piece, decoded, piece.restore)
        yield Segment(
            text=piece.text,
            start=block.start + piece.start,
            end=block.start + piece.end,
            encode=encode,
            markup=True,
        )


def encoded_piece(decoded: Decoded, restore: Callable[[str], str], text: str) -> bytes:
    """On one line, because a blank one would end the block."""
    return decoded.encode(" ".join(restore(text).split("\n")))


def front_matter(decoded: Decoded, front: re.Match[str]) -> Iterator[Segment]:
    """The values that readers of the page see."""
    writer, before = Writer.of(decoded), front.start("yaml")
    for scalar in scalars_in(front["yaml"]):
        if not scalar.is_key and scalar.path and scalar.path[-1] in TRANSLATED_KEYS and len(scalar.path) == 1:
            moved = replace(scalar, start=scalar.start + before, end=scalar.end + before)
            yield Segment(
                text=moved.text,
                start=moved.start,
                end=moved.end,
                encode=partial(writer.encode, moved),
                key=".".join(moved.path),
            )


def scalars_in(text: str) -> list[Scalar]:
    """None if it is no YAML: then it stays as it is."""
    try:
        return list(scalars_of(text))
    except DataError:
        return []
