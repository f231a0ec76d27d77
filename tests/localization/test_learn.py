"""`qkv learn`: what people did with translations enters the memory, and recurring replacements become terms."""

import json
from pathlib import Path

import pytest
from commands import code_of

import qkv

CATALOG = """\
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: de\\n"

msgid "Open the file"
msgstr "{0}"

msgid "Delete the file now"
msgstr "{1}"

msgctxt "menu"
msgid "Quit"
msgstr "{2}"

#, fuzzy
msgid "Print"
msgstr "{3}"

msgid "Old"
msgstr "Alt"

msgid "Search"
msgstr "{4}"

msgid "Close"
msgstr "{5}"
"""
JOB = ("Die Akte öffnen", "Jetzt die Akte löschen", "Beenden", "Drucken", "", "Schließen")
REVIEWED = ("Die Datei öffnen", "Jetzt die Datei löschen", "Beenden", "Drucken", "Suchen", "")
ORIGINS = {"Old": "file", "Search": "withheld"}


@pytest.fixture
def reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sources = [
        ("", "Open the file"),
        ("", "Delete the file now"),
        ("menu", "Quit"),
        ("", "Print"),
        ("", "Search"),
        ("", "Close"),
    ]
    records = [
        {
            "key": source,
            "context": context,
            "plural": "",
            "source": source,
            "target": target,
            "origin": ORIGINS.get(source, "model"),
        }
        for (context, source), target in zip(sources, JOB, strict=True)
    ]
    records.insert(4, {"key": "Old", "source": "Old", "target": "Alt", "origin": "file"})
    Path("de.po.report.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in records), encoding="utf-8"
    )
    Path("de.po").write_text(CATALOG.format(*REVIEWED), encoding="utf-8")
    return Path("de.po")


def test_what_people_accepted_changed_and_added_enters_the_memory(reviewed: Path) -> None:
    languages = {"source_language": "en"}
    learned = qkv.learn(reviewed, memory="m.qkvm", glossary="terms.tsv", **languages)
    counts = (learned.accepted, learned.changed, learned.rejected, learned.added, learned.unreviewed)
    assert counts == (1, 2, 1, 1, 1)
    assert learned.new == 4
    assert learned.chrf is not None
    assert 50 < learned.chrf < 100
    assert learned.edited is not None
    assert 0 < learned.edited < 0.3
    with qkv.Memory.open("m.qkvm") as memory:
        assert memory.languages == ("en", "de")
        found = {(each.source, each.context): (each.target, each.origin) for each in memory.entries()}
    assert found == {
        ("Open the file", ""): ("Die Datei öffnen", "de.po (changed)"),
        ("Delete the file now", ""): ("Jetzt die Datei löschen", "de.po (changed)"),
        ("Quit", "menu"): ("Beenden", "de.po (accepted)"),
        ("Search", ""): ("Suchen", "de.po (added)"),
    }
    assert learned.proposals == (("file", "Datei", 2),)
    again = qkv.learn(reviewed, memory="m.qkvm", **languages)
    assert (again.new, again.updated) == (0, 4)


def test_a_proposed_glossary_is_a_glossary(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("learn", "de.po", "--glossary", "terms.tsv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["changed"] == 2
    text = Path("terms.tsv").read_text(encoding="utf-8")
    assert "# 2 times instead of 'Akte'\n#   Open the file\n" in text
    assert [term[1] for term in qkv.Glossary.read(Path("terms.tsv")).terms] == ["Datei"]
    assert code_of("learn", "de.po", "--glossary", "terms.tsv") == 2  # it exists
    assert code_of("learn", "de.po", "--memory", "new.qkvm") == 2  # without a source language
    assert not Path("new.qkvm").exists()


def test_a_file_with_one_language_is_compared_by_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "de.json"
    path.write_text('{"b": "Ja", "a": "Nein doch"}')
    (tmp_path / "r.jsonl").write_text(
        '{"key": "a", "source": "no", "target": "Nein", "origin": "model"}\n'
        '{"key": "b", "source": "yes", "target": "Ja", "origin": "memory"}\n'
    )
    learned = qkv.learn(path, report=tmp_path / "r.jsonl")
    assert (learned.accepted, learned.changed) == (1, 1)
    (tmp_path / "other.jsonl").write_text('{"key": "x", "source": "x", "target": "X", "origin": "model"}\n')
    with pytest.raises(qkv.DataError, match="no translation in common"):
        qkv.learn(path, report=tmp_path / "other.jsonl")
    (tmp_path / "bad.jsonl").write_text("[]\n")
    with pytest.raises(qkv.DataError, match=r"bad\.jsonl, line 1 is no line of a report"):
        qkv.learn(path, report=tmp_path / "bad.jsonl")
