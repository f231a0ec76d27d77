"""Training by the command on a small task, for the tests of several processes."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven"]


def number_pairs(path: Path) -> Path:
    """Write pairs of three words and the same words in reverse order."""
    texts = [f"{a} {b} {c}" for a in NUMBERS for b in NUMBERS for c in NUMBERS]
    path.write_text("".join(f"{text}\t{' '.join(reversed(text.split()))}\n" for text in texts))
    return path


def command(pairs: Path, out: Path, *more: str) -> list[str]:
    """The command line, for a process of its own."""
    return [sys.executable, "-m", "qkv", *arguments(pairs, out, *more)]


def arguments(pairs: Path, out: Path, *more: str) -> list[str]:
    fixed = "--vocab-size 270 --width 32 --heads 2 --ffn-width 64 --dropout 0"
    fixed += " --batch-tokens 256 --validate-every 10"
    return ["train", "translator", "--pairs", str(pairs), "--out", str(out), *fixed.split(), *more]


def resume_arguments(out: Path) -> list[str]:
    return ["train", "translator", "--resume", "--out", str(out)]


def log_of(out: Path, key: str) -> list[Any]:
    """The values of a key in the lines of the log."""
    lines = (out / "training" / "log.jsonl").read_text().splitlines()  # the last may be half written
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    return [row[key] for row in rows if key in row]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_for(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"waited for {seconds:.0f} seconds")
