"""What benchmarks of one command have in common: options, a folder that is new, results.json, a table."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from qkv.checkpoint.files import write_json
from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError


class WithFolder(Protocol):
    @property
    def out(self) -> Path: ...


Chosen = TypeVar("Chosen", bound=WithFolder)


def compare(
    kind: type[Chosen],
    about: str,
    run: Callable[[Chosen], list[dict[str, Any]]],
    show: Callable[[list[dict[str, Any]]], None],
) -> None:
    """Run, keep what came of it in results.json, and show it; what is wrong is one sentence."""
    try:
        options = read_options(kind, sys.argv[1:], prog=sys.argv[0], description=about)
        if options.out.exists():
            raise QkvError(f"{options.out} is there already: give another --out.")
        rows = run(options)
        write_json(options.out / "results.json", rows)
        show(rows)
    except QkvError as error:
        sys.exit(fail(str(error)))
    except subprocess.CalledProcessError as error:
        sys.exit(fail(f"a command ended with {error.returncode}: {' '.join(map(str, error.cmd))[:200]}."))
