"""The compiled search under a shortlist: equal to the general search, and each sentence on its own."""

from array import array
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from qkv.core.stack_config import StackConfig
from qkv.decoding.beam_options import paper_penalty
from qkv.decoding.hypothesis import Hypothesis
from qkv.engine import Engine, PlainSearch
from qkv.engine.reference.translator import NumpyTranslator
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.search import Request, Search, Searcher
from qkv.families.translator.shortlist import Shortlist
from qkv.runtime.network import Network
from qkv.runtime.running import silent

VOCAB, END = 301, 2
STACK = StackConfig(depth=2, width=48, heads=3, ffn_width=70, norm="pre", activation="relu", dropout=0.0)
CONFIG = TranslatorConfig(
    vocab_size=VOCAB, max_length=40, pad=0, start=1, end=END, positions="rotary", encoder=STACK, decoder=STACK
)  # fmt: skip
MARIAN = replace(CONFIG, positions="halves", start=0, output_bias=True)  # begins with padding
BOTH = pytest.mark.parametrize("config", [CONFIG, MARIAN], ids=["rotary", "marian"])


def shortlist(per_token: int = 9) -> Shortlist:
    """Random translations of every token; long lists of several tiles for the tokens from 250 on."""
    random = np.random.default_rng(3)
    sizes = np.where(np.arange(VOCAB) < 250, per_token, 170)
    rows = [random.choice(np.arange(3, VOCAB), size, replace=False) for size in sizes]
    return Shortlist(
        offsets=array("i", [0, *np.cumsum(sizes).tolist()]),
        tokens=array("i", np.concatenate(rows).tolist()),
        always=array("i", [END, 0, 5, 6, 7]),
        loss=0.0,
    )


LIST = shortlist()
REQUESTS = [Request(source=source) for source in ([8, 9, 10, 8], [20], [260, 30, 31], [299, 250, 251, 3, 4])]


def weights(config: TranslatorConfig) -> Any:
    torch.manual_seed(4)
    model = Translator(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
    return Network.of(model).weights


def found(runner: Any, requests: list[Request], beam: int, own: Shortlist | None = LIST) -> list[Hypothesis]:
    options = TranslationOptions(beam_size=beam)
    search = Search(options=options, beam=beam, length_penalty=0.6)
    searcher = Searcher([runner], lambda: [True] * VOCAB, shortlist=own)
    return [row[0] for row in searcher.find(requests, search, silent)]


@BOTH
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("int8", [False, True])
def test_the_compiled_search_gives_what_the_general_search_gives(
    config: TranslatorConfig, beam: int, threads: int, int8: bool
) -> None:
    engine = Engine(config, weights(config), int8=int8, threads=threads)
    reference = NumpyTranslator(config, weights(config), int8=int8)
    near = 0.05 if int8 else 2e-4  # an input between two bytes may be rounded to either
    for one, other in zip(found(engine, REQUESTS, beam), found(reference, REQUESTS, beam), strict=True):
        assert one.ids == other.ids
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=near)


@pytest.mark.parametrize("int8", [False, True])
def test_a_list_of_all_tokens_changes_nothing(int8: bool) -> None:
    everything = replace(LIST, always=array("i", range(VOCAB)))
    engine = Engine(CONFIG, weights(CONFIG), int8=int8, threads=1)
    for one, other in zip(
        found(engine, REQUESTS, 3, everything), found(engine, REQUESTS, 3, None), strict=True
    ):
        assert one.ids == other.ids
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=2e-5)


@pytest.mark.parametrize("threads", [1, 2])  # with one thread, neighbours share an output layer
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("int8", [False, True])
def test_a_translation_uses_the_list_of_its_own_source_alone(threads: int, beam: int, int8: bool) -> None:
    engine = Engine(CONFIG, weights(CONFIG), int8=int8, threads=threads)
    together, free = found(engine, REQUESTS, beam), found(engine, REQUESTS, beam, None)
    assert any(one.ids != other.ids for one, other in zip(together, free, strict=True))
    for request, hypothesis in zip(REQUESTS, together, strict=True):
        assert set(hypothesis.ids) <= set(LIST.ids([*request.source, END]))
        assert found(engine, [request], beam) == [
            hypothesis
        ]  # the neighbours change nothing, to the last bit


def test_requests_with_rules_do_not_use_the_list() -> None:
    engine = Engine(CONFIG, weights(CONFIG), int8=True, threads=1)
    outside = next(token for token in range(3, VOCAB) if token not in LIST.ids([20, END]))
    for ruled in (
        Request(source=[20], contain=((outside,),)),
        Request(source=[20], prefix=(outside,)),
        Request(source=[20], no_repeat_ngram_size=2),
        Request(source=[20], whole=True),
    ):
        assert found(engine, [ruled], 3) == found(engine, [ruled], 3, None)
    [forced] = found(engine, [Request(source=[20], contain=((outside,),))], 3)
    assert outside in forced.ids


def test_a_list_is_used_only_if_its_loss_is_known_and_it_is_wanted() -> None:
    engine = Engine(CONFIG, weights(CONFIG), int8=True, threads=1)
    free = found(engine, REQUESTS, 3, None)
    assert found(engine, REQUESTS, 3, replace(LIST, loss=None)) == free
    unwanted = Search(options=TranslationOptions(shortlist=False), beam=3, length_penalty=0.6)
    searcher = Searcher([engine], lambda: [True] * VOCAB, shortlist=LIST)
    assert [row[0] for row in searcher.find(REQUESTS, unwanted, silent)] == free


def test_the_engine_rejects_a_list_for_another_vocabulary_and_rules() -> None:
    engine = Engine(CONFIG, weights(CONFIG), int8=True, threads=1)
    plain = PlainSearch(width=1, penalty=paper_penalty(0.6), shortlist=LIST)
    with pytest.raises(ValueError, match="rules"):
        engine.search([[5, END]], [9], replace(plain, no_repeat_ngram_size=2))
    shorter = replace(LIST, offsets=LIST.offsets[:-1])
    with pytest.raises(ValueError, match="another vocabulary"):
        engine.search([[5, END]], [9], replace(plain, shortlist=shorter))


def test_greedy_search_without_scores_finds_the_same_tokens() -> None:
    engine = Engine(CONFIG, weights(CONFIG), int8=True, threads=1)
    for own in (None, LIST):
        plain = PlainSearch(width=1, penalty=paper_penalty(0.6), shortlist=own)
        sources, limits = [[*each.source, END] for each in REQUESTS], [20] * len(REQUESTS)
        scored = engine.search(sources, limits, plain)
        unscored = engine.search(sources, limits, replace(plain, scored=False))
        assert [row[0].ids for row in scored] == [row[0].ids for row in unscored]
        assert {row[0].score for row in unscored} == {0.0}
