"""What BERT is trained on: two parts of text, some of whose words are hidden (sections 3.1 and A.1 of its paper)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from qkv.families.bert.settings import MaskingSettings

Sentence = list[int]
Document = list[Sentence]
SHORTER = 0.1  # so many of the examples are made shorter, so that short texts are known too


@dataclass(frozen=True)
class Pair:
    """Two parts, of which the second comes after the first in its document, or from anywhere."""

    first: list[int]
    second: list[int]
    follows: bool


@dataclass(frozen=True)
class Hidden:
    """Ids with some of them hidden: where, and what stood there."""

    ids: list[int]
    places: list[int]
    words: list[int]


def pairs_of(documents: Sequence[Document], room: int, generator: random.Random) -> list[Pair]:
    """All sentences in pairs of parts that together have at most `room` ids; every other second part is a stranger."""
    order = list(range(len(documents)))
    generator.shuffle(order)
    return [pair for number in order for pair in pairs_in(documents, number, room, generator)]


def pairs_in(documents: Sequence[Document], number: int, room: int, generator: random.Random) -> list[Pair]:
    document, found, start = documents[number], list[Pair](), 0
    while start < len(document):
        goal = room if generator.random() >= SHORTER else generator.randint(2, room)
        end, size = start, 0
        while end < len(document) and (size < goal or end < start + 2):
            size += len(document[end])
            end += 1
        cut = start + generator.randint(1, max(1, end - start - 1))
        first, alone = joined(document[start:cut]), end - start < 2  # the last sentence: nothing follows it
        strange = (
            strangers(documents, number, start, end, generator) if alone or generator.random() < 0.5 else []
        )
        if strange:
            second, start = (
                beginning_of(strange, goal - len(first)),
                cut,
            )  # what would have followed is for the next pair
        elif alone:
            break
        else:
            second, start = joined(document[cut:end]), end
        found.append(Pair(*fitted(first, second, room), follows=not strange))
    return found


def strangers(
    documents: Sequence[Document], number: int, start: int, end: int, generator: random.Random
) -> list[Sentence]:
    """Sentences from anywhere in another document; where there is only one, from elsewhere in it, if it is long enough."""
    if len(documents) > 1:
        other = generator.randrange(len(documents) - 1)
        document = documents[other + (other >= number)]
        return document[generator.randrange(len(document)) :]
    document = documents[number]
    elsewhere = [place for place in range(len(document)) if not start <= place <= end]
    return document[generator.choice(elsewhere) :] if elsewhere else []


def beginning_of(sentences: Sequence[Sentence], size: int) -> list[int]:
    """As many of them as make up the size."""
    ids: list[int] = []
    for sentence in sentences:
        ids += sentence
        if len(ids) >= size:
            break
    return ids


def fitted(first: list[int], second: list[int], room: int) -> tuple[list[int], list[int]]:
    """Shortened, the longer one first, until both fit: the first loses its beginning, the second its end."""
    over = len(first) + len(second) - room
    if over <= 0:
        return first, second
    from_first = min(over, max(0, (over + len(first) - len(second) + 1) // 2))
    from_first = max(from_first, over - len(second) + 1)
    return first[from_first:], second[: len(second) - (over - from_first)]


def runs_of(documents: Sequence[Document], room: int, generator: random.Random) -> list[list[int]]:
    """The same for training without a next sentence: as many sentences of a document as fit, one after another."""
    found = []
    for document in documents:
        ids: list[int] = []
        for sentence in document:
            if ids and len(ids) + len(sentence) > room:
                found.append(ids)
                ids = []
            ids = [*ids, *sentence]
        if ids:
            found.append(ids)
    generator.shuffle(found)
    return found


def joined(sentences: Sequence[Sentence]) -> list[int]:
    return [number for sentence in sentences for number in sentence]


def hide(
    ids: Sequence[int],
    special: frozenset[int],
    continues: Sequence[bool],
    mask: int,
    settings: MaskingSettings,
    generator: random.Random,
) -> Hidden:
    """About `share` of the words, at least one: most become [MASK], some another word, some stay as they are.

    Pieces are hidden one by one, or, with whole words, all pieces of a word together.
    """
    units: list[list[int]] = []
    for place, number in enumerate(ids):
        if number in special:
            continue
        if settings.whole_word_masking and continues[number] and units and units[-1][-1] == place - 1:
            units[-1].append(place)
        else:
            units.append([place])
    wanted = max(1, round(settings.mask_share * sum(map(len, units))))
    generator.shuffle(units)
    places: list[int] = []
    for unit in units:
        if len(places) >= wanted:
            break
        if not places or len(places) + len(unit) <= wanted:
            places += unit
    changed = list(ids)
    for place in places:
        chance = generator.random()
        if chance < settings.mask_token_share:
            changed[place] = mask
        elif chance < settings.mask_token_share + settings.random_token_share:
            changed[place] = any_word(len(continues), special, generator)
    return Hidden(changed, sorted(places), [ids[place] for place in sorted(places)])


def any_word(vocab: int, special: frozenset[int], generator: random.Random) -> int:
    while (number := generator.randrange(vocab)) in special:
        pass
    return number
