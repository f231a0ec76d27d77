"""What the environment tells this process, and variables that are set for a while, for libraries that listen to nothing else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def with_variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


HELPER = "QKV_HELPER"  # set in a process that `qkv train` has started to share its work


def under_torchrun() -> bool:
    size = os.environ.get("WORLD_SIZE", "")
    return size.isdecimal() and int(size) > 1


def is_helper() -> bool:
    """Is this one of the processes that share a training run with a first one, which prints and writes?"""
    return HELPER in os.environ or (under_torchrun() and os.environ.get("RANK", "0") != "0")
