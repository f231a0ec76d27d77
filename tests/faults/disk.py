"""Stands between a program and the calls by which it changes a disk: counts them, notes them, lets one of them fail."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ERRORS = {"no space": errno.ENOSPC, "input/output error": errno.EIO}
FAULTS = ("killed", "no space", "input/output error", "short write")


@dataclass(frozen=True)
class Operation:
    """A change under the watched folder; paths are relative to it."""

    name: str  # create, write, truncate, fsync, rename, unlink, mkdir, rmdir
    path: str
    content: bytes = b""  # of a write
    number: int = 0  # where a write begins, or the length after a truncation
    target: str = ""  # of a rename


class Killed(BaseException):
    """The process ends here; not an Exception, so that nobody handles it."""


def die() -> None:
    raise Killed


@dataclass
class Disk:
    """What happened under a folder. At the operation with the number `at`, counted from 0, the fault comes, and may last."""

    folder: Path
    fault: str | None = None
    at: int = -1
    lasts: bool = False
    kill: Callable[[], None] = die
    operations: list[Operation] = field(default_factory=list)
    struck: bool = False
    paths: dict[int, str] = field(default_factory=dict)  # of open handles
    places: dict[int, int] = field(default_factory=dict)  # where they write
    flushed: dict[str, int] = field(default_factory=dict)  # so many bytes of a file are safe

    def path_of(self, path: Any, dir_fd: int | None = None) -> str | None:
        """Relative to the folder; None outside of it."""
        if isinstance(path, int):
            return self.paths.get(path)
        if dir_fd is not None:
            parent = self.paths.get(dir_fd)
            return None if parent is None else os.path.normpath(os.path.join(parent, os.fspath(path)))
        relative = os.path.relpath(os.path.abspath(os.fspath(path)), self.folder)
        return None if relative.startswith("..") else relative

    def note(self, operation: Operation) -> None:
        """Before it is made."""
        number = len(self.operations)
        if number == self.at and self.fault in ("killed", *ERRORS) and (self.lasts or not self.struck):
            self.struck = True
            if self.fault == "killed":
                self.kill()
            raise OSError(ERRORS[self.fault], os.strerror(ERRORS[self.fault]), operation.path)
        self.operations.append(operation)

    def lose(self, path: str) -> None:
        """What was not flushed before a flush was refused: its pages count as written, and what the disk has is older."""
        file = self.folder / path
        if file.is_file():
            content, safe = file.read_bytes(), self.flushed.get(path, 0)
            file.write_bytes(content[:safe] + bytes(len(content) - safe))

    @contextmanager
    def watching(self) -> Iterator["Disk"]:
        real = {
            name: getattr(os, name)
            for name in (
                "open",
                "close",
                "write",
                "lseek",
                "fsync",
                "ftruncate",
                "truncate",
                "rename",
                "replace",
                "unlink",
                "mkdir",
                "rmdir",
            )
        }

        def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            found = self.path_of(path, dir_fd)
            if found is not None and flags & os.O_CREAT:
                full = self.folder / found
                if not full.exists():
                    self.note(Operation("create", found))
                elif flags & os.O_TRUNC:
                    self.note(Operation("truncate", found))
            handle: int = real["open"](path, flags, mode, dir_fd=dir_fd)
            if found is not None and flags & os.O_CREAT:
                size = os.fstat(handle).st_size
                self.flushed[found] = min(size, self.flushed.get(found, size))
            if found is not None:
                self.paths[handle], self.places[handle] = found, 0
            return handle

        def close(handle: int) -> None:
            self.paths.pop(handle, None)
            real["close"](handle)

        def write(handle: int, content: Any) -> int:
            if handle not in self.paths:
                return int(real["write"](handle, content))
            content = bytes(content)
            if len(self.operations) == self.at and self.fault == "short write" and len(content) > 1:
                self.struck = True
                content = content[: len(content) // 2]
            self.note(Operation("write", self.paths[handle], content, self.places[handle]))
            count = int(real["write"](handle, content))
            assert count == len(content)
            self.places[handle] += count
            return count

        def lseek(handle: int, place: int, how: int) -> int:
            reached: int = real["lseek"](handle, place, how)
            if handle in self.places:
                self.places[handle] = reached
            return reached

        def fsync(handle: int) -> None:
            if handle in self.paths:
                try:
                    self.note(Operation("fsync", self.paths[handle]))
                except OSError:
                    self.lose(self.paths[handle])
                    raise
                self.flushed[self.paths[handle]] = os.fstat(handle).st_size
            real["fsync"](handle)

        def truncate(path: Any, length: int) -> None:
            found = self.path_of(path)
            if found is not None:
                self.note(Operation("truncate", found, number=length))
                self.flushed[found] = min(length, self.flushed.get(found, length))
            real["truncate"](path, length)

        def rename(old: Any, new: Any, **options: Any) -> None:
            source, target = self.path_of(old), self.path_of(new)
            if source is not None and target is not None:
                self.note(Operation("rename", source, target=target))
            real["rename"](old, new, **options)

        def removing(name: str) -> Callable[..., None]:
            def remove(path: Any, *, dir_fd: int | None = None) -> None:
                found = self.path_of(path, dir_fd)
                if found is not None:
                    self.note(Operation(name, found))
                real[name](path, dir_fd=dir_fd)

            return remove

        def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
            found = self.path_of(path, dir_fd)
            if found is not None and not (self.folder / found).exists():
                self.note(Operation("mkdir", found))
            real["mkdir"](path, mode, dir_fd=dir_fd)

        fakes: dict[str, Any] = {
            "open": open_,
            "close": close,
            "write": write,
            "lseek": lseek,
            "fsync": fsync,
            "ftruncate": truncate,
            "truncate": truncate,
            "rename": rename,
            "replace": rename,
            "unlink": removing("unlink"),
            "mkdir": mkdir,
            "rmdir": removing("rmdir"),
        }
        for name, fake in fakes.items():
            setattr(os, name, fake)
        try:
            yield self
        finally:
            for name, function in real.items():
                setattr(os, name, function)
