"""A run that would have gained from more time says so."""

from dataclasses import replace
from pathlib import Path

import pytest
from digit_runs import tiny_settings, train

from qkv.training.advice import is_still_falling, validation_losses


@pytest.mark.parametrize(
    ("losses", "falling"),
    [
        ([], False),
        ([(10, 5.0)], True),  # so short a run has learned little
        ([(10, 5.0), (20, 4.0), (30, 3.0)], True),
        ([(10, 5.0), (20, 3.0), (30, 2.99)], False),
        ([(10, 5.0), (20, 3.0), (30, 3.2)], False),
        ([(80, 3.0), (90, 2.98), (100, 2.96)], True),  # 1.3 % in the last fifth
    ],
)
def test_a_loss_is_still_falling_if_the_end_of_the_run_has_lowered_it_clearly(
    losses: list[tuple[int, float]], falling: bool
) -> None:
    assert is_still_falling(losses) is falling


def test_a_log_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert validation_losses(tmp_path / "log.jsonl") == []
    (tmp_path / "log.jsonl").write_text('{"step": 1, "validation_loss": 2.0}\n{"step": 2, "val')
    assert validation_losses(tmp_path / "log.jsonl") == []


def test_the_report_says_which_limit_ended_the_run(tmp_path: Path) -> None:
    by_steps, _ = train(tmp_path / "steps", replace(tiny_settings(), steps=1))
    by_time, _ = train(tmp_path / "minutes", replace(tiny_settings(), steps=None, minutes=1e-9))
    assert by_steps.report is not None
    assert by_time.report is not None
    assert by_steps.report["training"]["ended_by"] == "steps"
    assert by_time.report["training"]["ended_by"] == "minutes"
    assert by_time.report["training"]["still_falling"]
