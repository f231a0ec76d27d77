"""Terms with a fixed translation."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from qkv.errors import QkvError


@dataclass(frozen=True)
class Glossary:
    """Source terms (case does not matter) and their exact translations."""

    terms: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, terms: Iterable[tuple[str, str]]) -> Self:
        """Sort long terms first, so that a part of a long term is not matched on its own."""
        return cls(tuple(sorted(terms, key=lambda pair: -len(pair[0]))))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a source term, a tab and its translation from every line. Empty lines and #comments are skipped."""
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except FileNotFoundError:
            raise QkvError(f"there is no glossary {path}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise QkvError(f"cannot read the glossary {path} ({error}): it must be text in UTF-8.") from None
        terms: dict[str, tuple[str, str]] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = [part.strip() for part in line.split("\t")]
            if len(columns) != 2 or not all(columns):
                raise QkvError(f"{path}, line {number}: expected a source term, a tab and its translation.")
            source, target = columns
            _, known = terms.setdefault(source.lower(), (source, target))
            if known != target:
                raise QkvError(
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
