"""Prefixes, banned and required phrases in the compiled search: the hypotheses of the NumPy search, id by id."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from engine_models import CONFIG, END, PENALTY, SHAPES, START, engine_of

from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam
from qkv.decoding.constraints import MustContain
from qkv.decoding.greedy import greedy
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import Forbidden, NoRepeat, NotEmpty, Prefixes, Rule
from qkv.decoding.step import Ensemble, Step, Without
from qkv.engine import Engine, PlainRequest, PlainSearch

VOCABS = [37, 300]  # one tile, and several
PHRASES = 4
SEARCHES = {
    "greedy": PlainSearch(width=1, penalty=PENALTY),
    "greedy, all rules": PlainSearch(width=1, penalty=PENALTY, never=5, no_repeat_ngram_size=2),
    "one beam, two hypotheses": PlainSearch(width=1, penalty=PENALTY, best=2),
    "beam": PlainSearch(width=4, penalty=PENALTY, best=3),
    "beam, all rules": PlainSearch(width=3, penalty=PENALTY, best=2, never=5, no_repeat_ngram_size=2),
    "wide, impatient": PlainSearch(width=7, penalty=PENALTY, best=4, patience=7),
}
every_search = pytest.mark.parametrize("plain", SEARCHES.values(), ids=SEARCHES.keys())


def automata_of(vocab: int) -> np.ndarray:
    """Random automata: every state leads anywhere, and excludes some ids, now and then the end."""
    chance = np.random.default_rng(7)
    states = chance.integers(0, 3, (PHRASES, 3, vocab))
    return np.where(chance.random(states.shape) < 0.2, -1, states).astype(np.int16)


def characters_of(vocab: int) -> np.ndarray:
    return automata_of(vocab)[-1]


def starts_of(vocab: int) -> bytes:
    return bytes(token == END or token % 3 > 0 for token in range(vocab))


def random_request(chance: random.Random, vocab: int, rules: Sequence[str]) -> PlainRequest:
    """A request with each of these rules, or without it. Ids are few, so that phrases overlap."""

    def ids(count: int) -> list[int]:
        return [chance.choice([3, 4, 5, 6, 9, vocab - 1]) for _ in range(count)]

    source = [chance.randrange(3, vocab) for _ in range(chance.randrange(1, 8))]
    prefix, avoid, contain = [], [], []
    if "prefix" in rules and chance.random() < 0.7:
        prefix = ids(chance.randrange(1, 5)) + [END] * (chance.random() < 0.2)
    if "avoid" in rules and chance.random() < 0.7:
        avoid = chance.sample(range(PHRASES), chance.randrange(1, PHRASES))
    if "contain" in rules and chance.random() < 0.8:
        contain = [ids(chance.randrange(1, 4)) for _ in range(chance.randrange(1, 4))]
    needed = len(prefix) + sum(map(len, contain)) + 1
    limit = min(needed + chance.choice([0, 1, 3, 12]), CONFIG.max_length)
    once = chance.randrange(3)
    return PlainRequest([*source, END], limit, prefix, avoid, contain, once)


def general(
    engines: Sequence[Engine], request: PlainRequest, plain: PlainSearch, vocab: int
) -> list[Hypothesis]:
    """The NumPy search for one request."""
    steps: list[Step] = [each.begin([request.source]) for each in engines]
    if plain.never is not None:
        steps = [Without(each, plain.never) for each in steps]
    step = steps[0] if len(steps) == 1 else Ensemble(steps)
    start, limits = np.array([START]), np.array([request.limit])
    rules: list[Rule] = [NotEmpty(END)]
    if plain.no_repeat_ngram_size:
        rules.append(NoRepeat(plain.no_repeat_ngram_size))
    if request.avoid:
        rules.append(Forbidden(plain.automata, [request.avoid]))
    if plain.characters is not None:
        rules.append(Forbidden(plain.characters[None], [(0,)]))
    if request.prefix:
        rules.append(Prefixes([request.prefix]))
    contain = None
    if request.contain:
        boundary = np.frombuffer(starts_of(vocab), np.uint8) > 0
        contain = MustContain([request.contain], limits, END, boundary, request.once)
    if plain.width == plain.best == 1 and plain.starts is None:
        (found,) = greedy(step, start, END, limits, rules)
        return [replace(found, score=found.score / PENALTY(len(found.log_probabilities)))]
    patience = plain.patience / plain.width if plain.patience else None
    beam = Beam(width=plain.width, penalty=PENALTY, best=plain.best, patience=patience)
    return beam_search(step, start, END, limits, beam, rules, contain)[0]


def is_possible(found: Sequence[Hypothesis]) -> bool:
    return bool(found) and np.isfinite(found[0].score)


def check_equal(found: Sequence[Hypothesis], wanted: Sequence[Hypothesis]) -> None:
    assert is_possible(found) == is_possible(wanted)
    if not is_possible(wanted):  # each search gives up in its own way
        return
    assert [(each.ids, each.finished) for each in found] == [(each.ids, each.finished) for each in wanted]
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.score == pytest.approx(theirs.score, rel=1e-6, abs=1e-4)
        assert mine.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-4)


def searched(plain: PlainSearch, vocab: int, rules: Sequence[str]) -> PlainSearch:
    """The same search with the tables that these rules need."""
    all_rules = plain.no_repeat_ngram_size > 0
    return replace(
        plain,
        automata=automata_of(vocab) if "avoid" in rules else None,
        starts=starts_of(vocab) if "contain" in rules else None,
        characters=characters_of(vocab) if all_rules else None,
    )


@every_search
@pytest.mark.parametrize("vocab", VOCABS)
@pytest.mark.parametrize(
    "rules",
    [["prefix"], ["avoid"], ["prefix", "avoid"], ["contain"], ["prefix", "avoid", "contain"]],
    ids=" and ".join,
)
def test_mixed_batches_equal_the_general_search_of_each_request(
    rules: list[str], vocab: int, plain: PlainSearch
) -> None:
    chance = random.Random(vocab)
    plain = searched(plain, vocab, rules)
    for shape in ("post", "pre, rotary", "SSRU"):
        sharpness = chance.choice([1.0, 4.0])
        one, two = (
            engine_of(
                replace(SHAPES[shape], vocab_size=vocab), int8=False, threads=threads, sharpness=sharpness
            )
            for threads in (1, 2)
        )
        requests = [random_request(chance, vocab, rules) for _ in range(12)]
        (found,) = one.search_plain([requests], plain)
        for each, request in zip(found, requests, strict=True):
            check_equal(each, general([one], request, plain, vocab))
        assert str(next(two.search_plain([requests], plain))) == str(found)  # also where scores are NaN
        alone = list(two.search_plain([[each] for each in requests], plain))
        assert str([each for (each,) in alone]) == str(found)


@pytest.mark.parametrize("int8", [False, True])
def test_rules_hold_in_int8_and_without_scores(int8: bool) -> None:
    engine = engine_of(CONFIG, int8=int8, threads=1)
    chance = random.Random(1)
    requests = [random_request(chance, 37, ["prefix", "avoid"]) for _ in range(12)]
    for plain in (SEARCHES["greedy"], replace(SEARCHES["greedy"], scored=False), SEARCHES["beam"]):
        (found,) = engine.search_plain([requests], searched(plain, 37, ["avoid"]))
        for hypotheses, request in zip(found, requests, strict=True):
            for each in hypotheses:
                said = [*each.ids, END]
                assert said[: len(request.prefix)] == request.prefix
    contain = [random_request(chance, 37, ["contain"]) for _ in range(12)]
    (found,) = engine.search_plain([contain], searched(SEARCHES["beam"], 37, ["contain"]))
    for hypotheses, request in zip(found, contain, strict=True):
        for each in hypotheses:
            for phrase in request.contain:
                assert f" {phrase}"[2:-1] in str(each.ids)


@pytest.mark.parametrize("width", [1, 3])
def test_an_ensemble_avoids_phrases_and_forces_nothing(width: int) -> None:
    models = [engine_of(SHAPES[shape], int8=False, threads=1) for shape in ("post", "pre, rotary")]
    both = models[0].together_with(models[1:])
    plain = searched(PlainSearch(width=width, penalty=PENALTY, best=width), 37, ["avoid"])
    chance = random.Random(2)
    requests = [random_request(chance, 37, ["avoid"]) for _ in range(12)]
    (found,) = both.search_plain([requests], plain)
    for each, request in zip(found, requests, strict=True):
        check_equal(each, general(models, request, plain, 37))
    assert models[0].can_force
    assert not both.can_force
    with pytest.raises(ValueError, match="an ensemble cannot search with prefixes"):
        next(both.search_plain([[PlainRequest([5, END], 9, prefix=[4])]], plain))


def test_a_request_with_rules_is_not_drafted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qkv.engine.engine.drafting_pays", lambda engine, drafter: True)
    engine = engine_of(CONFIG, int8=False, threads=1)
    drafted = engine.drafted_by(engine_of(CONFIG, int8=False, threads=1, seed=3))
    request = PlainRequest([5, 6, END], 12, prefix=[7, 8])
    for plain in (SEARCHES["greedy"], SEARCHES["beam"]):
        assert list(drafted.search_plain([[request]], plain)) == list(engine.search_plain([[request]], plain))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (PlainRequest([5, END], 9, prefix=[37]), IndexError),
        (PlainRequest([5, END], 9, avoid=[PHRASES]), IndexError),
        (PlainRequest([5, END], 9, contain=[[-1]]), IndexError),
        (PlainRequest([5, END], 9, contain=[[]]), ValueError),
        (PlainRequest([5, END], 2, contain=[[4, 5]]), ValueError),
    ],
    ids=str,
)
def test_rules_that_no_table_fits_are_an_error(request_: PlainRequest, error: type[Exception]) -> None:
    engine = engine_of(CONFIG, int8=False, threads=1)
    plain = searched(SEARCHES["beam"], 37, ["avoid", "contain"])
    with pytest.raises(error):
        next(engine.search_plain([[request_]], plain))


def test_tables_that_do_not_fit_are_an_error() -> None:
    engine = engine_of(CONFIG, int8=False, threads=1)
    phrase = PlainRequest([5, END], 9, contain=[[4]])
    with pytest.raises(ValueError, match="which ids continue a word"):
        next(engine.search_plain([[phrase]], SEARCHES["beam"]))
    banned = PlainRequest([5, END], 9, avoid=[0])
    with pytest.raises(ValueError, match="int16"):
        next(engine.search_plain([[banned]], replace(SEARCHES["beam"], automata=automata_of(37)[:, :, 1:])))
