"""The environment of this process: which process of a run it is, whether torch is installed, temporary variables."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qkv.errors import MissingExtraError


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


def path_of_children() -> str:
    """PYTHONPATH for a process that is started with -P: the folder of this package, and what the user set."""
    own = str(Path(__file__).parents[1])
    return os.pathsep.join(filter(None, [own, os.environ.get("PYTHONPATH")]))


def has_torch() -> bool:
    try:
        return importlib.util.find_spec("torch") is not None
    except ValueError:  # a test blocks the import with None in sys.modules
        return False


def require_torch(what: str) -> None:
    """Raise an error with advice if torch is not installed. `what` is the subject of the sentence."""
    if not has_torch():
        raise missing_torch(what)


def missing_torch(what: str) -> MissingExtraError:
    return MissingExtraError(what, package="torch", extra="train")


def in_notebook() -> bool:
    """Does this code run in a kernel of Jupyter? IPython in a terminal has no kernel."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
