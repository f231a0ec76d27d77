"""Models of other libraries: import_model and export. Every conversion is verified before anything is written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from qkv import html
from qkv.checkpoint.outputs import check_new_folder
from qkv.data.python_rows import as_path
from qkv.environment import require_torch
from qkv.errors import DataError, InputError, OptionError
from qkv.flags import OptionalFile, OptionMessageError, OrData
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.evaluation.scores import Score
    from qkv.hub.exporting import Exported
    from qkv.hub.exporting_ctranslate2 import ExportedToCTranslate2
    from qkv.hub.importing import Imported
    from qkv.keywords import ExportKeywords, ImportKeywords

Library = Literal["huggingface", "ctranslate2"]
LIBRARIES = ("huggingface", "ctranslate2")


# Import ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """How a published model is imported."""

    target_language: str | None = None
    """For a multilingual translator: the default target language."""
    pairs: bool = False
    """For a text classifier: it takes pairs of texts. Published models rarely state this."""
    revision: str | None = None
    """Branch, tag or commit of a model on the hub."""
    allow_pickle: bool = False
    """Also read weights from a pickled .bin file, with torch's restricted loader."""


@with_options(ImportOptions, aliases={"out": "output"})
def import_model(model: str | Path, output: str | Path, **options: Unpack[ImportKeywords]) -> Any:
    """Convert a published model (Marian, GPT, GPT-2, BERT, ViT, CTranslate2, Argos) to a bundle, and check that it computes the same.

    Nothing is written if its outputs differ from those of the original by more than 1e-4. `qkv.info(model)["compared"]` says
    what was compared.

    Args:
        model: A folder in Hugging Face format, the name of a model on the hub, such as Helsinki-NLP/opus-mt-en-de, a folder of
            CTranslate2 with a translator, or an .argosmodel package.
        output: The folder for the bundle.

    Returns:
        The model, opened from the new bundle.

    Raises:
        ModelError: There is no such model, or the hub cannot be reached.
        DataError: The model cannot be read, is of another kind, or does not compute the same.

    Example:
        >>> report = qkv.export("runs/en-de", "huggingface", "published/en-de")
        >>> translator = qkv.import_model("published/en-de", "runs/imported")
        >>> isinstance(translator, qkv.Translator)
        True
        >>> "largest output difference" in qkv.info(translator)["compared"]
        True
    """
    from qkv.families.loading import load
    from qkv.progress.display import warn_caller

    imported = run_import(os.fspath(model), as_path(output), replace_options(ImportOptions(), options))
    if imported.proof is None:
        warn_caller(
            f"the model was not compared with the original: install {imported.library} and import it again."
        )
    return load(as_path(output))


def run_import(model: str, output: Path, options: ImportOptions, *, origin: str | None = None) -> Imported:
    """`origin` is the name of the model in its report, if it is not `model`."""
    require_torch("an import")
    from qkv.hub.ctranslate2_folder import is_ctranslate2
    from qkv.hub.download import folder_of
    from qkv.hub.importing import import_model as import_folder
    from qkv.hub.importing_ctranslate2 import import_from_ctranslate2
    from qkv.hub.importing_marian import import_from_marian
    from qkv.hub.marian_folder import is_marian

    check_new_folder("output", output)
    for recognizes, read in ((is_marian, import_from_marian), (is_ctranslate2, import_from_ctranslate2)):
        if recognizes(Path(model)):
            if options.pairs:
                raise DataError(f"{model} is not a text classifier: it does not compare pairs.")
            return read(Path(model), output, origin=origin or model, language=options.target_language)
    folder = folder_of(model, revision=options.revision, allow_pickle=options.allow_pickle)
    return import_folder(
        folder,
        output,
        origin=origin or model,
        language=options.target_language,
        pairs=options.pairs,
        allow_pickle=options.allow_pickle,
    )


# Export ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How a model is exported."""

    compute_type: Literal["float32", "int8"] = "float32"
    """For CTranslate2: number format of the weights."""
    source: OrData[OptionalFile] = None
    """For CTranslate2: sentences to translate with both, to compare BLEU."""
    target: OrData[OptionalFile] = None
    """Reference translations of the sentences, line by line."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ExportReport:
    """What was exported, and what was verified.

    Example:
        >>> report = qkv.export("runs/en-de", "ctranslate2", "exported/en-de-float32")
        >>> report.same == report.compared
        True
        >>> report.difference < 1e-4
        True
    """

    output: Path
    """The folder with the exported model."""
    opened_as: str
    """The class of the other library that opens it."""
    against: str
    """What computed the outputs that were compared."""
    difference: float
    """The largest output difference."""
    same: int | None = None
    """Greedy outputs that are the same, of `compared`; None for models without text output."""
    compared: int | None = None
    bleu: tuple[Score, Score] | None = None
    """Greedy BLEU on the given sentences, in qkv and in the other library."""
    translations: tuple[list[str], list[str]] | None = field(default=None, repr=False)
    """Greedy translations of the given sentences, by qkv and by the other library."""
    lines: tuple[str, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What was verified, without the translations."""
        return {
            "output": str(self.output),
            "opened_as": self.opened_as,
            "against": self.against,
            "difference": self.difference,
            "same": self.same,
            "compared": self.compared,
            "bleu": None if self.bleu is None else [each.value for each in self.bleu],
        }

    def __str__(self) -> str:
        """What `qkv export` prints."""
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return f"<ExportReport>\n{self}"

    def _repr_html_(self) -> str:
        return "".join(map(html.line, self.lines))


@with_options(ExportOptions, aliases={"out": "output"})
def export(model: Any, to: Library, output: str | Path, **options: Unpack[ExportKeywords]) -> ExportReport:
    """Convert a model for transformers or CTranslate2, open it there, and compare the outputs.

    Nothing is written if the other library computes something else.

    Args:
        model: A model from `qkv.load`, or its folder.
        to: "huggingface" for transformers, or "ctranslate2".
        output: The folder for the exported model.

    Returns:
        What was verified: the class that opens the model, the largest output difference, and so on.

    Raises:
        ModelError: The library has no equivalent model. For transformers, train with `positions="interleaved"` (a GPT:
            `positions="learned"`).
        DataError: The library computes something else.

    Example:
        >>> report = qkv.export("runs/en-de", "ctranslate2", "exported/en-de", compute_type="int8")
        >>> report.opened_as
        'Translator'
    """
    if to not in LIBRARIES:
        raise OptionError(("to", f"must be {' or '.join(LIBRARIES)}, not {to!r}"))
    with bundle_of(model) as folder:
        return run_export(folder, to, as_path(output), replace_options(ExportOptions(), options))


@contextmanager
def bundle_of(model: Any) -> Iterator[Path]:
    """The folder of a model. A model that was built in memory is saved for the time being."""
    from qkv.families.products import folder_of, kind_of_product

    if isinstance(model, str | os.PathLike):
        yield as_path(model)
        return
    kind_of_product(model)  # an error for anything else
    folder = folder_of(model)
    if folder is not None and folder.is_dir():
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="qkv-") as temporary:
        model.save(Path(temporary) / "model")
        yield Path(temporary) / "model"


def run_export(model: Path, to: Library, output: Path, options: ExportOptions) -> ExportReport:
    if (options.source is None) != (options.target is None):
        raise OptionMessageError("give both {source} and {target}, or neither.")
    require_torch("an export")
    if to == "ctranslate2":
        return to_ctranslate2(model, output, options)
    if options.compute_type != "float32" or options.source is not None:
        raise OptionMessageError("{compute_type}, {source} and {target} are for CTranslate2.")
    return to_huggingface(model, output)


def to_huggingface(model: Path, output: Path) -> ExportReport:
    from qkv.hub.exporting import export_to_transformers

    exported = export_to_transformers(model, output)
    return ExportReport(
        output=output,
        opened_as=exported.class_name,
        against=exported.proof.against,
        difference=exported.proof.difference,
        same=exported.greedy,
        compared=exported.greedy,
        lines=tuple(lines_of_huggingface(exported, output)),
    )


def lines_of_huggingface(exported: Exported, output: Path) -> Iterator[str]:
    yield exported.proof.sentence()
    if exported.greedy is not None:
        yield f"greedy outputs of {exported.greedy} probes are the same"
    if exported.checked:
        yield f"transformers opens {output} as {exported.class_name}"
    else:
        yield f"not checked with transformers, which is not installed; it should open {output} as {exported.class_name}"


def to_ctranslate2(model: Path, output: Path, options: ExportOptions) -> ExportReport:
    from qkv.evaluation.scores import score_translations
    from qkv.hub.exporting_ctranslate2 import export_to_ctranslate2

    source, target = (
        texts_of(each, name) for each, name in ((options.source, "source"), (options.target, "target"))
    )
    check_pairs(options, source, target)
    exported = export_to_ctranslate2(model, output, options.compute_type, source)
    bleu = None
    if exported.translations is not None:
        ours, theirs = (score_translations(each, target).bleu for each in exported.translations)
        bleu = ours, theirs
    has_text = exported.opened_as != "Encoder"
    return ExportReport(
        output=output,
        opened_as=exported.opened_as,
        against=exported.proof.against,
        difference=exported.proof.difference,
        same=exported.same if has_text else None,
        compared=exported.total if has_text else None,
        bleu=bleu,
        translations=exported.translations,
        lines=tuple(lines_of_ctranslate2(exported, output, bleu)),
    )


def texts_of(given: Any, name: str) -> list[str]:
    from qkv.data.given import texts_of as given_texts
    from qkv.data.parallel import read_lines
    from qkv.data.python_rows import is_path

    if given is None:
        return []
    return read_lines(as_path(given)) if is_path(given) else given_texts(given, name)


def check_pairs(options: ExportOptions, source: list[str], target: list[str]) -> None:
    if len(source) == len(target):
        return
    given = {"source": options.source, "target": options.target}
    files = [isinstance(each, str | os.PathLike) for each in given.values()]
    names = [str(each) if file else name for (name, each), file in zip(given.items(), files, strict=True)]
    raise (DataError if all(files) else InputError)(
        f"{names[0]} has {len(source):,} lines but {names[1]} has {len(target):,}; the files must match line by line."
    )


def lines_of_ctranslate2(
    exported: ExportedToCTranslate2, output: Path, bleu: tuple[Score, Score] | None
) -> Iterator[str]:
    yield exported.proof.sentence()
    if exported.opened_as != "Encoder":
        yield f"{exported.same} of {exported.total} greedy outputs are the same"
    if exported.translations is not None and bleu is not None:
        ours, theirs = exported.translations
        own, other = bleu
        yield (
            f"greedy BLEU on {len(ours):,} sentences: {own:.2f} in qkv, {other:.2f} in CTranslate2 ({other - own:+.2f})"
        )
        same = sum(a == b for a, b in zip(ours, theirs, strict=True))
        yield f"{same:,} of {len(ours):,} translations are identical"
    yield f"ctranslate2.{exported.opened_as} opens {output}"
