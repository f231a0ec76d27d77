"""Pairs in files train the same model as pairs in memory, and whatever happens to the files is noticed and repaired."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from digit_runs import hashes, tiny_settings, train
from digits import digit_lines
from disk import Disk, Killed

from qkv.data.pair_sources import pair_file
from qkv.families.translator.corpus import Corpus, PairData, prepare_corpus
from qkv.families.translator.defaults import Languages
from qkv.families.translator.settings import DataSettings
from qkv.prepared import pairs as stored_pairs
from qkv.prepared.pairs import StoredPairs
from qkv.prepared.place import Place, place_for_run
from qkv.prepared.reading import read_pair_sources
from qkv.text.tokenizer import Tokenizer

SETTINGS = DataSettings(max_characters=40, valid_size="20")


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_pairs, "PART_PAIRS", 37)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of which some are empty, too long, repeated, wide or not ASCII."""
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    lines = digit_lines(200, 1, longest=9)
    rows = [(line, line.upper()) for line in lines] + [(line, line) for line in lines[:40]]
    rows += [("", "leer"), (" zwei  Wörter\u2028da ", "二つの言葉"), rows[0], rows[1]]
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    return path


def corpus_at(file: Path, folder: Path | None) -> Corpus:
    place = None if folder is None else Place(folder=folder, always=True)
    pairs = read_pair_sources([pair_file(file, None, None)], place).pairs
    assert isinstance(pairs, StoredPairs) == (folder is not None)
    return prepare_corpus(pairs, None, Languages.of(None, None), SETTINGS, 3, "digits")


def content(corpus: Corpus) -> list[object]:
    both = [(list(part.source), list(part.target)) for part in (corpus.train, corpus.valid)]
    return [both, corpus.fingerprint(), corpus.dropped, corpus.duplicates, corpus.shared]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_batches_of_stored_pairs_are_those_of_pairs_in_memory(
    file: Path, tmp_path: Path, dropout: float
) -> None:
    wanted, found = corpus_at(file, None), corpus_at(file, tmp_path / "store")
    assert content(found) == content(wanted)
    assert (found.train.source[5], found.train.source[7:9]) == (
        wanted.train.source[5],
        wanted.train.source[7:9],
    )
    tokenizer = Tokenizer.learn([*wanted.train.source, *wanted.train.target], 300)
    one, other = (
        PairData(corpus.train, tokenizer, 90, 24, shuffled=True, bpe_dropout=dropout)
        for corpus in (wanted, found)
    )
    assert len(one) == len(other) < len(wanted.train), "some are longer than 24 tokens"
    for seed in (1, 2):
        batches = one.epoch(seed)
        assert list(other.epoch(seed)) == list(batches)
        for rows in batches:
            assert one.tokens(rows) == other.tokens(rows)
            for name in ("source", "shifted", "target"):
                assert getattr(one.batch(rows), name).equal(getattr(other.batch(rows), name))


def test_a_run_on_stored_pairs_has_the_weights_of_a_run_in_memory(file: Path, tmp_path: Path) -> None:
    settings = replace(tiny_settings(validate_every=4), steps=6)
    for name, folder in (("memory", None), ("stored", tmp_path / "store")):
        train(tmp_path / name, settings, corpus=corpus_at(file, folder))
    assert hashes(tmp_path / "memory", 6) == hashes(tmp_path / "stored", 6)


def prepare(file: Path, folder: Path) -> tuple[list[object], list[list[int]]]:
    """Everything that is prepared: texts, split and tokens."""
    corpus = corpus_at(file, folder)
    tokenizer = Tokenizer.learn(["one two three"] * 3, 270)
    data = PairData(corpus.train, tokenizer, 90, 200, shuffled=False)
    return content(corpus), [data.ids(side, row).tolist() for row in range(len(data)) for side in (0, 1)]


def test_preparation_goes_on_after_a_kill_or_a_full_disk_at_any_moment(file: Path, tmp_path: Path) -> None:
    with Disk(tmp_path).watching() as disk:
        wanted = prepare(file, tmp_path / "whole")
    assert len(disk.operations) > 50
    for number, at in enumerate(range(0, len(disk.operations), 7)):
        fault = ("killed", "no space")[number % 2]
        with pytest.raises((Killed, OSError)), Disk(tmp_path, fault=fault, at=at).watching():
            prepare(file, tmp_path / "store")
        assert prepare(file, tmp_path / "store") == wanted, disk.operations[at]
        shutil.rmtree(tmp_path / "store")


def test_complete_parts_are_not_made_again(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    prepare(file, folder)
    [record] = folder.glob("*/record.json")
    record.unlink()  # as if the process was killed after the last part
    with Disk(tmp_path).watching() as disk:
        prepare(file, folder)
    assert {Path(each.path).name for each in disk.operations if each.name == "write"} == {".tmp-record.json"}


def test_damaged_and_truncated_files_are_noticed_and_made_again(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    wanted = prepare(file, folder)
    for path in sorted(folder.rglob("*.*")):
        whole = path.read_bytes()
        flipped = bytes([*whole[:-3], whole[-3] ^ 1, *whole[-2:]])
        for fault in (flipped, whole[: len(whole) // 2], b""):
            path.write_bytes(fault)
            assert prepare(file, folder) == wanted
            assert path.read_bytes() == whole, path


def test_other_data_or_other_settings_never_use_the_same_files(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tsv"
    other.write_text(file.read_text(encoding="utf-8").replace("seven", "sieben"), encoding="utf-8")
    assert content(corpus_at(other, tmp_path / "store")) != content(corpus_at(file, tmp_path / "store"))
    assert content(corpus_at(other, tmp_path / "store")) == content(corpus_at(other, None))
    copy = tmp_path / "copy.tsv"
    shutil.copy(file, copy)
    corpus_at(copy, tmp_path / "store")
    assert len(list((tmp_path / "store").iterdir())) == 2, "a copy is the same data"


FILL = """
import sys, time
from pathlib import Path
import numpy as np
from qkv.prepared.parts import Parts
def make(number):
    with open(sys.argv[1] + ".log", "a") as log:
        log.write(f"{number}\\n")
    time.sleep(0.01)
    return {"numbers": np.arange(number)}
Parts(Path(sys.argv[1]), "part").fill(range(20), make)
"""


def test_two_processes_share_the_work_and_make_no_part_twice(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    both = [subprocess.Popen([sys.executable, "-c", FILL, str(folder)]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    made = (tmp_path / "store.log").read_text().split()
    assert sorted(map(int, made)) == list(range(20))


def test_what_a_run_prepared_is_removed_if_the_run_never_starts(file: Path, tmp_path: Path) -> None:
    with place_for_run(tmp_path / "run", None, verify=True, say=print) as place:
        pairs = read_pair_sources([pair_file(file, None, None)], place).pairs
        assert isinstance(pairs, StoredPairs), "there is more than one part"
        assert place.folder.exists()
    assert not (tmp_path / "run" / "training" / "prepared").exists()


def test_few_pairs_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setattr(stored_pairs, "PART_PAIRS", 10_000)
    pairs = read_pair_sources([pair_file(file, None, None)], Place(folder=tmp_path / "store")).pairs
    assert not isinstance(pairs, StoredPairs)
    assert not (tmp_path / "store").exists()
    assert np.array_equal(pairs.lengths()[:2], np.array([[len(pairs.source[i])] * 2 for i in (0, 1)]))


def test_an_epoch_of_a_mixture_has_each_file_as_often_as_its_weight_says(file: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.tsv", tmp_path / "second.tsv"
    first.write_text("".join(f"one {n}\teins {n}\n" for n in range(60)), encoding="utf-8")
    second.write_text("".join(f"two {n}\tzwei {n}\n" for n in range(400)), encoding="utf-8")
    sources = [pair_file(path, None, None) for path in (first, second)]
    read = read_pair_sources(sources, Place(folder=tmp_path / "store"), weighted=True)
    assert read.counts == (60, 400)
    corpus = prepare_corpus(read.pairs, None, Languages.of(None, None), SETTINGS, 3, "digits")
    tokenizer = Tokenizer.learn([*corpus.train.source], 300)
    weights = tuple(zip(read.counts, (2.0, 0.25), strict=True))
    data = PairData(corpus.train, tokenizer, 90, 64, shuffled=True, weights=weights)
    texts = list(corpus.train.source)

    def epoch(seed: int) -> list[str]:
        return [texts[row] for batch in data.epoch(seed) for row in batch]

    drawn = [text for text in epoch(1) if text.startswith("one")]
    assert all(drawn.count(text) == 2 for text in drawn)
    assert set(drawn) == {text for text in texts if text.startswith("one")}
    others = [sorted(text for text in epoch(seed) if text.startswith("two")) for seed in (1, 2)]
    assert all(60 < len(set(each)) == len(each) < 130 for each in others)
    assert others[0] != others[1]
    assert epoch(1) == epoch(1)
    assert replace(corpus, weights=weights).fingerprint() != corpus.fingerprint()
