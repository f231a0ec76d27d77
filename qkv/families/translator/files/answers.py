"""Answers of the model on disk while a job runs, so that an interrupted job resumes."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import bytes_hash, canonical, lock_file
from qkv.errors import QkvError
from qkv.families.translator.files.task import Answer, Answers, Task


class StoredAnswers:
    """OUTPUT.job: a line that identifies model and options, and a line for each task that is done.

    Tasks are known by their texts and options, so a changed input keeps the answers that still fit.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]):
        self.path, self.job = path, bytes_hash(canonical(identity))
        self.found: dict[str, Answers] = {}

    @contextmanager
    def opened(self, output: Path) -> Iterator[None]:
        """Read what is there. The file stays if the job is interrupted, and is removed when it is complete."""
        with lock_file(self.path, f"another process is writing {output}: wait for it or stop it."):
            self.read()
            try:
                yield
            except BaseException:
                if self.path.stat().st_size == 0:
                    self.path.unlink()
                raise
            self.path.unlink(missing_ok=True)

    def read(self) -> None:
        """A last line that is not complete is dropped."""
        if not self.path.exists():
            return
        lines = self.path.read_bytes().split(b"\n")
        if len(lines) == 1:
            os.truncate(self.path, 0)
            return
        if lines[0] != self.header:
            raise QkvError(
                f"{self.path} was started with other options or another model: remove it to start again."
            )
        try:
            for line in lines[1:-1]:
                key, answers = json.loads(line)
                self.found[key] = tuple(Answer(**each) for each in answers)
        except (ValueError, TypeError):
            raise QkvError(f"{self.path} is damaged: remove it to start again.") from None
        os.truncate(self.path, sum(len(line) + 1 for line in lines[:-1]))

    @property
    def header(self) -> bytes:
        return json.dumps({"job": self.job}).encode()

    def get(self, task: Task) -> Answers | None:
        return self.found.get(key_of(task))

    def add(self, answers: Sequence[tuple[Task, Answers]]) -> None:
        """Append answers, and flush them to disk."""
        with open(self.path, "ab") as file:
            if file.tell() == 0:
                file.write(self.header + b"\n")
            for task, each in answers:
                line = [key_of(task), [asdict(answer) for answer in each]]
                file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def key_of(task: Task) -> str:
    return bytes_hash(canonical(asdict(task)))
