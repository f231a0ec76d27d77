"""The part of Protocol Buffers that SentencePiece files use, with every length checked."""

import struct

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5


class Fields:
    """One message: the values of each field number, in order."""

    def __init__(self) -> None:
        self.values: dict[int, list[int | bytes]] = {}

    def messages(self, number: int) -> list[bytes]:
        found = self.values.get(number, [])
        if not all(isinstance(each, bytes) for each in found):
            raise ValueError(f"field {number} has the wrong type")
        return found  # type: ignore[return-value]

    def message(self, number: int) -> bytes:
        """All values concatenated, which merges the messages."""
        return b"".join(self.messages(number))

    def bytes(self, number: int) -> bytes:
        return self.messages(number)[-1] if number in self.values else b""

    def text(self, number: int) -> str:
        return self.bytes(number).decode("utf-8")

    def number(self, number: int, default: int) -> int:
        value = self.values.get(number, [default])[-1]
        if not isinstance(value, int):
            raise ValueError(f"field {number} is not a number")
        return value

    def real(self, number: int) -> float:
        if number not in self.values:
            return 0.0
        return float(struct.unpack("<f", self.bytes(number))[0])


def read_fields(data: bytes) -> Fields:
    fields, place = Fields(), 0
    size = len(data)
    while place < size:
        key, place = (data[place], place + 1) if data[place] < 0x80 else varint(data, place)
        number, kind = key >> 3, key & 7
        value: int | bytes
        if kind == VARINT:
            value, place = varint(data, place)
        elif kind in (BYTES, FOUR_BYTES, EIGHT_BYTES):
            if kind == BYTES:
                length, place = varint(data, place)
            else:
                length = 4 if kind == FOUR_BYTES else 8
            if place + length > size:
                raise ValueError("it is truncated")
            value = data[place : place + length]
            place += length
        else:
            raise ValueError(f"it has a field of unknown type {kind}")
        fields.values.setdefault(number, []).append(value)
    return fields


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, and the position after it."""
    total = shift = 0
    while place < len(data) and shift < 64:
        byte = data[place]
        total |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return total, place
    raise ValueError("it is truncated")
