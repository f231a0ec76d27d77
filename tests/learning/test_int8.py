"""What int8 costs on real sentences; needs a model trained on them and the data."""

from pathlib import Path

import pytest

import qkv
from qkv.evaluation.scores import Scorer

ROOT = Path(__file__).parents[2]
MODEL, DATA = ROOT / "runs" / "m30k", ROOT.parent / "shared" / "data" / "multi30k"


@pytest.mark.slow
@pytest.mark.skipif(
    not (MODEL / "config.json").exists(),
    reason="needs runs/m30k, which the first command of docs/benchmarks.md trains",
)
@pytest.mark.skipif(not DATA.exists(), reason="needs Multi30k beside the project, in ../shared/data/multi30k")
def test_int8_loses_at_most_a_fifth_of_a_point_of_bleu() -> None:
    source, reference = (
        (DATA / f"test_2016_flickr.lc.norm.tok.{language}").read_text(encoding="utf-8").splitlines()
        for language in ("en", "de")
    )
    scorer = Scorer.make(tokenize="none")
    float32, int8 = (
        scorer.score(qkv.load(MODEL, compute_type=compute).translate(source), reference).bleu.value
        for compute in ("float32", "int8")
    )
    assert float32 > 30
    assert int8 >= float32 - 0.2, f"float32 {float32:.2f}, int8 {int8:.2f}"
