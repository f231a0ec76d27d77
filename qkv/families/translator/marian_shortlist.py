"""Marian's lexical shortlists as ours: its binary format, and text with a target, a source and a probability on each line."""

import struct
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from qkv.errors import DataError
from qkv.families.translator.shortlist import MOST_TOKENS, Shortlist

MAGIC = 0xF11A48D5013417F5
HEADER = struct.Struct("<6Q")
FIRST, BEST = (
    100,
    100,
)  # tokens on every list, and translations of each token, if a text file's settings state none
SKIPPED = "NULL"


def read_shortlist(
    path: Path,
    source: Mapping[str, int],
    target: Mapping[str, int],
    *,
    pad: int,
    end: int,
    limits: Sequence[str],
) -> Shortlist:
    """The list of a model whose languages share their tokens. Its last token, `pad`, was added by qkv.

    `limits` are those of a text file: how many tokens are on every list, and how many translations each token has.
    """
    with open(path, "rb") as file:
        start = file.read(HEADER.size)
        is_binary = len(start) >= 8 and struct.unpack_from("<Q", start)[0] == MAGIC
    if is_binary:
        first, offsets, tokens = read_binary(path, pad)
    else:
        first, offsets, tokens = read_lines(path, source, target, pad, limits)
    always = sorted({*range(min(first, pad)), end})
    return Shortlist(
        offsets=array("i", [*offsets, offsets[-1]]),
        tokens=array("i", tokens),
        always=array("i", always),
        published=True,
    )


def read_binary(path: Path, size: int) -> tuple[int, list[int], list[int]]:
    content = path.read_bytes()
    if len(content) < HEADER.size:
        raise DataError(f"{path} is not a shortlist of Marian, or it is damaged.")
    _, _, first, _, offset_count, token_count = HEADER.unpack_from(content)
    needed = HEADER.size + 8 * offset_count + 4 * token_count
    if offset_count != size + 1 or token_count > MOST_TOKENS or needed > len(content):
        raise DataError(
            f"{path} is damaged or belongs to another model: it is for {max(0, offset_count - 1):,} source tokens, but the model has "
            f"{size:,}."
        )
    offsets = np.frombuffer(content, "<u8", offset_count, HEADER.size)
    tokens = np.frombuffer(content, "<u4", token_count, HEADER.size + 8 * offset_count)
    rising = bool((offsets[1:] >= offsets[:-1]).all()) and offsets[0] == 0 and offsets[-1] == token_count
    if not rising or not token_count or int(tokens.max()) >= size:
        raise DataError(f"{path} is damaged: its lists name tokens that the model does not have.")
    return int(first), offsets.astype(np.int64).tolist(), tokens.astype(np.int64).tolist()


def read_lines(
    path: Path, source: Mapping[str, int], target: Mapping[str, int], size: int, limits: Sequence[str]
) -> tuple[int, list[int], list[int]]:
    first, best = (
        int(each) if each.isdecimal() else default
        for each, default in zip((*limits, "", "")[:2], (FIRST, BEST), strict=True)
    )
    found: dict[int, dict[int, float]] = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            parts = line.split()
            try:
                word, origin, probability = parts[0], parts[1], float(parts[2])
            except (IndexError, ValueError):
                raise DataError(
                    f"{path}, line {number}: it should be a target, a source and a probability."
                ) from None
            if SKIPPED in (word, origin) or word not in target or origin not in source:
                continue
            listed = found.setdefault(source[origin], {})
            listed[target[word]] = max(probability, listed.get(target[word], 0.0))
    offsets, tokens = [0], list[int]()
    for id in range(size):
        likeliest = sorted(found.get(id, {}).items(), key=lambda pair: (-pair[1], pair[0]))[:best]
        tokens += sorted(token for token, _ in likeliest)
        offsets.append(len(tokens))
    return first, offsets, tokens
