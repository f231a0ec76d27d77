"""Use the translations of a memory: those that fit as they are are used, and similar ones are reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from qkv.checkpoint.files import file_hash
from qkv.data.language_tags import matching_tag
from qkv.errors import DataError
from qkv.families.translator.options import MemoryOptions
from qkv.localization.entry import MemoryMatch
from qkv.text.protect import Protection, protected_spans

if TYPE_CHECKING:
    from qkv.localization.memory import Memory

Languages = tuple[str | None, str | None]


@dataclass(frozen=True)
class Recall:
    """A memory that is open."""

    memory: Memory

    def usable(self, text: str, protected: Sequence[Protection], context: str = "") -> MemoryMatch | None:
        """A translation that has exactly the protected spans of the text."""
        found = self.memory.lookup(text, context=context)
        if found is None or spans_in(found.target, protected) != spans_in(text, protected):
            return None
        return found

    def similar(self, text: str, context: str = "") -> MemoryMatch | None:
        """The most similar text and its translation, which is not one of this text."""
        return next(iter(self.memory.search(text, context=context, limit=1)), None)


def spans_in(text: str, protected: Sequence[Protection]) -> Counter[str]:
    return Counter(span.text for span in protected_spans(text, protected))


@contextmanager
def open_recall(options: MemoryOptions, languages: Languages) -> Iterator[Recall | None]:
    """Open the memory, or read a file with pairs into a temporary one. None if there is no memory."""
    if options.memory is None:
        yield None
        return
    from qkv.localization.memory import Memory  # imports NumPy and SQLite
    from qkv.localization.storage import is_memory

    path, (source, target) = Path(options.memory), languages
    if not path.is_file() or is_memory(path):  # `Memory` reports a file that is missing
        with Memory.open(path, create_missing=False) as memory:
            check_languages(memory, languages)
            yield Recall(memory)
        return
    with (
        TemporaryDirectory() as folder,
        Memory.open(Path(folder, "memory"), source_language=source, target_language=target) as memory,
    ):
        memory.add_file(path)
        yield Recall(memory)


def check_languages(memory: Memory, languages: Languages) -> None:
    """Raise an error if the memory is of other languages than the model. Nothing is stored in the memory."""
    for side, has, wanted in zip(("source", "target"), memory.languages, languages, strict=True):
        if has and wanted and matching_tag(wanted, [has]) is None:
            raise DataError(
                f"the {side} language of {memory.path} is {has}, but this translation has {wanted}: use another memory."
            )


def identity_of(options: MemoryOptions) -> dict[str, Any]:
    """What identifies the content of a memory."""
    path = options.memory and Path(options.memory)
    return {"memory": file_hash(path)} if path and path.is_file() else {}
