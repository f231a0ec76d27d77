"""Terms with a fixed translation."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self

from qkv.errors import DataError, InputTypeError


@dataclass(frozen=True)
class Glossary:
    """Source terms (case does not matter) and their exact translations.

    Example:
        >>> glossary = qkv.Glossary.from_any({"cat": "Kater"})  # or a file: a term, a tab and its translation on each line
        >>> "Kater" in qkv.load("runs/en-de").translate("the cat danced", glossary=glossary)
        True
    """

    terms: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, terms: Iterable[tuple[str, str]]) -> Self:
        """Sort long terms first, so that a part of a long term is not matched on its own."""
        return cls(tuple(sorted(terms, key=lambda pair: -len(pair[0]))))

    @classmethod
    def from_any(cls, terms: Any) -> "Glossary":
        """A glossary from a mapping, from the name of a file, or as it is."""
        if isinstance(terms, Glossary):
            return terms
        if isinstance(terms, str | PathLike):
            return cls.read(Path(terms))
        if not isinstance(terms, Mapping):
            raise InputTypeError(
                f"glossary is {type(terms).__name__}; expected a mapping, a file or a Glossary."
            )
        for pair in terms.items():
            if not all(isinstance(each, str) and each.strip() for each in pair):
                raise InputTypeError(f"glossary has {pair}; expected a source term and its translation.")
        return cls.of((source.strip(), target.strip()) for source, target in terms.items())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a source term, a tab and its translation from every line. Empty lines and #comments are skipped."""
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except FileNotFoundError:
            raise DataError(f"there is no glossary {path}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read the glossary {path} ({error}): it must be text in UTF-8.") from None
        terms: dict[str, tuple[str, str]] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = [part.strip() for part in line.split("\t")]
            if len(columns) != 2 or not all(columns):
                raise DataError(f"{path}, line {number}: expected a source term, a tab and its translation.")
            source, target = columns
            _, known = terms.setdefault(source.lower(), (source, target))
            if known != target:
                raise DataError(
                    f"{path}, line {number}: '{source}' has two translations, '{known}' and '{target}': keep one."
                )
        return cls.of(terms.values())

    def required_phrases(self, text: str) -> dict[str, list[tuple[int, int]]]:
        """The phrases that a translation of this text must contain, and where their source terms are."""
        if not self.terms:
            return {}
        places: dict[str, list[tuple[int, int]]] = {}
        for match in self.pattern.finditer(text):
            _, target = self.terms[(match.lastindex or 1) - 1]
            places.setdefault(target, []).append(match.span())
        return places

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches any of the terms, each in its own group. Longer terms come first."""
        terms = "|".join(f"({re.escape(source)})" for source, _ in self.terms)
        return re.compile(rf"(?<!\w)(?:{terms})(?!\w)", re.IGNORECASE)
