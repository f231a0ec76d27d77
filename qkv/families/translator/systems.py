"""What is evaluated: a translator, or translations from any tool."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from qkv.checkpoint.files import read_json
from qkv.data.python_rows import as_path, is_path
from qkv.errors import DataError, InputTypeError, type_name
from qkv.evaluation.display import Display
from qkv.evaluation.evaluation import Sentences
from qkv.evaluation.overlap import Seen, read_seen
from qkv.families.loading import load_for
from qkv.families.products import folder_of
from qkv.families.translator.lines import without_line_breaks
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.settings import ScoringSettings
from qkv.families.translator.test_set import Column
from qkv.runtime.model import Model
from qkv.runtime.running import Running

STANDARD = asdict(ScoringSettings())  # for models without a report


@dataclass(frozen=True, kw_only=True)
class System:
    """The source of translations: a model, or a file or list from any tool."""

    name: str
    short_name: str
    kind: Literal["model", "file", "list"]
    translator: Translator | None = None
    seen: Seen | None = None
    scoring: dict[str, Any] = field(default_factory=lambda: STANDARD)
    column: Column | None = None  # the translations, if there is no model

    @classmethod
    def open(cls, given: Any, argument: str, running: Running, display: Display) -> System:
        if isinstance(given, Translator):
            return of_model(given, folder_of(given), argument)
        if is_path(given) and as_path(given).is_dir():
            translator = load_for(as_path(given), "evaluate", Translator, running, display.warn)
            return of_model(translator, as_path(given), argument)
        if isinstance(given, Model):
            raise InputTypeError(
                f"{argument} is a {type_name(given)}; expected a Translator, its folder, or translations."
            )
        column = Column.read(given, argument)
        if column.path is None:
            return cls(name=column.origin, short_name=argument, kind="list", column=column)
        return cls(name=column.origin, short_name=column.path.name, kind="file", column=column)

    def decoding(self, beam_size: int | None, length_penalty: float | None) -> dict[str, Any]:
        facts = {"path": self.name, "kind": self.kind}
        if self.translator is None:
            return {**facts, "beam_size": None, "length_penalty": None}
        defaults = self.translator._defaults
        return {
            **facts,
            "beam_size": defaults.beam_size if beam_size is None else beam_size,
            "length_penalty": defaults.length_penalty if length_penalty is None else length_penalty,
        }

    def translate(
        self, sentences: Sentences, belongs: list[int], decoding: TranslationOptions, display: Display
    ) -> list[str]:
        """One translation per sentence. If several lines of a file belong to a sentence, the first one."""
        if self.column is not None:
            by_place = dict(
                zip(reversed(belongs), reversed(self.column.texts), strict=True)
            )  # the first wins
            return [by_place[place] for place in range(len(sentences))]
        assert self.translator is not None
        assert sentences.source is not None
        with display.progress("translating", len(sentences)) as done:
            translations = self.translator.translate(sentences.source, decoding, done=done)
        return [without_line_breaks(each) for each in translations]


def of_model(translator: Translator, folder: Path | None, argument: str) -> System:
    if folder is None:
        return System(name=str(translator), short_name=argument, kind="model", translator=translator)
    return System(
        name=str(folder),
        short_name=folder.name or str(folder),
        kind="model",
        translator=translator,
        seen=read_seen(folder),
        scoring=scoring_in_report(folder / "report.json"),
    )


def scoring_in_report(path: Path) -> dict[str, Any]:
    """The scoring settings of the model's training."""
    report = read_json(path) if path.is_file() else {}
    try:
        found = {**STANDARD, **(report.get("settings", {}).get("scoring") or {})}
    except (AttributeError, TypeError):
        raise DataError(f"{path} is incomplete: restore it or delete it.") from None
    return found


def short_names(model: System, other: System | None) -> tuple[str, str]:
    """The last part of each path, if the two differ."""
    if other is None:
        return model.short_name, ""
    if model.short_name != other.short_name:
        return model.short_name, other.short_name
    return model.name, other.name
