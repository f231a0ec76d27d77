"""check: find mistakes in files with translations."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from qkv.checkpoint.outputs import check_new_file
from qkv.errors import InputError, OptionError, check_rules
from qkv.flags import Flag, OptionalFile, OptionalLanguage, OrData
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.evaluation.display import Display
    from qkv.keywords import CheckKeywords
    from qkv.localization.checks.running import AnyCheck
    from qkv.localization.checks.unit import Finding, Severity

FailOn = Literal["error", "warning", "info", "never"]


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """What is checked, and what is written."""

    source: OptionalFile = None
    """File with the source texts, for files that hold one language, such as en.json."""
    source_language: OptionalLanguage = None
    """Such as en; by default what the file or its name says."""
    target_language: OptionalLanguage = None
    """Such as de; by default what the file or its name says."""
    select: Annotated[tuple[str, ...], Flag(metavar="CHECK [CHECK ...]")] = ()
    """Names of checks to run; by default all."""
    ignore: Annotated[tuple[str, ...], Flag(metavar="CHECK [CHECK ...]")] = ()
    """Names of checks to leave out."""
    glossary: OrData[OptionalFile] = None
    """Terms and their translations, which must occur: a tab-separated file."""
    max_length_ratio: float = 3.0
    """Report a side that is more than this many times as long as the other, if it has more than 20 characters."""
    fail_on: FailOn = "error"
    """The least severity of findings that make the exit code 6: error, warning, info, or never."""
    fix: bool = False
    """Correct what is safe in place: white space, final punctuation, ellipses and invisible characters. No other byte changes."""
    sarif: OptionalFile = None
    """Also write the findings as SARIF, which code hosts show."""
    junit: OptionalFile = None
    """Also write the findings as JUnit XML, which build servers show."""
    overwrite: bool = False
    """Replace report files that exist."""

    def __post_init__(self) -> None:
        check_rules([("max_length_ratio", "must be more than 1", self.max_length_ratio > 1)])


@dataclass(frozen=True, kw_only=True, repr=False)
class CheckReport:
    """What `qkv.check` found in files with translations.

    Example:
        >>> _ = Path("texts.tsv").write_text("Open\\tÖffnen\\nSave %s\\tSpeichern\\n", encoding="utf-8")
        >>> report = qkv.check("texts.tsv")
        >>> report.units, report.counts
        (2, {'placeholders': 1})
        >>> print(report)
        texts.tsv:2: warning: placeholders differ: lost %s [placeholders]
        2 translations in 1 file: 0 errors, 1 warning, 0 notes.
    """

    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    units: int
    """How many texts were checked."""
    failed: bool
    """Whether there is a finding of the severity `fail_on`, or of a worse one, that was not corrected."""

    @property
    def counts(self) -> dict[str, int]:
        """How many findings each check has, the most frequent first."""
        return dict(Counter(each.check for each in self.findings).most_common())

    def count(self, severity: Severity) -> int:
        """How many findings of a severity were not corrected."""
        return sum(each.severity == severity and not each.fixed for each in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The report, as `qkv check --json` prints it."""
        return {
            "files": list(self.files),
            "units": self.units,
            "failed": self.failed,
            "counts": self.counts,
            "findings": [each.to_dict() for each in self.findings],
        }

    def __str__(self) -> str:
        return "\n".join([*map(line_of, self.findings), self.summary])

    def __repr__(self) -> str:
        return f"<CheckReport: {self.summary}>"

    @property
    def summary(self) -> str:
        """One line with the counts."""
        fixed = sum(each.fixed for each in self.findings)
        counts = ", ".join(
            [
                counted(self.count("error"), "error"),
                counted(self.count("warning"), "warning"),
                counted(self.count("info"), "note"),
            ]
        )
        also = f" {fixed:,} corrected." if fixed else ""
        return f"{counted(self.units, 'translation')} in {counted(len(self.files), 'file')}: {counts}.{also}"


def line_of(finding: Finding) -> str:
    where = f"{finding.file}:{finding.line}" if finding.line else finding.file
    fixed = " (corrected)" if finding.fixed else ""
    return f"{where}: {finding.severity}: {finding.message} [{finding.check}]{fixed}"


def counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


@with_options(CheckOptions)
def check(files: Any, *, progress: bool = True, **options: Unpack[CheckKeywords]) -> CheckReport:
    """Find mistakes in files with translations: placeholders, tags, numbers, punctuation and more, as `qkv check` does.

    Args:
        files: A file or several: .po, .xliff, .ts, .tmx, .tsv, or files that hold one language, such as .json, together with
            `source`.
        progress: Show a progress bar if it takes a while.

    Returns:
        The findings. `failed` says whether one of them is as severe as `fail_on`.

    Raises:
        DataError: A file that cannot be read.
        OptionError: The name of a check that does not exist.

    Example:
        >>> _ = Path("check.tsv").write_text("Save %s\\t%s  speichern \\n")
        >>> [finding.check for finding in qkv.check("check.tsv").findings]
        ['end-space', 'double-space']
        >>> qkv.check("check.tsv", fix=True, progress=False).failed
        False
        >>> Path("check.tsv").read_text()
        'Save %s\\t%s speichern\\n'
    """
    from qkv.progress.display import python_display

    paths = [files] if isinstance(files, str | Path) else list(files)
    found = replace_options(CheckOptions(), options)
    return run_check([Path(each) for each in paths], found, python_display(progress))


def run_check(files: Sequence[Path], options: CheckOptions, display: Display) -> CheckReport:
    """Check files one by one. Corrections are written when all files have been read and checked."""
    from qkv.checkpoint.files import write_file
    from qkv.localization.checks.formats import junit, sarif
    from qkv.localization.checks.reading import read_bilingual
    from qkv.localization.checks.running import check_file

    if not files:
        raise InputError("there is no file to check.")
    checks = selected_checks(options)
    for name, report in (("sarif", options.sarif), ("junit", options.junit)):
        if report is not None:
            check_new_file(name, report, overwrite=options.overwrite, inputs=files)
    languages = (options.source_language, options.target_language)
    findings: list[Finding] = []
    changed, units = [], 0
    for path in files:
        read = read_bilingual(path, options.source, languages)
        with display.progress(path.name, len(read.units)) as advance:
            result = check_file(read, checks, fix=options.fix, advance=advance)
        findings += result.findings
        units += len(read.units)
        if result.corrected is not None:
            changed.append((path, result.corrected))
    for path, content in changed:
        write_file(path, content)
    names = tuple(map(str, files))
    if options.sarif is not None:
        write_file(options.sarif, sarif(findings, checks).encode())
    if options.junit is not None:
        write_file(options.junit, junit(findings, names).encode())
    return CheckReport(
        findings=tuple(findings), files=names, units=units, failed=any(fails(findings, options.fail_on))
    )


def fails(findings: Sequence[Finding], least: FailOn) -> Iterator[bool]:
    from qkv.localization.checks.unit import SEVERITIES

    counted = SEVERITIES[: SEVERITIES.index(least) + 1] if least != "never" else ()
    return (each.severity in counted and not each.fixed for each in findings)


def selected_checks(options: CheckOptions) -> list[AnyCheck]:
    from qkv.localization.checks import checks_for
    from qkv.text.glossary import Glossary

    glossary = Glossary() if options.glossary is None else Glossary.from_any(options.glossary)
    every = checks_for(glossary, options.max_length_ratio)
    known = [each.name for each in every]
    for option, names in (("select", options.select), ("ignore", options.ignore)):
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]}" if near else f"choose from {', '.join(known)}"
                raise OptionError((option, f"has no check '{name}': {hint}"))
    wanted = options.select or known
    return [each for each in every if each.name in wanted and each.name not in options.ignore]
