"""The scores are sacrebleu's own, the same every time, and one good reference is enough."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu

from qkv.errors import QkvError
from qkv.evaluation.scores import SAMPLES, Scorer, samples_for, score_translations

REFERENCES = [
    f"The {colour} {animal} sleeps {place} ."
    for colour in ("red", "old", "small")
    for animal in ("cat", "dog", "horse", "bird")
    for place in ("on the roof", "in the garden", "at home", "there", "under the old tree near the river")
]
OTHER_REFERENCES = [line.replace("sleeps", "is asleep") for line in REFERENCES]
HYPOTHESES = [line.replace("old", "ancient") if row % 3 else line for row, line in enumerate(REFERENCES)]


def test_every_score_is_that_of_sacrebleus_functions() -> None:
    scores = Scorer.make().score_fully(HYPOTHESES, REFERENCES, OTHER_REFERENCES)
    references = [REFERENCES, OTHER_REFERENCES]
    assert scores.ter is not None
    assert scores.bleu.value == sacrebleu.corpus_bleu(HYPOTHESES, references).score
    assert scores.chrf.value == sacrebleu.corpus_chrf(HYPOTHESES, references).score
    assert scores.ter.value == sacrebleu.corpus_ter(HYPOTHESES, references).score


def test_scores_intervals_and_signatures_are_those_of_sacrebleus_command(tmp_path: Path) -> None:
    (tmp_path / "hypotheses").write_text("\n".join(HYPOTHESES) + "\n")
    (tmp_path / "references").write_text("\n".join(REFERENCES) + "\n")
    options = shlex.split("references -i hypotheses -m bleu chrf ter --confidence -f text -w 3 --force")
    shown = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    scores = Scorer.make().score_fully(HYPOTHESES, REFERENCES)
    assert scores.ter is not None
    for score in (scores.bleu, scores.chrf, scores.ter):
        assert score.interval is not None
        half = score.interval.high - score.interval.mean
        assert f"{score.signature} = {score.value:.3f} (μ = {score.interval.mean:.3f} ± {half:.3f})" in shown


def test_the_same_texts_give_the_same_intervals_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = Scorer.make().score_fully(HYPOTHESES, REFERENCES)
    monkeypatch.setenv("SACREBLEU_SEED", "none")
    assert Scorer.make().score_fully(HYPOTHESES, REFERENCES) == first
    assert os.environ["SACREBLEU_SEED"] == "none", "the environment is left as it was"


def test_an_interval_holds_its_score_and_never_leaves_the_scale() -> None:
    for hypotheses in (HYPOTHESES, REFERENCES, ["nothing"] * len(REFERENCES)):
        scores = Scorer.make().score_fully(hypotheses, REFERENCES)
        assert scores.ter is not None
        for score, top in ((scores.bleu, 100), (scores.chrf, 100), (scores.ter, 1_000)):
            assert score.interval is not None
            assert 0 <= score.interval.low <= score.value + 1e-6
            assert score.value - 1e-6 <= score.interval.high <= top
            assert score.interval.samples == SAMPLES


def test_a_second_reference_raises_bleu_and_is_in_the_signature() -> None:
    scorer = Scorer.make()
    one, two = (
        scorer.score(HYPOTHESES, OTHER_REFERENCES),
        scorer.score(HYPOTHESES, OTHER_REFERENCES, REFERENCES),
    )
    assert two.bleu.value > one.bleu.value
    assert one.bleu.signature.startswith("nrefs:1|")
    assert two.bleu.signature.startswith("nrefs:2|")
    assert two.chrf.signature.startswith("nrefs:2|")


def test_an_exact_match_equals_any_reference_apart_from_surrounding_white_space() -> None:
    assert Scorer.make().score(["a b ", "c", "D"], ["x", "c", "d"], ["a b", "y", "z"]).exact_match == 200 / 3
    assert Scorer.make(lowercase=True).score(["a b", "c", "D"], ["x", "y", "d"]).exact_match == 100 / 3


def test_a_quick_score_has_neither_ter_nor_intervals_even_after_a_full_one() -> None:
    scorer = Scorer.make()
    scorer.score_fully(HYPOTHESES, REFERENCES)
    scores = scorer.score(HYPOTHESES, REFERENCES)
    assert scores == score_translations(HYPOTHESES, REFERENCES)
    assert set(scores.to_dict()) == {"sentences", "bleu", "chrf", "exact_match"}
    assert set(scores.to_dict()["bleu"]) == {"value", "signature"}
    assert "bs:" not in scores.bleu.signature


def test_a_test_set_too_large_for_memory_gets_fewer_samples() -> None:
    assert [samples_for(count) for count in (1, 1_000, 10_000, 20_000, 10_000_000)] == [
        1000,
        1000,
        1000,
        500,
        100,
    ]


def test_done_is_called_for_every_measure() -> None:
    told: list[int] = []
    Scorer.make().score_fully(HYPOTHESES, REFERENCES, done=told.append)
    assert told == [1, 1, 1]


@pytest.mark.parametrize(
    ("hypotheses", "references", "sentence"),
    [
        (["a"], [["a", "b"]], "1 translations do not match 2 references."),
        (["a"], [["a"], ["a", "b"]], "1 translations do not match 2 references."),
        ([], [[]], "there are no translations to score."),
        (["a"], [], "there are no translations to score."),
    ],
)
def test_what_cannot_be_scored_is_rejected(
    hypotheses: list[str], references: list[list[str]], sentence: str
) -> None:
    with pytest.raises(QkvError, match=sentence):
        Scorer.make().score(hypotheses, *references)


def test_mostly_wrong_translations_have_intervals() -> None:
    """sacrebleu's own way to an interval fails here, for 0 and other scores are numbers of two kinds."""
    scores = Scorer.make().score_fully(["xyz"] * 59 + ["one"], ["two"] * 59 + ["one"])
    assert scores.chrf.interval is not None
    assert scores.chrf.interval.low == 0
    assert scores.chrf.interval.high > scores.chrf.value
