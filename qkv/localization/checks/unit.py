"""What a check reads and what it finds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from qkv.documents.document import Segment, State
from qkv.text.protect import Kind

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The worst first."""


@dataclass(frozen=True)
class Unit:
    """A source text, its translation, and what the file says about them."""

    source: str
    target: str
    key: str = ""
    context: str = ""
    state: State = "translated"
    dialect: Kind | None = None
    """How placeholders are written; None if the file does not say it."""
    plural: str = ""
    """The plural form: a number or a category."""
    plural_source: str = ""
    """The source text for several things, if the unit is a plural form."""
    is_rare: bool = False
    """Whether the plural form is for a few numbers only, so that the number may be left out."""
    problem: str = ""
    """What is wrong with the plural forms of the message that this is the first form of."""
    is_extra: bool = False
    """Whether a file with one language has the text, but the file with the source texts does not."""
    languages: tuple[str | None, str | None] = (None, None)
    line: int = 0
    segment: Segment | None = None
    """Where the translation is in its file; None if it cannot be replaced there."""

    @property
    def is_translated(self) -> bool:
        return bool(self.target.strip())

    @cached_property
    def reference(self) -> str:
        """What the placeholders are compared with: a plural form may be of the text for one thing or for several."""
        return self.plural_source or self.source


Found = Iterator[str]
"""Messages, one for each problem."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check of one translation. `find` is called for translated units only, unless `also_untranslated` is set."""

    name: str
    severity: Severity
    summary: str
    find: Callable[[Unit], Found]
    fix: Callable[[Unit], str] | None = None
    """The translation without the problem, if that can be made without understanding the text."""
    also_untranslated: bool = False


@dataclass(frozen=True, kw_only=True)
class FileCheck:
    """A check of all translations of a file together. It finds units by their places."""

    name: str
    severity: Severity
    summary: str
    find: Callable[[Sequence[Unit]], Iterator[tuple[int, str]]]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A problem in a translation, found by `qkv.check`.

    Example:
        >>> _ = Path("menu.tsv").write_text("Save 3 files\\t2 Dateien speichern\\n")
        >>> [finding] = qkv.check("menu.tsv").findings
        >>> finding.check, finding.line, finding.message
        ('numbers', 1, 'the numbers differ: 2 instead of 3')
    """

    check: str
    """The name of the check, such as "numbers"."""
    severity: Severity
    message: str
    file: str
    line: int
    """From 1. 0 if it is not known."""
    source: str
    target: str
    key: str = ""
    context: str = ""
    fixed: bool = field(default=False)
    """Whether it was corrected in the file."""

    def to_dict(self) -> dict[str, Any]:
        """All fields, as `qkv check --json` prints them."""
        return dict(vars(self))
