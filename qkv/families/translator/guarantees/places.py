"""Find where tags and spans of a source belong in its translation, and insert them there."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from qkv.families.translator.translations import Links
from qkv.text.markup import Markup, MarkupScanner, pairs
from qkv.text.words import WORDS_AND_MARKS

NEEDS_NO_SPACE = re.compile(r"\s|[.,;:!?)\]}\"']*(\s|$)")  # what may follow a word without a space


Range = tuple[int, int]


@dataclass(frozen=True)
class Mark:
    """A tag or a span to insert into the translation, and its position in the source text."""

    text: str
    place: int
    span: str = ""  # the span, if it is one; spans have spaces around them
    alone: bool = False  # white space stood on both sides of it

    @property
    def markup(self) -> Markup:
        """The kind of tag; anything else counts as an empty element."""
        found = None if self.span else MarkupScanner(self.text.strip()).at(0)
        return found or Markup("empty", 0, len(self.text))


@dataclass(frozen=True)
class Edit:
    start: int
    end: int
    new: str
    apart: bool = False  # add spaces around it if needed
    span: str = ""  # the protected span that it inserts


def applied(text: str, edits: Sequence[Edit], write: Callable[[str], str] = str) -> str:
    """Apply all edits. An insertion inside replaced text goes after it. `write` converts the text between edits."""
    if not edits:
        return write(text)
    made, last, apart = "", 0, False
    for edit in [*sorted(edits, key=lambda each: (each.start, each.end)), Edit(len(text), len(text), "")]:
        between = text[last : edit.start]  # empty if several edits share a position
        if between:
            made += " " * (apart and NEEDS_NO_SPACE.match(text, last) is None) + write(between)
            apart = False
        follows_at_once = apart and edit.start < edit.end and NEEDS_NO_SPACE.match(edit.new) is None
        if (edit.apart or follows_at_once) and made and not made[-1].isspace():
            made += " "
        made += edit.new
        last, apart = max(last, edit.end), edit.apart or (apart and (edit.start == edit.end or not edit.new))
    return made


def outside(edit: Edit, spans: Sequence[tuple[int, int]]) -> Edit:
    """Move an insertion inside a span to its end."""
    behind = max(
        (end for start, end in spans if edit.start == edit.end and start < edit.start < end), default=None
    )
    return edit if behind is None else replace(edit, start=behind, end=behind)


class Places:
    """Maps positions in the source to positions in the translation, by alignment links.

    A part of the translation in `whole`, such as a protected span, counts as one word.
    """

    def __init__(self, source: str, target: str, links: Links, whole: Sequence[Range] = ()):
        words = [match.span() for match in WORDS_AND_MARKS.finditer(target)]
        self.numbers, self.target = joined_words(words, whole)
        self.source = [match.span() for match in WORDS_AND_MARKS.finditer(source)]
        self.length, self.text = len(target), source
        self.links: dict[int, list[int]] = {}
        for one, other in links:
            if other < len(words):
                self.links.setdefault(one, []).append(self.numbers[other])

    def linked(self, start: int, end: int) -> list[int]:
        """Target words aligned with the source words between two characters, once for every link."""
        first = bisect_left(self.source, (start, start))
        last = bisect_right(self.source, end, key=lambda each: each[1])
        return sorted(target for index in range(first, last) for target in self.links.get(index, []))

    def after(self, place: int) -> int:
        """After the words aligned with the source word before `place`, or before those of the word after it."""
        before = bisect_right(self.source, place, key=lambda each: each[1])
        if not before:
            return 0
        if before == len(self.source):
            return self.target[-1][1] if self.target else self.length
        if before - 1 in self.links:
            return self.target[max(self.links[before - 1])][1]
        if before in self.links:
            return self.target[min(self.links[before])][0]
        return self.at_share(before / len(self.source)) if self.target else 0

    def begins_word(self, mark: Mark) -> bool:
        """Whether a mark touches the word after it, and white space stood before it: `the <img>cat`."""
        touches = bisect_left(self.source, mark.place, key=lambda each: each[0])
        starts = touches < len(self.source) and self.source[touches][0] == mark.place
        return starts and not (mark.alone or mark.span) and self.text[mark.place - 1 : mark.place].isspace()

    def before(self, place: int) -> int:
        """Before the words aligned with the source word that starts at `place`, or before the next word of the translation."""
        following = bisect_left(self.source, place, key=lambda each: each[0])
        if following in self.links:
            return self.target[min(self.links[following])][0]
        behind = self.after(place)
        return next((start for start, _ in self.target if start >= behind), behind)

    def at_share(self, share: float) -> int:
        """Before the word at this share of the translation, or after the whole that contains it."""
        word = min(len(self.numbers) - 1, int(share * len(self.numbers)))
        start, end = self.target[self.numbers[word]]
        return end if word and self.numbers[word - 1] == self.numbers[word] else start

    def around(self, start: int, end: int) -> Range | None:
        """The range of the target words aligned with the source between two characters, or None."""
        words = self.linked(start, end)
        return (self.target[words[0]][0], self.target[words[-1]][1]) if words else None

    def within(self, start: int, end: int) -> list[int]:
        """Target words between two characters of the translation."""
        first = bisect_left(self.target, (start, start))
        return list(range(first, bisect_right(self.target, end, key=lambda each: each[1])))


def joined_words(words: Sequence[Range], whole: Sequence[Range]) -> tuple[list[int], list[Range]]:
    """Merge the words inside each whole: the new index of every word, and the new words."""
    numbers: list[int] = []
    made: list[Range] = []
    rest = sorted(whole, reverse=True)
    behind = 0  # the end of the last whole
    for start, end in words:
        joins = start < behind
        while rest and rest[-1][0] < end:
            first, last = rest.pop()
            if last > start:
                start, behind = min(start, first), max(behind, last)
        end = max(end, behind)
        if joins or (made and start < made[-1][1]):
            made[-1] = made[-1][0], max(made[-1][1], end)
        else:
            made.append((start, end))
        numbers.append(len(made) - 1)
    return numbers, made


# Tags ------------------------------------------------------------------------------------------------------------
#
# The tags of a source form a forest of single tags and of pairs, which are nested or disjoint. Every pair gets a range of
# target words inside the range of its parent and disjoint from its siblings. So well-formed tags stay well-formed in
# the translation, whatever the links are.


@dataclass
class Item:
    """A pair of tags and its content, or a single mark (first = last)."""

    first: int
    last: int
    inner: list["Item"] = field(default_factory=list)
    start: int = 0  # its range in the translation
    end: int = 0

    @property
    def is_pair(self) -> bool:
        return self.first < self.last


def forest(marks: Sequence[Mark]) -> list[Item]:
    partner = dict(pairs([mark.markup for mark in marks]))
    closing = set(partner.values())
    levels: list[list[Item]] = [[]]
    for index in range(len(marks)):
        if index in closing:
            levels.pop()
            continue
        item = Item(index, partner.get(index, index))
        levels[-1].append(item)
        if item.is_pair:
            levels.append(item.inner)
    return levels[0]


def marked(marks: Sequence[Mark], places: Places) -> list[Edit]:
    """Edits that insert the marks, in the order of the translation."""
    items = forest(marks)
    arrange(items, marks, places, (0, len(places.target)), (0, places.length))
    return spaced(written(items, marks))


def arrange(
    items: Sequence[Item], marks: Sequence[Mark], places: Places, words: Range, bounds: Range
) -> None:
    """Assign a range inside the parent's words to each sibling, and to everything inside it."""
    waiting = [(items, words, bounds)]
    while waiting:  # no recursion: tags can be nested a thousand levels deep
        items, words, bounds = waiting.pop()
        ranges = apart([each for each in items if each.is_pair], marks, places, words)
        for item in items:
            chosen = ranges.get(item.first)
            if chosen is None:
                mark = marks[item.first]
                begins = not item.is_pair and places.begins_word(mark)
                wanted = places.before(mark.place) if begins else places.after(mark.place)
                place = min(max(wanted, bounds[0]), bounds[1])
                item.start = item.end = place
                chosen = (0, 0)
            else:
                item.start, item.end = places.target[chosen[0]][0], places.target[chosen[1] - 1][1]
            waiting.append((item.inner, chosen, (item.start, item.end)))


def apart(pairs: Sequence[Item], marks: Sequence[Mark], places: Places, bounds: Range) -> dict[int, Range]:
    """Disjoint ranges of target words for the pairs; a pair without words gets none."""
    owners: dict[int, int] = {}
    own = {each.first: places.linked(marks[each.first].place, marks[each.last].place) for each in pairs}
    # A word aligned with several pairs goes to the one with the fewest words.
    for pair, linked in sorted(own.items(), key=lambda each: len(each[1])):
        for word in linked:
            if bounds[0] <= word < bounds[1]:
                owners.setdefault(word, pair)
    for each in pairs:
        if not own[each.first]:  # no links: take the words near the expected position
            between = (places.after(marks[mark].place) for mark in (each.first, each.last))
            for word in places.within(*between):
                if bounds[0] <= word < bounds[1]:
                    owners.setdefault(word, each.first)
    return longest_runs(owners)


def longest_runs(owners: dict[int, int]) -> dict[int, Range]:
    """For each owner, its longest run of words without a word of another owner."""
    runs: dict[int, tuple[int, Range]] = {}  # number of its own words, and the run
    start = count = 0
    last = -1
    for word in [*sorted(owners), -1]:
        owner = owners.get(word, -1)
        if owner == owners.get(last, -1) and last >= 0:
            count += 1
        else:
            if last >= 0 and count > runs.get(owners[last], (0,))[0]:
                runs[owners[last]] = count, (start, last + 1)
            start, count = word, 1
        last = word
    return {owner: run for owner, (_, run) in runs.items()}


def written(items: Sequence[Item], marks: Sequence[Mark]) -> Iterator[tuple[Edit, bool]]:
    """The edits for these items and their content, in the order of the translation, and whether each opens a pair."""
    waiting: list[Item | Edit] = [*reversed(in_order(items))]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Edit):
            yield item, False
            continue
        mark = marks[item.first]
        apart = bool(mark.span) or (mark.alone and not item.is_pair)
        yield Edit(item.start, item.start, mark.text, apart=apart, span=mark.span), item.is_pair
        if item.is_pair:
            waiting.append(Edit(item.end, item.end, marks[item.last].text))
            waiting += reversed(in_order(item.inner))


def spaced(edits: Iterator[tuple[Edit, bool]]) -> list[Edit]:
    """Move the space before a span in front of the tags that open just before it."""
    made: list[Edit] = []
    for edit, opens in reversed(list(edits)):
        if opens and made and made[-1].apart and made[-1].start == edit.start:
            made[-1], edit = replace(made[-1], apart=False), replace(edit, apart=True)
        made.append(edit)
    return made[::-1]


def in_order(items: Sequence[Item]) -> list[Item]:
    """From left to right. An item positioned inside a pair moves into that pair."""
    ordered: list[Item] = []
    around: Item | None = None
    for item in sorted(items, key=lambda each: (each.start, each.end, each.first)):
        if around is not None and item.start == item.end < around.end and around.start < item.start:
            around.inner.append(item)
            continue
        ordered.append(item)
        around = item if item.start < item.end else around
    return ordered
