"""Pairs: their split, their alignment, their references."""

import os
import subprocess
import sys
from functools import cache

import pytest

from qkv.data.worlds import LANGUAGES, Pair, Part, deck_pairs, pairs, pairs_apart, reference_agrees, words
from qkv.data.worlds.lexicon import NOUNS, VERBS

PARTS: tuple[Part, ...] = ("train", "valid", "test")


@cache
def some(source: str, target: str, part: Part, seed: int = 1) -> tuple[Pair, ...]:
    return tuple(pairs(source, target, 6_000 if part == "train" else 800, part=part, seed=seed))


def aligned(pair: Pair) -> set[tuple[str, str]]:
    source, target = words(pair.source), words(pair.target)
    return {(source[here], target[there]) for here, there in pair.alignment}


def plain(text: str) -> str:
    return text.rstrip(".").lower()


def test_the_same_arguments_give_the_same_pairs() -> None:
    assert pairs("en", "de", 200, part="train", seed=3) == pairs("en", "de", 200, part="train", seed=3)
    assert pairs("en", "de", 200, part="train", seed=3) != pairs("en", "de", 200, part="train", seed=4)


def test_another_process_makes_the_same_pairs() -> None:
    """Python's own hash() differs from process to process; a split by it would leak."""
    program = (
        "from qkv.data.worlds import pairs; print([p.source for p in pairs('en', 'de', 20, part='test')])"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert elsewhere.stdout.strip() == str([pair.source for pair in pairs("en", "de", 20, part="test")])


def test_every_direction_has_the_same_sentences() -> None:
    english_german = pairs("en", "de", 300, part="valid")
    german_spanish = pairs("de", "es", 300, part="valid")
    assert [pair.target for pair in english_german] == [pair.source for pair in german_spanish]


def test_sentences_are_distinct_whatever_their_style() -> None:
    texts = [plain(pair.source) for pair in some("en", "de", "train")]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("es", "en"), ("de", "es")])
def test_parts_are_disjoint_in_both_languages(source: str, target: str) -> None:
    sources, targets = (
        [{plain(getattr(pair, side)) for pair in some(source, target, part)} for part in PARTS]
        for side in ("source", "target")
    )
    for sets in (sources, targets):
        assert not sets[0] & sets[1]
        assert not sets[0] & sets[2]
        assert not sets[1] & sets[2]


def test_no_part_holds_a_sentence_of_the_decks() -> None:
    decks = {pair.source for pair in deck_pairs("en", "de")}
    for part in PARTS:
        assert not decks & {plain(pair.source) for pair in some("en", "de", part)}


def test_training_and_validation_never_show_a_held_out_combination() -> None:
    for part in PARTS[:2]:
        assert not any(pair.unseen for pair in some("en", "de", part))


def test_half_of_the_test_part_holds_unseen_combinations() -> None:
    assert sum(pair.unseen for pair in some("en", "de", "test")) == 400


def subject_verb(pair: Pair) -> tuple[str, str] | None:
    """The combination in a sentence like "the cat danced", read off the text."""
    found = words(plain(pair.source))
    if len(found) == 3 and found[0] in ("the", "my", "your", "a", "our", "this", "these"):
        noun = next((noun.name for noun in NOUNS.values() if found[1] in noun.english), None)
        verb = next((v.name for v in VERBS.values() if found[2] in (v.english.past, v.english.third)), None)
        return (noun, verb) if noun and verb else None
    return None


def test_combinations_of_unseen_test_sentences_are_absent_from_training_text() -> None:
    """By the text alone, without trusting the flag."""
    trained = {subject_verb(pair) for pair in pairs("en", "de", 20_000, part="train")} - {None}
    unseen = {subject_verb(pair) for pair in some("en", "de", "test") if pair.unseen} - {None}
    assert len(trained) > 50
    assert unseen
    assert not trained & unseen


@pytest.mark.parametrize("source", list(LANGUAGES))
@pytest.mark.parametrize("target", list(LANGUAGES))
def test_alignments_and_references_point_at_words(source: str, target: str) -> None:
    if source == target:
        return
    for pair in pairs(source, target, 500, part="train"):
        here, there = len(words(pair.source)), len(words(pair.target))
        assert all(0 <= i < here and 0 <= j < there for i, j in pair.alignment)
        for reference in pair.references:
            assert 0 <= reference.source_antecedent < reference.source < here
            assert 0 <= reference.target_antecedent < reference.target < there


def test_nearly_every_word_is_aligned() -> None:
    total = found = 0
    for pair in some("en", "de", "train"):
        total += len(words(pair.source))
        found += len({here for here, _ in pair.alignment})
    assert found / total > 0.95


def test_alignments_of_the_decks_sentences_by_hand() -> None:
    german, spanish = deck_pairs("en", "de"), deck_pairs("en", "es")
    assert aligned(german[0]) == {("the", "die"), ("cat", "Katze"), ("danced", "tanzte")}
    assert aligned(german[1]) == {
        ("the", "das"), ("baby", "Baby"), ("is", "weint"), ("is", "gerade"), ("crying", "weint"),
    }  # fmt: skip
    assert aligned(spanish[2]) == {("I", "me"), ("like", "gustan"), ("cats", "los"), ("cats", "gatos")}
    assert german[4].alignment == (
        (0, 0), (1, 1), (2, 2), (2, 5), (3, 2), (4, 3), (5, 4), (6, 7), (7, 8), (8, 11), (9, 9), (10, 10),
    )  # fmt: skip
    assert aligned(spanish[4]) == {
        ("the", "el"), ("animal", "animal"), ("didn't", "no"), ("didn't", "cruzó"), ("cross", "cruzó"),
        ("the", "la"), ("street", "calle"), ("because", "porque"), ("it", "estaba"), ("was", "estaba"),
        ("too", "demasiado"), ("tired", "cansado"),
    }  # fmt: skip


def referred(pair: Pair) -> list[tuple[str, str, str, str]]:
    source, target = words(pair.source), words(pair.target)
    return [
        (source[r.source], source[r.source_antecedent], target[r.target], target[r.target_antecedent])
        for r in pair.references
    ]


def test_references_of_the_decks_sentences_by_hand() -> None:
    german, spanish = deck_pairs("en", "de"), deck_pairs("en", "es")
    assert [referred(pair) for pair in german] == [
        [], [], [],
        [("they", "tomatoes", "sie", "Tomaten")],
        [("it", "animal", "es", "Tier")],
        [("it", "street", "sie", "Straße")],
    ]  # fmt: skip
    assert [referred(pair) for pair in spanish[3:]] == [
        [("they", "tomatoes", "sabrosos", "tomates")],
        [("it", "animal", "cansado", "animal")],
        [("it", "street", "ancha", "calle")],
    ]


def test_a_translation_agrees_only_with_the_right_antecedent() -> None:
    tired, wide = deck_pairs("en", "de")[4:]
    assert reference_agrees(tired, tired.target)
    assert reference_agrees(wide, wide.target)
    assert not reference_agrees(tired, "das Tier überquerte die Straße nicht, weil sie zu müde war")
    assert not reference_agrees(wide, "das Tier überquerte die Straße nicht, weil es zu breit war")
    assert not reference_agrees(wide, "sie überquerte die Straße nicht")
    spanish = deck_pairs("en", "es")[5]
    assert not reference_agrees(spanish, "el animal no cruzó la calle porque era demasiado ancho")


def test_an_article_does_not_pass_for_a_pronoun() -> None:
    pair = next(
        pair
        for pair in some("en", "es", "train")
        if pair.references
        and words(pair.target)[pair.references[0].target] == "la"
        and " porque la " in pair.target
    )
    target = words(pair.target)
    target[pair.references[0].target] = "lo"
    assert reference_agrees(pair, pair.target)
    assert not reference_agrees(pair, " ".join(target))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [("en", "fr", "'fr'.*en, de, es"), ("xx", "de", "'xx'"), ("de", "de", "both German")],
)
def test_an_impossible_direction_raises_an_error(source: str, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pairs(source, target, 1, part="train")
    with pytest.raises(ValueError, match=message):
        deck_pairs(source, target)


def test_an_unknown_part_raises_an_error() -> None:
    with pytest.raises(ValueError, match=r"'dev'.*train, valid and test"):
        pairs("en", "de", 1, part="dev")  # type: ignore[arg-type]


# Clauses between a noun and its pronoun -------------------------------------------------------------------


def distance(pair: Pair) -> int:
    [reference] = pair.references
    return reference.source - reference.source_antecedent


def test_every_clause_between_puts_the_pronoun_farther_from_its_noun() -> None:
    apart = {count: pairs_apart("en", "de", 100, clauses=(count,), part="test") for count in (0, 1, 4)}
    means = {count: sum(map(distance, found)) / len(found) for count, found in apart.items()}
    assert means[0] + 4 < means[1]
    assert means[1] + 12 < means[4]
    for count, found in apart.items():
        assert all(pair.source.count(", and ") == pair.target.count(", und ") == count for pair in found)


def test_intervening_clauses_have_no_noun_that_the_pronoun_could_mean() -> None:
    for pair in pairs_apart("en", "de", 200, clauses=(3,), part="train"):
        for clause in pair.source.split(", and ")[1:]:
            assert clause.split()[0] in ("I", "you", "we")


def test_pairs_apart_are_split_as_pairs_are() -> None:
    parts = {
        part: {distinct_part(pair) for pair in pairs_apart("en", "es", 400, clauses=(0, 2), part=part)}
        for part in PARTS
    }
    assert not parts["train"] & parts["test"]
    assert not parts["train"] & parts["valid"]
    assert not any(pair.unseen for pair in pairs_apart("en", "es", 100, clauses=(1,), part="train"))


def distinct_part(pair: Pair) -> str:
    """The sentence without its clauses between."""
    first, *_, last = [*pair.source.split(", and "), ""]
    return plain(first + (last.partition(", ")[2] if pair.source.count(", and ") else ""))


def test_references_and_alignments_point_past_the_clauses_between() -> None:
    for pair in pairs_apart("en", "de", 100, clauses=(2,), part="valid"):
        source, target = words(pair.source), words(pair.target)
        [reference] = pair.references
        assert source[reference.source] in ("it", "they", "them", "he", "she", "him", "her")
        assert target[reference.target] in ("er", "sie", "es", "ihn", "ihm", "ihr", "ihnen")
        assert reference_agrees(pair, pair.target)
        between = range(source.index("and"), len(source) - source[::-1].index("and"))
        assert not [link for link in pair.alignment if link[0] in between]
