"""`--threads` of every command that computes: how many are allowed, and that torch is told."""

import os

from qkv.errors import UserError

MOST = 64  # on a machine with fewer cores, too: a script may have been written on a larger one


def check_threads(threads: int | None) -> None:
    """More than a machine can start end the process without a word."""
    if threads is None:
        return
    cores = os.cpu_count() or 1
    if threads < 1:
        raise UserError("--threads must be at least 1.")
    if threads > max(MOST, cores):
        raise UserError(
            f"--threads can be at most {max(MOST, cores)}: more than cores, of which there are {cores}, gain nothing."
        )


def use_threads(threads: int | None) -> None:
    import torch

    check_threads(threads)
    if threads is not None:
        torch.set_num_threads(threads)
