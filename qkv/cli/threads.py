"""`--threads`: check the number and pass it to the libraries that compute."""

import os
import sys

from qkv.errors import UserError

MOST = 64  # also on a machine with fewer cores: a script may come from a larger one
NUMPY = "OPENBLAS_NUM_THREADS"  # NumPy reads this variable when it is imported


def check_threads(threads: int | None) -> None:
    """Starting more threads than the machine allows would kill the process without a message."""
    if threads is None:
        return
    cores = os.cpu_count() or 1
    if threads < 1:
        raise UserError("--threads must be at least 1.")
    if threads > max(MOST, cores):
        raise UserError(
            f"--threads must be at most {max(MOST, cores)}. This machine has {cores} cores; more threads gain nothing."
        )


def use_threads(threads: int | None) -> None:
    """Call this before NumPy is imported."""
    check_threads(threads)
    if threads is None:
        return
    os.environ[NUMPY] = str(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
