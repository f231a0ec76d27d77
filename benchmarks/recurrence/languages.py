"""Models of one size trained on the built-in languages, each by the command that a user types."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import qkv
from qkv.data.worlds import Pair, pairs_apart, reference_agrees
from qkv.errors import QkvError
from qkv.families.translator.product import Translator
from qkv.progress.terminal import count_progress, say

SHOWN = (0, 1, 2, 3, 4)  # clauses between noun and pronoun in training
ASKED = (0, 1, 2, 3, 4, 5, 6, 8)  # and in the test: the last ones are farther apart than any that was shown
LANGUAGES = ("en", "de")
MODELS = {
    "recurrent": ["--architecture", "recurrent"],
    "sinusoidal": ["--positions", "interleaved"],
    "learned": ["--positions", "learned"],
    "rotary": ["--positions", "rotary"],
    "none": ["--positions", "none"],
}
LONGEST = 500  # pieces: nothing is translated in parts here


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Of data and training."""

    pairs: int
    steps: int
    tested: int
    models: tuple[str, ...]
    options: tuple[str, ...] = ()


FULL = Amount(pairs=60_000, steps=4_000, tested=400, models=tuple(MODELS))
QUICK = Amount(
    pairs=600,
    steps=40,
    tested=12,
    models=("recurrent", "sinusoidal"),
    options=(
        "--width",
        "32",
        "--ffn-width",
        "32",
        "--encoder-depth",
        "1",
        "--decoder-depth",
        "1",
    ),
)


def write_pairs(path: Path, pairs: Sequence[Pair]) -> None:
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")


def command_for(name: str, amount: Amount, folder: Path, seed: int) -> list[str]:
    what = ["--pairs", str(folder / "train.tsv"), "--valid-pairs", str(folder / "valid.tsv")]
    how = ["--recipe", "built-in", "--steps", str(amount.steps), "--seed", str(seed), *amount.options]
    languages = ["--source-language", LANGUAGES[0], "--target-language", LANGUAGES[1]]
    where = ["--out", str(folder / name)]
    return [
        sys.executable,
        "-m",
        "qkv",
        "train",
        "translator",
        *what,
        *how,
        *languages,
        *MODELS[name],
        *where,
    ]


def trained(amount: Amount, folder: Path, seed: int) -> dict[str, Translator]:
    """One after another, each with all cores; those that are in the folder already are taken as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", amount.pairs), ("valid", max(60, amount.pairs // 100))):
        path = folder / f"{part}.tsv"
        if not path.exists():
            say(f"{count:,} sentence pairs for the {part} part …")
            write_pairs(path, pairs_apart(*LANGUAGES, count, clauses=SHOWN, part=part, seed=seed))  # type: ignore[arg-type]
    found = {}
    for name in amount.models:
        if not (folder / name / "report.json").exists():
            say(f"\n{name}:")
            code = subprocess.run(command_for(name, amount, folder, seed), check=False).returncode
            if code:
                raise QkvError(f"the training of {name} ended with {code}: what it said is above.")
        translator: Translator = qkv.load(folder / name)
        translator._defaults = replace(translator._defaults, longest=LONGEST)
        found[name] = translator
    return found


@dataclass(frozen=True, kw_only=True)
class Distance:
    """What a model makes of sentences with so many clauses between noun and pronoun, in percent."""

    clauses: int
    words: float  # from the noun to the pronoun, in the mean
    pronouns: float  # that agree with their noun
    contested: float  # … where it could be either of two nouns but for the sense
    exact: float


def distances(models: dict[str, Translator], tested: int, seed: int) -> dict[str, list[Distance]]:
    found: dict[str, list[Distance]] = {name: [] for name in models}
    with count_progress("sentences translated", len(models) * len(ASKED) * tested) as done:
        for clauses in ASKED:
            asked = pairs_apart(*LANGUAGES, tested, clauses=(clauses,), part="test", seed=seed)
            for name, translator in models.items():
                answers = translator.translate([pair.source for pair in asked], beam=1, done=done)
                found[name].append(distance_of(clauses, asked, answers))
    return found


def distance_of(clauses: int, asked: Sequence[Pair], answers: Sequence[str]) -> Distance:
    both = list(zip(asked, answers, strict=True))
    agrees = [(pair.contested, reference_agrees(pair, answer)) for pair, answer in both]
    lengths = [
        reference.source - reference.source_antecedent for pair in asked for reference in pair.references
    ]
    return Distance(
        clauses=clauses,
        words=sum(lengths) / max(1, len(lengths)),
        pronouns=percent([right for _, right in agrees]),
        contested=percent([right for contested, right in agrees if contested]),
        exact=percent([answer == pair.target for pair, answer in both]),
    )


def percent(right: Sequence[bool]) -> float:
    return 100 * sum(right) / max(1, len(right))
