"""The inputs and options of distillation, each stated once. Importing this needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from qkv.data.python_rows import as_path, is_path
from qkv.errors import check_rules
from qkv.families.translator.inputs import Files, some_paths, write_pair_file
from qkv.flags import OptionalFile, OptionalFolder, OptionalModel, OptionMessageError, SomeFiles
from qkv.training.inputs import paths_in, write_text_file
from qkv.training.python_data import GivenData

TEXTS = ("text", "target_text")
PREFIXES = ("", "valid_", "test_")  # of pairs, source and target


@dataclass(frozen=True, kw_only=True)
class DistillInputs(Files):
    """Texts without translations, and true pairs: the latter as in `qkv train translator`."""

    text: SomeFiles = ()
    """Text to translate, one sentence per line: plain files or .jsonl, also gzipped. Of .tsv, .tmx and .po, the source side."""
    target_text: SomeFiles = ()
    """Text of the target language, for back-translation by the reverse model."""
    test_source: OptionalFile = None
    """Sentences to compare student and teachers on, besides the validation data."""
    test_target: OptionalFile = None
    """Translations of the test sentences."""
    test_pairs: OptionalFile = None
    """One file with both sides of the test data."""

    MAIN: ClassVar = "text"
    PYTHON: ClassVar = frozenset(("source_column", "target_column", "text_column"))

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        """Lists, iterators and tables are written to files; paths are used as they are."""
        data = GivenData(values=paths_in(cls, given))
        for prefix in PREFIXES:
            name = f"{prefix}pairs"
            sides = [given.get(f"{prefix}{side}") for side in ("source", "target")]
            if all(side is not None and not is_path(side) for side in sides):
                pairs: Any = {"source": sides[0], "target": sides[1]}
            elif name == "pairs" and (files := some_paths(given.get(name))):
                data.values[name] = files
                continue
            elif given.get(name) is not None and not is_path(given[name]):
                pairs = given[name]
            else:
                continue
            data = data.with_writer(partial(write_pair_file, name, pairs, given))
        for name in TEXTS:
            value = given.get(name)
            if is_path(value):
                data.values[name] = (as_path(value),)
            elif isinstance(value, list | tuple) and value and all(isinstance(each, Path) for each in value):
                data.values[name] = tuple(value)
            elif value is not None and value != ():
                data = data.with_writer(partial(write_text_file, name, given))
        return data

    @property
    def has_pairs(self) -> bool:
        """Whether true pairs are given."""
        return bool(self.pairs) or any(each is not None for each in (self.data, self.source, self.target))


@dataclass(frozen=True, kw_only=True)
class DistillOptions:
    """How the training data of the student are made."""

    reverse: OptionalModel = None
    """A translator of the opposite direction. It scores translations, and translates the target text."""
    num_hypotheses: int = 8
    """Hypotheses for each true pair. The student learns the one that is closest to the reference."""
    closeness: Literal["chrf", "bleu"] = "chrf"
    """How closeness to a reference is measured: chrF or BLEU of the sentence."""
    teacher_beam_size: int | None = None
    """Beam size of the teachers; by default their own."""
    teacher_length_penalty: float | None = None
    """Length penalty of the teachers; by default their own."""
    compute_type: Literal["auto", "int8", "float32"] = "auto"
    """Number format of the teachers and of the reverse model. auto: int8, which is the fastest."""
    threads: int | None = None
    """CPU cores for translating; by default all."""
    back_translation_tag: str = "<bt>"
    """Marks the source of a back-translated pair, so that the student can tell them apart. An empty text for no mark."""
    max_ratio: float = 2.5
    """Drop translations that are more than this many times as long as their source, or the reverse, unless both are short."""
    max_copied: float = 0.8
    """Drop translations of several words in which more than this share of the words also occurs in the source."""
    min_confidence: float | None = None
    """Drop translations whose probability of being good is lower than this."""
    reverse_drop: float = 0.05
    """Drop this share of the translations: those from which the reverse model is least likely to restore the source."""
    duplicates: bool = True
    """Drop translations that repeat an earlier pair, apart from case, punctuation and white space."""
    repeat_pairs: int = 1
    """How often the student sees each true pair for each time it sees a translation; 0 leaves them out."""
    word_level: bool = False
    """Also learn the teachers' probabilities of every token, besides their translations. The student then has the
    vocabulary of the teachers, which must be the same for all of them."""
    work: OptionalFolder = None
    """Folder for translations and other intermediate results, which several students can share. By default inside the
    output folder."""

    def __post_init__(self) -> None:
        beam, penalty, least = self.teacher_beam_size, self.teacher_length_penalty, self.min_confidence
        check_rules(
            [
                ("num_hypotheses", "must be from 1 to 100", 1 <= self.num_hypotheses <= 100),
                ("teacher_beam_size", "must be from 1 to 1,000", beam is None or 1 <= beam <= 1_000),
                ("teacher_length_penalty", "must be from 0 to 50", penalty is None or 0 <= penalty <= 50),
                ("max_ratio", "must be at least 1", self.max_ratio >= 1),
                ("max_copied", "must be in [0, 1]", 0 <= self.max_copied <= 1),
                ("min_confidence", "must be in [0, 1]", least is None or 0 <= least <= 1),
                ("reverse_drop", "must be at least 0 and below 1", 0 <= self.reverse_drop < 1),
                ("repeat_pairs", "must be from 0 to 1,000", 0 <= self.repeat_pairs <= 1_000),
                ("back_translation_tag", "must be one word", len(self.back_translation_tag.split()) <= 1),
            ]
        )


def check_inputs(inputs: DistillInputs, options: DistillOptions) -> None:
    """Reject combinations that cannot work."""
    if inputs.weights:
        raise OptionMessageError(
            "{weights} is for training: leave it out, and repeat true pairs with {repeat_pairs}."
        )
    if not inputs.text and not inputs.has_pairs:
        raise OptionMessageError(
            "give the teachers something to translate: {text}, or true pairs with {pairs}."
        )
    if inputs.target_text and options.reverse is None:
        raise OptionMessageError("{target_text} needs {reverse}, a translator of the opposite direction.")
