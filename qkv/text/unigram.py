"""SentencePiece unigram models (Kudo, 2018), read from .spm files.

A text is normalized by a table of rules, spaces become "▁", and the most likely segmentation into pieces is chosen. Ties
are frequent ("aaa"). To break them as SentencePiece does, sums are rounded to 32 bits where it rounds them.
"""

import struct
from array import array
from collections.abc import Iterator

from qkv.errors import DataError
from qkv.text.protobuf import Fields, read_fields

SPACE = "▁"
UNKNOWN_PENALTY = 10.0  # subtracted from the score of the least likely piece
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # piece types
UNIGRAM = 1  # model type
KINDS = {2: "byte-pair merges", 3: "whole words", 4: "characters"}
SHORT_TEXT, REAL, FLOAT = 0x0A, 0x15, struct.Struct("<f")  # fields 1 and 2 of a piece

Piece = tuple[int, int, bool]  # start and end in the normalized text, and whether it is known


class UnigramModel:
    def __init__(self, content: bytes, where: str):
        self.content = content
        try:
            model = read_fields(content)
            pieces = [read_piece(each) for each in model.messages(1)]
            trainer, rules = (read_fields(model.message(number)) for number in (2, 3))
            self.normaliser = Normaliser(rules)
            self.read_pieces(pieces)
        except (ValueError, struct.error, IndexError) as error:
            raise DataError(f"{where} is not a SentencePiece model, or it is damaged ({error}).") from None
        kind = trainer.number(3, UNIGRAM)
        if kind != UNIGRAM:
            raise DataError(
                f"{where} is a SentencePiece model of {KINDS.get(kind, kind)}, but qkv supports only unigram models."
            )
        for number, what in ((24, "puts spaces after words"), (35, "uses byte fallback")):
            if trainer.number(number, 0):
                raise DataError(f"{where} {what}, which qkv does not support.")
        if not self.normaliser.escapes:
            raise DataError(f"{where} does not write spaces as {SPACE}, which qkv does not support.")

    def read_pieces(self, scored: list[tuple[str, float, int]]) -> None:
        """Pieces with their scores and types."""
        normal = [score for _, score, kind in scored if kind == NORMAL]
        if not normal:
            raise ValueError("it has no pieces")
        self.unknown_score = to_float32(min(normal) - UNKNOWN_PENALTY)
        self.normaliser.keep([piece for piece, _, kind in scored if kind == USER_DEFINED])
        self.scores: dict[str, float] = {}
        self.longest: dict[str, int] = {}  # the length of the longest piece that begins with a character
        best = max(normal)
        for piece, score, kind in scored:
            if kind == USER_DEFINED:  # a high score, so that it is always chosen
                score = to_float32(len(piece.encode()) * best) - 0.1
            if kind in (NORMAL, USER_DEFINED) and piece:
                self.scores[piece] = score
                if len(piece) > self.longest.get(piece[0], 0):
                    self.longest[piece[0]] = len(piece)

    def segment(self, text: str) -> tuple[str, list[int], list[Piece]]:
        """The normalized text, the origin of each of its characters, and the pieces."""
        normal, origins = self.normaliser.apply(text)
        return normal, origins, list(merge_unknown(self.best_path(normal)))

    def best_path(self, text: str) -> list[Piece]:
        """The most likely segmentation of a normalized text (Viterbi). A character without a piece is unknown."""
        size = len(text)
        best, came_from, known = array("f", bytes(4 * (size + 1))), [-1] * (size + 1), bytearray(size + 1)
        scores, longest = self.scores, self.longest
        for start in range(size):
            score_so_far, has_single = best[start], False
            for end in range(start + 1, min(size, start + longest.get(text[start], 0)) + 1):
                score = scores.get(text[start:end])
                if score is None:
                    continue
                has_single = has_single or end == start + 1
                candidate = score + score_so_far
                if came_from[end] < 0 or candidate > best[end]:
                    best[end], came_from[end], known[end] = candidate, start, True
            if not has_single:
                end, candidate = start + 1, to_float32(self.unknown_score + score_so_far)
                if came_from[end] < 0 or candidate > best[end]:
                    best[end], came_from[end], known[end] = candidate, start, False
        path, end = [], size
        while end:
            path.append((came_from[end], end, bool(known[end])))
            end = came_from[end]
        return path[::-1]


def piece_names(content: bytes, where: str) -> list[str]:
    """All pieces of a .spm file in the order of their ids, with special ones."""
    try:
        return [read_piece(each)[0] for each in read_fields(content).messages(1)]
    except (ValueError, struct.error, IndexError) as error:
        raise DataError(f"{where} is not a SentencePiece model, or it is damaged ({error}).") from None


def read_piece(message: bytes) -> tuple[str, float, int]:
    """The text, score and type of a piece. Nearly all are a short text and a score in this order: no need to parse them."""
    if len(message) > 2 and message[0] == SHORT_TEXT and message[1] == len(message) - 7 < 0x80:
        place = 2 + message[1]
        if message[place] == REAL:
            return message[2:place].decode("utf-8"), FLOAT.unpack_from(message, place + 1)[0], NORMAL
    fields = read_fields(message)
    return fields.text(1), fields.real(2), fields.number(3, NORMAL)


def to_float32(number: float) -> float:
    return array("f", [number])[0]


def merge_unknown(path: list[Piece]) -> Iterator[Piece]:
    """Merge consecutive unknown characters into one unknown piece."""
    waiting: Piece | None = None
    for start, end, known in path:
        if not known:
            waiting = (start if waiting is None else waiting[0], end, False)
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        yield start, end, True
    if waiting is not None:
        yield waiting


class Normaliser:
    """Replacement rules, longest match first, stored as a double-array trie (Darts)."""

    def __init__(self, spec: Fields):
        self.dummy_prefix, self.trims, self.escapes = (bool(spec.number(n, 1)) for n in (3, 4, 5))
        table = spec.bytes(2)
        self.units = array("I")
        self.results = b""
        self.kept: list[bytes] = []
        if table:
            (size,) = struct.unpack_from("<I", table)
            if size % 4 or size > len(table) - 4:
                raise ValueError("its table of rules is truncated")
            self.units = array("I", struct.unpack_from(f"<{size // 4}I", table, 4))
            self.results = table[4 + size :]

    def keep(self, pieces: list[str]) -> None:
        """Set the pieces that rules must not change."""
        self.kept = sorted((piece.encode() for piece in pieces), key=len, reverse=True)

    def apply(self, text: str) -> tuple[str, list[int]]:
        """The normalized text, and the origin of each of its characters."""
        found: list[str] = []
        origins: list[int] = []
        after_space = self.trims
        begun = False
        for origin, part in self.parts(text):
            part = part.lstrip(" ") if after_space else part
            if not part:
                continue
            if not begun and self.dummy_prefix:
                found.append(SPACE)
                origins.append(origin)
            begun = True
            found.append(part.replace(" ", SPACE))
            origins += [origin] * len(part)
            after_space = self.trims and part.endswith(" ")
        normal = "".join(found)
        if self.trims:
            normal = normal.rstrip(SPACE)
        return normal, origins[: len(normal)]

    def parts(self, text: str) -> Iterator[tuple[int, str]]:
        """The normalized parts of the text, each with its position."""
        data = text.encode("utf-8", "replace")
        place = byte = 0
        while byte < len(data):
            length, result = self.longest(data, byte)
            if not length:
                length, result = 1, text[place]
                while byte + length < len(data) and data[byte + length] & 0xC0 == 0x80:
                    length += 1
                yield place, result
                place += 1
            else:
                yield place, result
                place += sum(each & 0xC0 != 0x80 for each in data[byte : byte + length])
            byte += length

    def longest(self, data: bytes, start: int) -> tuple[int, str]:
        """How many bytes the longest matching rule replaces, and the replacement."""
        for kept in self.kept:
            if data.startswith(kept, start):
                return len(kept), kept.decode()
        units = self.units
        if not units:
            return 0, ""
        length, value = 0, 0
        node = offset_of(units[0])
        for place in range(start, len(data)):
            node ^= data[place]
            if node >= len(units) or units[node] & 0x800000FF != data[place]:
                break
            unit = units[node]
            node ^= offset_of(unit)
            if unit >> 8 & 1:
                length, value = place + 1 - start, units[node] & 0x7FFFFFFF
        if not length:
            return 0, ""
        return length, self.results[value : self.results.index(b"\0", value)].decode()


def offset_of(unit: int) -> int:
    return unit >> 10 << ((unit & 1 << 9) >> 6)
