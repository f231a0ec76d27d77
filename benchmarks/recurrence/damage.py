"""Deck 004 asks what makes sequences hard: they come trimmed, with words left out, and permuted. Who bears it?

The grammar knows which word of the translation comes from which word of the source, and so what can still be said when
some of the source is missing: an answer is scored by how many of those words it has, and how many others (F1).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from qkv.data.worlds import Pair, pairs_apart, words
from qkv.families.translator.product import Translator
from qkv.progress.terminal import count_progress

Places = list[int]  # which words of the source are left, in which order
LANGUAGES = ("en", "de")


def original(random: Random, count: int) -> Places:
    return list(range(count))


def trimmed(random: Random, count: int) -> Places:
    """The last third is cut off."""
    return list(range(max(1, count - count // 3)))


def omitted(random: Random, count: int) -> Places:
    """Each word is left out with a probability of one in five."""
    left = [place for place in range(count) if random.random() >= 0.2]
    return left or [random.randrange(count)]


def neighbours(random: Random, count: int) -> Places:
    """One word in about three changes places with the next."""
    places, here = list(range(count)), 0
    while here + 1 < count:
        if random.random() < 1 / 3:
            places[here : here + 2] = here + 1, here
            here += 1
        here += 1
    return places


def shuffled(random: Random, count: int) -> Places:
    return random.sample(range(count), count)


DAMAGES: dict[str, Callable[[Random, int], Places]] = {
    "original": original,
    "trimmed": trimmed,
    "omitted": omitted,
    "permuted, neighbours": neighbours,
    "permuted, all": shuffled,
}


@dataclass(frozen=True, kw_only=True)
class Damage:
    """In percent."""

    words: float  # F1 of the words that can still be known
    exact: float  # equal to the translation of the whole sentence
    unchanged: float  # equal to what the model says of the whole sentence


def knowable(pair: Pair, left: Sequence[int]) -> list[str]:
    """The words of the translation that come from a word that is left; marks are none."""
    known, target = set(left), words(pair.target)
    places = sorted({there for here, there in pair.alignment if here in known})
    return [target[place].lower() for place in places if target[place].isalpha()]


def overlap(answer: str, wanted: Sequence[str]) -> tuple[int, int, int]:
    """Words in both, in the answer, and wanted."""
    said = Counter(word.lower() for word in words(answer) if word.isalpha())
    return (said & Counter(wanted)).total(), said.total(), len(wanted)


def f1(counts: Sequence[tuple[int, int, int]]) -> float:
    both, said, wanted = (sum(column) for column in zip(*counts, strict=True))
    return 100 * 2 * both / max(1, said + wanted)


def unwritten(tested: int, seed: int) -> list[Pair]:
    """Without capital letter and full stop, which would tell where a word was."""
    found = pairs_apart(*LANGUAGES, 2 * tested, clauses=(0,), part="test", seed=seed)
    return [pair for pair in found if not pair.source.endswith(".")][:tested]


def damages(models: dict[str, Translator], tested: int, seed: int) -> dict[str, dict[str, Damage]]:
    asked = unwritten(tested, seed)
    found: dict[str, dict[str, Damage]] = {name: {} for name in models}
    whole: dict[str, list[str]] = {}
    with count_progress("sentences translated", len(models) * len(DAMAGES) * len(asked)) as done:
        for damage, harm in DAMAGES.items():
            random = Random(f"{damage} {seed}")
            left = [harm(random, len(words(pair.source))) for pair in asked]
            texts = [text_of(pair, places) for pair, places in zip(asked, left, strict=True)]
            wanted = [knowable(pair, places) for pair, places in zip(asked, left, strict=True)]
            for name, translator in models.items():
                answers = translator.translate(texts, beam=1, done=done)
                whole.setdefault(name, answers)  # the first is no damage
                found[name][damage] = damage_of(asked, answers, wanted, whole[name])
    return found


def text_of(pair: Pair, places: Places) -> str:
    source = words(pair.source)
    return " ".join(source[place] for place in places)


def damage_of(
    asked: Sequence[Pair], answers: Sequence[str], wanted: Sequence[Sequence[str]], whole: Sequence[str]
) -> Damage:
    count = max(1, len(asked))
    return Damage(
        words=f1([overlap(answer, each) for answer, each in zip(answers, wanted, strict=True)]),
        exact=100 * sum(a == p.target for a, p in zip(answers, asked, strict=True)) / count,
        unchanged=100 * sum(a == b for a, b in zip(answers, whole, strict=True)) / count,
    )
