"""`qkv check`: each check finds its mistake and nothing else, and corrections change nothing else."""

import json
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from time import process_time

import pytest
from commands import code_of

import qkv
from qkv.localization.checks import checks_for
from qkv.localization.checks.running import AnyCheck
from qkv.localization.checks.unit import SEVERITIES, FileCheck, Unit
from qkv.text.glossary import Glossary

CASES = {  # source, translation, the checks that must complain
    "good": ("Open %d files.", "%d Dateien öffnen.", []),
    "placeholder": ("Open %d files", "Dateien öffnen", ["placeholders"]),
    "tag": ("a <b>bold</b> word", "ein fettes Wort", ["tags"]),
    "usage": ("copy <file> here", "hierher <datei> kopieren", []),
    "attribute": ('an <img alt="cat"/> here', 'ein <img alt="Katze"/> hier', []),
    "markup": ("a <b>bold</b> word", "ein </b>fettes<b> Wort", ["markup"]),
    "bare": ("a <b>bold</b> word", "ein <b>fettes</b> Wort & mehr", ["markup"]),
    "number": ("wait 30 seconds", "warte 3 Sekunden", ["numbers"]),
    "separators": ("1,000.5 meters, 10 000 feet", "1.000,5 Meter, 10.000 Fuß", []),
    "url": ("see https://example.org/a.", "siehe https://example.org/b.", ["urls"]),
    "email": ("ask me@example.org now", "frag ich@example.org jetzt", ["emails"]),
    "option": ("use --force or -f", "nimm --kraft oder -f", ["options"]),
    "function": ("call print() first", "erst drucke() rufen", ["functions"]),
    "path": ("edit /etc/hosts now", "jetzt /etc/wirte ändern", ["paths"]),
    "escape": ("one\\n two", "eins zwei", ["escapes"]),
    "line ends": ("one two\n", "eins zwei", ["line-ends"]),
    "line breaks": ("one\ntwo\nthree", "eins zwei\ndrei", ["line-breaks"]),
    "tab": ("one\ttwo", "eins zwei", ["tabs"]),
    "spaces": (" one ", "eins", ["start-space", "end-space"]),
    "several spaces": ("one two", "eins  zwei", ["double-space"]),
    "mark": ("This is the end.", "Das ist das Ende", ["end-punctuation"]),
    "abbreviation": ("p.m.", "nachm", []),
    "Chinese": ("Is this the end?", "这是最后的结尾了吗？", []),
    "quote at the end": ("He said \"yes.\"", "Er sagte „ja.“", []),
    "ellipsis": ("Loading the page…", "Lade die Seite...", ["ellipsis"]),
    "bracket": ("one (two)", "eins (zwei", ["brackets"]),
    "quotation mark": ('the "name" is', 'der "Name ist', ["quotes"]),
    "accelerator": ("&File", "Datei", ["accelerators"]),
    "accelerator entity": ("Tom &amp; Co", "Thomas &amp; Co", []),
    "invisible": ("one two", "eins\u200bzwei", ["invisible"]),
    "Persian": ("one two", "می\u200cخواهم", []),
    "control": ("one two", "eins\x07zwei", ["control-characters"]),
    "encoding": ("for you", "fÃ¼r dich", ["encoding"]),
    "doubled": ("a cat is here", "eine Katze ist ist hier", ["double-words"]),
    "good German": ("that the cat", "dass die die Katze", []),
    "blank": ("a cat", " ", ["blank"]),
    "empty": ("a cat", "", ["untranslated"]),
    "unchanged": ("a good cat", "a good cat", ["unchanged"]),
    "name": ("OpenSSL", "OpenSSL", []),
    "case": ("Open it", "öffne es", ["start-case"]),
    "length": ("yes", "dies ist eine sehr lange Antwort", ["length"]),
    "term": ("a bold mouse", "ein fetter Nager", ["glossary"]),
    "inflected term": ("two mouse traps", "zwei Mausefallen", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_check_finds_its_mistake_and_no_other_complains(name: str, tmp_path: Path) -> None:
    source, target, wanted = CASES[name]
    pairs = tmp_path / "pairs.json"
    (tmp_path / "en.json").write_text(json.dumps({"key": source}))
    pairs.write_text(json.dumps({"key": target}))
    ignored = ["untranslated"] if target.isspace() else []  # the reader of JSON skips what is blank
    if not target.strip() or "%" in source:
        catalog = tmp_path / "pairs.po"
        catalog.write_text(f'msgid "{source}"\nmsgstr "{target}"\n')
        report = qkv.check(catalog, ignore=ignored, progress=False)
    else:
        terms = {"mouse": "Maus"}
        report = qkv.check(pairs, source=tmp_path / "en.json", glossary=terms, progress=False)
    assert [each.check for each in report.findings] == wanted


def test_every_check_is_tested_here_or_against_msgfmt() -> None:
    names = {each.name for each in checks_for(Glossary(), 3.0) if not isinstance(each, FileCheck)}
    tested = {name for _, _, wanted in CASES.values() for name in wanted}
    assert names - tested == {"format", "icu", "plural-forms", "doubtful", "extra-key"}


CATALOG = """\
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=2; plural=(n != 1);\\n"

#, python-format
msgid "Open %(name)s now."
msgstr "%(name)s  jetzt öffnen"

msgid "file"
msgid_plural "files"
msgstr[0] "Datei "
msgstr[1] ""

#, fuzzy
msgid "%d"
msgstr "x"

msgid "Cat"
msgstr "Katze"

msgctxt "verb"
msgid "cat"
msgstr "Katze"

msgid "Tomcat"
msgstr "Katze"
"""


def test_corrections_change_only_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text(CATALOG, encoding="utf-8")
    report = qkv.check(path, fix=True, progress=False)
    found = {(each.line, each.check, each.fixed) for each in report.findings}
    assert found == {
        (6, "end-punctuation", True), (6, "double-space", True),
        (10, "plural-forms", False), (10, "end-space", True), (10, "start-case", False), (11, "untranslated", False),
        (15, "doubtful", False), (22, "start-case", False), (25, "reused", False),
    }  # fmt: skip
    wanted = CATALOG.replace("s  jetzt öffnen", "s jetzt öffnen.").replace('"Datei "', '"Datei"')
    assert path.read_text(encoding="utf-8") == wanted
    assert not qkv.check(path, fix=True, select=["end-space", "double-space"]).findings


def test_texts_with_one_key_are_compared_and_missing_ones_reported(tmp_path: Path) -> None:
    (tmp_path / "en.json").write_text(
        '{"a": "Open {{x}}", "b": "yes", "n_one": "{{count}} cat", "n_other": "{{count}} cats"}'
    )
    (tmp_path / "ru.json").write_text(
        '{"a": "Открыть {{y}}",\n "c": "да",\n "n_one": "кот", "n_few": "{{count}} кота", "n_other": "кота"}'
    )
    report = qkv.check(tmp_path / "ru.json", source=tmp_path / "en.json", progress=False)
    found = [(each.key, each.line, each.check) for each in report.findings]
    assert found == [
        ("a", 1, "format"),
        ("c", 2, "extra-key"),
        ("n_other", 3, "format"),
        ("b", 0, "untranslated"),
    ]
    with pytest.raises(qkv.OptionError, match="holds one language"):
        qkv.check(tmp_path / "ru.json")


def test_icu_messages_are_compared_by_arguments_and_cases(tmp_path: Path) -> None:
    source = "{n, plural, =0 {none} one {# file of {who}} other {# files of {who}}}"
    choice = "{sex, select, female {her} other {their}}"
    texts = {
        "good": (source, "{n, plural, one {# Datei von {who}} other {# Dateien von {who}}}"),
        "lost": (source, "{n, plural, one {# Datei} other {# Dateien}}"),
        "other": (source, "{n, plural, one {# Datei von {who}}}"),
        "open": (source, "{n, plural, one {# Datei von {who}} other {# Dateien"),
        "case": (choice, "{sex, select, male {sein} other {ihr}}"),
    }
    for name, side in (("en.arb", 0), ("de.arb", 1)):
        (tmp_path / name).write_text(json.dumps({key: pair[side] for key, pair in texts.items()}))
    report = qkv.check(tmp_path / "de.arb", source=tmp_path / "en.arb", progress=False)
    errors = [(each.key, each.check) for each in report.findings if each.severity == "error"]
    assert errors == [("lost", "icu"), ("other", "icu"), ("open", "icu"), ("case", "icu"), ("case", "icu")]


def test_other_formats_are_read_as_they_are_translated(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n<TS version="2.1" language="de">\n<context><name>A</name>\n'
        "<message><source>Open %1</source>\n<translation>Öffnen </translation></message>\n</context></TS>\n",
        encoding="utf-8",
    )
    (tmp_path / "a.xlf").write_text(
        '<?xml version="1.0"?>\n<xliff version="1.2"><file source-language="en" target-language="de" datatype="plaintext" original="a">'
        '<body>\n<trans-unit id="1"><source>page 1</source><target>Seite 2</target></trans-unit>\n</body></file></xliff>\n'
    )
    ts, xlf = (qkv.check(tmp_path / name, fix=True, progress=False) for name in ("a.ts", "a.xlf"))
    assert {each.check for each in ts.findings} == {"format", "end-space"}
    assert "<translation>Öffnen</translation>" in (tmp_path / "a.ts").read_text(encoding="utf-8")
    assert [(each.line, each.check) for each in xlf.findings if each.check != "start-case"] == [
        (3, "numbers")
    ]


def test_lists_of_pairs_have_lines(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(
        '<tmx version="1.4"><header srclang="en"/>\n<body>\n<tu><tuv xml:lang="fr"><seg>x</seg></tuv></tu>\n'
        '<tu><tuv xml:lang="en"><seg>page 1</seg></tuv>\n<tuv xml:lang="de"><seg>Seite 2</seg></tuv></tu>\n</body></tmx>'
    )
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbfone\teins\r\npage 1\tseite 2 \r\n")
    tmx = qkv.check(tmp_path / "a.tmx", source_language="en", target_language="de", ignore=["start-case"])
    tsv = qkv.check(tmp_path / "a.tsv", fix=True)
    assert [(each.line, each.check) for each in tmx.findings] == [(4, "numbers")]
    assert [(each.line, each.check) for each in tsv.findings] == [(2, "numbers"), (2, "end-space")]
    assert (tmp_path / "a.tsv").read_bytes() == b"\xef\xbb\xbfone\teins\r\npage 1\tseite 2\r\n"


def test_the_exit_code_and_the_reports_for_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a b.tsv").write_text("one %s\teins\x1b[31m\x07\none\tEins\n", encoding="utf-8")
    Path("good.tsv").write_text("one\teins\n", encoding="utf-8")
    assert code_of("check", "good.tsv") == 0
    assert code_of("check", "a b.tsv", "--select", "placeholders") == 0
    assert code_of("check", "a b.tsv", "--select", "placeholders", "--fail-on", "warning") == 6
    assert code_of("check", "a b.tsv", "--ignore", "numbrs") == 2
    assert "did you mean numbers" in capsys.readouterr().err
    assert code_of("check", "none.tsv") == 3
    files = ("a b.tsv", "good.tsv", "--sarif", "out.sarif", "--junit", "out.xml")
    assert code_of("check", *files) == 6
    assert "\x1b" not in capsys.readouterr().out
    [run] = json.loads(Path("out.sarif").read_text())["runs"]
    rules = {each["id"]: each["defaultConfiguration"]["level"] for each in run["tool"]["driver"]["rules"]}
    assert {rules[each["ruleId"]] for each in run["results"]} == {"error", "warning", "note"}
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("a%20b.tsv", 1)
    bad, good = ElementTree.parse("out.xml").getroot()
    assert int(bad.attrib["tests"]) == len(run["results"]) == len(bad)
    assert (good.attrib["failures"], len(good)) == ("0", 1)
    assert code_of("check", *files) == 2  # the reports exist
    assert code_of("check", "a b.tsv", "--json", "--fail-on", "never") == 0
    assert {each["severity"] for each in json.loads(capsys.readouterr().out)["findings"]} == set(SEVERITIES)


def cpu_time(check: AnyCheck, unit: Unit) -> float:
    """Of finding what is wrong, and of correcting it."""
    start = process_time()
    list(check.find([unit]) if isinstance(check, FileCheck) else check.find(unit))
    if not isinstance(check, FileCheck) and check.fix:
        check.fix(unit)
    return process_time() - start


def test_checks_take_linear_time() -> None:
    """Each check, on texts that make regular expressions go back."""
    parts = [
        "a ",
        "%",
        "%(",
        "{",
        "{:",
        "%000",
        "<",
        "<a ",
        "(",
        "\\",
        "/a",
        "-a",
        "a.",
        "a@",
        "&",
        "1,",
        "aa aa",
        "\t ",
        "http://a",
    ]
    for check in checks_for(Glossary.from_any({"a": "b"}), 3.0):
        for part in parts:
            short, long = (
                Unit(source="x (y) <b>", target=part * count, dialect="python-format")
                for count in (1_000, 8_000)
            )
            most = 40 * max(cpu_time(check, short), 0.005)
            # A pause of Python, such as a collection of garbage, can fall into one measurement, but not into three.
            assert any(cpu_time(check, long) < most for _ in range(3)), (check.name, part)


def test_corrections_in_an_archive_leave_it_an_archive(tmp_path: Path) -> None:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>'
        "<w:t>{}</w:t></w:r></w:p></w:body></w:document>",
    }  # fmt: skip
    for name, text in (("en.docx", "one two"), ("de.docx", "eins  zwei")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, content in parts.items():
                archive.writestr(member, content.format(text))
    [finding] = qkv.check(
        tmp_path / "de.docx", source=tmp_path / "en.docx", fix=True, progress=False
    ).findings
    assert (finding.check, finding.line, finding.fixed) == ("double-space", 0, True)
    with zipfile.ZipFile(tmp_path / "de.docx") as archive:
        assert b"eins zwei" in archive.read("word/document.xml")


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ('<?xml version="1.0" encoding="none"?>', "</body></tmx>", "unsupported encoding"),
        ("", "<garbage<", "not valid XML"),
    ],
)
def test_a_memory_that_cannot_be_read_to_its_end_is_an_error(
    start: str, end: str, message: str, tmp_path: Path
) -> None:
    unit = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
    path = tmp_path / "a.tmx"
    path.write_text(f'{start}<tmx version="1.4"><header srclang="en"/><body>{unit}{end}', encoding="utf-8")
    with pytest.raises(qkv.DataError, match=message):
        qkv.check(path, source_language="en", target_language="de")
