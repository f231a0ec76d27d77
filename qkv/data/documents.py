"""Text for language models: documents from files, or by default the source of Python's standard library.

    a.txt, b.md, c.py      each file is a document
    d.jsonl                each line is a document: {"text": "…"}

All of them may be compressed (.gz). Windows line ends become "\\n", as in prompts.
"""

import json
import random
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from qkv.data.lines import (
    empty_file,
    not_utf8,
    numbered_lines,
    open_file,
    reject_lone_surrogates,
    without_compression,
)
from qkv.data.origins import origin_of
from qkv.data.patterns import all_matching
from qkv.data.tables import TABLES_OF_ROWS, read_rows
from qkv.errors import DataError

NOT_SOURCE = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
TABLES = {"encodings", "pydoc_data"}  # tables of numbers and help texts, not programs
SHORT = 200  # characters of a text
MIN_TO_HOLD_OUT_WHOLE = 10  # from this many documents on, whole documents are held out


@dataclass(frozen=True, kw_only=True)
class Documents:
    texts: list[str]
    origin: str  # for the model card

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))

    def fingerprint(self) -> str:
        digest = sha256()
        for text in self.texts:
            digest.update(f"{len(text)}\n{text}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def read_documents(paths: Sequence[Path]) -> Documents:
    texts = [text for path in all_matching(paths) for text in documents_in(path)]
    return Documents(texts=texts, origin=origin_of(paths))


def documents_in(path: Path) -> list[str]:
    if path.suffix.lower() in TABLES_OF_ROWS:
        rows = enumerate(read_rows(path, ["text"]), start=1)
        return [text_of(row, f"{path}, row {number}") for number, row in rows]
    if without_compression(path).endswith(".jsonl"):
        return [
            text_in_json(line, f"{path}, line {number}")
            for number, line in numbered_lines(path)
            if line.strip()
        ]
    with open_file(path) as stream:
        raw = stream.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, raw[: error.start].count(b"\n") + 1, raw) from None
    if not text.strip():
        raise empty_file(path)
    return [normalize_line_ends(text)]


def normalize_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n")


def text_in_json(line: str, where: str) -> str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(
            f'{where} is not JSON: each line must be an object such as {{"text": "…"}}.'
        ) from None
    return text_of(row, where)


def text_of(row: object, where: str) -> str:
    if not isinstance(row, dict) or not isinstance(row.get("text"), str) or not row["text"].strip():
        raise DataError(f'{where} has no "text": each line must be an object such as {{"text": "…"}}.')
    text: str = row["text"]
    reject_lone_surrogates(text, where)
    return normalize_line_ends(text)


def python_source(folder: Path | None = None) -> Documents:
    """The source code of Python's standard library, so that a first run needs no download."""
    folder = Path(sysconfig.get_paths()["stdlib"]) if folder is None else folder
    texts = []
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        if not (NOT_SOURCE | TABLES) & set(inside):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):  # some are test files in other encodings
                continue
            if text.strip():
                texts.append(text)
    if not texts:
        raise DataError("this Python has no source of its standard library: give a text file.")
    return Documents(texts=texts, origin="the source of Python's standard library")


def count_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def hold_out_text(documents: Documents, share: float, seed: int) -> tuple[Documents, Documents]:
    """Hold out at most a `share` of the characters: whole documents, or the end of each if there are few or very long ones."""
    out = set() if len(documents) < MIN_TO_HOLD_OUT_WHOLE else choose_documents(documents, share, seed)
    if not out:
        cuts = [int(len(text) * (1 - share)) for text in documents.texts]
        train = [text[:cut] for text, cut in zip(documents.texts, cuts, strict=True)]
        valid = [text[cut:] for text, cut in zip(documents.texts, cuts, strict=True)]
    else:
        train = [text for place, text in enumerate(documents.texts) if place not in out]
        valid = [text for place, text in enumerate(documents.texts) if place in out]
    if not any(text.strip() for text in valid):
        if documents.characters < SHORT:
            raise DataError(
                f"the text is too short: it has {documents.characters:,} characters. Give a longer one, or also a validation text."
            )
        raise DataError(
            "the text held out for validation is blank: give a validation text, or a text without a blank end."
        )
    return (
        Documents(texts=[text for text in train if text.strip()], origin=documents.origin),
        Documents(texts=[text for text in valid if text.strip()], origin=documents.origin),
    )


def choose_documents(documents: Documents, share: float, seed: int) -> set[int]:
    """Random documents with at most a `share` of the characters; none if they have less than half of that.

    Documents that are too long are skipped only until half of the share is reached, because skipping favors short ones.
    """
    order = list(range(len(documents)))
    random.Random(seed).shuffle(order)
    room, size, out = share * documents.characters, 0, set[int]()
    for place in order:
        length = len(documents.texts[place])
        if size + length <= room:
            out.add(place)
            size += length
        elif size >= room / 2:
            break
    return out if size >= room / 2 else set()
