"""Office files: members without texts keep their bytes, codes bring their runs, and archives made to do harm are an error."""

import io
import random
import re
import struct
import zipfile

import pytest
from lxml import etree

from qkv.documents import Document, NewText, read_catalog
from qkv.documents.archive import Archive
from qkv.errors import DataError

TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{}</Types>"""
OVERRIDE = '<Override PartName="/{}" ContentType="application/vnd.openxmlformats-officedocument.{}+xml"/>'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="r" xmlns:m="m"'
FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
BODY = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:document {W}><w:body><w:p w:rsidR="0"><w:pPr><w:rPr><w:b/></w:rPr></w:pPr><w:r><w:tab/><w:t xml:space="preserve">The </w:t></w:r>\
<w:proofErr w:type="spellStart"/><w:r w:rsidR="1"><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t>ca</w:t></w:r><w:r><w:rPr><w:noProof/></w:rPr>\
<w:t xml:space="preserve">t is </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>very</w:t></w:r><w:r><w:rPr><w:b/><w:spacing w:val="2"/></w:rPr>\
<w:t xml:space="preserve"> big</w:t><w:br/><w:t>&amp; </w:t></w:r><w:hyperlink r:id="rId1"><w:r><w:rPr><w:rStyle w:val="Link"/></w:rPr><w:t>here</w:t></w:r></w:hyperlink>\
<w:r><w:footnoteReference w:id="1"/></w:r></w:p>
<w:p><w:r><w:t>Page </w:t></w:r>{FIELD.format("begin")}<w:r><w:instrText> PAGE </w:instrText></w:r>{FIELD.format("separate")}<w:r><w:t>7</w:t></w:r>{FIELD.format("end")}\
<w:r><w:t xml:space="preserve"> of it</w:t></w:r><w:del w:id="1"><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>
<w:p><w:r><w:t>Before</w:t><w:pict><w:txbxContent><w:p><w:r><w:t>Inside</w:t></w:r></w:p></w:txbxContent></w:pict><w:t>after</w:t></w:r></w:p>
<w:p><w:r><w:t>12</w:t></w:r></w:p></w:body></w:document>"""
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="p"'
SLIDE = f"""<p:sld {A}><a:p><a:r><a:rPr lang="en-US" dirty="0"/><a:t>Slide </a:t></a:r><a:r><a:rPr lang="de-DE" b="1"/><a:t>title</a:t></a:r>\
<a:br/><a:fld type="slidenum"><a:t>1</a:t></a:fld><a:r><a:t> end</a:t></a:r><a:endParaRPr lang="en-US"/></a:p></p:sld>"""
NASTY = " \"q\" 'a' \\ & &amp; < </w:t> ]]> \n 😀 שלום "


def archive_of(**members: str | bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            stored = zipfile.ZIP_STORED if name in ("mimetype", "picture.png") else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, (2020, 2, 3, 4, 5, 6)), content, stored)
    return made.getvalue()


DOCX = archive_of(
    **{
        "[Content_Types].xml": TYPES.format(
            OVERRIDE.format("word/document.xml", "wordprocessingml.document.main")
            + OVERRIDE.format("word/styles.xml", "wordprocessingml.styles")
        ),
        "word/document.xml": BODY,
        "word/styles.xml": "<w:styles/>",
        "picture.png": b"\x89PNG" * 99,
    }
)
PPTX = archive_of(
    **{
        "[Content_Types].xml": TYPES.format(OVERRIDE.format("ppt/slides/slide1.xml", "presentationml.slide")),
        "ppt/slides/slide1.xml": SLIDE,
    }
)
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
XLSX = archive_of(
    **{
        "[Content_Types].xml": TYPES.format(
            OVERRIDE.format("xl/sharedStrings.xml", "spreadsheetml.sharedStrings")
            + OVERRIDE.format("xl/worksheets/sheet1.xml", "spreadsheetml.worksheet")
        ),
        "xl/sharedStrings.xml": f"""<sst {S}><si><t>Total cost</t></si><si><t>Yes</t></si><si><t>Column</t></si>\
<si><r><rPr><b/></rPr><t>Bold</t></r><r><t xml:space="preserve"> and plain</t></r><rPh><t>x</t></rPh></si></sst>""",
        "xl/worksheets/sheet1.xml": f"""<worksheet {S}><c><f>IF(A1="Yes",1,0)</f><v>0</v></c>\
<c t="inlineStr"><is><t>Inline</t></is></c></worksheet>""",
        "xl/tables/table1.xml": f"""<table {S}><tableColumn id="1" name="Column"/></table>""",
    }
)
T = 'xmlns:text="t" xmlns:office="o" xmlns:style="s" xmlns:fo="f"'
ODT = archive_of(
    **{
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"""<office:d {T}><style:style style:name="T1" style:family="text"><style:text-properties fo:language="en"/></style:style>\
<text:tracked-changes><text:deletion><text:p>Gone</text:p></text:deletion></text:tracked-changes><text:h>A <text:span text:style-name="T1">plain</text:span> title</text:h>\
<text:p>See <text:span text:style-name="T2">bold</text:span><text:tab/><text:page-number>3</text:page-number> now<text:note><text:note-body>\
<text:p>Note</text:p></text:note-body></text:note>.</text:p></office:d>""",
    }
)
CHAPTER = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>One</title><style>p {}</style></head><body><h1>One</h1>
<p>It&nbsp;is <em>very</em>
  long: <code>x</code> &amp; <a href="b.xhtml">more</a>.<br/>Next</p><p translate="no">Never</p></body></html>"""
EPUB_PACKAGE = """<package xmlns:dc="d"><dc:language>en</dc:language><item href="a%20b.xhtml" media-type="application/xhtml+xml"/>
<item href="t.ncx" media-type="application/x-dtbncx+xml"/></package>"""
EPUB_MEMBERS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfile full-path="O/p.opf"/></container>',
    "O/p.opf": EPUB_PACKAGE,
    "O/a b.xhtml": CHAPTER,
    "O/t.ncx": "<ncx><navLabel><text>Chapter one</text></navLabel></ncx>",
}
EPUB = archive_of(**EPUB_MEMBERS)
FILES = {"docx": DOCX, "pptx": PPTX, "xlsx": XLSX, "odt": ODT, "epub": EPUB}
EDITED = ("word/document", "ppt/slides", "xl/shared", "xl/worksheets", "content.xml", "O/a b", "O/t.ncx")


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def texts(document: Document) -> list[str]:
    return [each.text for each in document.segments]


def test_runs_of_a_word_document_are_texts_with_codes() -> None:
    assert texts(read_catalog("docx", DOCX)) == [
        "The cat is <g1>very big<x1/>&amp; </g1><g2>here</g2>",
        "Page {{1}} of it",
        "Before",
        "Inside",
        "after",
    ]
    assert texts(read_catalog("pptx", PPTX)) == ["Slide <g1>title</g1><x1/>{{1}} end"]


def test_cells_that_formulas_and_tables_refer_to_are_left() -> None:
    document = read_catalog("xlsx", XLSX)
    assert [(each.text, bool(each.held)) for each in document.segments] == [
        ("Total cost", False),
        ("Yes", True),
        ("Column", True),
        ("<g1>Bold</g1> and plain", False),
        ("Inline", False),
    ]


def test_texts_of_books_and_of_libreoffice() -> None:
    assert texts(read_catalog("odt", ODT)) == ["A plain title", "See <g1>bold</g1><x1/>{{1}} now", "Note"]
    book = read_catalog("epub", EPUB, "de")
    assert texts(book) == [
        "One",
        "One",
        "It\u00a0is <g1>very</g1> long: {{1}} &amp; <g2>more</g2>.",
        "Next",
        "Chapter one",
    ]
    written = book.write([None, "Eins", None, None, None])
    assert b"<dc:language>de</dc:language>" in members_of(written)["O/p.opf"]
    assert written[:68] == EPUB[:68]  # the type comes first and is stored
    assert written[30:38] == b"mimetype"


def test_a_translation_is_written_as_runs() -> None:
    document = read_catalog("docx", DOCX)
    new = ["<g2>Hier</g2> ist <g1>eine<x1/></g1> Katze", "{{1}} Seite", None, "Innen", "danach"]
    body = members_of(document.write(new))["word/document.xml"].decode()
    assert (
        '<w:r><w:tab/></w:r><w:hyperlink r:id="rId1"><w:r><w:rPr><w:rStyle w:val="Link"/></w:rPr><w:t xml:space="preserve">Hier'
        '</w:t></w:r></w:hyperlink><w:r><w:t xml:space="preserve"> ist </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">eine</w:t>'
        '</w:r><w:r><w:rPr><w:b/><w:spacing w:val="2"/></w:rPr><w:br/></w:r><w:r><w:t xml:space="preserve"> Katze</w:t></w:r>'
        '<w:r><w:footnoteReference w:id="1"/></w:r></w:p>'
    ) in body
    assert "<w:t>Before</w:t><w:pict>" in body
    assert '</w:pict></w:r><w:r><w:t xml:space="preserve">danach</w:t></w:r></w:p>' in body
    assert "<w:instrText> PAGE </w:instrText>" in body
    assert "<w:delText>gone</w:delText>" in body


@pytest.mark.parametrize("name", FILES)
def test_own_texts_give_the_same_bytes_and_other_texts_read_back(name: str) -> None:
    document = read_catalog(name, FILES[name])
    assert document.write(texts(document)) == FILES[name]
    nasty = NASTY.replace("&", "&amp;").replace("<", "&lt;")
    new = [
        f"{nasty}{text}{nasty}" if "<g1>" in text or "{{" in text else NASTY + text
        for text in texts(document)
    ]
    written = document.write(new)
    again = read_catalog(name, written)
    assert [each.essence(each.text) for each in again.segments] == [
        each.essence(text) for each, text in zip(document.segments, new, strict=True)
    ]
    before, after = members_of(FILES[name]), members_of(written)
    assert list(before) == list(after)
    changed = {member for member in before if before[member] != after[member]}
    assert changed == {member for member in before if member.startswith(EDITED)}
    for member in changed:
        etree.fromstring(
            after[member], etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False)
        )
    with zipfile.ZipFile(io.BytesIO(FILES[name])) as one, zipfile.ZipFile(io.BytesIO(written)) as other:
        for old, made in zip(one.infolist(), other.infolist(), strict=True):
            assert (old.date_time, old.external_attr, old.compress_type) == (
                made.date_time,
                made.external_attr,
                made.compress_type,
            )


@pytest.mark.parametrize("name", FILES)
def test_codes_may_move_to_any_place_or_be_lost(name: str) -> None:
    document = read_catalog(name, FILES[name])
    assert document.compare is not None
    for seed in range(40):
        chance = random.Random(seed)
        new = []
        for segment in document.segments:
            pieces = re.findall(r"</?[gx]\d/?>|\{\{\d\}\}|[^<{]+", segment.text)
            chance.shuffle(pieces)
            text = "".join(pieces[: chance.randint(1, len(pieces))])
            new.append(NewText(segment.codes.repair(text) if segment.codes else text))
        assert not document.compare(document.write(new), new), new


def test_members_with_descriptors_and_large_fields_can_be_replaced() -> None:
    """As programs that write streams leave them: sizes behind the data, and fields for sizes over 4 GB."""
    made = io.BytesIO()

    class Stream(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            return made.write(data)

    with zipfile.ZipFile(Stream(), "w", zipfile.ZIP_DEFLATED) as opened:  # type: ignore[arg-type]
        for name in ("a", "b"):
            with opened.open(name, "w", force_zip64=True) as member:
                member.write(b"old " * 100)
    archive = Archive.of(made.getvalue())
    assert archive.read("a").content == b"old " * 100
    assert members_of(archive.packed({"a": b"new"})) == {"a": b"new", "b": b"old " * 100}


def with_flag(content: bytes, flag: int) -> bytes:
    place = content.rindex(b"PK\1\2") + 8
    return content[:place] + struct.pack("<H", flag) + content[place + 2 :]


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>' + BODY[55:]
BOMB = archive_of(**{"[Content_Types].xml": b" " * 30_000_000})
FLIPPED = DOCX.index(b"word/document.xml") + 40
BAD = {
    "truncated": (DOCX[:-30], "it is damaged"),
    "empty": (b"", "it is damaged"),
    "encrypted": (with_flag(DOCX, 1), "it is encrypted"),
    "old": (b"\xd0\xcf\x11\xe0" + bytes(600), "in an old format"),
    "outside": (archive_of(**{"../../etc/passwd": "x"}), "leads out of the archive"),
    "other": (archive_of(mimetype="x"), "not an Office file"),
    "bomb": (BOMB, "grows too much"),
    "flipped": (DOCX[:FLIPPED] + bytes(20) + DOCX[FLIPPED + 20 :], "is damaged"),
    "laughs": (
        archive_of(**{**members_of(DOCX), "word/document.xml": LAUGHS}),
        "word/document.xml: the entity 'b'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_archives_that_do_harm_are_an_error(name: str) -> None:
    content, message = BAD[name]
    with pytest.raises(DataError, match=message):
        read_catalog("docx", content)


def test_a_chapter_that_a_book_lists_twice_is_translated_once() -> None:
    package = EPUB_PACKAGE.replace(
        "</package>", '<item href="a%20b.xhtml" media-type="application/xhtml+xml"/></package>'
    )
    book = read_catalog("epub", archive_of(**{**EPUB_MEMBERS, "O/p.opf": package}), "de")
    assert texts(book) == texts(read_catalog("epub", EPUB, "de"))
    assert zipfile.ZipFile(io.BytesIO(book.write(["x"] * len(book.segments)))).testzip() is None
