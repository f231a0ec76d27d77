"""The training examples of BERT: pairs of passages with masked tokens (sections 3.1 and A.1 of the paper)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from qkv.families.bert.settings import MaskingSettings

Sentence = list[int]
Document = list[Sentence]
SHORT_SHARE = 0.1  # of examples that are made short, so that the model also learns short texts


@dataclass(frozen=True)
class Pair:
    """Two passages. The second follows the first in its document, or is a random one."""

    first: list[int]
    second: list[int]
    follows: bool


@dataclass(frozen=True)
class MaskedExample:
    """Ids with some of them masked, the masked positions, and the original ids there."""

    ids: list[int]
    places: list[int]
    words: list[int]


def pairs_of(documents: Sequence[Document], room: int, generator: random.Random) -> list[Pair]:
    """Divide documents into pairs of passages of at most `room` ids together. Half of the second passages are random."""
    order = list(range(len(documents)))
    generator.shuffle(order)
    return [pair for number in order for pair in pairs_in(documents, number, room, generator)]


def pairs_in(documents: Sequence[Document], number: int, room: int, generator: random.Random) -> list[Pair]:
    document, found, start = documents[number], list[Pair](), 0
    while start < len(document):
        goal = room if generator.random() >= SHORT_SHARE else generator.randint(2, room)
        end, size = start, 0
        while end < len(document) and (size < goal or end < start + 2):
            size += len(document[end])
            end += 1
        cut = start + generator.randint(1, max(1, end - start - 1))
        first, is_last = (
            concatenate(document[start:cut]),
            end - start < 2,
        )  # the last sentence has no successor
        random_next = (
            random_sentences(documents, number, start, end, generator)
            if is_last or generator.random() < 0.5
            else []
        )
        if random_next:
            second, start = (
                take_tokens(random_next, goal - len(first)),
                cut,
            )  # the real continuation starts the next pair
        elif is_last:
            break
        else:
            second, start = concatenate(document[cut:end]), end
        found.append(Pair(*truncate_pair(first, second, room), follows=not random_next))
    return found


def random_sentences(
    documents: Sequence[Document], number: int, start: int, end: int, generator: random.Random
) -> list[Sentence]:
    """Sentences from a random place in another document, or elsewhere in the same one if it is the only one."""
    if len(documents) > 1:
        other = generator.randrange(len(documents) - 1)
        document = documents[other + (other >= number)]
        return document[generator.randrange(len(document)) :]
    document = documents[number]
    elsewhere = [place for place in range(len(document)) if not start <= place <= end]
    return document[generator.choice(elsewhere) :] if elsewhere else []


def take_tokens(sentences: Sequence[Sentence], size: int) -> list[int]:
    """The ids of as many sentences as needed to reach the size."""
    ids: list[int] = []
    for sentence in sentences:
        ids += sentence
        if len(ids) >= size:
            break
    return ids


def truncate_pair(first: list[int], second: list[int], room: int) -> tuple[list[int], list[int]]:
    """Shorten the longer passage until both fit. The first is cut at its start, the second at its end."""
    over = len(first) + len(second) - room
    if over <= 0:
        return first, second
    from_first = min(over, max(0, (over + len(first) - len(second) + 1) // 2))
    from_first = max(from_first, over - len(second) + 1)
    return first[from_first:], second[: len(second) - (over - from_first)]


def passages_of(documents: Sequence[Document], room: int, generator: random.Random) -> list[list[int]]:
    """Divide documents into single passages of at most `room` ids, for training without next-sentence prediction."""
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


def concatenate(sentences: Sequence[Sentence]) -> list[int]:
    return [number for sentence in sentences for number in sentence]


def mask_tokens(
    ids: Sequence[int],
    special: frozenset[int],
    continues: Sequence[bool],
    mask: int,
    settings: MaskingSettings,
    generator: random.Random,
) -> MaskedExample:
    """Mask about `mask_share` of the tokens, at least one: most become [MASK], some a random token, some stay unchanged.

    With whole-word masking, all tokens of a word are masked together.
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
            changed[place] = random_token(len(continues), special, generator)
    return MaskedExample(changed, sorted(places), [ids[place] for place in sorted(places)])


def random_token(vocab: int, special: frozenset[int], generator: random.Random) -> int:
    while (number := generator.randrange(vocab)) in special:
        pass
    return number
