"""Compare `qkv check` with `pofilter` and `msgfmt -c`, entry by entry, on real catalogs and on copies with mistakes.

    python benchmarks/check_agreement.py sphinx.po django.po --pofilter venv/bin/pofilter

Both tools run as separate programs. A mistake of a known kind is made in every third translation of a copy, with a fixed seed.
"""

import argparse
import random
import re
import subprocess
import tempfile
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import qkv
from qkv.documents import Document, NewText, read_catalog
from qkv.documents.po_scanner import entries_of

PAIRS = {  # tests of pofilter, and ours for the same mistake
    "printf": ("format", "placeholders"),
    "pythonbraceformat": ("format", "placeholders"),
    "variables": ("format", "placeholders"),
    "xmltags": ("tags", "markup"),
    "numbers": ("numbers",),
    "urls": ("urls",),
    "emails": ("emails",),
    "options": ("options",),
    "functions": ("functions",),
    "filepaths": ("paths",),
    "escapes": ("escapes",),
    "newlines": ("line-ends", "line-breaks"),
    "tabs": ("tabs",),
    "startwhitespace": ("start-space",),
    "endwhitespace": ("end-space",),
    "doublespacing": ("double-space",),
    "endpunc": ("end-punctuation", "ellipsis"),
    "brackets": ("brackets",),
    "doublequoting": ("quotes",),
    "doublewords": ("double-words",),
    "blank": ("blank",),
    "untranslated": ("untranslated",),
    "isfuzzy": ("doubtful",),
    "unchanged": ("unchanged",),
    "startcaps": ("start-case",),
    "long": ("length",),
    "short": ("length",),
    "nplurals": ("plural-forms",),
}
OF_MSGFMT = ("format", "plural-forms", "line-ends")
DAMAGES: tuple[Callable[[str], str], ...] = (
    lambda text: re.sub(r"%(?:\(\w+\))?[sd]|\{\w*\}", "", text, count=1),
    lambda text: re.sub(r"%(\(\w+\))?s", r"%\1d", text, count=1),
    lambda text: re.sub(r"\d", lambda found: str((int(found[0]) + 1) % 10), text, count=1),
    lambda text: re.sub(r"</?\w+[^<>]*>", "", text, count=1),
    lambda text: text.rstrip(".!?:…"),
    lambda text: f"{text} ",
    lambda text: f" {text}",
    lambda text: f"{text}\n",
    lambda text: text.replace(" ", "  ", 1),
    lambda text: re.sub(r"\b(\w{4,}) ", r"\1 \1 ", text, count=1),
    lambda text: re.sub(r"[()\[\]]", "", text, count=1),
    lambda text: re.sub(r"--?\w+", "", text, count=1),
    lambda text: text.lower(),
    lambda text: text.replace("://", ":/", 1),
)  # fmt: skip


def damaged(document: Document, seed: int) -> bytes:
    chance = random.Random(seed)
    new: list[NewText | None] = []
    for segment in document.segments:
        wrong = segment.target
        if segment.state == "translated" and segment.target and chance.random() < 1 / 3:
            made = [damage(segment.target) for damage in chance.sample(DAMAGES, len(DAMAGES))]
            wrong = next(each for each in made if each != segment.target)
        new.append(NewText(wrong) if wrong and wrong != segment.target else None)
    return document.write(new)


def starts(content: bytes) -> tuple[list[int], dict[tuple[str, str], int]]:
    """The line on which each entry starts, and the entries by context and source."""
    text = content.decode()
    entries = list(entries_of(text))
    names = {(each.text("msgctxt"), each.text("msgid")): place for place, each in enumerate(entries)}
    return [text.count("\n", 0, each.start) + 1 for each in entries], names


def by_qkv(path: Path, lines: Sequence[int]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for finding in qkv.check(path, progress=False).findings:
        found.setdefault(finding.check, set()).add(bisect(lines, finding.line) - 1)
    return found


def by_msgfmt(path: Path, lines: Sequence[int]) -> set[int]:
    command = ["msgfmt", "-c", "-o", "/dev/null", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C.UTF-8"})
    numbers = re.findall(rf"^{re.escape(str(path))}:(\d+): (?!warning)", ran.stderr, re.MULTILINE)
    return {bisect(lines, int(number)) - 1 for number in numbers}


def by_pofilter(program: Path, test: str, path: Path, names: dict[tuple[str, str], int]) -> set[int]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.po"
        command = [program, "--progress=none", "--nonotes", "-t", test, "-i", path, "-o", output]
        if test != "isfuzzy":
            command.insert(1, "--nofuzzy")
        subprocess.run([str(each) for each in command], capture_output=True, check=True)
        if not output.exists():
            return set()
        entries = list(entries_of(output.read_text(encoding="utf-8")))
    found = ((each.text("msgctxt"), each.text("msgid")) for each in entries if not each.is_header)
    return {names[each] for each in found if each in names}


def show(content: bytes, places: set[int], title: str) -> None:
    for place, entry in enumerate(entries_of(content.decode())):
        if place in places:
            strings = [f"{name}={string.text!r}" for name, string in entry.strings.items()]
            print(f"{title}: {' '.join(strings)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pofilter", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", metavar="TEST", help="print the entries that only one of them reports")
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    entries = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(given.files):
            content = file.read_bytes()
            document = read_catalog("po", content)
            for version, made in (("real", content), ("damaged", damaged(document, given.seed + number))):
                path = Path(folder) / f"{number}-{version}.po"
                path.write_bytes(made)
                lines, names = starts(made)
                entries += len(lines)
                own = by_qkv(path, lines)
                tests = {"msgfmt -c": (OF_MSGFMT, by_msgfmt(path, lines))}
                tests |= {
                    test: (checks, by_pofilter(given.pofilter, test, path, names))
                    for test, checks in PAIRS.items()
                }
                for test, (checks, theirs) in tests.items():
                    ours = set().union(*(own.get(check, set()) for check in checks))
                    counts[test, "both"] += len(ours & theirs)
                    counts[test, "qkv only"] += len(ours - theirs)
                    counts[test, "other only"] += len(theirs - ours)
                    if test == given.show:
                        show(made, ours - theirs, "only qkv")
                        show(made, theirs - ours, "only the other")
    print(f"{entries:,} entries in {len(given.files)} files, as they are and with mistakes\n")
    print("| test | checks of qkv | both | only qkv | only the other |\n|---|---|---:|---:|---:|")
    for test, checks in {"msgfmt -c": OF_MSGFMT, **PAIRS}.items():
        numbers = " | ".join(str(counts[test, kind]) for kind in ("both", "qkv only", "other only"))
        print(f"| {test} | {', '.join(checks)} | {numbers} |")


if __name__ == "__main__":
    main()
