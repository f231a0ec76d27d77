"""load(): open a model of any family, from a folder or from the hub."""

import re
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from qkv.api.published import is_pair, located
from qkv.checkpoint.files import read_json
from qkv.engine.library import cache_folder
from qkv.environment import has_torch
from qkv.errors import DataError, InputTypeError, MissingExtraError, ModelError, QkvError, type_name
from qkv.families.loading import load as load_folder
from qkv.runtime.model import Model
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, warn_in_python
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.families.bert.classifier import TextClassifier
    from qkv.families.bert.product import Bert
    from qkv.families.dalle.codes import Codebook
    from qkv.families.dalle.product import ImageGenerator
    from qkv.families.gpt.classifier import GPTClassifier
    from qkv.families.gpt.product import LanguageModel
    from qkv.families.translator.product import Translator
    from qkv.families.vit.product import ImageClassifier
    from qkv.keywords import LoadKeywords

    class AnyModel(  # type: ignore[misc]
        Translator,
        LanguageModel,
        Bert,
        TextClassifier,
        GPTClassifier,
        ImageClassifier,
        ImageGenerator,
        Codebook,
    ):
        """What a type checker knows about a model of an unknown family: it may have every method."""


Wanted = TypeVar("Wanted", bound=Model)
HUB_NAME = re.compile(
    r"[\w-][\w.-]*(/[\w-][\w.-]*)?"
)  # organization/model, or a model without an organization


@overload
def load(
    model: str | Path,
    options: Running = ...,
    *,
    kind: None = None,
    revision: str | None = ...,
    **keywords: "Unpack[LoadKeywords]",
) -> "AnyModel": ...


@overload
def load(
    model: str | Path,
    options: Running = ...,
    *,
    kind: type[Wanted],
    revision: str | None = ...,
    **keywords: "Unpack[LoadKeywords]",
) -> Wanted: ...


@with_options(Running)
def load(
    model: str | Path,
    options: Running = DEFAULT_RUNNING,
    *,
    kind: type[Model] | None = None,
    revision: str | None = None,
    warn: Warn = warn_in_python,
    **keywords: Any,
) -> Any:
    """Open a model.

    Args:
        model: The folder of a model, a language pair such as "en-de" (see `qkv.get`), or the name of a model on the hub, such as
            "Helsinki-NLP/opus-mt-en-de". A folder in Hugging Face format and a model of the hub are converted once, and kept in
            qkv's cache folder. This needs qkv's extras `hub` and `train`.
        options: How to run it, as an object. Keywords replace its fields.
        kind: The class that is expected, such as `qkv.Translator`. A model of another class is an error, and type checkers
            know what is returned.
        revision: Branch, tag or commit of a model on the hub.
        warn: Called with a message if the compiled engine is unavailable.

    Returns:
        The model: a `Translator`, or the class of another family.

    Raises:
        ModelError: There is no model, it is damaged, or it belongs to another class.
        MissingExtraError: The model is on the hub, and an extra is not installed.

    Example:
        >>> translator = qkv.load("runs/en-de")
        >>> translation = translator.translate("one two three")
        >>> qkv.load("runs/en-de", kind=qkv.Translator, compute_type="float32")  # exactly what was trained
        Translator(en → de, 290 tokens)
    """
    if not isinstance(model, str | Path):
        raise InputTypeError(f"load() expects the folder or the name of a model, not {type_name(model)}.")
    opened = load_folder(folder_of(model, revision), replace_options(options, keywords), warn=warn)
    if kind is not None and not isinstance(opened, kind):
        raise ModelError(f"{model} holds a {type(opened).__name__}, not a {kind.__name__}.")
    return opened


def folder_of(model: str | Path, revision: str | None) -> Path:
    """The folder of a bundle. A model in Hugging Face format, or of the hub, is converted first, unless it is in the cache."""
    folder, name = Path(model), str(model)
    if is_published(folder):
        return imported_folder(folder)
    if folder.exists() or not isinstance(model, str) or not HUB_NAME.fullmatch(name):
        return folder
    if revision is None and is_pair(name):
        return located(name)
    if "/" in name and folder.parent.is_dir():
        return folder  # a folder whose parent exists is meant as a folder
    cached = models_cache() / cache_name(name, revision)
    if not (cached / "config.json").exists():
        import_once(name, revision, cached)
    return cached


def is_published(folder: Path) -> bool:
    """Is this a model in Hugging Face format?"""
    config = folder / "config.json"
    if not config.is_file():
        return False
    try:
        found = read_json(config)
    except QkvError:  # reported when it is opened
        return False
    return isinstance(found, dict) and "model_type" in found and "kind" not in found


def imported_folder(folder: Path) -> Path:
    """The bundle of a published model, in the cache under its path and the state of its files."""
    where = sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    files = sorted((each.name, each.stat()) for each in folder.iterdir() if each.is_file())
    state = repr([(name, found.st_size, found.st_mtime_ns) for name, found in files])
    cached = models_cache() / f"{folder.resolve().name}-{where}-{sha256(state.encode()).hexdigest()[:16]}"
    if not (cached / "config.json").exists():
        import_once(str(folder), None, cached)
        for old in cached.parent.glob(f"*-{where}-*"):
            if old != cached:
                rmtree(old, ignore_errors=True)  # from before the files changed
    return cached


def models_cache() -> Path:
    return cache_folder() / "models"


def cache_name(name: str, revision: str | None) -> str:
    """The name of a model's folder in the cache. The name of a branch may have slashes."""
    from urllib.parse import quote  # rarely needed

    return name.replace("/", "--") + (f"@{quote(revision, safe='')}" if revision else "")


def import_once(name: str, revision: str | None, cached: Path) -> None:
    if not has_torch():
        what = (
            f"importing {name}"
            if Path(name).exists()
            else f"there is no folder {name}; importing it from the hub"
        )
        raise MissingExtraError(what, package="torch", extra="train")
    from qkv.hub.download import folder_of as download
    from qkv.hub.importing import import_model

    try:
        import_model(download(name, revision=revision), cached, origin=name)
    except DataError as error:
        if not (cached / "config.json").exists():  # otherwise another process was faster
            raise ModelError(str(error)) from None
