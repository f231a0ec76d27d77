"""Commands that read standard input."""

import os
import pty
from pathlib import Path

import pytest
from commands import process

HINT = "Type text and press Enter. On an empty line, press Ctrl-D to finish."


@pytest.mark.parametrize(("options", "hint"), [((), HINT), (("--quiet",), "")])
def test_a_command_that_reads_from_a_terminal_says_how_to_finish(
    model: Path, options: tuple[str, ...], hint: str
) -> None:
    controller, terminal = pty.openpty()
    running = process("translate", str(model), *options, stdin=terminal)
    os.write(controller, b"one two\n\x04")
    output, errors = running.communicate(timeout=60)
    os.close(terminal)
    os.close(controller)
    assert (running.returncode, errors.decode().strip()) == (0, hint)
    assert output.count(b"\n") == 1


def test_a_command_that_reads_from_a_pipe_prints_no_hint(model: Path) -> None:
    output, errors = process("translate", str(model)).communicate(b"one two\n", timeout=60)
    assert (output.count(b"\n"), errors) == (1, b"")
