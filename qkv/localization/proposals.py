"""Terms for a glossary: words that reviewers replace again and again."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from qkv.localization.learning import Review

WORD = re.compile(r"\w+(?:[-'’]\w+)*")
LONGEST = 200  # words of a text that is compared: the time grows with its square
MOST_WORDS = 3  # of a term
EXAMPLES = 3


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A replacement that recurs, and the term of the source that it seems to translate."""

    source: str
    target: str
    instead_of: str
    count: int
    examples: tuple[str, ...]
    """Source texts."""

    def lines(self) -> Iterator[str]:
        """In the format of a glossary, where comments begin with #."""
        yield f"# {self.count} times instead of '{self.instead_of}'"
        yield from (f"#   {one_line(example)}" for example in self.examples)
        yield f"{self.source}\t{self.target}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def proposals(reviews: Sequence[Review], least: int) -> list[Proposal]:
    """Replacements in at least this many texts, the most frequent first."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, review in enumerate(reviews):
        if review.verdict == "changed":
            for replaced in dict.fromkeys(replacements(review.before, review.after)):
                places[replaced].append(place)
    sources = [frozenset(terms_in(review.source)) for review in reviews]
    totals = Counter(term for terms in sources for term in terms)
    found: dict[str, Proposal] = {}
    for (before, after), where in sorted(places.items(), key=lambda each: -len(each[1])):
        term = shared_term([sources[place] for place in where], totals) if len(where) >= least else None
        if term is not None and term not in found:
            found[term] = Proposal(
                source=term,
                target=after,
                instead_of=before,
                count=len(where),
                examples=tuple(reviews[place].source for place in where[:EXAMPLES]),
            )
    return list(found.values())


def replacements(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Short runs of words that were replaced by others."""
    one, other = (list(WORD.finditer(text))[:LONGEST] for text in (before, after))
    matcher = SequenceMatcher(
        None, [match[0] for match in one], [match[0] for match in other], autojunk=False
    )
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "replace" and max(end - start, new_end - new_start) <= MOST_WORDS:
            yield part(before, one[start:end]), part(after, other[new_start:new_end])


def part(text: str, words: Sequence[re.Match[str]]) -> str:
    return one_line(text[words[0].start() : words[-1].end()])


def terms_in(text: str) -> Iterator[str]:
    """Words and short runs of words, in lower case."""
    words = [match[0].lower() for match in WORD.finditer(text)][:LONGEST]
    for length in range(1, MOST_WORDS + 1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


def shared_term(sources: Sequence[frozenset[str]], totals: Counter[str]) -> str | None:
    """The term that all these sources have and the fewest others; of equal ones the one with the fewest words."""
    shared: Iterable[str] = frozenset.intersection(*sources)
    ranked = sorted(shared, key=lambda term: (totals[term], term.count(" "), -len(term), term))
    return ranked[0] if ranked else None
