"""Open a bundle of any kind."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from qkv.checkpoint.bundle import load_bundle, read_config
from qkv.environment import has_torch
from qkv.errors import DataError, ModelError, QkvError
from qkv.families import bundle_kinds, own_families
from qkv.families.family import BundleKind, resolve
from qkv.runtime.model import Model, Opened
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
    """Open the bundle in a folder. `options` are fields of `Running`. `qkv.load` also knows hub names."""
    began = time.perf_counter()
    folder, running = Path(path), on_best_device(running.with_options(**options))
    with as_model_errors():
        bundle = load_bundle(folder)
        product = resolve(find_kind(bundle.kind, folder).product).from_bundle(bundle, running, warn)
    if isinstance(product, Model):
        product._opened = Opened(folder, running)
    how = f"compute type {running.compute_type}, {running.thread_count} threads on {running.device}"
    log.debug("opened %s (%s) in %.2f s: %s", folder, bundle.kind, time.perf_counter() - began, how)
    return product


def on_best_device(running: Running) -> Running:
    """The same with a device in place of "auto"."""
    if running.device != "auto":
        return running
    if not has_torch():
        return running.with_options(device="cpu")
    from qkv.runtime.torch_models import best_device

    return running.with_options(device=best_device())


@contextmanager
def as_model_errors() -> Iterator[None]:
    """What is wrong in the files of a bundle is wrong with the model."""
    try:
        yield
    except QkvError as error:
        if type(error) in (QkvError, DataError):
            raise ModelError(str(error)) from None
        raise


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
        raise ModelError(wrong_kind(path, kind, command))
    product = load(path, running, warn=warn)
    if not isinstance(product, wanted):
        raise ModelError(wrong_kind(path, kind, command))
    return product


def kind_of(path: str | Path) -> BundleKind:
    """The kind of the bundle in this folder, without opening its weights."""
    with as_model_errors():
        return find_kind(read_config(Path(path))["kind"], path)


def find_kind(name: str, path: str | Path) -> BundleKind:
    kinds = bundle_kinds(own_families())
    if name not in kinds:
        kinds = bundle_kinds()
    if name not in kinds:
        raise ModelError(
            f"{path} holds a model of kind '{name[:40]}', which this version of qkv does not know. "
            f"It knows {', '.join(kinds)}."
        )
    return kinds[name]


def wrong_kind(path: str | Path, kind: BundleKind, command: str) -> str:
    *first, last = [f"`qkv {each}`" for each in kind.commands if each != command]
    others = f"{', '.join(first)} or {last}" if first else last
    return f"{path} holds a model of kind '{kind.name}'. It is for {others}, not for `qkv {command}`."
