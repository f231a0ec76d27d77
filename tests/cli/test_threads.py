"""Every command rejects more threads than a machine can start, which would kill the process."""

import os
from pathlib import Path

import pytest
from commands import code_of, refused

from qkv.errors import OptionError
from qkv.runtime.running import MOST_THREADS, Running

COMMANDS = [
    "classify M x",
    "draw M x -o x.png",
    "embed M x",
    "evaluate M --scenes 1",
    "generate M x",
    "translate M x",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hundred_thousand_threads_are_rejected(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "M").mkdir()
    (tmp_path / "M" / "config.json").write_text('{"format": 1, "kind": "vit"}')  # for `qkv evaluate`
    code = code_of(*command.split(), "--threads", "100000")
    shown = capsys.readouterr()
    assert "--threads must be " in refused(shown.err, shown.out, code)


def test_as_many_threads_as_cores_are_always_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4 * MOST_THREADS)
    Running(threads=4 * MOST_THREADS)
    with pytest.raises(OptionError, match=f"from 1 to {4 * MOST_THREADS}"):
        Running(threads=4 * MOST_THREADS + 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    Running(threads=MOST_THREADS)
