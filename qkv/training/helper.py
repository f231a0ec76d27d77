"""A process that helps to train. It reads its job from standard input: `python -m qkv.training.helper`.

Nothing of the program that started the run is executed again, whether it is a command, a script, a notebook or a test.
"""

import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from qkv.errors import QkvError

FAILED, INTERRUPTED = 2, 130  # exit codes


def main() -> None:
    job = json.load(sys.stdin)
    # A model family may be in a folder that the program added. At the end, none of its modules hides another.
    sys.path += [folder for folder in job["path"] if folder not in sys.path]
    try:
        sys.exit(run(job["run"], job["facts"]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (QkvError, OSError, MemoryError):  # the first process reports it
        sys.exit(FAILED)


def run(reference: str, facts: Mapping[str, Any]) -> int:
    module, _, function = reference.partition(":")
    code: int = getattr(importlib.import_module(module), function)(facts)
    return code


if __name__ == "__main__":
    main()
