"""The general pairs of an adaptation: to replay, to choose by and to test on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import read_config
from qkv.data.parallel import ParallelText
from qkv.errors import DataError
from qkv.evaluation.display import Display
from qkv.families.loading import load_for
from qkv.families.translator.adaptation.data import (
    MOST_REPEATS,
    Languages,
    Parts,
    halves,
    pairs_in,
    some_of,
    split,
    text_of,
    without_sources,
    write_tsv,
)
from qkv.families.translator.adaptation.options import AdaptOptions
from qkv.families.translator.distillation.reading import lines_in
from qkv.families.translator.product import Translator
from qkv.runtime.running import DEFAULT_RUNNING

MOST_TEXT = 20_000  # sentences of general text that the base model translates
AT_ONCE = 256  # sentences
PairsOfRun = Callable[[Path], tuple[ParallelText, ParallelText]]
"""The pairs that a model was trained on, and those that it was validated on, which it has not learned."""


@dataclass(frozen=True, kw_only=True)
class General:
    """General pairs: to replay, to choose by and to test on."""

    parts: Parts
    origin: str


def languages_of(base: Path, options: AdaptOptions) -> Languages:
    named = read_config(base).get("languages")
    stated = named if isinstance(named, dict) else {}
    known = [stated.get(side) if stated.get(side) != side else None for side in ("source", "target")]
    return options.source_language or known[0], options.target_language or known[1]


def domain_parts(base: Path, options: AdaptOptions) -> Parts:
    languages = languages_of(base, options)
    files = ([options.memory] if options.memory else []) + list(options.pairs)
    pairs = text_of(pair for path in files for pair in pairs_in(Path(path), languages))
    return split(pairs, options.held_out, options.seed, "translations of the project")


def general_parts(
    base: Path, options: AdaptOptions, domain: Parts, work: Path, display: Display, of_run: PairsOfRun
) -> General:
    languages, most = languages_of(base, options), 2 * options.held_out
    if options.general_text:
        replay, held, origin = (
            own_translations(base, options, domain, work, display),
            None,
            "own translations",
        )
    elif options.general is not None:
        replay, held = text_of(pairs_in(options.general, languages)), None
        origin = options.general.name
    else:
        trained, validated = of_run(base)
        replay = some_of(trained, MOST_REPEATS * len(domain.train), options.seed)
        held = some_of(validated, 2 * most, options.seed)
        origin = "the training data of the base model"
    if options.general_test is not None:
        held = text_of(pairs_in(options.general_test, languages))
    if held is None:
        parts = split(replay, most, options.seed, "general pairs")
    else:
        dev, test = halves(held, most, options.seed)
        parts = Parts(train=replay, dev=dev, test=test)
    train = without_sources(parts.train, parts.dev, parts.test, domain.dev, domain.test)
    if not len(train) or not len(parts.dev) or not len(parts.test):
        raise DataError("there are too few general pairs: give more.")
    return General(parts=replace(parts, train=train), origin=origin)


def own_translations(
    base: Path, options: AdaptOptions, domain: Parts, work: Path, display: Display
) -> ParallelText:
    """General text with the base model's translations, made once."""
    path = work / "own-translations.tsv"
    if not path.exists():
        languages, most = languages_of(base, options), min(MOST_TEXT, MOST_REPEATS * len(domain.train))
        lines = (line for file in options.general_text for line in lines_in(file, 0, languages))
        texts = [text for text, _ in zip(dict.fromkeys(filter(None, lines)), range(most), strict=False)]
        write_tsv(path, zip(texts, translations(open_translator(base), texts, display), strict=True))
    return text_of(pairs_in(path, (None, None)))


def open_translator(folder: Path, **running: Any) -> Translator:
    return load_for(folder, "adapt", Translator, DEFAULT_RUNNING.with_options(**running))


def translations(model: Translator, texts: Sequence[str], display: Display) -> list[str]:
    found: list[str] = []
    with display.progress("translating", len(texts)) as advance:
        for start in range(0, len(texts), AT_ONCE):
            found += model.translate(texts[start : start + AT_ONCE])
            advance(len(found) - start)
    return found
