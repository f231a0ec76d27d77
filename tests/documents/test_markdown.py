"""Markdown: only text is in segments, own texts give the same bytes, and any translation reads back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.documents import Document, NewText, read_catalog
from qkv.errors import DataError

PAGE = """---
title: "A page: for all"
date: 2020-01-01
description: >-
  What it is
  about
layout: post
---

# A *fine* heading {#fine}

Some **bold `code`**, a [link *here*](https://x.example/a_b_c "title") and
an ![image](a.png) with &amp; and \\*stars\\*.\\
Next <kbd>Ctrl</kbd> line<br>and [ref][id], [id] and <https://a.example>.

> A quote
> goes on[^1].

1. [ ] A task with $a_b$ and {{< shortcode "x" >}}.

   ```sh
   not this
   ```
- | no table

| Head | `code` |
|------|:------:|
| a\\|b | **c**  |

<details>
<summary>More <b>here</b></summary>
</details>

[id]: https://y.example "Not this"
[^1]: A note.

    indented code
"""
TEXTS = [
    "A page: for all",
    "What it is about",
    "A <g1>fine</g1> heading",
    "Some <g1>bold {{1}}</g1>, a <g2>link <g3>here</g3></g2> and an {{2}} with &amp; and *stars*.<x1/>Next {{3}} line<x2/>and "
    "<g4>ref</g4>, <g5>id</g5> and {{4}}.",
    "A quote goes on<x1/>.",
    " A task with {{1}} and {{2}}.",
    "| no table",
    "Head",
    "a|b",
    "c",
    "More <b>here</b>",
    " A note.",
]
MDX = """import X from 'x'

<Intro>

Some text with {props.value} and <b>bold</b>.

</Intro>

<Deep>
    * An item
</Deep>

## Title {/*title*/}
"""
NASTY = (
    '"q" \\ & &amp; <b> *x* _y_ `c` [l](u) [^1] $a$ 1. # {x} {{< y >}} \n😀 שלום | ~~z~~ ![i](j) <!-- --> '
)


def checked(document: Document, new: list[NewText | None]) -> bytes:
    written = document.write(new)
    assert document.compare is not None
    assert not document.compare(written, new)
    return written


def test_only_text_is_in_segments() -> None:
    document = read_catalog("md", PAGE.encode())
    assert [each.text for each in document.segments] == TEXTS
    assert document.write(TEXTS) == PAGE.encode()
    found = read_catalog("mdx", MDX.encode())
    assert [each.text for each in found.segments] == [
        "Some text with {{1}} and <g1>bold</g1>.",
        "An item",
        "Title",
    ]


def test_translations_are_written_in_the_syntax_of_their_place() -> None:
    document = read_catalog("md", PAGE.encode())
    new = list(TEXTS)
    new[2] = "Eine <g1>schöne</g1> Überschrift"
    new[3] = (
        "<g2>Ein <g3>Link</g3></g2>, <g1>fett {{1}}</g1>er {{2}} &lt;hier> & *so* {{4}}<x1/>- {{3}} <g5>dort</g5> <g4>da</g4><x2/>."
    )
    new[4] = "1. Zitat<x1/>"
    new[8] = "x|y"
    written = checked(document, [NewText(text) for text in new]).decode()
    assert "# Eine *schöne* Überschrift {#fine}\n" in written
    assert (
        '[Ein *Link*](https://x.example/a_b_c "title"), <strong>fett `code`</strong>er ![image](a.png) \\<hier> & \\*so\\* <https://a.example>\\\n'
        "\\- <kbd>Ctrl</kbd> [dort][id] [da][id]<br>.\n"
    ) in written
    assert "> 1\\. Zitat[^1]\n" in written
    assert "| x\\|y | **c**  |" in written
    assert written.count("\n") == PAGE.count("\n") - 2


@pytest.mark.parametrize(
    ("format", "content"),
    [("md", PAGE.encode()), ("md", PAGE.replace("\n", "\r\n").encode("utf-8-sig")), ("mdx", MDX.encode())],
)
def test_any_translation_reads_back(format: str, content: bytes) -> None:
    document = read_catalog(format, content)
    assert document.write([each.text for each in document.segments]) == content
    nasty = {False: NASTY, True: NASTY.replace("<b>", "<b></b>")}  # a piece of HTML keeps its tags balanced
    ends = [nasty[each.markup and each.codes is None] for each in document.segments]
    checked(
        document,
        [NewText(f"{end}{each.text}{end}") for end, each in zip(ends, document.segments, strict=True)],
    )


@given(
    st.text(alphabet="ab *_`[]()<>#-+1.|!\\~$&;:{}=\t\ndé", min_size=1, max_size=40).filter(
        lambda text: any(map(str.isalpha, text))
    )
)
@settings(deadline=None, max_examples=300)
def test_any_near_miss_of_markdown_reads_back(text: str) -> None:
    for content in ("para **b** end", "| h |\n|---|\n| c |", "- item [l](u)\n- two"):
        document = read_catalog("md", content.encode())
        checked(document, [NewText(text) for _ in document.segments])


@given(st.text(alphabet="ab *_`[]()<>#-+1.|!\\~$&;:{}=\t\n\rd^/", max_size=80))
@settings(deadline=None, max_examples=200)
def test_any_file_is_read_and_its_own_texts_give_the_same_bytes(text: str) -> None:
    for format in ("md", "mdx"):
        document = read_catalog(format, text.encode())
        assert document.write([each.text for each in document.segments]) == text.encode()
        last = 0
        for segment in document.segments:
            assert last <= segment.start <= segment.end
            last = segment.end


@pytest.mark.parametrize(
    "part", ["[", "*a ", "`", "> ", "- ", "<b>", "![", "$", "{", "{{<", "<!--", "[^", "|", "\\(", "&"]
)
def test_hostile_files_take_no_time(part: str) -> None:
    for format in ("md", "mdx"):
        read_catalog(format, (part * 5_000).encode())


def test_a_file_that_is_no_text_is_an_error() -> None:
    with pytest.raises(DataError, match="not text"):
        read_catalog("md", b"\xff\xfea")
