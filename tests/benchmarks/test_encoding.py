"""The benchmark of encoding gives every system the same sentences, and counts them."""

import importlib.util
import math
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from qkv.errors import QkvError

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "encoding.py"
SPECIFICATION = importlib.util.spec_from_file_location("benchmark_of_encoding", SCRIPT)
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
encoding = importlib.util.module_from_spec(SPECIFICATION)
sys.modules["benchmark_of_encoding"] = encoding  # where its dataclasses look for their names
sys.path.insert(0, str(SCRIPT.parent))  # where it finds its own files
try:
    SPECIFICATION.loader.exec_module(encoding)
    systems = sys.modules.pop("encoding_systems")
finally:
    sys.path.remove(str(SCRIPT.parent))

ROWS = [[101, *range(5, 5 + number % 7 + 1), 102] for number in range(64)]


clock = [0.0]  # seconds that all systems have taken


class Fake:
    """Takes as long as it is told for a sentence, and says vectors that turn with `angle`."""

    def __init__(self, name: str, seconds: float, angle: float = 0.0):
        self.name, self.seconds, self.angle = name, seconds, angle
        self.seen: list[list[int]] = []

    def __call__(self, rows: list[list[int]]) -> np.ndarray:
        self.seen += rows
        clock[0] += self.seconds * len(rows)
        return np.array([[math.cos(self.angle), math.sin(self.angle)]] * len(rows), np.float32)


def test_every_system_has_every_sentence_and_the_ratio_is_that_of_the_speeds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding.time, "perf_counter", lambda: clock[0])
    timed = [encoding.Timed(Fake("ours", 0.0004)), encoding.Timed(Fake("BertModel", 0.002))]
    for size in encoding.BATCHES:
        encoding.compete(timed, ROWS, size, 32, 0.0)
    for each in timed:
        assert each.sentences == {1: 64, 32: 64, -32: 64}
        assert {tuple(row) for row in each.system.seen} == {tuple(row) for row in ROWS}
    encoding.show(timed, Console(stderr=True))
    assert capsys.readouterr().out.splitlines()[-1] == "ratio batch1 5.00 batch32 5.00"


def test_when_time_is_up_no_more_turns_begin_but_one_is_made() -> None:
    timed = [encoding.Timed(Fake("ours", 0.0))]
    encoding.compete(timed, ROWS, 1, 16, 0.0, until=time.monotonic() - 1)
    assert timed[0].sentences == {1: 16}


def test_a_system_that_computes_something_else_is_found() -> None:
    same = [encoding.Timed(Fake("ours", 0)), encoding.Timed(Fake("other int8", 0, 0.2))]
    encoding.check_equal(same, ROWS[:8], Console(stderr=True))
    with pytest.raises(QkvError, match="does not compute the same model"):
        encoding.check_equal([*same, encoding.Timed(Fake("other", 0, 0.2))], ROWS[:8], Console(stderr=True))


def test_padding_fills_up_to_the_longest() -> None:
    ids, mask = systems.padded([[1, 2, 3], [4]])
    assert ids.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
