"""How a text is written in Markdown: escapes, and emphasis that stays emphasis."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from qkv.documents.codes import Codes, Piece, closing
from qkv.documents.markdown_masks import has_masked
from qkv.text.markup import ENTITY

ALWAYS = re.compile(
    r"[`\[\]]|\\(?=[!-/:-@\[-`{-~]|\Z)|<(?=[A-Za-z/!?])|~(?=~)|(?<=~)~|\$(?=\$)|(?<=\$)\$|\{(?=[{%])|(?<=\{)\{"
)
STAR = re.compile(r"\*(?!(?<=\s\*)\s)")
UNDERSCORE = re.compile(r"(?<!\w)_(?!\s)|(?<!\s)_(?!\w)")
LINE_START = re.compile(r"(\d{1,9})(?=[.)](?:\s|\Z))|(?=#{1,6}(?:\s|\Z)|[-+*](?:\s|\Z)|>|=|-{2}|~{3}|:::|\|)")
MODULE = re.compile(r"(?=(?:import|export)\s)")
AFTER_BREAK = re.compile(r"\n[ \t>]{0,100}\Z")
EMPHASIS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "s"}
EMPHASIS_TAGS = frozenset({"<em>", "<strong>", "<s>", "<b>", "<i>", "<u>"})


def escaped(text: str, *, mdx: bool, in_table: bool) -> str:
    """The text so that Markdown reads it as text."""
    made = ENTITY.sub(lambda match: f"&amp;{match[0][1:]}", text)
    made = ALWAYS.sub(lambda match: f"\\{match[0]}", made)
    made = UNDERSCORE.sub(r"\_", STAR.sub(r"\*", made))
    if in_table:
        made = re.sub(r"(?<!\\)\$", r"\\$", made).replace("|", "\\|")
    if mdx:
        made = re.sub(r"(?<!\\)[<{}]", lambda match: f"\\{match[0]}", made)
    if has_masked(made, mdx=mdx):
        made = re.sub(r"(?<!\\)[{}$\[\]:<>!]", lambda match: f"\\{match[0]}", made)
    return made


def at_line_start(text: str, *, mdx: bool) -> str:
    """Escaped where it would begin a list, a heading or a quotation."""
    match = LINE_START.match(text)
    if match:
        return f"{match[1] or ''}\\{text[len(match[1] or '') :]}"
    if mdx and MODULE.match(text):
        return f"&#{ord(text[0])};{text[1:]}"
    return text


def written(text: str, codes: Codes | None, parser: Any, *, mdx: bool, in_table: bool) -> str:
    """A translation with its codes, on one line. Emphasis that would not be read as such is written as HTML."""
    text = " ".join(text.splitlines()).strip()
    pieces = codes.pieces(text) if codes else [Piece(text)]
    originals = dict(codes.originals) if codes else {}
    put = partial(assembled, pieces, mdx=mdx, in_table=in_table)
    present = [piece.name for piece in pieces if piece.name[:2] == "<g" and originals[piece.name] in EMPHASIS]
    if not present or count_emphasis(put(originals), parser) == len(present):
        return put(originals)
    as_html = originals | {
        written_name: tag
        for name in present
        for written_name, tag in pair_of(name, EMPHASIS[originals[name]])
    }
    for name in present:
        own = {each: originals[each] for each, _ in pair_of(name, "")}
        if count_emphasis(put(as_html | own), parser) == 1:
            originals |= own
        else:
            originals |= dict(pair_of(name, EMPHASIS[originals[name]]))
    return put(originals)


def pair_of(name: str, tag: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The names of a pair, each with a tag of HTML."""
    return (name, f"<{tag}>"), (closing(name), f"</{tag}>")


def count_emphasis(text: str, parser: Any) -> int:
    [inline] = parser.parseInline(text)
    return sum(token.type in ("em_open", "strong_open", "s_open") for token in inline.children or ())


def assembled(pieces: Sequence[Piece], originals: Mapping[str, str], *, mdx: bool, in_table: bool) -> str:
    made = ""
    for words, name in pieces:
        if name:  # an exclamation mark before a link would make an image of it
            before = f"{made[:-1]}\\!" if made.endswith("!") and originals[name].startswith("[") else made
            made = before + originals[name]
            continue
        part = escaped(words, mdx=mdx, in_table=in_table)
        made += at_line_start(part, mdx=mdx) if not made or AFTER_BREAK.search(made) else part
    return made
