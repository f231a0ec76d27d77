"""A folder with a model of Marian, as OPUS-MT and Firefox publish them: weights, vocabularies, a shortlist and settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from qkv.errors import DataError
from qkv.hub.folder import read_text
from qkv.hub.marian_file import MarianWeights
from qkv.hub.marian_yaml import Value, read_mapping, read_vocabulary

SETTINGS = ("decoder.yml", "config.yml", "config.*.yml", "*.decoder.yml")
WEIGHTS, PIECES, LISTS = ("*.npz", "model*.bin"), ("*.spm",), ("lex*.bin", "lex.*")
BPE = ("source.bpe", "target.bpe")
OF_CTRANSLATE2 = ("shared_vocabulary.*", "source_vocabulary.*")


@dataclass(frozen=True, kw_only=True)
class MarianVocabulary:
    path: Path
    content: bytes | None = None
    """Of a SentencePiece model; its pieces are the tokens."""
    tokens: tuple[str, ...] = ()
    """Of a plain vocabulary."""


@dataclass(frozen=True, kw_only=True)
class MarianFolder:
    where: str
    weights: MarianWeights
    model: Mapping[str, Value]
    """The settings of the model, from the file with its weights."""
    decoding: Mapping[str, Value]
    """The settings of its use; empty if the folder states none."""
    vocabularies: tuple[MarianVocabulary, MarianVocabulary]
    """For sources and targets."""
    shortlist: Path | None
    segmenters: tuple[Path, Path] | None
    """SentencePiece models that split texts before Marian reads them, as in OPUS-MT with its plain vocabularies."""

    def number(self, name: str, default: float) -> float:
        return number_of(self.decoding.get(name), default)


def is_marian(path: Path) -> bool:
    """Is this a folder of Marian? Those of transformers and CTranslate2 have a config.json."""
    if not path.is_dir() or (path / "config.json").is_file() or matching(path, OF_CTRANSLATE2):
        return False
    return bool(matching(path, WEIGHTS)) and bool(matching(path, SETTINGS) or matching(path, PIECES))


def read_marian(folder: Path) -> MarianFolder:
    where = str(folder)
    settings = matching(folder, SETTINGS)
    decoding = read_mapping(read_text(settings[0]), str(settings[0])) if settings else {}
    weights = MarianWeights(named_file(folder, decoding.get("models"), WEIGHTS, "weights"))
    model = read_mapping(weights.settings(), weights.where)
    return MarianFolder(
        where=where,
        weights=weights,
        model=model,
        decoding=decoding,
        vocabularies=read_vocabularies(folder, decoding.get("vocabs")),
        shortlist=shortlist_of(folder, decoding.get("shortlist")),
        segmenters=segmenters_of(folder),
    )


def matching(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    found = (path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file())
    return list(dict.fromkeys(found))


def named_file(folder: Path, named: Value | None, patterns: tuple[str, ...], what: str) -> Path:
    """The file that the settings name, or the only one of this kind."""
    if isinstance(named, list) and len(named) > 1:
        raise DataError(f"{folder} is an ensemble of {len(named)} models, which qkv cannot import as one.")
    if named:
        return inside(folder, str(named[0] if isinstance(named, list) else named))
    found = matching(folder, patterns)
    if len(found) != 1:
        raise DataError(
            f"{folder} should have one file with {what} ({' or '.join(patterns)}), not {len(found)}."
        )
    return found[0]


def inside(folder: Path, name: str) -> Path:
    """A file next to the settings. The folders of the machine that wrote them do not matter."""
    path = folder / Path(name.replace("\\", "/")).name
    if not path.is_file():
        raise DataError(
            f"{folder} lacks the file {path.name} that its settings name. Copy it into the folder."
        )
    return path


def read_vocabularies(folder: Path, named: Value | None) -> tuple[MarianVocabulary, MarianVocabulary]:
    if isinstance(named, list) and len(named) == 2:
        source, target = (inside(folder, str(each)) for each in named)
    else:
        found = matching(folder, PIECES)
        sources = [path for path in found if path.name.startswith(("source", "src"))]
        targets = [path for path in found if path.name.startswith(("target", "trg"))]
        if len(found) == 1:
            source = target = found[0]
        elif len(sources) == len(targets) == 1:
            [source], [target] = sources, targets
        else:
            raise DataError(
                f"{folder} has no settings that name its vocabularies, and {len(found)} files that could be one. Add a decoder.yml "
                "with `vocabs`."
            )
    first = read_one(source)
    return first, first if target == source else read_one(target)


def segmenters_of(folder: Path) -> tuple[Path, Path] | None:
    source, target = (folder / f"{side}.spm" for side in ("source", "target"))
    if matching(folder, BPE):
        raise DataError(
            f"{folder} splits words by BPE after the tokenizer of Moses, which qkv does not have. Use the newer model with "
            f"{source.name} and {target.name}, if there is one."
        )
    return (source, target) if source.is_file() and target.is_file() else None


def read_one(path: Path) -> MarianVocabulary:
    if path.suffix == ".spm":
        return MarianVocabulary(path=path, content=path.read_bytes())
    return MarianVocabulary(path=path, tokens=tuple(read_vocabulary(read_text(path), str(path))))


def shortlist_of(folder: Path, named: Value | None) -> Path | None:
    if isinstance(named, list) and named:
        return inside(folder, str(named[0]))
    found = [path for path in matching(folder, LISTS) if path.suffix != ".gz"]
    return found[0] if len(found) == 1 else None


def number_of(value: Value | None, default: float) -> float:
    try:
        return default if value is None or isinstance(value, list) else float(value)
    except ValueError:
        return default
