"""models and get: published translators by language pair."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from qkv import html
from qkv.environment import require_torch
from qkv.errors import InputError
from qkv.flags import Flag, OptionalLanguage
from qkv.published.pairs import Pair, code_of, pair_of, written
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.keywords import GetKeywords, ModelsKeywords
    from qkv.published.installing import Ways
    from qkv.published.listing import Listed
    from qkv.published.transfer import Arrived

PublisherName = Literal["argos", "firefox", "opus", "tatoeba"]
STARTER = "qkv-starter"
COLUMNS = ("pair", "from", "name", "MB", "license", "published score", "state")


@dataclass(frozen=True, kw_only=True)
class PublisherOption:
    publisher: Annotated[PublisherName | None, Flag(name="from")] = None
    """Who published it: argos, firefox, opus (OPUS-MT) or tatoeba (OPUS-MT of the Tatoeba Challenge)."""


@dataclass(frozen=True, kw_only=True)
class ModelFilters(PublisherOption):
    language: OptionalLanguage = None
    """Only pairs with this language."""
    installed: bool = False
    """Only models that are on this machine."""


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    """A published translator, from `qkv.models`. What its publisher does not state is None, or empty.

    Example:
        >>> model = qkv.models("en-de", publisher="firefox")[0]
        >>> model.pair, model.license, model.verified
        ('en-de', 'MPL-2.0', True)
    """

    pair: str
    """The languages: en-de."""
    publisher: str
    """argos, firefox, opus, tatoeba or qkv-starter."""
    name: str
    size: int | None = None
    """Bytes of the download."""
    license: str = ""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    """BLEU, and chrF if it is published, for each test set of the publisher. Scores on different test sets cannot be compared."""
    verified: bool = False
    """Whether a hash of its files is known: from the publisher, or from an earlier download."""
    installed: Path | None = None
    """The folder of the model on this machine."""
    listed_in: str = ""
    """The publisher's file that names the model, and the commit of its repository."""

    def to_dict(self) -> dict[str, Any]:
        """All that is known, for JSON."""
        return {**vars(self), "installed": None if self.installed is None else str(self.installed)}


NAMES = {"bleu": "BLEU", "chrf": "chrF"}


def row_of(model: PublishedModel) -> tuple[str, ...]:
    size = "" if model.size is None else f"{model.size / 1e6:.1f}"
    scores = ", ".join(
        f"{test}: " + ", ".join(f"{NAMES[name]} {value:g}" for name, value in score.items())
        for test, score in model.scores.items()
    )
    license = model.license or "unknown"
    return model.pair, model.publisher, model.name, size, license, scores, state_of(model)


def state_of(model: PublishedModel) -> str:
    if model.installed is not None:
        return "installed"
    return "verified" if model.verified else "unverified"


class PublishedModels(list[PublishedModel]):
    """Published translators. `print` shows them as `qkv models` does, and a notebook as a table.

    Example:
        >>> sorted({model.publisher for model in qkv.models("en-de")} - {"qkv-starter"})
        ['argos', 'firefox', 'opus', 'tatoeba']
    """

    def __str__(self) -> str:
        rows = [COLUMNS, *map(row_of, self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def _repr_html_(self) -> str:
        return html.table([COLUMNS, *map(row_of, self)], texts=len(COLUMNS))


@with_options(ModelFilters)
def models(pair: str | None = None, **options: Unpack[ModelsKeywords]) -> PublishedModels:
    """Published translators that `qkv.get` installs, and those of the package qkv-starter.

    Args:
        pair: A language pair such as "en-de". By default all pairs.

    Returns:
        A list, preferred models of a pair first.

    Example:
        >>> qkv.models("en-de", publisher="argos")[0].name
        'translate-en_de-1_0'
    """
    filters = replace_options(ModelFilters(), options)
    return listed_models(None if pair is None else checked_pair(pair), filters)


def listed_models(pair: Pair | None, filters: ModelFilters) -> PublishedModels:
    from qkv.published.listing import listing, models_for

    found = starters()
    found += map(described, listing() if pair is None else models_for(pair))
    language = None if filters.language is None else code_of(filters.language)
    return PublishedModels(
        each
        for each in found
        if (pair is None or pair_of(each.pair) == pair)
        and (filters.publisher is None or each.publisher == filters.publisher)
        and (language is None or language in (pair_of(each.pair) or ()))
        and (not filters.installed or each.installed is not None)
    )


def starters() -> list[PublishedModel]:
    from qkv.published.starter import LICENSE, starter_folder, starter_pairs, starter_scores

    found = [(pair, starter_folder(pair)) for pair in starter_pairs()]
    return [
        PublishedModel(
            pair=written(pair),
            publisher=STARTER,
            name=written(pair),
            license=LICENSE,
            scores=starter_scores(folder),
            verified=True,
            installed=folder,
        )
        for pair, folder in found
        if folder is not None
    ]


def described(listed: Listed) -> PublishedModel:
    from qkv.published.store import Place

    place, publisher = Place(listed=listed), listed.publisher
    return PublishedModel(
        pair=written(listed.pair),
        publisher=publisher.name,
        name=listed.name,
        size=listed.size,
        license=publisher.license,
        scores={test: dict(score) for test, score in listed.scores.items()},
        verified=place.verified,
        installed=place.bundle if place.installed else None,
        listed_in=f"{publisher.repository} at {publisher.commit}: {listed.listed}",
    )


@with_options(PublisherOption)
def get(pair: str, **options: Unpack[GetKeywords]) -> Path:
    """Install a published translator of a language pair, unless one is installed.

    Its files are downloaded, verified, imported, and kept in qkv's cache. Without a network, the environment variable QKV_MODELS
    names a folder or a server with the files.

    Args:
        pair: The languages, such as "en-de".

    Returns:
        The folder of the model, for `qkv.load`.

    Raises:
        ModelError: There is no published model for the pair, or its files cannot be downloaded, are damaged, or cannot be imported.

    Example:
        >>> try:
        ...     qkv.load(qkv.get("en-xx")).translate("Where is the station?")
        ... except qkv.ModelError as error:
        ...     print(error)
        there is no published translator for the language 'xx'.
    """
    return install(checked_pair(pair), replace_options(PublisherOption(), options).publisher)


def install(pair: Pair, publisher: str | None = None) -> Path:
    from qkv.published.installing import install_pair, installed_folder

    found = installed_folder(pair, publisher)
    if found is not None:
        return found
    require_torch("importing a published model")  # before anything is downloaded
    return install_pair(pair, publisher, ways_here())


def located(model: str | os.PathLike[str]) -> Path:
    """The folder of a model: the folder itself, or for the name of a language pair the published translator."""
    text = os.fspath(model)
    return install(checked_pair(text)) if is_pair(text) and not os.path.lexists(text) else Path(text)


def route(pair: str, pivot: str) -> list[Path]:
    """The models that translate a pair: one that is installed, or two through the pivot language."""
    from qkv.published.installing import installed_folder

    source, target = checked_pair(pair)
    middle = code_of(pivot)
    if middle in (source, target) or installed_folder((source, target)) is not None:
        return [install((source, target))]
    return [install((source, middle)), install((middle, target))]


def is_pair(text: str) -> bool:
    """Does this name two languages of published translators? Names of folders may look like that."""
    from qkv.published.listing import languages

    pair = pair_of(text)
    return pair is not None and {*pair} <= {code_of(each) for each in languages()}


def checked_pair(text: str) -> Pair:
    pair = pair_of(text)
    if pair is None:
        raise InputError(
            f"'{text}' is not a language pair. Write two language codes with a hyphen, such as en-de."
        )
    return pair


def ways_here() -> Ways:
    from qkv.progress.display import say
    from qkv.published.installing import Ways

    return Ways(importer=import_quietly, say=say, progress=shown)


def import_quietly(found: Path, bundle: Path, origin: str) -> None:
    from qkv.api.conversion import ImportOptions, run_import
    from qkv.progress.display import say

    say(f"importing {origin}")
    run_import(str(found), bundle, ImportOptions(), origin=origin)


@contextmanager
def shown(name: str, size: int, before: int) -> Iterator[Arrived]:
    """A progress bar in kilobytes. If the size is unknown, there is a message alone."""
    from qkv.progress.delayed import count_progress
    from qkv.progress.display import say

    say(f"downloading {name}" + (f", {size / 1e6:.1f} MB" if size else ""))
    if not size:
        yield lambda count: None
        return
    with count_progress(f"downloading {name} (kB)", size // 1000, before=before // 1000) as advance:
        arrived, counted = before, before // 1000

        def count(received: int) -> None:
            nonlocal arrived, counted
            arrived += received
            advance(arrived // 1000 - counted)
            counted = arrived // 1000

        yield count
