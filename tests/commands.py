"""The command line, run in this process."""

from pathlib import Path

from qkv.cli import main


def code_of(*arguments: str | Path) -> int:
    """The exit code of a command run in this process."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0
