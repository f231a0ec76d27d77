"""`qkv check` agrees with `msgfmt -c`, which is run as a separate program."""

import re
import shutil
import subprocess
from bisect import bisect
from pathlib import Path

import pytest

import qkv

pytestmark = pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs gettext's msgfmt")

GERMAN = "nplurals=2; plural=(n != 1);"
RUSSIAN = (
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
)
CZECH = "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"
ONE = "nplurals=1; plural=0;"
HEADER = (
    r'msgid ""' "\n" r'msgstr ""' "\n"
    + "".join(
        f'"{line}\\n"\n'
        for line in (
            "Project-Id-Version: x", "PO-Revision-Date: 2026-01-01 00:00+0000", "Last-Translator: x <x@example.org>",
            "Language-Team: x", "Language: de", "MIME-Version: 1.0", "Content-Type: text/plain; charset=UTF-8",
            "Content-Transfer-Encoding: 8bit", "Plural-Forms: {forms}",
        )
    )
)  # fmt: skip
SINGLE = {
    "c-format": [
        "%d|%i", "%d|%u", "%u|%x", "%d|%ld", "%s %d|%d %s", "%s %d|%2$d %1$s", "%s|x", "x|%s", "%f|%5.2f", "%c|%s", "a%%|a",
        "x|100% sicher", "%s|%S", "%p|%d", "%*d|%d", "%m|x", "%s|%1$s %1$s", "%s|%y", "%1$s %2$s|%2$s", "%d|% d", "a %|a %",
        "%<PRIu64>|%<PRId64>", "%<PRIu64>|%<PRIu64>", "%.*f|%.2f", "%zu|%zu", "%5d|%-5d", "100% sure|100% sicher",
    ],
    "python-format": [
        "%d|%i", "%d|%s", "%s|%r", "%(a)s|%(a)d", "%(a)s %(b)s|%(b)s", "%(a)s|%(b)s", "%s %d|%d %s", "%(a)s|%s", "%f|%d",
        "a%%|a%", "%(a)s|%(a)s %(a)s", "%s|x", "50% of|50% von", "%(a)s|%(a)", "%(a)d|%(a)x", "%(a b)s|%(a b)s",
    ],
    "python-brace-format": [
        "{a}|{b}", "{a} {b}|{b}", "{}|{0}", "{a|{a", "{a}|{a} {a}", "{{x}}|x", "{a!r}|{a}", "{a}|{a", "{a:>5}|{a:>5}",
        "{} {}|{1} {0}", "{0} {1}|{1}",
    ],
    "qt-format": ["%1|%2", "%1 %2|%2 %1", "%1|x", "%L1|%1", "%n|x"],
    "ruby-format": ["%{a}|%{b}", "%{a} %{b}|%{b} %{a}", "%<a>d|%<a>s", "%d|%s", "%{a}|x"],
    "objc-format": ["%@|x", "%@ %s|%s %@", "%@|%@"],
    "no-c-format": ["%d|x"],
    "fuzzy, c-format": ["%d|x"],
    "x": [r"a\n|a", r"\na|a", r"a\nb\n|a\n", r"a|a\n", "a|b"],
}  # fmt: skip
PLURAL = [
    (GERMAN, "c-format", "%d f|%d fs|ein|%d"), (GERMAN, "c-format", "one|%d fs|%d|x"), (GERMAN, "c-format", "%d f|%d fs|%d|%s"),
    (RUSSIAN, "c-format", "%d f|%d fs|ein|%d|%d"), (RUSSIAN, "c-format", "%d f|%d fs|%d|%d|%d"),
    (CZECH, "c-format", "%d f|%d fs|ein|%d|%d"), (CZECH, "c-format", "%d f|%d fs|%d|ein|%d"), (CZECH, "c-format", "%d f|%d fs|%d|%d|x"),
    (ONE, "c-format", "%d f|%d fs|ein"), (ONE, "c-format", "%d f|%d fs|%d"), (GERMAN, "python-format", "%(n)d f %(x)s|%(n)d fs %(x)s|ein %(x)s|%(n)d"),
    (GERMAN, "python-format", "%(n)d f %(x)s|%(n)d fs %(x)s|ein %(x)s|%(n)d %(x)s"), (GERMAN, "x", "f|fs|a"), (GERMAN, "x", "f|fs|a|b|c"),
    (RUSSIAN, "x", "f|fs|a|b"), ("", "x", "f|fs|a|b"), ("nplurals=2; plural=(n > ;", "x", "f|fs|a|b"),
    ("nplurals=2; plural=(n%3);", "x", "f|fs|a|b"), (GERMAN, "x", "f|fs|a|b"), (GERMAN, "x", r"f\n|fs\n|a\n|b"),
]  # fmt: skip
CASES = [
    *((GERMAN, flag, text) for flag, texts in SINGLE.items() for text in texts),
    *PLURAL,
]
WRONG_FORMS = {each for each in PLURAL if each[1] == "x"}  # msgfmt names these once for a file


def entry(number: int, flag: str, text: str) -> str:
    source, *rest = text.split("|")
    if len(rest) == 1:
        strings = [f'msgstr "{rest[0]}"']
    else:
        strings = [f'msgid_plural "{rest[0]}"', *(f'msgstr[{n}] "{form}"' for n, form in enumerate(rest[1:]))]
    return "\n".join(["", f"#, {flag}", f'msgctxt "{number}"', f'msgid "{source}"', *strings, ""])


def errors(path: Path) -> tuple[set[int], set[int]]:
    """The lines with errors by msgfmt and by qkv."""
    msgfmt = subprocess.run(
        ["msgfmt", "-c", "-o", "-", path], capture_output=True, check=False, env={"LC_ALL": "C.UTF-8"}
    )
    found = re.findall(rf"^{re.escape(str(path))}:(\d+): (?!warning)", msgfmt.stderr.decode(), re.MULTILINE)
    report = qkv.check(path, select=["format", "plural-forms", "line-ends"], progress=False)
    assert bool(msgfmt.returncode) == report.failed, (path.read_text(), str(report), msgfmt.stderr)
    return {int(line) for line in found}, {each.line for each in report.findings}


def test_errors_of_msgfmt_are_errors_here_and_no_others(tmp_path: Path) -> None:
    """Formats, plural forms, and line breaks at the ends."""
    path = tmp_path / "de.po"
    together = [each for each in CASES if each not in WRONG_FORMS]
    for forms in dict.fromkeys(forms for forms, _, _ in together):
        text = HEADER.replace("{forms}", forms)
        entries = [each for each in together if each[0] == forms]
        starts: list[int] = []
        for number, (_, flag, strings) in enumerate(entries):
            starts.append(text.count("\n") + 1)
            text += entry(number, flag, strings)
        path.write_text(text, encoding="utf-8")
        by_msgfmt, by_qkv = ({bisect(starts, line) for line in lines} for lines in errors(path))
        differ = by_msgfmt ^ by_qkv
        assert not differ, [entries[number - 1] for number in differ]
    for forms, flag, strings in WRONG_FORMS:
        path.write_text(HEADER.replace("{forms}", forms) + entry(0, flag, strings), encoding="utf-8")
        errors(path)
