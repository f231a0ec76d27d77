"""Attempts to translate a job, their results, and the budget of decoder steps for all of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qkv.decoding.hypothesis import Hypothesis
from qkv.families.translator.guarantees.job import Reading, touches
from qkv.families.translator.guarantees.places import Edit, Places, applied
from qkv.families.translator.search import Request
from qkv.families.translator.translations import Links
from qkv.text.protect import locate, merged_occurrences, occurrences
from qkv.text.words import WORDS_AND_MARKS

HYPHENS = ("-", "\u2010", "\u2011", "/")  # these join two words into one
TIMES_A_PLAIN_ONE = 5  # the cost limit of all attempts, in plain translations
SHORTEST = 6  # tokens; a shorter translation counts as this long
SLACK = 3  # tokens by which a constrained translation may exceed its expected length


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to translate a job."""

    reading: Reading
    constrained: bool = False  # the output must contain the phrases of the reading
    no_repeat_ngram_size: int = 0
    limit: int = 0  # the most tokens; 0 for the usual limit
    beams: int = 0  # the most beams; 0 for as many as the search has
    anchor: str = ""  # a given translation to score
    replaced: frozenset[str] = frozenset()  # words of the free translation that the anchor lacks

    def holds(self, text: str) -> bool:
        reading, job = self.reading, self.reading.job
        if reading.left_out:  # spans are inserted later and must not be there yet
            return not any(locate(text, reading.names).values()) and not missing_terms(reading, text)
        names = reading.stand_ins
        alone = all(stand_alone(text, name, found) for name, found in locate(text, names).items())
        return alone and job.is_kept_by(reading.back(text))


@dataclass(frozen=True)
class Trial:
    """An attempt and its hypotheses."""

    attempt: Attempt
    request: Request
    hypotheses: list[Hypothesis]

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]

    @property
    def steps(self) -> int:
        """The length of the longest hypothesis, including the end token."""
        return max(len(each.log_probabilities) for each in self.hypotheses)


class Budget:
    """The decoder steps times beams that are left for a job.

    The total is at most five times that of a plain translation: the first one if it finished, otherwise one as long as
    the source.
    """

    def __init__(self, beams: int, source: int):
        self.beams, self.plain, self.spent = beams, max(SHORTEST, source + 1), 0

    def pay(self, trial: Trial) -> None:
        beams = trial.attempt.beams or self.beams
        if self.spent == 0 and trial.best.finished:
            self.plain = max(SHORTEST, min(self.plain, trial.steps))
        self.spent += beams * trial.steps

    @property
    def left(self) -> int:
        return TIMES_A_PLAIN_ONE * self.beams * self.plain - self.spent

    @property
    def longest_free(self) -> int:
        """The most tokens of a free translation that leave room for one more attempt if it loops."""
        return max(1, self.left // self.beams - self.plain)

    def constrained(self, expected: int) -> tuple[int, int]:
        """The number of beams for a translation of the expected length, and its length limit."""
        beams = self.left // expected
        return beams, min(expected + SLACK, self.left // max(1, beams))


def free_limit(source: int) -> int:
    """The most tokens of a free translation with guarantees; the usual limit would be too costly."""
    return source + source // 2 + 6


def spans_kept(reading: Reading, output: str) -> int:
    """How many of the job's spans occur in the output."""
    found = locate(output, reading.names)
    return sum(min(count, len(found[name])) for name, count in Counter(reading.names).items())


def missing_terms(reading: Reading, output: str) -> bool:
    whole = reading.back(output)
    return not all(occurrences(whole, each.text) for each in reading.job.wanted)


def anchored(reading: Reading, output: str, links: Links) -> str | None:
    """A free translation with its missing terms and spans inserted.

    A term replaces the words aligned with its source words. A span goes after the words aligned with the source word
    before it. None if a term has no aligned words, or if a span occurs too often.
    """
    places = Places(reading.text, output, links)
    names = () if reading.left_out else reading.names
    edits: list[Edit] = []
    missing = Counter(names)
    for name, found in locate(output, names).items():
        missing[name] -= len(found)
        stuck = merged_occurrences(output, name) and not name.isalnum()
        if missing[name] < 0 or stuck or not stand_alone(output, name, found):
            return None
    for name, span in zip(names, reading.job.kept, strict=False):
        if missing[name]:
            missing[name] -= 1
            place = places.after(reading.place(span.start))
            edits.append(Edit(place, place, name, apart=True))
    for wanted in reading.job.wanted:
        if occurrences(output, wanted.text):
            continue
        known = len(edits)
        for start, end in wanted.places:
            around = places.around(reading.place(start), reading.place(end))
            if around is not None and not touches(around, edits):
                edits.append(Edit(*around, wanted.text))
        if len(edits) == known:
            return None
    return applied(output, edits) if edits else None


def words_replaced(output: str, anchor: str) -> frozenset[str]:
    return frozenset(WORDS_AND_MARKS.findall(output)) - frozenset(WORDS_AND_MARKS.findall(anchor))


def stand_alone(text: str, name: str, found: Sequence[int]) -> bool:
    """Whether it is never part of a compound such as T-shirt, which a constrained search would not produce."""
    return not any(text.startswith(HYPHENS, at + len(name)) for at in found)
