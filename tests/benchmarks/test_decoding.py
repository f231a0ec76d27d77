"""The benchmark of decoding: what its ratios are made of, and what it refuses."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "decoding.py"


@pytest.fixture
def decoding(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    specification = importlib.util.spec_from_file_location("benchmark_of_decoding", PATH)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "benchmark_of_decoding", module)
    monkeypatch.syspath_prepend(PATH.parent)  # where it finds its own files
    specification.loader.exec_module(module)
    return module


def system(decoding, name: str, seconds: list[float]):  # type: ignore[no-untyped-def]
    return decoding.System(name, lambda sources, beam: [], seconds={("sentence", 1): seconds})


def test_the_ratio_is_to_the_best_setting_of_the_same_numbers(decoding) -> None:  # type: ignore[no-untyped-def]
    systems = [
        system(decoding, "ours, int8", [1.0, 2.0, 9.0]),
        system(decoding, "CTranslate2, int8, 1 × 1 threads", [8.0]),
        system(decoding, "CTranslate2, int8, 1 × 2 threads", [5.0, 7.0, 6.0]),
        system(decoding, "CTranslate2, float32, 1 × 1 threads", [3.0]),
    ]
    assert decoding.ratio(systems, "sentence", 1) == 3.0


def test_ours_and_ctranslate2_give_outputs_of_the_fixed_length_in_order(decoding, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("ctranslate2")
    decoding.SHAPES["small"] = (1, 32, 48, 2)
    contest = decoding.random_contest("small", decoding.made_up(7))
    folder = decoding.as_folder(contest, tmp_path)
    mine = decoding.ours(contest, int8=False)()
    theirs = decoding.ctranslate2(contest, folder, "float32", 1, 1, 4)()
    for beam in (1, 3):
        found, wanted = mine(contest.sources, beam), theirs(contest.sources, beam)
        assert {len(each) for each in found + wanted} == {decoding.FIXED}
        assert sum(one == other for one, other in zip(found, wanted, strict=True)) >= 6


def test_marian_has_the_same_weights_and_outputs(decoding) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("transformers")
    decoding.SHAPES["small"] = (1, 32, 48, 2)
    contest = decoding.random_contest("small", decoding.made_up(7))
    mine, theirs = decoding.ours(contest, int8=False)(), decoding.marian(contest, 4)()
    assert theirs(contest.sources, 1) == mine(contest.sources, 1)


def test_without_ctranslate2_it_exits_with_an_error_message(
    decoding, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(decoding.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(decoding.QkvError, match="not installed"):
        decoding.run(decoding.Options(quick=True))


def test_real_sentences_use_a_vocabulary_learned_from_the_training_part(decoding, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for language in ("en", "de"):
        (tmp_path / f"train.lc.norm.tok.{language}").write_text(
            "a man rides a horse .\n" * 9, encoding="utf-8"
        )
    (tmp_path / "test_2016_flickr.lc.norm.tok.en").write_text("a horse .\na man\na rider\n", encoding="utf-8")
    sources = decoding.in_pieces(decoding.Options(data=tmp_path, lines=2), tmp_path)
    assert [len(source) for source in sources] == [3, 2]


def test_a_folder_without_multi30k_raises_an_error(decoding, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(decoding.QkvError, match=r"has no train\.lc\.norm\.tok\.en"):
        decoding.contests(decoding.Options(data=tmp_path))
