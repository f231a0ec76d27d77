"""A folder with the parts of a data set, found by their usual names.

    train.en train.de                   two plain files, or
    train.en-de.tsv, train.tsv          one file with both sides (.tsv .jsonl .tmx .po), also with .gz
    val.… valid.… validation.… dev.…    the validation part
    test.… test_2016_flickr.…           any number of test parts

A variant is part of the file name: for "lc.norm.tok", `train.lc.norm.tok.en` is read.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from qkv.data.pair_sources import PairSource, pair_file, swapped, two_files
from qkv.data.parallel import READERS, ParallelText
from qkv.errors import DataError

TRAIN, VALID, TEST = ("train",), ("val", "valid", "validation", "dev"), ("test",)


@dataclass(frozen=True, kw_only=True)
class Part:
    name: str  # such as train or test_2016_flickr
    files: tuple[Path, ...]  # one, or two
    source: str
    target: str
    swapped: bool = False  # the target comes first in the file

    @property
    def pairs(self) -> PairSource:
        if len(self.files) == 2:
            return two_files(*self.files)
        languages = (self.target, self.source) if self.swapped else (self.source, self.target)
        return swapped(pair_file(self.files[0], *languages), self.swapped)

    def read(self) -> ParallelText:
        return self.pairs.read()


@dataclass(frozen=True, kw_only=True)
class Folder:
    """The parts of a data set; only `train` is required."""

    train: Part
    valid: Part | None
    tests: tuple[Part, ...]


def find_parts(folder: Path, source: str, target: str, variant: str = "") -> Folder:
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder: give the folder with the training data.")
    parts = all_parts(folder, source, target, variant)
    train = parts_named(parts, TRAIN)
    if not train:
        middle = f".{variant}" if variant else ""
        inside = [path for path in subfolders(folder) if has_training_part(path, source, target, variant)]
        if inside:
            raise DataError(f"{folder} has no training part, but {inside[0]} does: give that folder.")
        raise DataError(
            f"{folder} has neither train{middle}.{source} and train{middle}.{target} nor "
            f"train{middle}.{source}-{target}.tsv. Check the source and target languages, or give the files themselves."
        )
    valid, tests = parts_named(parts, VALID), parts_named(parts, TEST)
    reject_several(folder, "training", train)
    reject_several(folder, "validation", valid)
    for name in {part.name for part in tests}:
        reject_several(folder, name, [part for part in tests if part.name == name])
    return Folder(train=train[0], valid=valid[0] if valid else None, tests=tuple(tests))


def all_parts(folder: Path, source: str, target: str, variant: str) -> list[Part]:
    return [*plain_parts(folder, source, target, variant), *paired_parts(folder, source, target, variant)]


def subfolders(folder: Path) -> list[Path]:
    """Subfolders, up to three levels deep."""
    return [
        path for pattern in ("*", "*/*", "*/*/*") for path in sorted(folder.glob(pattern)) if path.is_dir()
    ]


def has_training_part(folder: Path, source: str, target: str, variant: str) -> bool:
    return bool(parts_named(all_parts(folder, source, target, variant), TRAIN))


def reject_several(folder: Path, kind: str, parts: list[Part]) -> None:
    if len(parts) > 1:
        names = " and ".join(part.files[0].name for part in parts)
        raise DataError(f"{folder} has several {kind} parts, {names}: keep one of them.")


def parts_named(parts: list[Part], words: tuple[str, ...]) -> list[Part]:
    """The parts whose name starts with one of these words, not followed by a letter."""
    found = []
    for part in parts:
        word = next((w for w in reversed(words) if part.name.startswith(w)), None)
        if word is not None and not part.name[len(word) :][:1].isalpha():
            found.append(part)
    return found


def plain_parts(folder: Path, source: str, target: str, variant: str) -> list[Part]:
    middle = f".{variant}" if variant else ""
    found = []
    for gzipped in ("", ".gz"):
        ending = f"{middle}.{source}{gzipped}"
        for path in sorted(folder.glob(f"*{ending}")):
            name = path.name.removesuffix(ending)
            other = folder / f"{name}{middle}.{target}{gzipped}"
            if "." not in name and other.is_file():
                found.append(Part(name=name, files=(path, other), source=source, target=target))
    return found


def paired_parts(folder: Path, source: str, target: str, variant: str) -> list[Part]:
    middle = f".{variant}" if variant else ""
    found = []
    for path in sorted(folder.iterdir()):
        stem = path.name.removesuffix(".gz")
        suffix = Path(stem).suffix
        if suffix not in READERS or not path.is_file():
            continue
        name, _, rest = stem.removesuffix(suffix).partition(".")
        straight = Part(name=name, files=(path,), source=source, target=target)
        if f".{rest}" == f"{middle}.{source}-{target}" or rest == variant:
            found.append(straight)
        elif f".{rest}" == f"{middle}.{target}-{source}":
            found.append(replace(straight, swapped=True))
    return found
