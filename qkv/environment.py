"""Environment variables: which process this is, and temporary values for libraries."""

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


HELPER = "QKV_HELPER"  # set in processes that `qkv train` starts


def under_torchrun() -> bool:
    size = os.environ.get("WORLD_SIZE", "")
    return size.isdecimal() and int(size) > 1


def is_helper() -> bool:
    """Is this process not the first of a training run? Only the first prints and writes."""
    return HELPER in os.environ or (under_torchrun() and os.environ.get("RANK", "0") != "0")
