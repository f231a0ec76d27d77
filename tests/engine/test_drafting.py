"""Drafts by another model never change a hypothesis, nor its scores, whether they are good, bad or mixed."""

import random
from dataclasses import replace

import pytest
from engine_models import CONFIG, END, PENALTY, SHAPES, engine_of

from qkv.engine import Engine, PlainSearch
from qkv.engine import engine as engines

MAIN = replace(CONFIG, vocab_size=300, max_length=40)
DRAFTERS = {
    "itself": (MAIN, 1, 0.0),
    "nearly itself": (MAIN, 1, 0.03),
    "another": (replace(SHAPES["pre, rotary"], vocab_size=300, max_length=40), 7, 0.0),
    "a recurrent one": (replace(MAIN, decoder_cell="ssru"), 1, 0.0),
}
RULES = {
    "plain": PlainSearch(width=1, penalty=PENALTY),
    "rules": PlainSearch(width=1, penalty=PENALTY, never=9, no_repeat_ngram_size=2, least=4),
}


@pytest.fixture(autouse=True)
def always_drafting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "drafting_pays", lambda engine, drafter: True)


def sources(count: int) -> list[list[int]]:
    chance = random.Random(3)
    return [[chance.randrange(3, 300) for _ in range(chance.randrange(1, 14))] + [END] for _ in range(count)]


@pytest.mark.parametrize("main", ["attention", "ssru"])
@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("name", DRAFTERS)
def test_the_hypotheses_are_those_of_plain_greedy_search_to_the_last_bit(
    name: str, int8: bool, main: str
) -> None:
    config, seed, noise = DRAFTERS[name]
    for threads in (1, 2):
        own = replace(MAIN, decoder_cell=main)  # type: ignore[arg-type]
        for sharpness in (1.0, 4.0):  # drafts of one id, because it is unsure, and of many
            engine = engine_of(own, int8=int8, threads=threads, sharpness=sharpness)
            drafter = engine_of(
                config, int8=int8, threads=threads, seed=seed, noise=noise, sharpness=sharpness
            )
            for plain in RULES.values():
                for number, source in enumerate(sources(25)):
                    limit = 1 + number
                    wanted = engine.search([source], [limit], plain)
                    assert engine.drafted_by(drafter).search([source], [limit], plain) == wanted


def test_drafts_are_for_one_sentence_and_greedy_search_alone() -> None:
    engine = engine_of(MAIN, int8=True, threads=1)
    drafted = engine.drafted_by(engine)
    assert drafted.can_draft(1, 40, RULES["plain"])
    assert not drafted.can_draft(2, 40, RULES["plain"])
    assert not drafted.can_draft(1, 41, RULES["plain"])
    assert not drafted.can_draft(1, 40, PlainSearch(width=2, penalty=PENALTY))
    assert not drafted.together_with([engine]).can_draft(1, 40, RULES["plain"])
    both = sources(5)
    assert drafted.search(both, [20] * 5, RULES["plain"]) == engine.search(both, [20] * 5, RULES["plain"])


def test_a_draft_pays_where_the_model_reads_much_more_than_its_drafter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    large = replace(
        MAIN, vocab_size=8_000, encoder=replace(MAIN.encoder, width=512, heads=8),
        decoder=replace(MAIN.decoder, depth=2, width=512, heads=8, ffn_width=512),
    )  # fmt: skip
    small = replace(MAIN, vocab_size=8_000)
    model: Engine = engine_of(large, int8=True, threads=1)
    drafter = engine_of(small, int8=True, threads=1)
    assert engines.step_bytes(model) == 2 * (6 * 512**2 + 2 * 512**2) + 8_000 * 512
    assert model.drafted_by(drafter).drafter is drafter
    assert model.drafted_by(model).drafter is None
    assert drafter.drafted_by(drafter).drafter is None
