"""learn: take what people changed and accepted into a translation memory, and propose terms for a glossary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from qkv.checkpoint.outputs import check_new_file
from qkv.errors import DataError, check_rules
from qkv.flags import Flag, OptionalFile, OptionalLanguage, OptionMessageError
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.evaluation.display import Display
    from qkv.evaluation.scores import Score
    from qkv.keywords import LearnKeywords
    from qkv.localization.learning import Review
    from qkv.localization.proposals import Proposal


@dataclass(frozen=True, kw_only=True)
class LearnOptions:
    report: OptionalFile = None
    """Report of the job that translated the file. By default the name of the file with .report.jsonl after it."""
    memory: OptionalFile = None
    """Translation memory that takes what people accepted, changed or added. It is created if it is missing."""
    glossary: OptionalFile = None
    """Write terms that recur in the changes to this file: a glossary with counts and examples as comments."""
    least: Annotated[int, Flag(metavar="N")] = 2
    """In how many texts a replacement must occur to become a term."""
    origin: str | None = None
    """Origin of the new entries; by default the name of the file."""
    source_language: OptionalLanguage = None
    """Such as en; for a new memory."""
    target_language: OptionalLanguage = None
    """Such as de; for a new memory. By default what the file says."""
    overwrite: bool = False
    """Replace the glossary if it exists."""

    def __post_init__(self) -> None:
        check_rules([("least", "must be at least 1", self.least >= 1)])


@dataclass(frozen=True, kw_only=True, repr=False)
class Learned:
    """What `qkv.learn` found in a reviewed file.

    Example:
        >>> _ = Path("app.json").write_text('{"open": "Öffnen", "close": "Schließen"}', encoding="utf-8")
        >>> _ = Path("app.json.report.jsonl").write_text(
        ...     '{"key": "open", "source": "Open", "target": "Öffnen", "origin": "model"}\\n'
        ...     '{"key": "close", "source": "Close", "target": "Zumachen", "origin": "model"}\\n', encoding="utf-8")
        >>> learned = qkv.learn("app.json")
        >>> learned.accepted, learned.changed
        (1, 1)
    """

    accepted: int
    """Translations of the job that people left as they are."""
    changed: int
    rejected: int
    """Translations of the job that were removed."""
    added: int
    """Translations by people of what the job did not translate."""
    unreviewed: int
    """Translations that are still marked as doubtful. They are not learned."""
    chrf: Score | None
    """How close the changed and accepted translations of the job were to the final ones; None if there are none."""
    edited: float | None
    """The share of characters that reviewers changed, from 0 to 1: 1 minus the similarity of both texts, on average."""
    new: int
    """Entries that are new in the memory."""
    updated: int
    """Entries of the memory that were replaced or confirmed."""
    proposals: tuple[tuple[str, str, int], ...]
    """Terms for a glossary: source, target, and in how many texts."""

    def to_dict(self) -> dict[str, Any]:
        """All of this, as `qkv learn --json` prints it."""
        names = ("source", "target", "count")
        terms = [dict(zip(names, each, strict=True)) for each in self.proposals]
        chrf = None if self.chrf is None else self.chrf.to_dict()
        return {**vars(self), "chrf": chrf, "proposals": terms}

    def __str__(self) -> str:
        lines = [
            f"{self.accepted:,} accepted, {self.changed:,} changed, {self.rejected:,} rejected, {self.added:,} added by people, "
            f"{self.unreviewed:,} not reviewed"
        ]
        if self.chrf is not None and self.edited is not None:
            lines.append(
                f"the job's translations against the final ones: chrF {self.chrf:.1f}, {100 * self.edited:.1f} % of the characters "
                "edited"
            )
        if self.new or self.updated:
            lines.append(f"memory: {self.new:,} new, {self.updated:,} updated")
        lines += [f"term in {count:,} texts: {source} → {target}" for source, target, count in self.proposals]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Learned>\n{self}"


@with_options(LearnOptions)
def learn(reviewed: str | Path, *, progress: bool = True, **options: Unpack[LearnKeywords]) -> Learned:
    """Learn from a reviewed file: what people accepted or changed enters a memory, as `qkv learn` does.

    Args:
        reviewed: The file that `translate_file` wrote and people corrected.
        progress: Show a progress bar if it takes a while.

    Returns:
        What was accepted, changed and rejected, and terms that recur in the changes.

    Raises:
        DataError: The file or the report cannot be read, or they do not belong together.

    Example:
        >>> _ = Path("menu.json").write_text('{"open": "Öffnen"}', encoding="utf-8")
        >>> _ = Path("menu.json.report.jsonl").write_text(
        ...     '{"key": "open", "source": "Open", "target": "Offen", "origin": "model"}\\n')
        >>> learned = qkv.learn("menu.json", memory="menu.qkvm", source_language="en", target_language="de")
        >>> learned.changed, learned.new
        (1, 1)
    """
    from qkv.progress.display import python_display

    return run_learn(Path(reviewed), replace_options(LearnOptions(), options), python_display(progress))


def run_learn(path: Path, options: LearnOptions, display: Display) -> Learned:
    """The memory is changed last, when everything else has worked."""
    from qkv.checkpoint.files import write_file
    from qkv.localization.checks.reading import read_bytes
    from qkv.localization.learning import read_report, read_reviewed, reviews_of
    from qkv.localization.proposals import proposals

    report = options.report or path.with_name(f"{path.name}.report.jsonl")
    if options.glossary is not None:
        check_new_file("glossary", options.glossary, overwrite=options.overwrite, inputs=[path, report])
    segments, language = read_reviewed(path, read_bytes(path))
    reviews = list(reviews_of(read_report(report), segments))
    if all(review.verdict == "rejected" for review in reviews):
        raise DataError(f"{report} and {path} have no translation in common: give the report of this file.")
    terms = proposals(reviews, options.least)
    if options.glossary is not None:
        lines = [line for term in terms for line in term.lines()]
        write_file(options.glossary, "".join(f"{line}\n" for line in lines).encode())
    new, updated = remember(path, reviews, options, language, display)
    return learned(reviews, terms, new, updated, display)


def remember(
    path: Path, reviews: Sequence[Review], options: LearnOptions, language: str | None, display: Display
) -> tuple[int, int]:
    from qkv.localization.learning import entries_of
    from qkv.localization.memory import Memory

    if options.memory is None:
        return 0, 0
    languages = (options.source_language, options.target_language or language)
    if not options.memory.exists() and None in languages:
        raise OptionMessageError(
            "a new memory needs its languages: give {source_language} and {target_language}."
        )
    origin = path.name if options.origin is None else options.origin
    with (
        Memory.open(options.memory, source_language=languages[0], target_language=languages[1]) as memory,
        display.progress("translations", max(1, len(reviews))) as advance,
    ):
        added = memory.add_entries(entries_of(reviews, origin), (None, None), str(path))
        advance(len(reviews))
    return added.new, added.updated


def learned(
    reviews: Sequence[Review], terms: Sequence[Proposal], new: int, updated: int, display: Display
) -> Learned:
    from qkv.evaluation.scores import score_translations
    from qkv.localization.similarity import similarity

    counts = Counter(review.verdict for review in reviews)
    kept = [review for review in reviews if review.verdict in ("accepted", "changed")]
    edited = [1 - similarity(review.before, review.after) for review in kept if review.before or review.after]
    before, after = [review.before for review in kept], [review.after for review in kept]
    return Learned(
        accepted=counts["accepted"],
        changed=counts["changed"],
        rejected=counts["rejected"],
        added=counts["added"],
        unreviewed=counts["unreviewed"],
        chrf=score_translations(before, after).chrf if kept else None,
        edited=sum(edited) / len(edited) if edited else None,
        new=new,
        updated=updated,
        proposals=tuple((term.source, term.target, term.count) for term in terms),
    )
