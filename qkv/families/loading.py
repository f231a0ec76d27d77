"""Open a bundle of any kind."""

from pathlib import Path
from typing import Any, TypeVar

from qkv.checkpoint.bundle import load_bundle, read_config
from qkv.errors import UserError
from qkv.families import bundle_kinds
from qkv.families.family import BundleKind, resolve

Wanted = TypeVar("Wanted")


def load(path: str | Path) -> Any:
    """Open a bundle: `qkv.load("runs/en-de").translate("the cat danced")`."""
    folder = Path(path)
    bundle = load_bundle(folder)
    return resolve(find_kind(bundle.kind, folder).product).from_bundle(bundle)


def load_for(path: str | Path, command: str, wanted: type[Wanted]) -> Wanted:
    """Open a bundle for a command. If the command does not accept its kind, the error names those that do."""
    kind = kind_of(path)
    if command not in kind.commands:
        raise UserError(wrong_kind(path, kind, command))
    product = load(path)
    if not isinstance(product, wanted):
        raise UserError(wrong_kind(path, kind, command))
    return product


def kind_of(path: str | Path) -> BundleKind:
    """The kind of the bundle in this folder, without opening its weights."""
    return find_kind(read_config(Path(path))["kind"], path)


def find_kind(name: str, path: str | Path) -> BundleKind:
    kinds = bundle_kinds()
    if name not in kinds:
        raise UserError(
            f"{path} holds a model of kind '{name[:40]}', which this version of qkv does not know. "
            f"It knows {', '.join(kinds)}."
        )
    return kinds[name]


def wrong_kind(path: str | Path, kind: BundleKind, command: str) -> str:
    others = " or ".join(f"`qkv {each}`" for each in kind.commands if each != command)
    return f"{path} holds a model of kind '{kind.name}'. It is for {others}, not for `qkv {command}`."
