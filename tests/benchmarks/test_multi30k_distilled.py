"""The Multi30k benchmark with captions: val chooses, the table has means, and complete stages are not repeated."""

import json
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import multi30k_distilled

    return multi30k_distilled


def report(val: float, test: float, parameters: int = 2_350_000) -> dict[str, Any]:
    scores = {"student": {"bleu": {"value": val}}, "teachers": {"bleu": {"value": val + 1}}}
    tests = {"student": {"bleu": {"value": test}}, "teachers": {"bleu": {"value": test + 1}}}
    return {
        "parameters": parameters,
        "validation": {"bleu": {"value": val}},
        "tests": {"test_2016_flickr": {"bleu": {"value": test}}},
        "distillation": {"sets": {"valid": scores, "test_2016_flickr": tests}},
    }


class Recorded:
    """Stands for the commands: writes the report of each, and notes its arguments."""

    def __init__(self, val: dict[str, float]):
        self.val, self.ran = val, list[str]()

    def run(self, name: str, *arguments: str | Path) -> float:
        out = Path(arguments[arguments.index("--output") + 1])
        out.mkdir(parents=True)
        (out / "report.json").write_text(json.dumps(report(self.val.get(out.name, 40.0), 41.0)))
        self.ran.append(out.name)
        return 0.0


def options(bench: Any, out: Path) -> Any:
    return bench.Options(
        data=Path("data"),
        captions=Path("captions.en"),
        out=out,
        teachers=2,
        seeds=2,
        try_=("", "--dropout 0.1"),
    )


def test_val_chooses_the_setting_and_only_it_gets_more_seeds(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Recorded({"captions-2-seed-1": 40.5, "without-2-seed-1": 39.5})
    monkeypatch.setattr(bench.Bench, "log", log)
    rows = bench.Bench(options(bench, tmp_path)).run()
    assert log.ran == [
        "teacher-1", "teacher-2", "reverse", "without-1-seed-1", "without-2-seed-1", "without-1-seed-2", "captions-1-seed-1",
        "captions-2-seed-1", "captions-2-seed-2",
    ]  # fmt: skip
    assert rows["student with untranslated captions"]["models"] == 2
    assert rows["ensemble of teachers"]["test2016"] == 42.0
    again = Recorded({})
    monkeypatch.setattr(bench.Bench, "log", again)
    assert bench.Bench(options(bench, tmp_path)).run() == rows
    assert again.ran == []


def test_a_student_that_is_too_large_is_an_error(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.Bench, "log", Recorded({}))
    monkeypatch.setattr(bench, "MOST_PARAMETERS", 2_000_000)
    with pytest.raises(bench.QkvError, match="at most 2,000,000 are allowed"):
        bench.Bench(options(bench, tmp_path)).run()
