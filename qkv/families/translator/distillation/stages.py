"""Stages: work that is done once. Results are files in a work folder, named after all that they depend on.

The key of a stage is a hash of its options, its inputs and the keys of the stages before it. A stage with a changed option
therefore has another key and other files. What was made before stays, and is used again if the option is changed back.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import bytes_hash, canonical, file_hash, read_sealed, seal, write_json
from qkv.errors import DataError
from qkv.runtime.file_job import FileJob, Work

VERSION = 1  # of what the stages compute: a new number makes them run again


@dataclass(frozen=True)
class Stage:
    """One stage: its files are complete if its record is there and their hashes match."""

    folder: Path
    name: str
    key: str
    files: tuple[Path, ...]

    @classmethod
    def of(
        cls,
        folder: Path,
        name: str,
        identity: Mapping[str, Any],
        *,
        after: "Sequence[Stage]" = (),
        files: Sequence[str] = ("",),
    ) -> "Stage":
        """`files` are the ends of file names, such as ".tsv"."""
        facts = {"stage": name, "version": VERSION, **identity, "after": [each.key for each in after]}
        key = bytes_hash(canonical(facts))
        stem = f"{name}-{key[:12]}"
        return cls(folder, name, key, tuple(folder / f"{stem}{end}" for end in files))

    @property
    def file(self) -> Path:
        return self.files[0]

    @property
    def record(self) -> Path:
        return self.folder / f"{self.name}-{self.key[:12]}.json"

    def facts(self) -> dict[str, Any] | None:
        """What the stage found out; None if it is not complete, or if a file has changed since."""
        if not self.record.exists():
            return None
        with suppress(DataError, KeyError, TypeError):
            stored = read_sealed(self.record)
            hashes = {path.name: file_hash(path) for path in self.files if path.exists()}
            if stored["key"] == self.key and stored["files"] == hashes:
                facts: dict[str, Any] = stored["facts"]
                return facts
        for path in self.files:  # damaged, or not ours
            path.unlink(missing_ok=True)
        return None

    def run(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The facts of the stage. The work is done only if they are not there yet."""
        facts = self.facts()
        if facts is None:
            facts = work()
            hashes = {path.name: file_hash(path) for path in self.files}
            write_json(self.record, seal({"key": self.key, "files": hashes, "facts": facts}))
        return facts

    def run_lines(self, source: Path, work: Work, what: str, *, progress: bool) -> dict[str, Any]:
        """Turn each line of a file into one of the result, in parts that are safe on disk before the next."""

        def translate() -> dict[str, Any]:
            if not self.file.exists():  # it appears when it is complete
                if source.stat().st_size:
                    FileJob(source, self.file, {"key": self.key}, what=what).run(work, progress=progress)
                else:
                    self.file.touch()
            return {}

        return self.run(translate)
