"""The files that a translator is trained on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from qkv.data.language_tags import language_of
from qkv.data.origins import origin_of
from qkv.data.python_rows import as_path, is_path
from qkv.flags import (
    Flag,
    OptionalFile,
    OptionalFolder,
    OptionalLanguage,
    OptionalModel,
    OptionMessageError,
    SomeFiles,
)
from qkv.training.inputs import paths_in
from qkv.training.python_data import GivenData, Values
from qkv.training.trainable import Inputs

if TYPE_CHECKING:
    from qkv.data.pair_columns import PairColumns
    from qkv.data.parallel import ParallelText
    from qkv.families.translator.corpus import PairFiles
    from qkv.families.translator.settings import DataSettings
    from qkv.prepared.place import Place

MOST_WEIGHT = 1_000


@dataclass(frozen=True, kw_only=True)
class Files(Inputs):
    data: OptionalFolder = None
    """A folder with train, valid and test parts, such as train.en and train.de, or train.en-de.tsv."""
    source: OptionalFile = None
    """Text to translate from, one sentence per line."""
    target: OptionalFile = None
    """Translations of the source, line by line."""
    pairs: SomeFiles = ()
    """Files with both sides instead: .tsv, .jsonl, .parquet, .arrow, .tmx or .po, or patterns such as shards/*.tsv.gz."""
    weights: Annotated[tuple[float, ...], Flag(metavar="NUMBER [NUMBER ...]")] = ()
    """How often an epoch has the pairs of each of these files: 3 for three times, 0.5 for a new half each time. A pattern
    has one weight. By default 1."""
    valid_source: OptionalFile = None
    """Sentences to validate on; by default some of the training data is held out."""
    valid_target: OptionalFile = None
    """Translations of the sentences to validate on."""
    valid_pairs: OptionalFile = None
    """One file with both sides of the validation data."""
    source_language: OptionalLanguage = None
    """Such as en; by default from the file name or the .tmx file."""
    target_language: OptionalLanguage = None
    """Such as de; by default from the file name or the .tmx file."""

    MAIN: ClassVar = "pairs"
    PYTHON: ClassVar = frozenset(("source_column", "target_column"))

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        """Pairs as rows of two texts or with two columns, or the texts of each side."""
        data = GivenData(values=paths_in(cls, given))
        for prefix in ("", "valid_"):
            name, source, target = f"{prefix}pairs", f"{prefix}source", f"{prefix}target"
            both = [given.get(side) for side in (source, target)]
            if all(side is not None and not is_path(side) for side in both):
                pairs: Any = {"source": both[0], "target": both[1]}
            elif name == "pairs" and (files := some_paths(given.get(name))):
                data.values[name] = files
                continue
            elif name in given and not is_path(given[name]):
                pairs = given[name]
            else:
                continue
            data = data.with_writer(partial(write_pair_file, name, pairs, given))
        return data

    def to_stored(self) -> dict[str, Any]:
        """Includes the languages, because the run may be resumed with files of other names."""
        named = self.with_languages()
        return super(Files, named).to_stored()

    def read(self, settings: Any, say: Callable[[str], None]) -> PairFiles:
        return read_files(self, settings.data)

    def read_large(self, settings: Any, place: Place) -> PairFiles:
        return read_files(self, settings.data, place)

    def with_languages(self) -> Self:
        """A copy with the languages that the file names state."""
        if self.source is None or self.target is None:
            return self
        source = self.source_language or language_of(self.source)
        return replace(
            self, source_language=source, target_language=self.target_language or language_of(self.target)
        )


@dataclass(frozen=True, kw_only=True)
class FilesAndModel(Files):
    fine_tune: OptionalModel = None
    """Folder of the translator to fine-tune, from `qkv train translator` or `qkv import`."""


def some_paths(value: Any) -> tuple[Path, ...]:
    """The paths of files, if the value is a path or a list of paths; otherwise none."""
    if is_path(value):
        return (as_path(value),)
    several = isinstance(value, list | tuple) and all(isinstance(each, os.PathLike) for each in value)
    return tuple(map(as_path, value)) if several else ()


def write_pair_file(name: str, pairs: Any, given: Mapping[str, Any], folder: Path, known: Values) -> Values:
    """Write the pairs. If their columns are named after languages, these become inputs, also for the validation pairs."""
    from qkv.data.pair_columns import PairColumns
    from qkv.data.python_texts import write_pairs

    languages = {side: known.get(side) or given.get(side) for side in ("source_language", "target_language")}
    columns = PairColumns(source=given.get("source_column"), target=given.get("target_column"), **languages)
    if known.get("fine_tune") is not None and languages == {"source_language": None, "target_language": None}:
        columns = with_languages_of(columns, known["fine_tune"])
    found = write_pairs(folder / f"{name}.jsonl", pairs, name, columns)
    file = folder / f"{name}.jsonl"
    return {
        name: (file,) if name == "pairs" else file,
        "source_language": found.source_language,
        "target_language": found.target_language,
    }


def with_languages_of(columns: PairColumns, base: Path) -> PairColumns:
    """The columns of the languages of the model that is fine-tuned."""
    from qkv.checkpoint.bundle import read_config

    named = read_config(base).get("languages")
    both = (named.get("source"), named.get("target")) if isinstance(named, dict) else (None, None)
    source, target = (None if each in ("source", "target") else each for each in both)
    return replace(columns, source_language=source, target_language=target)


def read_files(files: Files, settings: DataSettings, place: Place | None = None) -> PairFiles:
    """The pairs that the inputs name. At a place, those that are too large for memory are read into files."""
    from qkv.data.pair_sources import pair_file, two_files
    from qkv.data.parallel import languages_in
    from qkv.data.patterns import all_matching, files_matching
    from qkv.families.translator.corpus import PairFiles
    from qkv.families.translator.defaults import Languages
    from qkv.prepared.reading import read_pair_sources

    check_weights(files)
    if files.data is not None:
        return read_folder(files.data, files, settings, place)
    check_sides(files)
    files = files.with_languages()
    source, target = files.source_language, files.target_language
    counts: list[int] = []
    if files.pairs:
        # Decided once: a validation file must not be read in the other direction.
        matching = all_matching(files.pairs)
        source, target = languages_in(matching[0], source, target)
        pairs = [pair_file(path, source, target) for path in matching]
        origin, counts = origin_of(matching), [len(files_matching(path)) for path in files.pairs]
    elif files.source is not None and files.target is not None:
        pairs = [two_files(files.source, files.target)]
        origin = origin_of([files.source, files.target], join=" and ")
    else:
        raise OptionMessageError("give the training data: {source} and {target}, or {pairs}, or {data}.")
    weights = [weight for weight, count in zip(files.weights, counts, strict=False) for _ in range(count)]
    found = read_pair_sources(pairs, place, weighted=bool(weights))
    return PairFiles(
        pairs=found.pairs,
        weights=tuple(zip(found.counts, weights, strict=True)) if weights else (),
        valid=read_validation(files, source, target),
        languages=Languages.of(source, target),
        origin=origin,
    )


def check_sides(files: Files) -> None:
    sides = {"source": files.source, "target": files.target}
    given = [name for name, path in sides.items() if path is not None]
    if files.pairs and given:
        raise OptionMessageError(
            f"{{pairs}} and {{{given[0]}}} cannot be combined: {{pairs}} has both sides."
        )
    if len(given) == 1:
        [missing] = sides.keys() - given
        raise OptionMessageError(f"{{{missing}}} is missing: {{{given[0]}}} is one side of the pairs.")
    if (
        files.source is not None
        and files.target is not None
        and files.source.resolve() == files.target.resolve()
    ):
        raise OptionMessageError("{source} and {target} are the same file: give the two sides of the pairs.")


def check_weights(files: Files) -> None:
    if not files.weights:
        return
    if len(files.weights) != len(files.pairs):
        raise OptionMessageError(
            "{weights} has {count} numbers for {files} files of {pairs}: give one for each.",
            count=len(files.weights),
            files=len(files.pairs),
        )
    if not all(0 < weight <= MOST_WEIGHT for weight in files.weights):
        raise OptionMessageError(f"{{weights}} must be more than 0 and at most {MOST_WEIGHT}.")


def read_folder(folder: Path, files: Files, settings: DataSettings, place: Place | None) -> PairFiles:
    """Find all parts in the folder by their file names."""
    from qkv.data.folder import find_parts
    from qkv.families.translator.corpus import PairFiles
    from qkv.families.translator.defaults import Languages
    from qkv.prepared.reading import read_pair_sources

    others = (
        files.source,
        files.target,
        files.pairs or None,
        files.valid_source,
        files.valid_target,
        files.valid_pairs,
    )
    if any(other is not None for other in others):
        raise OptionMessageError("give either {data} or single files, not both.")
    usual = settings.languages or (None, None)
    source, target = files.source_language or usual[0], files.target_language or usual[1]
    if source is None or target is None:
        raise OptionMessageError("{data} needs {source_language} and {target_language}.")
    parts = find_parts(folder, source, target, settings.variant)
    return PairFiles(
        pairs=read_pair_sources([parts.train.pairs], place).pairs,
        valid=None if parts.valid is None else parts.valid.read(),
        languages=Languages(source=source, target=target),
        origin=origin_of(parts.train.files, join=" and "),
        tests={part.name: part.read() for part in parts.tests},
    )


def read_validation(files: Files, source: str | None, target: str | None) -> ParallelText | None:
    from qkv.data.parallel import read_pairs, read_two

    given = [files.valid_source is not None, files.valid_target is not None, files.valid_pairs is not None]
    if given == [False, False, False]:
        return None
    if files.valid_pairs is not None and sum(given) == 1:
        return read_pairs(files.valid_pairs, source_language=source, target_language=target)
    if files.valid_source is not None and files.valid_target is not None and sum(given) == 2:
        return read_two(files.valid_source, files.valid_target)
    raise OptionMessageError(
        "give the validation data either as {valid_source} and {valid_target}, or as {valid_pairs}."
    )
