"""What the benchmark chooses, and what it makes of its points. It is a script, not a package."""

import importlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from qkv.data.parallel import ParallelText
from qkv.errors import QkvError
from qkv.families.translator.recipes import multi30k_tiny

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def scripts() -> Iterator[None]:
    """Its files find each other as they do where the script is run."""
    sys.path.insert(0, str(FOLDER))
    before = set(sys.modules)
    yield
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("curves", "multi30k", "multi30k_systems"):
            del sys.modules[name]


@pytest.fixture(scope="module")
def curves(scripts: None) -> Any:
    return importlib.import_module("curves")


def curve(curves: Any, *points: tuple[float, float, float], speed: float = 1_000.0) -> Any:
    """A run from (minutes, val, test)."""
    return curves.Curve(
        about="",
        seed=1,
        minutes=10.0,
        measured={},
        parameters=1_234_567,
        tokens_per_second=speed,
        points=[curves.Point(minutes=m, valid=v, test=t, weights="") for m, v, t in points],
    )


def shown(table: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_level_is_reached_where_the_line_between_two_points_crosses_it(curves: Any) -> None:
    points = curve(curves, (2, 30, 30), (4, 40, 40)).points
    assert curves.minutes_to(points, 35) == pytest.approx(3.0)
    assert curves.minutes_to(points, 40) == pytest.approx(4.0)


def test_the_first_crossing_counts_though_the_curve_falls_again(curves: Any) -> None:
    points = curve(curves, (1, 30, 30), (2, 40, 40), (3, 35, 35), (4, 41, 41)).points
    assert curves.minutes_to(points, 40) == pytest.approx(2.0)


def test_a_level_below_the_first_point_counts_from_that_point(curves: Any) -> None:
    assert curves.minutes_to(curve(curves, (2, 30, 30)).points, 10) == 2


def test_a_level_above_all_points_is_never_reached(curves: Any) -> None:
    assert curves.minutes_to(curve(curves, (2, 30, 30), (4, 40, 40)).points, 41) is None


def test_the_test_part_has_no_say_in_which_point_is_best(curves: Any) -> None:
    assert curves.best_point(curve(curves, (1, 40, 30), (2, 39, 99)).points).test == 30


@pytest.mark.parametrize("count", [1, 4, 12, 100])
def test_points_are_spread_over_the_whole_run(curves: Any, count: int) -> None:
    times = {step: step / 10 for step in range(10, 610, 10)}
    chosen = curves.spread(times, count)
    assert len(chosen) == min(count, len(times))
    assert chosen == sorted(chosen)
    assert chosen[-1] == 600


def test_no_snapshots_give_no_points(curves: Any) -> None:
    assert curves.spread({}, 12) == []


def test_the_table_says_what_was_reached_and_what_was_not(curves: Any) -> None:
    text = shown(curves.curves_table({"ours": curve(curves, (2, 30, 30), (4, 42, 40))}, (35.0, 41.02), 300))
    for words in (
        "ours",
        "1,234,567",
        "1,000",
        "3.0",
        "not in its 4 minutes",
        "best on 300 of val",
        "42.00",
        "40.00",
    ):
        assert words in text


def test_ratios_are_bounds_if_the_peer_never_gets_there(curves: Any) -> None:
    ours = curve(curves, (1, 30, 30), (2, 40, 40), (4, 42, 42), speed=3_000)
    peer = curve(curves, (5, 30, 30), (10, 40, 40))
    assert curves.advantage(ours, peer, 40) == "5.00 ×"
    assert curves.advantage(ours, peer, 42) == "above 2.50 ×"
    assert curves.advantage(peer, ours, 42) == "only the other gets there", "however short its own run was"
    assert curves.advantage(peer, peer, 42) == "neither gets there"
    assert "3.00 ×" in shown(curves.ratios_table({"ours": ours, "marian": peer}, (40.0,)))


def test_without_the_peer_there_are_no_ratios(curves: Any) -> None:
    assert curves.ratios_table({"ours": curve(curves, (1, 30, 30))}, (40.0,)) is None


def test_results_come_back_as_they_were_written(curves: Any, tmp_path: Path) -> None:
    before = {"ours": curve(curves, (1, 30, 30), (2, 40, 40))}
    curves.write_results(tmp_path / "results.json", before)
    assert curves.read_curves(tmp_path / "results.json") == before


def benchmark(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FOLDER / "multi30k.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "120"})


def test_kept_results_are_shown_and_drawn_again(curves: Any, tmp_path: Path) -> None:
    """Which also imports the files of all systems."""
    kept = {"ours": curve(curves, (2, 30, 30), (4, 42, 41.5)), "marian": curve(curves, (5, 30, 30))}
    curves.write_results(tmp_path / "results.json", kept)
    result = benchmark("--report", "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "41.50" in result.stdout
    assert "above" in result.stdout
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_existing_results_are_not_measured_again(curves: Any, tmp_path: Path) -> None:
    curves.write_results(tmp_path / "results.json", {"ours": curve(curves, (2, 30, 30))})
    again = benchmark("--data", tmp_path, "--out", tmp_path, "--only", "ours")
    assert (again.returncode, "already has ours" in again.stderr) == (2, True)
    (tmp_path / "marian").mkdir()
    half = benchmark("--data", tmp_path, "--out", tmp_path, "--only", "marian")
    assert (half.returncode, "did not come to an end" in half.stderr) == (2, True)
    unknown = benchmark("--data", tmp_path, "--out", tmp_path, "--only", "fairseq")
    assert (unknown.returncode, "not fairseq" in unknown.stderr) == (2, True)
    mixed = benchmark("--data", tmp_path, "--out", tmp_path, "--only", "joeynmt", "--minutes", "5")
    assert (mixed.returncode, "gave ours 10 minutes: give the same --minutes" in mixed.stderr) == (2, True)
    misspelt = benchmark("--minuts", "5")
    assert (misspelt.returncode, len(misspelt.stderr.splitlines())) == (2, 1)
    nowhere = benchmark("--data", tmp_path / "nowhere", "--out", tmp_path / "new")
    assert (nowhere.returncode, len(nowhere.stderr.splitlines())) == (2, 1)


def test_the_validation_part_alone_chooses_the_weights(scripts: None) -> None:
    common = importlib.import_module("multi30k_systems.common")
    train, valid, test = (
        ParallelText(source=[f"{part} source"], target=[f"the wanted words of {part} are here"])
        for part in ("train", "val", "test")
    )
    texts = common.Texts(folder=Path(), train=train, valid=valid, test=test)
    good_on_val = lambda lines: [line.replace("val source", valid.target[0]) for line in lines]  # noqa: E731
    good_on_test = lambda lines: [line.replace("test source", test.target[0]) for line in lines]  # noqa: E731
    point = common.scored(3.0, {"first": good_on_test, "second": good_on_val}, texts)
    assert (point.weights, point.valid) == ("second", pytest.approx(100.0))
    assert point.test < 50


def test_ours_is_the_recipe_as_a_user_types_it(scripts: None, tmp_path: Path) -> None:
    """Nothing but its end and its seed is said on top of the recipe."""
    ours, common = (importlib.import_module(f"multi30k_systems.{name}") for name in ("ours", "common"))
    none = ParallelText(source=[], target=[])
    texts = common.Texts(folder=tmp_path, train=none, valid=none, test=none)
    command = ours.our_command(common.Options(minutes=60.0, seed=3), texts, tmp_path / "out")
    names = [word for word in command if word.startswith("--")]
    assert names == ["--recipe", "--data", "--steps", "--minutes", "--seed", "--out"]
    assert command[command.index("--steps") + 1] == str(multi30k_tiny(29_000).steps)


def test_the_peers_rate_rises_over_the_warm_up_and_falls_with_the_root(scripts: None) -> None:
    marian, common = (importlib.import_module(f"multi30k_systems.{name}") for name in ("marian", "common"))
    settings = common.PeerSettings()
    assert marian.rate_of(settings, 1_000) == pytest.approx(settings.learning_rate / 2)
    assert marian.rate_of(settings, 2_000) == pytest.approx(settings.learning_rate)
    assert marian.rate_of(settings, 8_000) == pytest.approx(settings.learning_rate / 2)


def test_a_training_that_has_ended_is_scored_again_and_not_made_again(
    scripts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, common = importlib.import_module("multi30k"), importlib.import_module("multi30k_systems.common")
    trained = common.Trained(about="", parameters=3, tokens_per_second=4.0, weights={"1.5": {"w": "file"}})
    calls: list[Path] = []

    def train(options: Any, texts: Any, folder: Path) -> Any:
        calls.append(folder)
        return trained

    monkeypatch.setitem(script.SYSTEMS, "fake", common.System(train, None))
    monkeypatch.setitem(script.SYSTEMS, "absent", common.System(lambda *_: None, None))
    options = common.Options(minutes=2.0, out=tmp_path)
    assert script.training_of("fake", options, None) == trained
    assert script.training_of("fake", options, None) == trained
    assert calls == [tmp_path / "fake"]
    script.refuse_to_repeat(tmp_path, ["fake"], {})
    with pytest.raises(QkvError, match="trained with --minutes 2 --seed 1"):
        script.training_of("fake", common.Options(minutes=3.0, out=tmp_path), None)
    assert script.training_of("absent", options, None) is None
    assert not (tmp_path / "absent").exists()
