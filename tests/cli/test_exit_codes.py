"""Every documented exit code, by a command in a process of its own."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import language_models
import pytest
from commands import process

FULL = Path("/dev/full")
LIMIT = 4 << 30  # bytes of memory


def ended(started: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, error = started.communicate()
    return started.returncode, error.decode()


def test_2_is_a_mistake_in_the_command() -> None:
    code, error = ended(process("info", "a", "b"))
    assert (code, error.startswith("error: unrecognized argument b")) == (2, True)


def test_3_is_bad_data_or_a_bad_model(tmp_path: Path) -> None:
    code, error = ended(process("info", str(tmp_path / "nowhere")))
    assert (code, error.startswith("error: there is no folder")) == (3, True)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_4_is_a_full_disk(model: Path) -> None:
    with FULL.open("w") as full:
        code, error = ended(process("translate", str(model), "one", stdout=full))
    assert (code, error.startswith("error: No space left on device")) == (4, True)


def test_5_is_too_little_memory(tmp_path: Path) -> None:
    language_models.untrained("subwords").save(tmp_path / "gpt")
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(4 * LIMIT)  # takes no space on the disk
    with huge.open("rb") as prompt:
        started = process("generate", str(tmp_path / "gpt"), "-", stdin=prompt, preexec_fn=limit_memory)
        code, error = ended(started)
    assert (code, error.splitlines()[-1].startswith("error: out of memory")) == (5, True)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def test_130_is_an_interrupt(model: Path) -> None:
    started = process("translate", str(model))
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write(b"one\n")
    started.stdin.flush()
    assert started.stdout.readline()  # it works, and waits for more
    os.kill(started.pid, signal.SIGINT)
    code, error = ended(started)
    assert (code, error) == (130, "error: interrupted.\n")
