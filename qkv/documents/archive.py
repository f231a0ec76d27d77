"""Zip archives whose members are edited in place: what is not edited keeps its compressed bytes.

Members that are read are joined to one text of bytes, so that places in them are numbers, as in any other file.
"""

import struct
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO

from qkv.documents.document import Edit, spliced
from qkv.errors import DataError

MOST_MEMBERS = 20_000
MOST_BYTES = 300_000_000  # of the members that are read
MOST_UNPACKED = 1_000_000_000  # bytes of all members
BOMB_BYTES, BOMB_RATIO = 20_000_000, 150  # larger members that shrink more than this are an attack
LOCAL = struct.Struct("<4sHHHHHIIIHH")
CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
END = struct.Struct("<4sHHHHIIH")
DESCRIPTOR_FLAG, ENCRYPTED_FLAG = 0x8, 0x1
ZIP64 = 1  # the extra field with sizes that do not fit into 32 bits
OLE = b"\xd0\xcf\x11\xe0"


@dataclass(frozen=True)
class Member:
    """A member that is read: its content and its place in the joined bytes."""

    name: str
    content: bytes
    base: int


@dataclass
class Archive:
    """An archive in memory. Members are read one after the other."""

    content: bytes
    infos: Sequence[zipfile.ZipInfo]
    directory: int
    """Where the list of members starts."""
    comment: bytes
    members: dict[str, Member] = field(default_factory=dict)

    @classmethod
    def of(cls, content: bytes) -> "Archive":
        """Open an archive.

        Raises:
            DataError: It is damaged, encrypted, or made to do harm.
        """
        if content.startswith(OLE):
            raise DataError(
                "it is encrypted or in an old format: save it without a password, in the new format."
            )
        try:
            with zipfile.ZipFile(BytesIO(content)) as opened:
                archive = cls(content, opened.infolist(), opened.start_dir, opened.comment)
        except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError, EOFError) as error:
            raise DataError(f"it is damaged: {error}.") from None
        archive.check()
        return archive

    def check(self) -> None:
        names = [info.filename for info in self.infos]
        if len(names) > MOST_MEMBERS:
            raise DataError(f"it has more than {MOST_MEMBERS:,} members.")
        if len(set(names)) < len(names):
            raise DataError("two members have the same name.")
        for info in self.infos:
            if info.flag_bits & ENCRYPTED_FLAG:
                raise DataError("it is encrypted: save it without a password.")
            if info.filename.startswith("/") or ".." in info.orig_filename.replace("\\", "/").split("/"):
                raise DataError(f"the name of the member '{info.filename[:60]}' leads out of the archive.")
        if sum(info.file_size for info in self.infos) > MOST_UNPACKED:
            raise DataError(f"its members have more than {MOST_UNPACKED:,} bytes.")
        ordered = sorted(info.header_offset for info in self.infos)
        sizes = {info.header_offset: info.compress_size for info in self.infos}
        for start, following in zip(ordered, [*ordered[1:], self.directory], strict=True):
            if start + LOCAL.size + sizes[start] > following:
                raise DataError("it is damaged: its members overlap.")

    @property
    def names(self) -> list[str]:
        return [info.filename for info in self.infos]

    def read(self, name: str) -> Member:
        """Read a member, so that it can be edited."""
        if name in self.members:
            return self.members[name]
        base, content = self.size, self.peek(name)
        if base + len(content) > MOST_BYTES:
            raise DataError(f"its texts have more than {MOST_BYTES:,} bytes.")
        member = Member(name, content, base)
        self.members[name] = member
        return member

    def peek(self, name: str) -> bytes:
        """The content of a member that is not edited."""
        info = self.info_by_name.get(name)
        if info is None:
            raise DataError(f"it has no member '{name[:60]}'.")
        if info.file_size > MOST_BYTES:
            raise DataError(f"the member '{name[:60]}' has more than {MOST_BYTES:,} bytes.")
        if info.file_size > max(BOMB_BYTES, BOMB_RATIO * info.compress_size):
            raise DataError(f"the member '{name[:60]}' grows too much when it is unpacked.")
        return self.unpacked(info)

    @cached_property
    def info_by_name(self) -> dict[str, zipfile.ZipInfo]:
        return {info.filename: info for info in self.infos}

    @property
    def size(self) -> int:
        last = next(reversed(self.members.values()), None)
        return 0 if last is None else last.base + len(last.content)

    @property
    def joined(self) -> bytes:
        return b"".join(member.content for member in self.members.values())

    def unpacked(self, info: zipfile.ZipInfo) -> bytes:
        start = self.data_start(info)
        packed = self.content[start : start + info.compress_size]
        if info.compress_type == zipfile.ZIP_STORED:
            content = packed
        elif info.compress_type == zipfile.ZIP_DEFLATED:
            try:
                content = zlib.decompressobj(-15).decompress(packed, info.file_size + 1)
            except zlib.error as error:
                raise DataError(f"the member '{info.filename[:60]}' is damaged: {error}.") from None
        else:
            raise DataError(f"the member '{info.filename[:60]}' is compressed in an unknown way.")
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise DataError(f"the member '{info.filename[:60]}' is damaged.")
        return content

    def data_start(self, info: zipfile.ZipInfo) -> int:
        header = self.content[info.header_offset : info.header_offset + LOCAL.size]
        if len(header) < LOCAL.size or not header.startswith(b"PK\3\4"):
            raise DataError(f"the member '{info.filename[:60]}' is damaged.")
        *_, name, extra = LOCAL.unpack(header)
        return int(info.header_offset + LOCAL.size + name + extra)

    # Writing -------------------------------------------------------------------------------------------

    def splice(self, edits: Iterable[Edit]) -> bytes:
        """The archive with these edits of its joined members."""
        members = list(self.members.values())
        bases = [member.base for member in members]
        by_member: dict[str, list[Edit]] = {}
        for edit in edits:
            member = members[bisect_right(bases, edit.start) - 1]
            own = Edit(edit.start - member.base, edit.end - member.base, edit.content)
            by_member.setdefault(member.name, []).append(own)
        if not by_member:
            return self.content
        return self.packed(
            {name: spliced(self.members[name].content, own) for name, own in by_member.items()}
        )

    def packed(self, changed: dict[str, bytes]) -> bytes:
        """The archive with other contents of these members."""
        ordered = sorted(self.infos, key=lambda info: info.header_offset)
        behind = [*(info.header_offset for info in ordered[1:]), self.directory]
        out = BytesIO()
        out.write(self.content[: ordered[0].header_offset])
        entries: dict[str, tuple[int, int, int, int]] = {}  # place, check sum, sizes
        for info, end in zip(ordered, behind, strict=True):
            place, new = out.tell(), changed.get(info.filename)
            if new is None:
                out.write(self.content[info.header_offset : end])
                entries[info.filename] = place, info.CRC, info.compress_size, info.file_size
            else:
                data = deflate(new) if info.compress_type == zipfile.ZIP_DEFLATED else new
                entries[info.filename] = place, zlib.crc32(new), len(data), len(new)
                out.write(self.local_header(info, *entries[info.filename][1:]))
                out.write(data)
        start = out.tell()
        for info, raw in zip(self.infos, self.central_entries(), strict=True):
            out.write(central_entry(raw, *entries[info.filename], plain=info.filename in changed))
        count = len(self.infos)
        end_record = (b"PK\5\6", 0, 0, count, count, out.tell() - start, start, len(self.comment))
        out.write(END.pack(*end_record) + self.comment)
        return out.getvalue()

    def local_header(self, info: zipfile.ZipInfo, crc: int, packed: int, size: int) -> bytes:
        start, end = info.header_offset, self.data_start(info)
        fields = list(LOCAL.unpack(self.content[start : start + LOCAL.size]))
        name_end = start + LOCAL.size + fields[9]
        extra = without_zip64(self.content[name_end:end])
        fields[2] &= ~DESCRIPTOR_FLAG
        fields[6:9] = crc, packed, size
        fields[10] = len(extra)
        return LOCAL.pack(*fields) + self.content[start + LOCAL.size : name_end] + extra

    def central_entries(self) -> Iterable[bytes]:
        place = self.directory
        for _ in self.infos:
            fields = CENTRAL.unpack(self.content[place : place + CENTRAL.size])
            end = place + CENTRAL.size + sum(fields[10:13])
            yield self.content[place:end]
            place = end


def central_entry(raw: bytes, place: int, crc: int, packed: int, size: int, *, plain: bool) -> bytes:
    """An entry of the list of members for its new place, with sizes that always fit into 32 bits."""
    fields = list(CENTRAL.unpack(raw[: CENTRAL.size]))
    name, extra = fields[10], fields[11]
    rest = raw[CENTRAL.size :]
    kept = without_zip64(rest[name : name + extra])
    if plain:
        fields[3] &= ~DESCRIPTOR_FLAG
    fields[7:10] = crc, packed, size
    fields[11] = len(kept)
    fields[16] = place
    return CENTRAL.pack(*fields) + rest[:name] + kept + rest[name + extra :]


def without_zip64(extra: bytes) -> bytes:
    parts, place = [], 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, place)
        if kind != ZIP64:
            parts.append(extra[place : place + 4 + size])
        place += 4 + size
    return b"".join([*parts, extra[place:]])


def deflate(content: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    return compressor.compress(content) + compressor.flush()
