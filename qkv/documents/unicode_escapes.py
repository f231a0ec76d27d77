r"""Characters as \uXXXX, the way a file writes them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class UnicodeEscapes:
    r"""Which characters a file writes as \uXXXX, and how."""

    characters: frozenset[str] = frozenset()
    non_ascii: bool = False
    """Whether it writes all characters beyond ASCII so."""
    upper: bool = False
    letter: str = "u"

    @classmethod
    def of(cls, codes: Iterable[str], *, is_ascii: bool, letter: str = "u") -> "UnicodeEscapes":
        """From the hexadecimal numbers of the escapes in a file."""
        found = list(codes)
        characters = frozenset(chr(int(code, 16)) for code in found)
        return cls(
            characters=characters,
            non_ascii=is_ascii and any(each > "\x7f" for each in characters),
            upper=any(code != code.lower() for code in found),
            letter=letter,
        )

    def are_needed_for(self, character: str) -> bool:
        return character in self.characters or (self.non_ascii and character > "\x7f")

    def escape(self, character: str) -> str:
        """The character in units of UTF-16."""
        units = character.encode("utf-16-be", errors="surrogatepass").hex()
        units = units.upper() if self.upper else units
        return "".join(f"\\{self.letter}{units[place : place + 4]}" for place in range(0, len(units), 4))


def joined_surrogates(text: str) -> str:
    """Two escapes may form one character beyond U+FFFF."""
    return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="surrogatepass")


SURROGATE = re.compile("[\ud800-\udfff]")
