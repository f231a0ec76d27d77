"""What recording costs is measured against the same model without a place for it, which must stay the same model."""

import importlib.util
import inspect
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "recording.py"
SPECIFICATION = importlib.util.spec_from_file_location("benchmark_of_recording", SCRIPT)
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
recording = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(recording)


def test_the_model_without_a_place_for_a_tape_is_the_same_and_has_none() -> None:
    cut = recording.without_tape()
    for name in ("encode", "decode", "forward", "embed"):
        assert "tape" not in inspect.signature(getattr(cut.Translator, name)).parameters
    found = recording.measured("demo", 1, 4, seconds=0.0)  # which compares what the three say
    assert set(found) == {"no tape", "no place for one", "recording"}
    assert min(found.values()) > 0


@pytest.mark.parametrize(
    ("ratios", "beginning"),
    [
        ([1.0, 0.99, 1.02], "Recording costs nothing while it is off"),
        ([1.0, 1.2], "Recording costs something"),
    ],
)
def test_the_last_line_states_the_result(ratios: list[float], beginning: str) -> None:
    line = recording.verdict(ratios)
    assert line.startswith(beginning)
    assert f"{max(ratios):.3f}" in line
    assert "\n" not in line
