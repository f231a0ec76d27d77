"""One way to translate a job, what came of it, and how many decoder steps all of them may take."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qkv.decoding.step import Hypothesis
from qkv.families.translator.answers import Links
from qkv.families.translator.guarantees.job import Reading, touches
from qkv.families.translator.guarantees.places import Edit, Places, applied
from qkv.families.translator.search import Request
from qkv.text.protect import glued, located, occurrences
from qkv.text.words import FINE

HYPHENS = ("-", "\u2010", "\u2011", "/")  # what makes a longer word of two
TIMES_A_PLAIN_ONE = 5  # what all attempts together may cost
SHORTEST = 6  # tokens: a shorter translation counts as one of so many
SLACK = 3  # tokens that a translation under constraints may be longer than expected


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to translate a job."""

    reading: Reading
    constrained: bool = False  # the model must say the phrases of the reading
    no_repeat_ngram_size: int = 0
    limit: int = 0  # tokens of a translation; 0 for the usual limit
    beams: int = 0  # at most; 0 for as many as the search has
    anchor: str = ""  # a translation that is only scored
    replaced: frozenset[str] = frozenset()  # words of the free translation that the anchor has not

    def holds(self, text: str) -> bool:
        reading, job = self.reading, self.reading.job
        if reading.left_out:  # spans come in later, and must not be there already
            return not any(located(text, reading.names).values()) and not missing_terms(reading, text)
        names = reading.stand_ins
        alone = all(stand_alone(text, name, found) for name, found in located(text, names).items())
        return alone and job.is_kept_by(reading.back(text))


@dataclass(frozen=True)
class Trial:
    """An attempt, and what came of it."""

    attempt: Attempt
    request: Request
    hypotheses: list[Hypothesis]

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]

    @property
    def steps(self) -> int:
        """Of the longest hypothesis, its end included."""
        return max(len(each.log_probabilities) for each in self.hypotheses)


class Budget:
    """Decoder steps times beams that are left for a job.

    In all they are at most five times those of a plain translation: of the first one if it ended, otherwise of one as
    long as the source.
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
        """Tokens of a free translation, so that there is one more attempt if it is a loop."""
        return max(1, self.left // self.beams - self.plain)

    def constrained(self, expected: int) -> tuple[int, int]:
        """How many beams there can be for a translation of so many tokens, and how long it may become."""
        beams = self.left // expected
        return beams, min(expected + SLACK, self.left // max(1, beams))


def free_limit(source: int) -> int:
    """Tokens of a free translation that has promises to keep: the usual limit is for those that have none."""
    return source + source // 2 + 6


def spans_kept(reading: Reading, said: str) -> int:
    """How many of the job's spans were said."""
    found = located(said, reading.names)
    return sum(min(count, len(found[name])) for name, count in Counter(reading.names).items())


def missing_terms(reading: Reading, said: str) -> bool:
    whole = reading.back(said)
    return not all(occurrences(whole, each.text) for each in reading.job.wanted)


def anchored(reading: Reading, said: str, links: Links) -> str | None:
    """A free translation with what it lacks: terms in the place of the words that came from the same words of the source,
    spans behind what came from the word before them.

    None where it is not known for all terms what these words are, and where a span is said too often.
    """
    places = Places(reading.text, said, links)
    names = () if reading.left_out else reading.names
    edits: list[Edit] = []
    missing = Counter(names)
    for name, found in located(said, names).items():
        missing[name] -= len(found)
        stuck = glued(said, name) and not name.isalnum()
        if missing[name] < 0 or stuck or not stand_alone(said, name, found):
            return None
    for name, span in zip(names, reading.job.kept, strict=False):
        if missing[name]:
            missing[name] -= 1
            place = places.after(reading.place(span.start))
            edits.append(Edit(place, place, name, apart=True))
    for wanted in reading.job.wanted:
        if occurrences(said, wanted.text):
            continue
        known = len(edits)
        for start, end in wanted.places:
            around = places.around(reading.place(start), reading.place(end))
            if around is not None and not touches(around, edits):
                edits.append(Edit(*around, wanted.text))
        if len(edits) == known:
            return None
    return applied(said, edits) if edits else None


def words_replaced(said: str, anchor: str) -> frozenset[str]:
    return frozenset(FINE.findall(said)) - frozenset(FINE.findall(anchor))


def stand_alone(text: str, name: str, found: Sequence[int]) -> bool:
    """Is it nowhere a part of a compound, as in T-shirt? A search under constraints would not have said that."""
    return not any(text.startswith(HYPHENS, at + len(name)) for at in found)
