"""The training loop: when it ends, what it keeps, and that NaN or infinity never reaches the weights."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from digit_runs import Recorder
from torch import Tensor, nn

from qkv.checkpoint.tensors import read_tensors
from qkv.errors import QkvError
from qkv.training.distributed import SingleProcess
from qkv.training.loop import BAD_BATCHES, Run, parts_that_fit
from qkv.training.position import Plan, Position
from qkv.training.settings import TrainingSettings
from qkv.training.signals import StopRequest
from qkv.training.spread import Shared


class Lesson:
    """A batch for the model below, with its loss."""

    def __init__(self, value: float):
        self.value = value

    def to(self, _device: torch.device) -> "Lesson":
        return self


class Lessons:
    """One batch for each value, without shuffling (the loop's Data protocol)."""

    def __init__(self, *values: float):
        self.values = values

    def epoch(self, seed: int) -> list[list[int]]:
        return [[index] for index in range(len(self.values))]

    def batch(self, rows: list[int]) -> Lesson:
        return Lesson(self.values[rows[0]])

    def tokens(self, rows: list[int]) -> int:
        return 1


class Weight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def loss(self, batch: Lesson) -> Tensor:
        return (self.weight * batch.value).sum()


def small_run(tmp_path: Path, train: Lessons, valid: Lessons, **options: Any) -> tuple[Run, Recorder]:
    training = {
        "batch_tokens": 1,
        "learning_rate": 0.1,
        "warmup_steps": 0,
        "schedule": "constant",
        "validate_every": 1,
    }
    plan = Plan(
        settings=TrainingSettings(**{**training, **options.pop("training", {})}),
        seed=1,
        steps=options.pop("steps", None),
        minutes=options.pop("minutes", None),
        folder=tmp_path / "training",
    )
    recorder, group = options.pop("recorder", None) or Recorder(), SingleProcess()
    keep = options.pop("keep", lambda _weights, _best: None)
    spread = Shared(Weight(), group, plan.settings)
    return Run(spread, train, valid, plan, keep=keep, watch=recorder, group=group), recorder


def test_patience_stops_a_run_that_no_longer_improves(tmp_path: Path) -> None:
    # Training pushes the weight up, so a validation loss of minus the weight falls, and of the weight rises.
    better, _ = small_run(
        tmp_path / "better", Lessons(-1.0), Lessons(-1.0), steps=12, training={"patience": 3}
    )
    better.go(StopRequest())
    assert better.position.step == 12
    worse, recorder = small_run(
        tmp_path / "worse", Lessons(-1.0), Lessons(1.0), steps=50, training={"patience": 3}
    )
    worse.go(StopRequest())
    assert worse.position.step == 4
    assert [improved for _, _, improved in recorder.validations] == [True, False, False, False]


def test_minutes_end_a_run_with_a_last_validation(tmp_path: Path) -> None:
    run, recorder = small_run(
        tmp_path, Lessons(-1.0), Lessons(-1.0), minutes=0.3 / 60, training={"validate_every": 10**9}
    )
    run.go(StopRequest())
    assert run.position.seconds >= 0.3
    assert [step for step, _, _ in recorder.validations] == [run.position.step]


def test_the_rate_of_a_run_by_minutes_is_planned_for_its_end(tmp_path: Path) -> None:
    plan = small_run(tmp_path, Lessons(1.0), Lessons(1.0), minutes=2.0, steps=100)[0].plan
    assert plan.progress(Position(seconds=60)) == 0.5
    assert plan.progress(Position(seconds=60, step=80)) == 0.8
    assert plan.progress(Position(seconds=240)) == 1.0


def test_a_run_without_a_limit_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="Give steps or minutes"):
        small_run(tmp_path, Lessons(1.0), Lessons(1.0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_non_finite_never_reaches_the_weights(tmp_path: Path, bad: float) -> None:
    run, recorder = small_run(tmp_path / "bad", Lessons(1.0, bad, 1.0), Lessons(1.0), steps=3)
    clean, _ = small_run(tmp_path / "clean", Lessons(1.0, 1.0), Lessons(1.0), steps=2)
    for each in (run, clean):
        each.go(StopRequest())
    assert torch.equal(run.model.weight, clean.model.weight)
    assert run.position.bad_batches == 1
    assert len(recorder.warnings) == 1
    assert recorder.warnings[0] == "step 2: non-finite loss or gradient; skipping this batch."


def test_a_gradient_that_is_non_finite_never_reaches_the_weights(tmp_path: Path) -> None:
    run, recorder = small_run(tmp_path, Lessons(1.0), Lessons(1.0), steps=1)
    run.model.weight.register_hook(lambda gradient: gradient * math.nan)
    run.go(StopRequest())
    assert torch.equal(run.model.weight, torch.ones(1))
    assert len(recorder.warnings) == 1


def test_too_many_losses_that_are_non_finite_stop_the_run_with_advice(tmp_path: Path) -> None:
    run, recorder = small_run(tmp_path, Lessons(math.nan), Lessons(1.0), steps=100)
    with pytest.raises(QkvError, match=r"a non-finite loss or gradient\. Try a learning rate below 0\.1"):
        run.go(StopRequest())
    assert len(recorder.warnings) == run.position.step == BAD_BATCHES + 1
    assert torch.equal(run.model.weight, torch.ones(1))


def test_a_run_whose_first_validation_is_non_finite_stops_there_and_says_why(tmp_path: Path) -> None:
    run, _ = small_run(tmp_path, Lessons(1.0), Lessons(math.nan), steps=5)
    with pytest.raises(
        QkvError,
        match=r"step 1: the validation loss is nan.*Check the validation data.*learning rate below",
    ):
        run.go(StopRequest())


def test_a_validation_that_is_non_finite_after_others_costs_a_warning(tmp_path: Path) -> None:
    class Spoilt(Lessons):
        def epoch(self, seed: int) -> list[list[int]]:
            self.values = (1.0,) if run.position.step != 2 else (math.nan,)
            return [[0]]

    run, recorder = small_run(tmp_path, Lessons(1.0), Spoilt(1.0), steps=3)
    assert run.go(StopRequest())
    assert recorder.warnings == [
        "step 2: the validation loss is nan; the best model is still that of step 1."
    ]
    assert run.position.best_step == 3


def test_the_position_of_another_version_is_rejected() -> None:
    with pytest.raises(
        QkvError, match=r"another version of qkv, which stores momentum\. Resume it with that version"
    ):
        Position.from_facts({**Position().facts(), "momentum": 0.5})


def test_the_average_of_snapshots_is_their_mean(tmp_path: Path) -> None:
    run, _ = small_run(tmp_path, Lessons(-1.0), Lessons(-1.0), steps=6, training={"average": 3})
    run.go(StopRequest())
    folder = tmp_path / "training" / "snapshots"
    assert {path.name for path in folder.iterdir()} == {f"step-{step}.safetensors" for step in (4, 5, 6)}
    weights = [read_tensors(folder / f"step-{step}.safetensors")["weight"] for step in (4, 5, 6)]
    assert len({float(weight) for weight in weights}) == 3
    assert torch.allclose(run.average_snapshots()["weight"], torch.stack(weights).mean(dim=0))


def run_that_improves_at_first(folder: Path, **how: Any) -> tuple[Run, Recorder, list[bool]]:
    """A run that improves and then gets worse, and for each validation whether its model is saved."""
    kept: list[bool] = []
    run, recorder = small_run(
        folder,
        Lessons(*[-1.0] * 2, *[1.0] * 7),
        Lessons(-1.0),
        steps=9,
        keep=lambda _, better: kept.append(better),
        **how,
    )
    run.go(StopRequest())
    return run, recorder, kept


def test_every_validation_tells_whether_the_model_improved(tmp_path: Path) -> None:
    _, recorder, kept = run_that_improves_at_first(tmp_path)
    improvements = [improved for _, _, improved in recorder.validations]
    assert kept == improvements
    assert 0 < sum(improvements) < len(improvements)


def test_keeping_the_last_weights_saves_them_at_every_validation(tmp_path: Path) -> None:
    run, recorder, kept = run_that_improves_at_first(tmp_path, training={"keep": "last"})
    assert kept == [True] * 9
    assert run.position.kept_step == 9 > run.position.best_step
    assert not recorder.validations[-1][2]  # it is no improvement, and is not called one


@pytest.mark.parametrize(
    ("device", "tokens", "processes", "threads", "parts"),
    [
        ("cpu", 64, 2, 1, 1),
        ("cpu", 2_048, 2, 1, 1),
        ("cpu", 2_048, 1, 2, 1),
        ("cpu", 4_096, 2, 1, 2),
        ("cpu", 25_000, 2, 1, 12),
        ("cpu", 25_000, 16, 1, 2),
        ("cuda", 25_000, 1, 2, 1),
    ],
)
def test_a_processor_gets_parts_that_fit_its_caches(
    device: str, tokens: int, processes: int, threads: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = SingleProcess()
    group.size = processes
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert parts_that_fit(tokens, group, torch.device(device)) == parts


def test_milestones_are_kept_only_if_requested(tmp_path: Path) -> None:
    for wanted, steps in [(True, [8, 16, 32]), (False, [])]:
        folder = tmp_path / str(wanted)
        training = {"milestones": wanted, "validate_every": 100}
        run, _ = small_run(folder, Lessons(1.0), Lessons(1.0), steps=40, training=training)
        assert run.go(StopRequest())
        found = {
            int(path.stem.removeprefix("step-")): path for path in folder.rglob("milestones/*.safetensors")
        }
        assert sorted(found) == steps
        weights = [float(read_tensors(found[step])["weight"]) for step in steps]
        assert len(set(weights)) == len(steps)  # each of its own time


def test_an_example_that_fails_costs_neither_the_checkpoint_nor_the_run(tmp_path: Path) -> None:
    class Clumsy(Recorder):
        def on_validation(self, position: Position, loss: float, improved: bool) -> None:
            states.append((tmp_path / "training" / f"step-{position.step}").is_dir())
            raise IndexError("no such word")

    states: list[bool] = []
    recorder = Clumsy()
    run, _ = small_run(tmp_path, Lessons(1.0, 1.0), Lessons(1.0), steps=2, recorder=recorder)
    assert run.go(StopRequest())
    assert states == [True, True]
    assert [
        warning for warning in recorder.warnings if "IndexError: no such word" in warning
    ] == recorder.warnings
    assert len(recorder.warnings) == 2
