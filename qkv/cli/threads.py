"""`--threads` for NumPy and torch, which have threads of their own."""

import os
import sys

NUMPY = "OPENBLAS_NUM_THREADS"  # NumPy reads this variable when it is imported


def use_threads(threads: int | None) -> None:
    """Call this before NumPy is imported."""
    if threads is None:
        return
    os.environ[NUMPY] = str(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
