"""The translation memory: levels of matches, merging, files, damage, threads and kills."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import code_of, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import qkv
from qkv.localization.adapting import adapt, pattern_of
from qkv.localization.entry import Entry
from qkv.localization.memory import Memory
from qkv.localization.similarity import similarity


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "m.qkvm", source_language="en", target_language="de")


# Levels ----------------------------------------------------------------------------------------------


def test_the_same_context_comes_before_the_same_text(memory: Memory) -> None:
    memory.add("Open", "Öffnen", context="menu")
    memory.add("Open", "Offen", context="state")
    found = memory.lookup("Open", context="menu")
    assert found is not None
    assert (found.level, found.target) == ("context", "Öffnen")
    found = memory.lookup("Open", context="elsewhere")
    assert found is not None
    assert (found.level, found.target) == ("exact", "Offen")
    memory.add("Open", "Auf")
    found = memory.lookup("Open", context="elsewhere")
    assert found is not None
    assert found.target == "Auf"


@pytest.mark.parametrize(
    ("source", "target", "new", "wanted"),
    [
        ("Page 1 of 9", "Seite 1 von 9", "Page 12 of 30", "Seite 12 von 30"),
        ("Page 1 of 9", "Von 9 Seiten die 1", "Page 2 of 30", "Von 30 Seiten die 2"),
        ("Open %s", "%s öffnen", "Open {name}", "{name} öffnen"),
        ("1 of 2", "1 von 2", "2 of 1", "2 von 1"),
        ("2 of 2", "2 von 2", "5 of 5", "5 von 5"),
        ("2 of 2", "2 von 2", "4 of 5", None),  # which 2 is which?
        ("1 file", "eine Datei", "2 file", None),
        ("one file", "1 Datei", "two file", None),
        ("Page 1", "Seite 1, Blatt 1", "Page 2", None),
        ("1.5 m", "1,5 m", "2.5 m", None),
        ("1 m", "1 m", "2.5 m", None),  # another kind of number
        ("see http://a/1", "siehe http://a/1", "see http://a/2", None),
        ("100 %% of 5", "100 %% von 5", "100 %s of 5", None),
    ],
)
def test_numbers_and_placeholders_are_put_where_it_is_clear(
    memory: Memory, source: str, target: str, new: str, wanted: str | None
) -> None:
    memory.add(source, target)
    found = memory.lookup(new)
    assert (found and (found.level, found.target)) == (wanted and ("adapted", wanted))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["%s", "{a}", "7", "12", " ", "x", "<b>", "%%", "1.5"]), max_size=8))
def test_an_adapted_text_has_the_pattern_of_the_target(parts: list[str]) -> None:
    source = "".join(parts)
    new = source.replace("7", "31")
    if pattern_of(new) == pattern_of(source) and pattern_of(source) is not None:
        adapted = adapt(new, source, source)
        assert adapted is None or adapted == new


def test_similar_texts_are_reported_and_never_used(memory: Memory) -> None:
    memory.add("The file was deleted.", "Die Datei wurde gelöscht.")
    memory.add("Something else entirely", "Etwas ganz anderes")
    assert memory.lookup("The file is deleted.") is None
    [match] = memory.search("The file is deleted.")
    assert (match.level, match.target) == ("fuzzy", "Die Datei wurde gelöscht.")
    assert match.score == similarity("The file was deleted.", "The file is deleted.") >= 0.75


def slow_common(first: str, second: str) -> int:
    row = [0] * (len(second) + 1)
    for a in first:
        row = next_row(row, a, second)
    return row[-1]


def next_row(row: list[int], a: str, second: str) -> list[int]:
    found = [0]
    for place, b in enumerate(second):
        found.append(row[place] + 1 if a == b else max(row[place + 1], found[-1]))
    return found


@given(st.text("abc", max_size=20), st.text("abc", max_size=20))
def test_the_similarity_is_that_of_the_longest_common_subsequence(first: str, second: str) -> None:
    assert similarity(first, second) == 2 * slow_common(first, second) / max(1, len(first) + len(second))


def test_matches_come_in_the_order_of_their_levels(memory: Memory) -> None:
    memory.add("Page 2 is empty", "Seite 2 ist leer", context="a")
    memory.add("Page 2 is empty", "Seite 2 bleibt leer")
    memory.add("Page 3 is empty", "Seite 3 ist leer")
    memory.add("Page 2 is emptier", "Seite 2 ist leerer")
    levels = [each.level for each in memory.search("Page 2 is empty", context="a")]
    assert levels == ["context", "exact", "adapted", "fuzzy"]
    assert len(memory.search("Page 2 is empty", limit=2)) == 2


def test_composed_and_decomposed_characters_are_the_same_text(memory: Memory) -> None:
    memory.add("Caf\u00e9", "Kaffeehaus")
    found = memory.lookup("Cafe\u0301")
    assert found is not None
    assert found.level == "exact"


# Merging ---------------------------------------------------------------------------------------------


def test_the_newest_wins_in_the_same_context(memory: Memory) -> None:
    def entry(target: str, year: int) -> Entry:
        return Entry(source="a b", target=target, date=datetime(year, 1, 1, tzinfo=UTC))

    assert memory.add_entries([entry("new", 2024), entry("old", 2020)]).new == 1
    assert [each.target for each in memory.entries()] == ["new"]
    added = memory.add_entries([entry("newer", 2025)])
    assert (added.new, added.updated) == (0, 1)
    assert memory.add_entries([entry("old", 2020)]).updated == 0
    memory.add_entries([entry("future", 9999)])
    memory.add("a b", "now")
    assert [each.target for each in memory.entries()] == ["now"]


def test_an_error_adds_nothing(memory: Memory) -> None:
    with pytest.raises(qkv.InputError, match="empty"):
        memory.add_pairs([("one", "eins"), ("two", " ")])
    with pytest.raises(qkv.InputTypeError, match="target is None; expected str"):
        memory.add("one", None)  # type: ignore[arg-type]
    with pytest.raises(qkv.InputError, match="half a character"):
        memory.add("\ud800", "x")
    assert len(memory) == 0


def test_languages_are_kept_and_checked(memory: Memory, tmp_path: Path) -> None:
    memory.close()
    with Memory.open(memory.path, source_language="en-US") as again:
        assert again.languages == ("en", "de")
    with pytest.raises(
        qkv.DataError, match=r"the target language of .* is de, but that of the program is fr"
    ):
        Memory.open(memory.path, target_language="fr")
    catalog = tmp_path / "fr.po"
    catalog.write_text('msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "a"\nmsgstr "b"\n')
    with Memory.open(memory.path) as again, pytest.raises(qkv.DataError, match=r"fr\.po is fr"):
        again.add_file(catalog)
    with pytest.raises(qkv.InputError, match="is closed"):
        memory.lookup("a")


# Files -----------------------------------------------------------------------------------------------

TEXT = st.text(min_size=1).filter(
    lambda text: text.strip() and not any("\ud800" <= c <= "\udfff" for c in text)
)
CONTEXT = st.text(max_size=8).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT, CONTEXT), min_size=1, max_size=5))
def test_any_text_survives_tmx(rows: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.tmx"
        entries = [Entry(source=s, target=t, context=c, origin="o\x01") for s, t, c in rows]
        with Memory.open(f"{folder}/a", source_language="en", target_language="de") as first:
            first.add_entries(entries)
            wanted = list(first.entries())
            assert first.export(path) == len(wanted)
        ElementTree.parse(path)
        with Memory.open(f"{folder}/b") as second:
            second.add_file(path)
            assert second.languages == ("en", "de")
            assert list(second.entries()) == wanted


def test_a_catalog_keeps_contexts_and_line_breaks(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text(
        'msgid ""\nmsgstr "Language: de_AT\\n"\n\nmsgctxt "menu"\nmsgid "a\\nb"\nmsgstr "c\\nd"\n\n'
        '#, fuzzy\nmsgid "no"\nmsgstr "nein"\n'
    )
    memory.add_file(path)
    [entry] = memory.entries()
    assert (entry.source, entry.target, entry.context, entry.origin) == ("a\nb", "c\nd", "menu", "de.po")


def test_two_text_files_must_match(memory: Memory, tmp_path: Path) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("one\ntwo\n")
    target.write_text("eins\n")
    with pytest.raises(qkv.DataError, match="has more lines than"):
        memory.add_file(source, target)
    assert len(memory) == 0
    target.write_text("eins\nzwei\n")
    assert memory.add_file(source, target).new == 2
    tsv = tmp_path / "out.tsv"
    assert memory.export(tsv) == 2
    assert tsv.read_text() == "one\teins\ntwo\tzwei\n"
    with pytest.raises(qkv.OptionError, match="already exists"):
        memory.export(tsv)


# Damage ----------------------------------------------------------------------------------------------


def changed(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for each in statements:
        connection.execute(each)
    connection.commit()
    connection.close()
    return path


def test_other_files_are_rejected_and_not_changed(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", "eins")
    memory.close()
    text = tmp_path / "text"
    text.write_text("no database" * 100)
    empty = tmp_path / "empty"
    empty.touch()
    foreign = changed(tmp_path / "foreign", "CREATE TABLE t (a)")
    for path in (text, empty, foreign):
        before = path.read_bytes()
        with pytest.raises(qkv.DataError, match="not a translation memory"):
            Memory.open(path)
        assert path.read_bytes() == before
    with pytest.raises(qkv.DataError, match="there is no translation memory"):
        Memory.open(tmp_path / "nowhere", create_missing=False)
    with pytest.raises(qkv.DataError, match="there is no folder"):
        Memory.open(tmp_path / "no" / "where")
    with pytest.raises(qkv.DataError, match="is a folder"):
        Memory.open(tmp_path)
    trigger = "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END"
    with pytest.raises(qkv.DataError, match="damaged"):
        Memory.open(changed(memory.path, trigger))
    with pytest.raises(qkv.DataError, match=r"has version 2 .*update qkv"):
        Memory.open(changed(memory.path, "DROP TRIGGER t", "PRAGMA user_version = 2"))


def test_damaged_pages_and_values_are_errors(memory: Memory, tmp_path: Path) -> None:
    memory.add_pairs((f"text number {n}", "x") for n in range(2000))
    memory.close()
    whole = memory.path.read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(qkv.DataError, match="damaged"), Memory.open(cut) as other:
        list(other.entries())
    with Memory.open(changed(memory.path, "UPDATE entries SET target = x'00ff', signature = 'a'")) as other:
        with pytest.raises(qkv.DataError, match="damaged"):
            other.lookup("text number 5")
        with pytest.raises(qkv.DataError, match="damaged"):
            other.search("text numbers")


# Concurrency -----------------------------------------------------------------------------------------


def test_eight_threads_add_and_look_up(memory: Memory) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for each in range(10):
                memory.add(f"thread {number} text {each}", "x", context=str(number))
                assert memory.lookup(f"thread {number} text {each}", context=str(number)) is not None
                memory.search("thread text")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(memory) == 80


ADDS = """
import sys
from qkv.localization.memory import Memory
def pairs():
    for number in range(10**9):
        if number == 20_000: print("adding", flush=True)
        yield f"text {number}", "x"
Memory.open(sys.argv[1]).add_pairs(pairs())
"""


def test_a_kill_while_adding_leaves_the_memory_as_it_was(memory: Memory) -> None:
    memory.add("one", "eins")
    program = subprocess.Popen([sys.executable, "-c", ADDS, memory.path], stdout=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdout.readline() == b"adding\n"
    memory.add("two", "zwei")  # other writers do not wait for it
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()
    assert [each.target for each in memory.entries()] == ["eins", "zwei"]
    memory.close()
    connection = sqlite3.connect(memory.path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_several_programs_create_one_memory(tmp_path: Path) -> None:
    code = "import sys; from qkv.localization.memory import Memory; Memory.open(sys.argv[1]).add(sys.argv[2], 'x')"
    path = tmp_path / "m.qkvm"
    programs = [subprocess.Popen([sys.executable, "-c", code, path, str(n)]) for n in range(4)]
    assert [each.wait() for each in programs] == [0] * 4
    with Memory.open(path) as memory:
        assert len(memory) == 4
    assert [each.name for each in tmp_path.iterdir()] == ["m.qkvm"]


def test_a_search_among_many_is_fast(memory: Memory) -> None:
    memory.add_pairs((f"some text with the number {n} and a{n % 97} b{n % 89}", "x") for n in range(20_000))
    began = time.process_time()
    assert memory.search("some text with the numbers 77 and a5 b6")
    assert time.process_time() - began < 1


# The command -----------------------------------------------------------------------------------------


def test_the_command_adds_searches_and_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, tsv, tmx = tmp_path / "m", tmp_path / "a.en-de.tsv", tmp_path / "out.tmx"
    tsv.write_text("Page 1\tSeite 1\nbad\x1b[0m text\tx\n")
    assert code_of("memory", "add", path, tsv, "--json") == 0
    report = {"memory": str(path), "read": 2, "new": 2, "updated": 0, "entries": 2}
    assert json.loads(capsys.readouterr().out) == report
    assert code_of("memory", "search", path, "Page 2") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("adapted 83 %, a.en-de.tsv, ")
    assert shown[1:] == ["  Page 1", "  Seite 2"]
    assert code_of("memory", "search", path, "bad\x1b[0m text") == 0
    assert "\x1b" not in capsys.readouterr().out
    assert code_of("memory", "search", path, "Page 2", "--json") == 0
    [match] = json.loads(capsys.readouterr().out)["matches"]
    assert (match["level"], match["target"]) == ("adapted", "Seite 2")
    assert code_of("memory", "export", path, tmx) == 0
    assert "wrote 2 translations" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["search", "nowhere", "text"], "there is no translation memory"),
        (["add", "m", "nowhere.tsv"], "there is no file"),
        (["search", "m", "two", "texts"], "takes one TEXT"),
        (["export", "m", "out.tmx", "--limit", "3"], "--limit is an option of `qkv memory search` only."),
        (["forget", "m", "x"], "must be one of add, export, search"),
        (["add", "m"], "is missing"),
    ],
)
def test_a_mistake_is_one_error_message(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = code_of("memory", *words)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)
    assert list(tmp_path.iterdir()) == []
