"""Terms whose translation is fixed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from qkv.errors import UserError


@dataclass(frozen=True)
class Glossary:
    """Source terms, of which case does not matter, and what each has to become, letter by letter."""

    terms: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, terms: Iterable[tuple[str, str]]) -> Self:
        """Longer terms first: a part of a term that was found is no term."""
        return cls(tuple(sorted(terms, key=lambda pair: -len(pair[0]))))

    @classmethod
    def read(cls, path: Path) -> Self:
        """A file with a source term, a tab and its translation on every line; empty lines and #comments are left out."""
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except FileNotFoundError:
            raise UserError(f"there is no glossary {path}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f"{path} cannot be read as a glossary ({error}): it must be text in UTF-8."
            ) from None
        terms: dict[str, tuple[str, str]] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = [part.strip() for part in line.split("\t")]
            if len(columns) != 2 or not all(columns):
                raise UserError(
                    f"{path}, line {number}: a line of a glossary is a source term, a tab and its translation."
                )
            source, target = columns
            _, known = terms.setdefault(source.lower(), (source, target))
            if known != target:
                raise UserError(
                    f"{path}, line {number}: '{source}' has two translations, '{known}' and '{target}': keep one."
                )
        return cls.of(terms.values())

    def found_in(self, text: str) -> dict[str, list[tuple[int, int]]]:
        """What a translation of this text has to contain, and from where in the text that comes, in its order."""
        if not self.terms:
            return {}
        places: dict[str, list[tuple[int, int]]] = {}
        for match in self.pattern.finditer(text):
            _, target = self.terms[(match.lastindex or 1) - 1]
            places.setdefault(target, []).append(match.span())
        return places

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any of the terms, a group each; the first that fits is taken, and they are sorted by length."""
        terms = "|".join(f"({re.escape(source)})" for source, _ in self.terms)
        return re.compile(rf"(?<!\w)(?:{terms})(?!\w)", re.IGNORECASE)
