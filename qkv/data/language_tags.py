"""Language tags as files write them: en, en-US, pt_BR."""

from collections.abc import Iterable
from pathlib import Path

from qkv.errors import UserError


def language_tag(language: str) -> str:
    return language.strip().lower().replace("_", "-")


def matching_tag(wanted: str, tags: Iterable[str]) -> str | None:
    """The tag equal to `wanted`, or else the first that is its more general or more special form."""
    wanted, tags = language_tag(wanted), list(tags)
    if wanted in tags:
        return wanted
    return next(
        (tag for tag in tags if f"{tag}-".startswith(f"{wanted}-") or f"{wanted}-".startswith(f"{tag}-")),
        None,
    )


def two_languages(source: str, target: str) -> tuple[str, str]:
    if language_tag(source) == language_tag(target):
        raise UserError(
            f"The source and the target language are both {source}: give two different languages."
        )
    return source, target


def listed(tags: Iterable[str]) -> str:
    return ", ".join(sorted(tags)) or "none"


def language_of(path: Path) -> str | None:
    """`train.en` and `train.en.txt` are English."""
    for ending in reversed(path.name.lower().removesuffix(".gz").removesuffix(".txt").split(".")[1:]):
        if 2 <= len(ending) <= 3 and ending.isalpha():
            return ending
    return None
