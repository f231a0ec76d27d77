"""XLIFF, Android, .resx and .ts: own texts give the same bytes, any text reads back, and hostile files are an error."""

import pytest
from lxml import etree

from qkv.documents import Document, NewText, read_catalog
from qkv.errors import DataError

NASTY = " \"q\" 'a' \\ \\n & &amp; < </w> ]]> \n 😀 שלום %d "
XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment -->
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version='1.2'>
  <file original="a" source-language="en" target-language="" datatype="x"><body>
    <trans-unit id="1" approved="no">
      <source>Press <g id="1">the <x id="2" equiv-text="{0}"/> key</g><x id="3" ctype="lb"/> &amp; wait</source>
      <note>n</note>
    </trans-unit>
    <trans-unit id="2"><source><bpt id="1">&lt;b></bpt>Bold<ept id="1">&lt;/b></ept></source><target state="new"/></trans-unit>
    <trans-unit id="3"><source>Done</source><target state="needs-review-l10n">Fertig?</target></trans-unit>
    <trans-unit id="4" translate="no"><source>Never</source></trans-unit>
    <trans-unit id="5"><source>One. Two.</source>
      <seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">Two.</mrk></seg-source></trans-unit>
    <trans-unit id="6"><source><![CDATA[<p>Hi</p>]]></source><target>  </target></trans-unit>
    <trans-unit id="7"><source>See <x id="START_LINK" equiv-text="&lt;a>"/>this<x id="CLOSE_LINK"/></source></trans-unit>
  </body></file>
</xliff>
"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f"><unit id="u"><originalData><data id="d">\\n</data></originalData>
  <segment id="s" state="initial"><source>A <pc id="1">b</pc> <sc id="2"/>c<ec startRef="2"/> <ph id="3" dataRef="d"/>d<cp hex="0007"/>e</source></segment>
  <ignorable><source> </source></ignorable>
  <segment><source>Second</source><target>Zwei</target></segment>
 </unit></file>
</xliff>
"""
ANDROID = r"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="a">Don\'t \"stop\" at\u00a0\@home,
        <b>%1$s</b> &amp; <xliff:g id="n" example="5">%2$d</xliff:g></string>
    <string name="b" translatable="false">No</string>
    <string name="c">"  Two  spaces "</string>
    <string name="d">@string/a</string>
    <string name="e"><![CDATA[<i>It\'s</i> here]]></string>
    <string-array name="f"><item>First</item><item>12</item></string-array>
    <plurals name="g">
        <item quantity="one">%d file</item>
        <item quantity="other">%d files</item>
    </plurals>
</resources>
"""
RESX = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <resheader name="version"><value>2.0</value></resheader>
  <data name="a" xml:space="preserve"><value>Hello &lt;b&gt;{0:N2}&lt;/b&gt;
world</value><comment>c</comment></data>
  <data name="icon" type="System.Drawing.Icon"><value>abc</value></data>
  <data name="&gt;&gt;a.Name" xml:space="preserve"><value>label</value></data>
</root>
"""
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1">
<context>
    <name>Main</name>
    <message>
        <location filename="a.ui" line="1"/>
        <source> It&apos;s <byte value="x9"/>here </source>
        <comment>menu</comment>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes"><source>%n file(s)</source><translation type="unfinished"><numerusform></numerusform></translation></message>
    <message><source>Old</source><translation type="vanished">Alt</translation></message>
    <message><source>Empty</source><translation type="unfinished"/></message>
    <message><source>Open</source><translation type="unfinished">Auf?</translation></message>
</context>
</TS>
"""
FILES = {
    "xliff": XLIFF.encode(),
    "crlf.xlf": XLIFF.replace("\n", "\r\n").encode(),
    "utf16.xlf": XLIFF.replace("UTF-8", "UTF-16").encode("utf-16"),
    "latin.xlf": XLIFF.replace("UTF-8", "iso-8859-1").encode("latin-1"),
    "2.xliff": XLIFF_2.encode(),
    "xml": ANDROID.encode(),
    "resx": RESX.encode(),
    "ts": QT.encode(),
}


def read(name: str, content: bytes | None = None, target: str | None = "de") -> Document:
    return read_catalog(name.split(".")[-1], FILES[name] if content is None else content, target)


@pytest.mark.parametrize("name", FILES)
def test_own_texts_give_the_same_bytes_and_other_texts_read_back(name: str) -> None:
    document = read(name)
    own = [NewText(each.current, each.state == "fuzzy") for each in document.segments]
    assert document.write(own) == FILES[name]
    new = []
    for each in document.segments:
        nasty = NASTY.replace("&", "&amp;").replace("<", "&lt;") if each.codes else NASTY
        new.append(f"{nasty}{each.text}{nasty}")
    written = document.write(new)
    etree.fromstring(written, etree.XMLParser(resolve_entities=False))
    again = read(name, written)
    assert [old.essence(text) for old, text in zip(document.segments, new, strict=True)] == [
        each.essence(each.current) for each in again.segments
    ]
    assert [each.key for each in again.segments] == [each.key for each in document.segments]
    assert all(each.state != "fuzzy" for each in again.segments)


def texts(name: str) -> list[str]:
    return [each.text for each in read(name).segments]


def test_inline_elements_of_xliff() -> None:
    assert texts("xliff") == [
        "Press <g1>the {{1}} key</g1><x1/> &amp; wait",
        "Bold",
        "Done",
        "One.",
        "Two.",
        "<p>Hi</p>",
        "See <g1>this</g1>",
    ]
    assert texts("2.xliff") == ["A <g1>b</g1> <g2>c</g2> <x1/>d<x2/>e", "Second"]
    assert [each.state for each in read("xliff").segments][1:4] == ["untranslated", "fuzzy", "untranslated"]


def test_targets_are_inserted_and_doubt_is_a_state() -> None:
    new = [
        NewText("<x1/>{{1}} <g1>drücken</g1>", doubtful=True),
        NewText("Fett"),
        None,
        NewText("Eins."),
        None,
        None,
        None,
    ]
    written = read("xliff").write(new).decode()
    for part in (
        'target-language="de"',
        """</source>
      <target state="needs-review-translation" state-qualifier="mt-suggestion"><x id="3" ctype="lb"/><x id="2" """
        'equiv-text="{0}"/> <g id="1">drücken</g></target>',
        '<target state="translated"><bpt id="1">&lt;b></bpt>Fett<ept id="1">&lt;/b></ept></target>',
        '<target><mrk mtype="seg" mid="0">Eins.</mrk> <mrk mtype="seg" mid="1"></mrk></target>',
    ):
        assert part in written
    second = read("2.xliff").write([NewText("x", doubtful=True), None]).decode()
    assert 'srcLang="en" trgLang="de"' in second
    assert '<segment id="s" state="initial" subState="qkv:mt-suggestion">' in second


def test_strings_of_android() -> None:
    assert texts("xml") == [
        'Don\'t "stop" at\u00a0@home, <g1>%1$s</g1> &amp; {{1}}',
        "  Two  spaces ",
        "<i>It's</i> here",
        "First",
        "%d file",
        "%d files",
    ]
    russian = read("xml", target="ru")
    assert [each.plural for each in russian.segments[-4:]] == ["one", "other", "few", "many"]
    written = russian.write(["@x  'a'\n", *[None] * 5, "%d файла", None]).decode()
    assert "<string name=\"a\">\\@x \\u0020\\'a\\'\\n<b></b>" in written
    assert (
        """other">%d files</item>
        <item quantity="few">%d файла</item>
    </plurals>"""
        in written
    )


def test_messages_of_qt() -> None:
    russian = read("ts", target="ru")
    assert [(each.text, each.plural, each.state) for each in russian.segments] == [
        ("It's <x1/>here", "", "untranslated"),
        ("%n file(s)", "0", "untranslated"),
        ("%n file(s)", "1", "untranslated"),
        ("%n file(s)", "2", "untranslated"),
        ("Empty", "", "untranslated"),
        ("Open", "", "fuzzy"),
    ]
    written = russian.write([*"абвгд", NewText("Auf", doubtful=True)]).decode()
    assert '<TS version="2.1" language="ru">' in written
    assert '<translation> а<byte value="x9"/> </translation>' in written
    assert "<numerusform>б</numerusform><numerusform>в</numerusform><numerusform>г</numerusform>" in written
    assert "<translation>д</translation>" in written
    assert '<translation type="unfinished">Auf</translation>' in written
    assert '<translation type="vanished">Alt</translation>' in written


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
QUADRATIC = f'<!DOCTYPE x [<!ENTITY a "{"a" * 50_000}">]>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LAUGHS + RESX[39:], "entity 'b'"),
        (QUADRATIC + RESX[39:], "entity 'a'"),
        (EXTERNAL + RESX[39:], "entity 'a'"),
        (RESX[:200], "not well-formed"),
        ("<root><data>" + "<a>" * 300, "more than 250 elements"),
        ("<html/>", "its root element is <html>"),
        ('<?xml version="1.0" encoding="none"?><root/>', "not well-formed"),
        ("", "not well-formed"),
    ],
)
def test_hostile_files_are_an_error(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read("resx", content.encode())


def test_text_in_many_small_parts_is_read_in_linear_time() -> None:
    """If each part were appended to all before it, this would take many minutes."""
    text = (
        read("xml", b"<resources><string name='a'>" + b"x&amp;" * 4_000_000 + b"</string></resources>")
        .segments[0]
        .text
    )
    assert len(text) == 8_000_000
