"""Read text without translations: one sentence per line, from files that may be larger than memory.

The files are read twice. Between the two passes only a fingerprint of each line is in memory.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.files import bytes_hash, canonical, file_hash
from qkv.corpus.clean import Progress
from qkv.corpus.duplicates import Hashes, fingerprint, first_occurrences, mix
from qkv.corpus.language import FEWEST_LETTERS, USUAL, identifier, known_code
from qkv.corpus.output import new_file
from qkv.corpus.records import holds_pairs, suffix_of
from qkv.corpus.words import plain
from qkv.data.documents import text_in_json
from qkv.data.holding_out import count_to_hold_out
from qkv.data.lines import not_utf8, numbered_lines, one_line, open_file
from qkv.data.pair_facts import text_length
from qkv.data.parallel import iterate_pairs
from qkv.errors import DataError, InputError, MissingExtraError

LONGEST_LINE = (
    1 << 20
)  # bytes: a longer line is no sentence, and a file without line ends need not fit into memory
SAMPLED = 1_000  # lines whose language is identified
FEWEST_LINES = 10  # fewer say nothing about a file
SURE = 0.8  # the probability from which a language counts as identified
MUCH = 0.1  # share of lines in another language from which on there is a warning
KEPT, DUPLICATE, TOO_LONG, HELD_OUT = "kept", "duplicate", "too long", "in a test set"
TOO_LONG_MARK = "\n"  # stands for a line of more than LONGEST_LINE bytes; no other line has a line break


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """Files of one language, and which of their lines are used."""

    files: Sequence[Path]
    side: int
    """Of files with pairs: 0 for the source, 1 for the target."""
    languages: tuple[str | None, str | None]
    max_characters: int
    held_out: frozenset[int]
    """Fingerprints of sentences that are used to validate or to test."""

    def lines(self) -> Iterator[str]:
        """All lines that are not blank."""
        for path in self.files:
            found = 0
            for line in lines_in(path, self.side, self.languages):
                if line:
                    found += 1
                    yield line
            if not found:
                raise DataError(f"{path} is empty: give a file with text.")

    def identity(self) -> dict[str, Any]:
        """What the lines depend on: the content of the files, and the format that their names state."""
        for path in self.files:
            check_file(path)
        return {
            "content": [file_hash(path) for path in self.files],
            "formats": [(suffix_of(path), path.suffix.lower() == ".gz") for path in self.files],
            "languages": self.languages,
            "max_characters": self.max_characters,
            "held_out": bytes_hash(canonical(sorted(self.held_out))),
        }


def check_file(path: Path) -> None:
    if not path.exists():
        raise DataError(f"there is no file {path}: check the name and the folder.")
    if path.is_dir():
        raise DataError(f"{path} is a folder: give a file inside it.")
    if not path.is_file():
        raise InputError(
            f"{path} is not a regular file. Text is read several times: write it to a file first."
        )


def lines_in(path: Path, side: int, languages: tuple[str | None, str | None]) -> Iterator[str]:
    if suffix_of(path) == ".jsonl":
        for number, line in numbered_lines(path):
            if line.strip():
                text = text_in_json(line, f"{path}, line {number}")
                yield from (tidy(each) for each in text.split("\n"))
    elif holds_pairs(path):
        for pair in iterate_pairs(path, *languages):
            yield tidy(pair[side])
    else:
        yield from plain_lines(path)


def plain_lines(path: Path) -> Iterator[str]:
    """The lines of a plain file. A line that is too long is never held in memory; a mark stands for it."""
    number = 0
    with open_file(path) as stream:
        while raw := stream.readline(LONGEST_LINE):
            number, cut = number + 1, False
            while len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                raw, cut = stream.readline(LONGEST_LINE), True
            if cut:
                yield TOO_LONG_MARK
                continue
            try:
                yield tidy(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError:
                raise not_utf8(path, number, raw) from None


def tidy(line: str) -> str:
    return one_line(line.replace("\t", " "))


def read_text(
    source: TextSource,
    output: Path,
    progress: Progress,
    *,
    held: Path | None = None,
    valid_size: str = "",
) -> dict[str, Any]:
    """Write the lines to use to a file, each once. With `held`, some of them go to that file instead."""
    hashes = hashes_of(source, progress)
    first = first_occurrences(hashes)
    out = lines_to_hold_out(hashes, first, valid_size) if held else np.zeros_like(first)
    reasons: Counter[str] = Counter()
    with ExitStack() as files, progress("selecting lines", len(first)) as done:
        writers = [files.enter_context(new_file(path)) for path in (output, held) if path is not None]
        for row, line in zip(range(len(first)), source.lines(), strict=False):
            reason = reason_to_drop(line, source) or (KEPT if first[row] else DUPLICATE)
            reasons[reason] += 1
            if reason == KEPT:
                writers[int(out[row])](f"{line}\n")
            done(1)
        kept = reasons.pop(KEPT, 0)
        if not kept:
            counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
            raise DataError(f"no line of {names_of(source.files)} can be used: {counts}.")
    return {"lines": len(first), "kept": kept, "dropped": dict(reasons)}


def hashes_of(source: TextSource, progress: Progress) -> Hashes:
    """A fingerprint of every line."""
    found = array("Q")
    with progress("reading text", sum(path.stat().st_size for path in source.files)) as done:
        for line in source.lines():
            found.append(line_hash(line))
            done(len(line) + 1)
    return np.frombuffer(found, np.uint64)


def line_hash(line: str) -> int:
    return fingerprint(plain(line))


def reason_to_drop(line: str, source: TextSource) -> str | None:
    if line == TOO_LONG_MARK or text_length(line) > source.max_characters:
        return TOO_LONG
    return HELD_OUT if source.held_out and line_hash(line) in source.held_out else None


def lines_to_hold_out(hashes: Hashes, first: NDArray[np.bool_], size: str) -> NDArray[np.bool_]:
    """Lines with the smallest hashes: the same on every machine, and nearly the same when text is added."""
    rows = np.flatnonzero(first)
    count = count_to_hold_out(size, len(rows))
    order = np.argsort(mix(hashes[rows]), kind="stable")
    chosen = np.zeros(len(first), dtype=np.bool_)
    chosen[rows[order[:count]]] = True
    return chosen


def names_of(files: Sequence[Path]) -> str:
    names = ", ".join(path.name for path in files[:3])
    return names if len(files) <= 3 else f"{names} and {len(files) - 3} more"


# Language ------------------------------------------------------------------------------------------------


def language_figures(
    path: Path, lines: int, language: str | None, say: Callable[[str], None]
) -> dict[str, Any]:
    """How many of some lines are in another language, and in which. Lines are spread evenly over the file."""
    try:
        wanted = known_code(language)
    except MissingExtraError:
        say("py3langid is not installed, so the language of the text is not checked.")
        return {}
    if wanted is None:
        return {}
    known = identifier(tuple(sorted({*USUAL, wanted})))
    found: Counter[str] = Counter()
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in islice(file, 0, None, max(1, lines // SAMPLED)):
            if sum(map(str.isalpha, line)) >= FEWEST_LETTERS:
                code, probability = known.classify(line)
                found[code if probability >= SURE else wanted] += 1
    checked, others = sum(found.values()), Counter({code: n for code, n in found.items() if code != wanted})
    return {
        "expected": wanted,
        "checked": checked,
        "other": others.total(),
        "most": others.most_common(1)[0][0] if others else None,
    }


def language_warning(figures: dict[str, Any], files: Sequence[Path]) -> str | None:
    if not figures or figures["checked"] < FEWEST_LINES or figures["other"] <= MUCH * figures["checked"]:
        return None
    share = 100 * figures["other"] / figures["checked"]
    return (
        f"{share:.0f} % of {figures['checked']:,} lines from {names_of(files)} are not in the language "
        f"'{figures['expected']}', which is expected here; most of these look like '{figures['most']}'. Check the file."
    )
