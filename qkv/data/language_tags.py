"""Language tags as files write them: en, en-US, pt_BR."""

from collections.abc import Iterable
from pathlib import Path

from qkv.errors import DataError


def language_tag(language: str) -> str:
    return language.strip().lower().replace("_", "-")


def matching_tag(wanted: str, tags: Iterable[str]) -> str | None:
    """The tag equal to `wanted`, or else the first one that is more general or more specific."""
    wanted, tags = language_tag(wanted), list(tags)
    if wanted in tags:
        return wanted
    return next(
        (tag for tag in tags if f"{tag}-".startswith(f"{wanted}-") or f"{wanted}-".startswith(f"{tag}-")),
        None,
    )


def check_different(source: str, target: str) -> tuple[str, str]:
    if language_tag(source) == language_tag(target):
        raise DataError(
            f"the source and the target language are both {source}: give two different languages."
        )
    return source, target


def join_tags(tags: Iterable[str]) -> str:
    return ", ".join(sorted(tags)) or "none"


def language_of(path: Path) -> str | None:
    """The language in a file name such as `train.en` or `train.en.txt`."""
    for ending in reversed(
        path.name.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".txt").split(".")[1:]
    ):
        if 2 <= len(ending) <= 3 and ending.isalpha():
            return ending
    return None
