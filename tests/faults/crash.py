"""What may be on a disk after a power cut, from the notes of what a program did: see docs/reliability.md.

A written byte is safe when its file was flushed after it; that a name exists, is gone or has changed is safe when its
folder was flushed after it. Of everything else any part may be there.
"""

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from disk import Operation


@dataclass
class File:
    now: bytearray = field(default_factory=bytearray)
    safe: bytes = b""


Names = dict[str, File | None]  # path -> file, or None for a folder


class SimulatedDisk:
    def __init__(self, folder: Path):
        """As it is now, all of it safe."""
        self.now: Names = {}
        for path in sorted(folder.rglob("*")):
            content = None if path.is_dir() else path.read_bytes()
            self.now[str(path.relative_to(folder))] = (
                None if content is None else File(bytearray(content), content)
            )
        self.safe: Names = dict(self.now)
        self.pending: list[Operation] = []  # changes of names that no flush of a folder has made safe
        self.files: dict[str, File] = {}  # made by a pending operation, by the path they were made under

    def apply(self, operation: Operation) -> None:
        match operation.name:
            case "write" | "truncate":
                self.change(operation)
            case "fsync":
                self.flush(operation.path)
            case _:
                if operation.name == "create":
                    self.files[operation.path] = File()
                rename_or_such(self.now, operation, self.files)
                self.pending.append(operation)

    def change(self, operation: Operation) -> None:
        file = self.now[operation.path]
        assert file is not None
        if operation.name == "truncate":
            del file.now[operation.number :]
        else:
            file.now[operation.number : operation.number + len(operation.content)] = operation.content

    def flush(self, path: str) -> None:
        file = self.now.get(path)
        if file is not None:
            file.safe = bytes(file.now)
            return
        left = []
        for operation in self.pending:
            if path in folders_of(operation):
                rename_or_such(self.safe, operation, self.files)
            else:
                left.append(operation)
        self.pending = left

    def after_a_crash(self, chance: random.Random | None, keeps: bool) -> dict[str, bytes | None]:
        """Of what is not safe, all is there (`keeps`), nothing, or by chance any part."""
        names = dict(self.safe)
        for operation in self.pending:
            if keeps if chance is None else chance.random() < 0.5:
                rename_or_such(names, operation, self.files)
        found: dict[str, bytes | None] = {}
        for path, file in names.items():
            parents = [parent for parent in parents_of(path) if parent]
            if any(parent not in names for parent in parents):
                continue  # in a folder that is not there
            if file is None:
                found[path] = None
            elif bytes(file.now) == file.safe:
                found[path] = file.safe
            elif chance is None:
                found[path] = bytes(file.now) if keeps else file.safe
            else:
                found[path] = chance.choice([bytes(file.now), file.safe, torn(file, chance)])
        return found


def torn(file: File, chance: random.Random) -> bytes:
    """Its length is that of what was written; some of the bytes are not, but for those that were flushed before."""
    same = (before == after for before, after in zip(file.safe, file.now, strict=False))
    unchanged = sum(takewhile(bool, same))
    place = chance.randint(unchanged, len(file.now))
    return bytes(file.now[:place]) + bytes(len(file.now) - place)


def rename_or_such(names: Names, operation: Operation, files: dict[str, File]) -> None:
    """Where it cannot be done, because an earlier one was lost, it is lost too."""
    path = operation.path
    match operation.name:
        case "create":
            names[path] = files[path]
        case "mkdir":
            names[path] = None
        case "unlink" | "rmdir":
            names.pop(path, None)
        case "rename" if path in names:
            for each in [each for each in names if each == path or each.startswith(path + "/")]:
                names[operation.target + each[len(path) :]] = names.pop(each)


def folders_of(operation: Operation) -> set[str]:
    return {os.path.dirname(path) or "." for path in (operation.path, operation.target) if path}


def parents_of(path: str) -> Iterator[str]:
    while path:
        path = os.path.dirname(path)
        yield path


def lay_out(folder: Path, content: dict[str, bytes | None]) -> None:
    folder.mkdir()
    for path, data in sorted(content.items()):
        if data is None:
            (folder / path).mkdir(parents=True, exist_ok=True)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)


def crashes(
    before: SimulatedDisk, operations: Sequence[Operation], tries: int
) -> Iterator[tuple[int, dict[str, bytes | None]]]:
    """After each operation what may be on the disk: the two extremes, and so many in between."""
    chance = random.Random(1)
    for count in range(len(operations) + 1):
        if count:
            before.apply(operations[count - 1])
        yield count, before.after_a_crash(None, keeps=True)
        yield count, before.after_a_crash(None, keeps=False)
        for _ in range(tries):
            yield count, before.after_a_crash(chance, keeps=False)
