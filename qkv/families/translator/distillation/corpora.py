"""True pairs: those that the student learns from, and those that student and teachers are compared on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qkv.corpus.held_out import HeldOut
from qkv.corpus.output import new_records
from qkv.corpus.records import record
from qkv.data.cleaning import clean, hold_out
from qkv.data.language_codes import two_letters
from qkv.data.parallel import ParallelText, read_pairs, read_two
from qkv.errors import DataError
from qkv.families.translator.defaults import Languages
from qkv.families.translator.distillation.options import DistillInputs
from qkv.families.translator.inputs import read_files, read_validation
from qkv.families.translator.settings import TranslatorSettings
from qkv.flags import OptionMessageError

SPLIT_SEED = 1  # of what is held out: students with different seeds share their data
NO_PAIRS = ParallelText(source=[], target=[])


@dataclass(frozen=True, kw_only=True)
class Corpora:
    """Pairs as they are written for the stages."""

    pairs: ParallelText = NO_PAIRS
    valid: ParallelText | None = None
    """None if there are no true pairs: then some of the text is held out."""
    tests: Mapping[str, ParallelText] = field(default_factory=dict)
    origin: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)

    def held_out(self) -> HeldOut:
        """Sentences that must not be in the training data of the student."""
        parts = [*self.tests.values(), *([] if self.valid is None else [self.valid])]
        both = [pair for part in parts for pair in zip(part.source, part.target, strict=True)]
        return HeldOut.of(record(*pair) for pair in both)

    def parts(self) -> dict[str, ParallelText]:
        """All parts by the end of their file name."""
        valid = {} if self.valid is None else {".valid.tsv": self.valid}
        return {
            ".pairs.tsv": self.pairs,
            **valid,
            **{f".{name}.tsv": part for name, part in self.tests.items()},
        }

    def identity(self) -> dict[str, str]:
        return {name: part.fingerprint() for name, part in self.parts().items()}


def read_corpora(inputs: DistillInputs, settings: TranslatorSettings, languages: Languages) -> Corpora:
    """Read and clean the pairs as a training does, and hold some out if there is no validation part."""
    source, target = languages.named()
    limits: dict[str, Any] = {
        "longest": settings.data.max_characters,
        "ratio": settings.data.max_length_ratio,
    }
    tests = {"test": part} if (part := read_test(inputs, source, target)) is not None else {}
    if not inputs.has_pairs:
        valid = read_validation(inputs, source, target)
        return Corpora(valid=None if valid is None else clean(valid, **limits).pairs, tests=tests)
    files = read_files(inputs, settings.data)
    check_languages(files.languages, languages)
    cleaned = clean(files.pairs, **limits)
    if files.valid is None:
        pairs, valid = hold_out(cleaned.pairs, size=settings.data.valid_size, seed=SPLIT_SEED)
    else:
        pairs, valid = cleaned.pairs, clean(files.valid, **limits).pairs
    return Corpora(
        pairs=pairs, valid=valid, tests={**files.tests, **tests}, origin=files.origin, dropped=cleaned.dropped
    )


def read_test(inputs: DistillInputs, source: str | None, target: str | None) -> ParallelText | None:
    given = [inputs.test_source, inputs.test_target, inputs.test_pairs]
    if given == [None, None, None]:
        return None
    if inputs.test_pairs is not None and given[:2] == [None, None]:
        return read_pairs(inputs.test_pairs, source_language=source, target_language=target)
    if inputs.test_source is not None and inputs.test_target is not None and inputs.test_pairs is None:
        return read_two(inputs.test_source, inputs.test_target)
    raise OptionMessageError(
        "give the test data either as {test_source} and {test_target}, or as {test_pairs}."
    )


def check_languages(given: Languages, teachers: Languages) -> None:
    """Files that name other languages than those of the teachers are a mistake, such as two sides that are swapped."""
    both = zip(given.named(), teachers.named(), strict=True)
    if any(None not in pair and two_letters(pair[0]) != two_letters(pair[1]) for pair in both):
        raise DataError(
            f"the pairs are {given.source} to {given.target}, but the teachers translate from {teachers.source} to "
            f"{teachers.target}. Check the files and their order."
        )


def write_corpora(corpora: Corpora, files: Mapping[str, Path]) -> dict[str, Any]:
    """Write each part to its file, one pair per line."""
    for name, part in corpora.parts().items():
        with new_records(files[name]) as write:
            for pair in zip(part.source, part.target, strict=True):
                write(record(*pair))
    return {"pairs": len(corpora.pairs), "origin": corpora.origin, "dropped": dict(corpora.dropped)}
