"""Open a bundle of any kind."""

import logging
import time
from pathlib import Path
from typing import Any, TypeVar

from qkv.checkpoint.bundle import load_bundle, read_config
from qkv.errors import QkvError
from qkv.families import bundle_kinds, own_families
from qkv.families.family import BundleKind, resolve
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, warn_in_python

Wanted = TypeVar("Wanted")
log = logging.getLogger(__name__)


def load(
    path: str | Path,
    running: Running = DEFAULT_RUNNING,
    *,
    warn: Warn = warn_in_python,
    **options: Any,
) -> Any:
    """Open a bundle.

    Args:
        path: The folder of the model.
        running: How to run it.
        warn: Called with a message if the compiled engine is unavailable.
        options: Fields of `Running`, by name: `compute_type`, `device`, `engine`, `threads`.

    Returns:
        The model: a `Translator`, or the class of another family.

    Example:
        >>> translator = qkv.load("runs/en-de")
        >>> translator.translate("the cat danced")
        >>> qkv.load("runs/en-de", compute_type="float32")  # exactly what was trained
    """
    folder, running, began = Path(path), running.with_options(**options), time.perf_counter()
    bundle = load_bundle(folder)
    product = resolve(find_kind(bundle.kind, folder).product)
    opened = product.from_bundle(bundle, running, warn)
    how = f"compute type {running.compute_type}, {running.thread_count} threads on {running.device}"
    log.debug("opened %s (%s) in %.2f s: %s", folder, bundle.kind, time.perf_counter() - began, how)
    return opened


def load_for(
    path: str | Path,
    command: str,
    wanted: type[Wanted],
    running: Running = DEFAULT_RUNNING,
    warn: Warn = warn_in_python,
) -> Wanted:
    """Open a bundle for a command. If the command does not accept its kind, the error names those that do."""
    kind = kind_of(path)
    if command not in kind.commands:
        raise QkvError(wrong_kind(path, kind, command))
    product = load(path, running, warn=warn)
    if not isinstance(product, wanted):
        raise QkvError(wrong_kind(path, kind, command))
    return product


def kind_of(path: str | Path) -> BundleKind:
    """The kind of the bundle in this folder, without opening its weights."""
    return find_kind(read_config(Path(path))["kind"], path)


def find_kind(name: str, path: str | Path) -> BundleKind:
    kinds = bundle_kinds(own_families())
    if name not in kinds:
        kinds = bundle_kinds()
    if name not in kinds:
        raise QkvError(
            f"{path} holds a model of kind '{name[:40]}', which this version of qkv does not know. "
            f"It knows {', '.join(kinds)}."
        )
    return kinds[name]


def wrong_kind(path: str | Path, kind: BundleKind, command: str) -> str:
    others = " or ".join(f"`qkv {each}`" for each in kind.commands if each != command)
    return f"{path} holds a model of kind '{kind.name}'. It is for {others}, not for `qkv {command}`."
