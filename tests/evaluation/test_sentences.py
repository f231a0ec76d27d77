"""Every sentence is in one bucket of length, and the worst come first."""

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from qkv.evaluation.evaluation import Sentences, merge_same_sources
from qkv.evaluation.overlap import seen_in
from qkv.evaluation.scores import Scorer
from qkv.evaluation.sentences import WORST, bucket_name, bucket_of, by_length, rows_by_bucket, worst


@given(st.lists(st.integers(min_value=0, max_value=80), min_size=1))
def test_buckets_partition_the_sentences(lengths: list[int]) -> None:
    rows = rows_by_bucket([" ".join(["word"] * length) for length in lengths])
    assert sorted(row for bucket in rows.values() for row in bucket) == list(range(len(lengths)))
    assert all(rows.values()), "no bucket is empty"


@pytest.mark.parametrize(
    ("words", "name"),
    [(0, "0"), (1, "1–5"), (5, "1–5"), (6, "6–10"), (15, "11–15"), (16, "16–20"), (30, "21–30"), (31, "31+"), (500, "31+")],
)  # fmt: skip
def test_a_bucket_is_named_by_its_lengths(words: int, name: str) -> None:
    assert bucket_name(bucket_of(words)) == name


def test_a_bucket_is_scored_as_if_it_were_the_whole() -> None:
    source = ["one"] * 3 + ["one two three four five six seven"] * 2
    references = ["a b c d", "e f g h", "i j k l", "a b c d e f g h", "i j k l m n o p"]
    hypotheses = ["a b c d", "e f x h", "i", "a b c d e f g h i j k l", "i j k l m n o p"]
    short, long = by_length(Scorer.make(), hypotheses, [references], source)
    assert (short.words, short.sentences, long.words, long.sentences) == ("1–5", 3, "6–10", 2)
    assert short.bleu == sacrebleu.corpus_bleu(hypotheses[:3], [references[:3]]).score
    assert long.chrf == sacrebleu.corpus_chrf(hypotheses[3:], [references[3:]]).score
    assert (short.length_ratio, long.length_ratio) == (9 / 12, 20 / 16)


def test_the_worst_come_first_and_equal_ones_in_the_order_of_their_lines() -> None:
    references = [f"sentence number {number}" for number in range(60)]
    hypotheses = ["x" if row % 2 else line for row, line in enumerate(references)]
    hypotheses[40] = ""
    found = worst(Scorer.make(), hypotheses, [references], references)
    assert len(found) == WORST
    assert [(each.score, each.line) for each in found] == sorted((each.score, each.line) for each in found)
    assert [each.line for each in found[:3]] == [2, 4, 6]
    assert all(hypotheses[each.line - 1] == each.translation for each in found)
    assert all([references[each.line - 1]] == each.references for each in found)


def test_a_sentence_is_measured_by_its_best_reference() -> None:
    found = worst(Scorer.make(), ["a b c", "x y"], [["nothing", "nothing"], ["a b c", "z"]], None)
    assert [(each.line, each.score) for each in found] == [(2, 0.0)], (
        "a perfect sentence is not among the worst"
    )
    assert found[0].references == ["nothing", "z"]
    assert found[0].source is None


def test_merged_sentences_keep_the_numbers_of_their_first_lines() -> None:
    every = Sentences(source=["one", "one", "two"], references=[["uno", "un", "dos"]])
    merged, _ = merge_same_sources(every)
    found = worst(Scorer.make(), ["x", "y"], merged.references, merged.source, lines=merged.lines)
    assert [each.line for each in found] == [1, 3]
    overlap = merged.overlap_with(seen_in(["two"], ["dos"]))
    assert overlap is not None
    assert (overlap.lines, overlap.same_translation) == ([3], [3])
    assert overlap.unseen_of(["x", "y"]) == ["x"]
