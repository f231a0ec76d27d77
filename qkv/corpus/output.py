"""Files that are written line by line and appear only when complete."""

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from qkv.corpus.records import Record

LEVEL = 6  # of compression


@contextmanager
def new_file(path: Path) -> Iterator[Callable[[str], object]]:
    """Yields a function that writes text. Files named .gz are compressed, with reproducible bytes."""
    part = path.with_name(f".tmp-{path.name}")
    try:
        with open(part, "wb") as file:
            if path.name.lower().endswith(".gz"):
                with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
                    yield lambda text: packed.write(text.encode("utf-8"))
            else:
                yield lambda text: file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def new_records(path: Path) -> Iterator[Callable[[Record], object]]:
    with new_file(path) as write:
        yield lambda record: write(record.line())
