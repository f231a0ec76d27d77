"""A folder of CTranslate2, alone or in a package of Argos Translate: its settings, vocabulary and variables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.errors import DataError
from qkv.hub.argos import ENDING, METADATA, MODEL, unpacked
from qkv.hub.ctranslate2_file import Stored
from qkv.hub.folder import check_size, read_json, read_object

BINARY, CONFIG = "model.bin", "config.json"
SHARED, SOURCE, TARGET = "shared_vocabulary", "source_vocabulary", "target_vocabulary"
NAMES = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
FLAGS = ("add_source_bos", "add_source_eos")
KNOWN = {*NAMES, *FLAGS, "decoder_start_token", "layer_norm_epsilon", "multi_query_attention"}
NORM_EPS = 1e-5  # of CTranslate2 if the config has none


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Special tokens and what surrounds a source."""

    unknown: str
    end: str
    start: str | None
    """What the decoder reads first; None if each request has to say it."""
    source_begins: bool
    source_ends: bool


@dataclass(frozen=True, kw_only=True)
class Original:
    where: str
    """What the user named."""
    folder: Path
    """With model.bin and the vocabulary."""
    files: tuple[Path, ...]
    """Folders that may have the tokenizer."""
    stored: Stored
    tokens: Tokens
    norm_eps: float
    names: list[str]
    """The tokens of targets in the order of their ids."""
    source_names: list[str] | None
    """The tokens of sources, if these have other ones."""
    languages: tuple[str | None, str | None]

    def file(self, *names: str) -> Path | None:
        """The first of these files that exists."""
        places = (folder / name for name in names for folder in self.files)
        return next((place for place in places if place.is_file()), None)


def is_ctranslate2(path: Path) -> bool:
    """Is this a folder of CTranslate2 or a package?"""
    if path.is_file():
        return path.suffix == ENDING
    if (path / MODEL / BINARY).is_file() and (path / METADATA).is_file():
        return True
    if not (path / BINARY).is_file():
        return False
    config = path / CONFIG
    return not config.is_file() or "model_type" not in read_object(config)


@contextmanager
def opened(path: Path) -> Iterator[Original]:
    if path.is_file():
        with unpacked(path) as folder:
            yield read_original(folder, str(path))
    else:
        yield read_original(path, str(path))


def read_original(folder: Path, where: str) -> Original:
    is_package = (folder / METADATA).is_file()
    model = folder / MODEL if is_package else folder
    if not (model / BINARY).is_file():
        raise DataError(f"{where} has no {MODEL}/{BINARY}: it is not a translator of Argos Translate.")
    stored = Stored(model / BINARY)
    config = read_object(model / CONFIG) if (model / CONFIG).is_file() else settings_of_old(stored)
    tokens = tokens_of(config, where)
    source, target = read_names(model, tokens.unknown, where)
    return Original(
        where=where,
        folder=model,
        files=(model, folder),
        stored=stored,
        tokens=tokens,
        norm_eps=norm_eps_of(config, where),
        names=target,
        source_names=None if source == target else source,
        languages=languages_of(folder, where) if is_package else (None, None),
    )


def settings_of_old(stored: Stored) -> dict[str, Any]:
    """Before version 6 of the format, the settings are variables."""
    if stored.version >= 6:
        raise DataError(f"{stored.where}: the {CONFIG} next to it is missing.")
    names = {name: stored.text(name, default) for name, default in NAMES.items()}
    flags = {f"add_{side}": bool(stored.scalar(f"with_{side}", 0)) for side in ("source_bos", "source_eos")}
    starts_with_bos = bool(stored.scalar("with_target_bos", 1))
    start: str | None = names["bos_token"] if starts_with_bos else names["eos_token"]
    if stored.scalar("user_decoder_start_tokens", 0):
        start = None
    return {**names, **flags, "decoder_start_token": start}


def tokens_of(config: Mapping[str, Any], where: str) -> Tokens:
    unknown = sorted(set(config) - KNOWN)
    if unknown:
        raise DataError(f"{where}/{CONFIG} has unknown settings: {', '.join(unknown)}.")
    names = {name: config.get(name, default) for name, default in NAMES.items()}
    start = config.get("decoder_start_token", names["bos_token"])
    flags = {name: config.get(name, False) for name in FLAGS}
    wrong = [name for name, value in names.items() if not isinstance(value, str)]
    wrong += [name for name, value in flags.items() if not isinstance(value, bool)]
    wrong += [] if start is None or isinstance(start, str) else ["decoder_start_token"]
    wrong += ["multi_query_attention"] if config.get("multi_query_attention") else []
    if wrong:
        raise DataError(f"{where}/{CONFIG}: qkv does not support the value of {', '.join(wrong)}.")
    return Tokens(
        unknown=names["unk_token"],
        end=names["eos_token"],
        start=start,
        source_begins=flags["add_source_bos"],
        source_ends=flags["add_source_eos"],
    )


def norm_eps_of(config: Mapping[str, Any], where: str) -> float:
    value = config.get("layer_norm_epsilon")
    if value is None:
        return NORM_EPS
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise DataError(f"{where}/{CONFIG}: layer_norm_epsilon should be a small number, not {value!r}.")
    return float(value)


def read_names(folder: Path, unknown: str, where: str) -> tuple[list[str], list[str]]:
    """The tokens of sources and of targets. CTranslate2 appends the unknown token if a file lacks it."""
    shared = read_vocabulary(folder, SHARED)
    if shared is None:
        source, target = read_vocabulary(folder, SOURCE), read_vocabulary(folder, TARGET)
        if source is None or target is None:
            raise DataError(f"{where} has no {SHARED}.json, and not both {SOURCE}.json and {TARGET}.json.")
    else:
        source = target = shared
    for names in (source, target):
        if len(set(names)) != len(names):
            raise DataError(f"{where}: a token occurs twice in the vocabulary.")
    return complete_names(source, unknown), complete_names(target, unknown)


def complete_names(names: list[str], unknown: str) -> list[str]:
    return names if unknown in names else [*names, unknown]


def read_vocabulary(folder: Path, name: str) -> list[str] | None:
    """A list of tokens in JSON, or one in each line in older folders."""
    path, old = folder / f"{name}.json", folder / f"{name}.txt"
    if path.is_file():
        found = read_json(path)
        if not isinstance(found, list) or not all(isinstance(token, str) for token in found):
            raise DataError(f"{path} should be a list of tokens.")
        return found
    if not old.is_file():
        return None
    try:
        return (
            check_size(old).read_bytes().decode("utf-8").removesuffix("\n").replace("\r\n", "\n").split("\n")
        )
    except UnicodeDecodeError as error:
        raise DataError(f"{old} is not a list of tokens ({error}).") from None


def languages_of(folder: Path, where: str) -> tuple[str | None, str | None]:
    metadata = read_object(folder / METADATA)
    kind = metadata.get("type", "translate")
    if kind != "translate":
        raise DataError(f"{where} is a package of the type {kind!r}, not a translator.")
    source, target = (metadata.get(name) for name in ("from_code", "to_code"))
    return source if isinstance(source, str) else None, target if isinstance(target, str) else None
