"""A whole corpus: every reason, in order, the same on every run and with any number of processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from qkv.corpus.clean import clean
from qkv.corpus.held_out import HeldOut, read_held_out
from qkv.corpus.judge import Languages
from qkv.corpus.records import Corpus, Record, corpus_of, corpus_of_two, languages_in_name
from qkv.corpus.report import CleanReport
from qkv.corpus.settings import CleanSettings
from qkv.data.worlds import pairs
from qkv.errors import QkvError

GERMAN_ENGLISH = Languages(source="en", target="de")
HARMED = [
    Record("", "Der Hund schläft."),
    Record("the proposal of the committee was adopted", "la proposta della commissione è stata approvata"),
    Record("the proposal was adopted", "предложение было принято"),
]


@pytest.fixture(scope="module")
def good() -> list[Record]:
    found = pairs("en", "de", 1_200, part="train")
    return list(dict.fromkeys(Record(pair.source, pair.target) for pair in found))


def in_memory(records: list[Record]) -> Corpus:
    def corpus() -> Iterator[Record]:
        return iter(records)

    return corpus


def cleaned(
    records: list[Record], settings: CleanSettings, held_out: HeldOut | None = None, processes: int = 1
) -> tuple[list[Record], CleanReport]:
    kept: list[Record] = []
    report = clean(
        in_memory(records),
        settings,
        GERMAN_ENGLISH,
        held_out=held_out,
        write=kept.append,
        processes=processes,
    )
    return kept, report


def test_each_pair_is_kept_or_counted_once_under_the_right_reason(good: list[Record]) -> None:
    moved = [Record(one.source, other.target) for one, other in zip(good[:9], good[50:59], strict=True)]
    records = [*good, *HARMED, *good[:4], *moved]
    kept, report = cleaned(records, CleanSettings(near_duplicates=0, min_alignment=1.0))
    assert report.total == len(records) == report.kept + sum(report.dropped.values())
    assert report.kept == len(kept)
    assert report.dropped["empty"] == report.dropped["other language"] == report.dropped["other script"] == 1
    assert report.dropped["duplicate"] >= 4
    assert report.dropped["misaligned"] >= 7
    assert set(kept) <= set(good) | set(moved)
    assert kept == [record for record in dict.fromkeys(records) if record in set(kept)]
    assert all(0 < len(report.examples[reason]) <= 5 for reason in report.dropped)
    assert report.to_dict()["examples"]["empty"] == [{"source": "", "target": "Der Hund schläft."}]


def test_decisions_are_the_same_with_several_processes_and_small_chunks(
    good: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [*good[:300], *HARMED, *good[100:200]]
    first = cleaned(records, CleanSettings())
    monkeypatch.setattr("qkv.corpus.clean.CHUNK", 37)
    assert cleaned(records, CleanSettings(), processes=2) == first


def test_a_worker_process_runs_no_module_of_the_current_folder(
    good: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("safetensors", "json", "numpy"):
        hostile = f"from pathlib import Path; Path({str(tmp_path / 'executed')!r}).touch()"
        (tmp_path / f"{name}.py").write_text(hostile, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("qkv.corpus.clean.CHUNK", 10)
    kept, _ = cleaned(good[:50], CleanSettings(), processes=2)
    assert kept
    assert not (tmp_path / "executed").exists()


def test_a_worker_process_that_ends_is_reported_with_its_exit_code(
    good: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.corpus.clean.CHUNK", 10)
    monkeypatch.setattr("qkv.corpus.processes.PROGRAM", "raise SystemExit(7)")
    with pytest.raises(QkvError, match="a worker process ended too early, with exit code 7"):
        cleaned(good[:50], CleanSettings(), processes=2)


def test_nothing_of_a_test_set_is_left_on_either_side(good: list[Record], tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text(good[3].line() + good[5].line(), encoding="utf-8")
    (tmp_path / "more.txt").write_text(f"{good[8].target}\n\n", encoding="utf-8")
    held_out = read_held_out([tmp_path / "test.tsv", tmp_path / "more.txt"], "en", "de")
    records = [
        *good[:20],
        Record(f"{good[3].source.upper()}!", f"{good[40].target} ja"),
        Record(f"{good[41].source} yes", good[5].target),
    ]
    settings = CleanSettings(duplicates=False, near_duplicates=0, min_alignment=None)
    kept, report = cleaned(records, settings, held_out)
    assert report.dropped["in a test set"] >= 5
    assert not {record.source for record in kept} & {good[3].source, good[5].source}
    assert not {record.target for record in kept} & {good[3].target, good[5].target, good[8].target}


def test_a_near_duplicate_of_a_test_pair_is_dropped_as_one() -> None:
    source = " ".join(f"alpha{number}" for number in range(40))
    target = " ".join(f"beta{number}" for number in range(40))
    settings = CleanSettings(language_confidence=0, min_alignment=None)
    held_out = HeldOut.of([Record(source, target)])
    _, report = cleaned([Record(source.replace("alpha7", "gamma"), target)], settings, held_out)
    assert report.dropped == {"in a test set": 1}
    _, report = cleaned([Record(f"{source} gamma", f"{target} gamma")], settings, held_out)
    assert report.dropped == {"in a test set": 1}


def test_further_columns_of_a_table_are_kept_and_other_files_are_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.en-de.tsv").write_text("one\teins\tdomain\tx\ntwo\tzwei\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"en": "three\\tx", "de": "drei"}\n', encoding="utf-8")
    records = list(corpus_of([tmp_path / "a.en-de.tsv", tmp_path / "b.jsonl"], "en", "de")())
    assert [record.line() for record in records] == [
        "one\teins\tdomain\tx\n",
        "two\tzwei\n",
        "three x\tdrei\n",
    ]
    assert languages_in_name(tmp_path / "a.en-de.tsv") == ("en", "de")
    assert languages_in_name(tmp_path / "b.jsonl") == (None, None)


def test_two_files_of_different_length_raise_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("eins\nzwei\n", encoding="utf-8")
    with pytest.raises(QkvError, match=r"a\.de has only 2 lines"):
        list(corpus_of_two(tmp_path / "a.en", tmp_path / "a.de")())


def test_a_corpus_that_changes_during_cleaning_raises_an_error(good: list[Record]) -> None:
    lengths = iter([20, 20])  # counted and filtered; then it is written

    def corpus() -> Iterator[Record]:
        return iter(good[: next(lengths, 15)])

    settings = CleanSettings(min_alignment=None)
    with pytest.raises(QkvError, match="changed while it was read"):
        clean(corpus, settings, GERMAN_ENGLISH, write=lambda _record: None)
