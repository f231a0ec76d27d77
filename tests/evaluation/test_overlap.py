"""What the model has seen is found again, whatever its case and white space, and nothing else is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qkv.checkpoint.arrays import write_arrays
from qkv.errors import QkvError
from qkv.evaluation.overlap import (
    SEEN_FILE,
    Overlap,
    find_overlap,
    fingerprint,
    fingerprints,
    read_seen,
    seen_in,
    warning,
    write_seen,
)

TRAINING = {"The cat danced .": "Die Katze tanzte .", "It is  late": "Es ist spät", "one": "eins"}
SEEN = seen_in(list(TRAINING), list(TRAINING.values()))


def test_a_planted_sentence_is_found_in_other_case_and_white_space_and_others_are_not() -> None:
    source = ["the dog danced .", " THE CAT\tdanced . ", "it is late", "", "on e", "The cat danced"]
    references = [
        "Der Hund tanzte .",
        "die katze  TANZTE .",
        "Es wird spät",
        "",
        "eins",
        "Die Katze tanzte .",
    ]
    found = find_overlap(SEEN, source, [references])
    assert found == Overlap(total=6, lines=[2, 3], same_translation=[2])
    assert found.unseen_of("abcdef") == ["a", "d", "e", "f"]


def test_any_reference_may_be_the_translation_that_was_seen() -> None:
    found = find_overlap(SEEN, ["One"], [["uno"], ["Eins"]])
    assert found.same_translation == [1]
    assert find_overlap(SEEN, ["two"], [["zwei"], ["eins"]]).lines == []


@given(st.lists(st.text(max_size=8)))
def test_fingerprints_are_sorted_and_unique_and_miss_nothing(texts: list[str]) -> None:
    found = fingerprints(texts).tolist()
    assert found == sorted({fingerprint(text) for text in texts})
    assert len(found) == len(set(texts))


def test_a_fingerprint_never_changes() -> None:
    """Bundles keep it: the first 8 bytes of BLAKE2b with that length, little-endian, signed."""
    assert fingerprint("the cat danced") == int.from_bytes(
        bytes.fromhex("862db578843ddeab"), "little", signed=True
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_seen(tmp_path, seen_in(list(TRAINING), list(TRAINING.values())))
    found = read_seen(tmp_path)
    assert found is not None
    assert np.array_equal(found.source, SEEN.source)
    assert np.array_equal(found.pairs, SEEN.pairs)


def test_a_bundle_without_fingerprints_reports_no_overlap(tmp_path: Path) -> None:
    assert read_seen(tmp_path) is None


def test_a_file_with_something_else_in_it_is_rejected(tmp_path: Path) -> None:
    write_arrays(tmp_path / SEEN_FILE, {"source": np.zeros(3)})
    with pytest.raises(QkvError, match=r"is damaged\. Restore it or delete it"):
        read_seen(tmp_path)
    (tmp_path / SEEN_FILE).write_bytes(b"nonsense")
    with pytest.raises(QkvError, match="is damaged"):
        read_seen(tmp_path)


def test_the_warning_has_the_counts_and_the_first_three_lines() -> None:
    overlap = Overlap(total=1_000, lines=[4, 5, 70, 71], same_translation=[70])
    assert warning("en-de", overlap, None, "line") == (
        "4 of 1,000 test sentences occur in the training data of en-de (1 with the same translation; "
        "lines 4, 5, 70, …): scores on them measure memory; leave them out."
    )
    everything = Overlap(total=1, lines=[1], same_translation=[])
    assert "(0 with the same translation; line 1)" in warning("en-de", everything, None, "line")
    assert warning("en-de", everything, None, "line").endswith("no sentence is left without them.")
