"""The engine gives the output of the language model: read at once or in parts, past its context, with any search."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from qkv.core.stack_config import StackConfig
from qkv.decoding.arrays import arrays_for, to_numpy
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, paper_penalty
from qkv.decoding.greedy import greedy
from qkv.decoding.rules import NoRepeat, TakeTurns
from qkv.decoding.sampling import Sampling, sample
from qkv.engine import GPTEngine, NoEngineError
from qkv.engine.library import library
from qkv.engine.reference.gpt import NumpyGPT
from qkv.engine.rounding import Floats
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.runtime.network import Network

END = 2
STACK = StackConfig(depth=2, width=20, heads=2, ffn_width=36, norm="pre", activation="gelu_tanh", dropout=0.0)
CONFIG = GPTConfig(vocab_size=41, max_length=11, end=END, positions="learned", stack=STACK)
VARIANTS = {
    "pre, learned": CONFIG,
    "post, learned": replace(CONFIG, stack=replace(STACK, norm="post", activation="gelu")),
    "pre, rotary": replace(CONFIG, positions="rotary"),
    "a large vocabulary": replace(
        CONFIG, vocab_size=300, stack=replace(STACK, width=96, heads=3, ffn_width=100)
    ),
}
every_variant = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
IDS = np.array([[5, 9, 3, 14, 7, 30, 22, 4], [8, 8, 17, 6, 12, 3, 40, 19], [33, 3, 3, 5, 21, 9, 10, 11]])
LIMITS = [25, 16, 9]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    try:
        library()
    except NoEngineError as reason:
        pytest.skip(f"the engine cannot be built here: {reason}")


def gpt(config: GPTConfig) -> GPT:
    torch.manual_seed(3)
    model = GPT(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def engine_of(model: GPT, *, int8: bool, threads: int) -> GPTEngine:
    return GPTEngine(model.config, Network.of(model).weights, int8=int8, threads=threads)


def spelled_out(model: GPT) -> NumpyGPT:
    return NumpyGPT(model.config, Network.of(model).weights, int8=True)


@torch.inference_mode()
def walked(model: Any) -> list[Floats]:
    """Logits over 14 tokens, the first 8 at once, three more together, with rows reordered on the way."""
    ours = arrays_for(model.device).asarray
    step = model.begin()
    logits = [step(ours(IDS)), step(ours(IDS[:, :3]))]
    step.select(ours([2, 0, 0, 1]))
    logits += [step(ours([[4], [9], [6], [10 + place]])) for place in range(2)]
    step.select(ours([3, 1]))
    logits.append(step(ours([[4], [8]])))
    assert step.slid
    return [to_numpy(each) for each in logits]


@every_variant
@pytest.mark.parametrize("threads", [1, 2])
def test_float32_steps_equal_the_model_past_its_context_and_after_reordering(
    config: GPTConfig, threads: int
) -> None:
    model = gpt(config)
    found, wanted = walked(engine_of(model, int8=False, threads=threads)), walked(model)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4, rtol=0)


@every_variant
def test_int8_steps_equal_the_same_arithmetic_spelled_out_and_are_near_the_model(config: GPTConfig) -> None:
    model = gpt(config)
    each = (walked(other) for other in (engine_of(model, int8=True, threads=1), spelled_out(model), model))
    for one, same, near in zip(*each, strict=True):
        assert np.abs(one - same).mean() < 0.03 * near.std()
        assert np.abs(one - near).mean() < 0.1 * near.std()


@every_variant
@pytest.mark.parametrize("int8", [False, True])
def test_read_at_once_or_token_by_token_is_the_same_to_the_last_bit(config: GPTConfig, int8: bool) -> None:
    engine = engine_of(gpt(config), int8=int8, threads=2)
    whole, bits = engine.begin(), engine_of(gpt(config), int8=int8, threads=1).begin()
    for column in IDS.T:
        last = bits(column[:, None])
    assert np.array_equal(whole(IDS), last)


def test_more_than_is_read_at_once_is_the_same() -> None:
    model = gpt(replace(CONFIG, max_length=700))
    many = np.arange(600)[None] * 7 % 41
    with torch.inference_mode():
        wanted = model.begin()(torch.from_numpy(many))
    found = engine_of(model, int8=False, threads=1).begin()(many)
    np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=0)


@every_variant
@torch.inference_mode()
def test_greedy_beam_and_sampling_with_rules_give_the_same_output(config: GPTConfig) -> None:
    model = gpt(config)

    def all_ways(each: Any) -> list[Any]:
        start, limits = (arrays_for(each.device).asarray(given) for given in (IDS[:, 0], LIMITS))
        rules = [
            NoRepeat(2),
            TakeTurns(
                [list(range(0, config.vocab_size, 2)), list(range(config.vocab_size))], config.vocab_size
            ),
        ]
        beam = Beam(width=3, penalty=paper_penalty(0.6), best=2)
        return [
            greedy(each.begin(), start, END, limits),
            greedy(each.begin(), start, END, limits, rules),
            sample(each.begin(), start, END, limits, Sampling(temperature=0.9, top_p=0.9), [1, 2, 3], rules),
            *beam_search(each.begin(), start, END, limits, beam, rules),
        ]

    engine = engine_of(model, int8=False, threads=2)
    found, wanted = (
        [[hypothesis.ids for hypothesis in way] for way in all_ways(each)] for each in (engine, model)
    )
    assert found == wanted
    assert max(len(ids) for ids in found[0]) > config.max_length  # it slid


@every_variant
@pytest.mark.parametrize("threads", [1, 2])
@torch.inference_mode()
def test_states_and_logits_of_all_positions_equal_the_model(config: GPTConfig, threads: int) -> None:
    model = gpt(config)
    ids = torch.from_numpy(IDS)
    engine = engine_of(model, int8=False, threads=threads)
    np.testing.assert_allclose(engine.states(IDS), model.read(ids), atol=1e-4, rtol=0)
    np.testing.assert_allclose(engine.logits(IDS), model(ids), atol=1e-4, rtol=0)
    rounded = engine_of(model, int8=True, threads=threads)
    assert np.array_equal(rounded.logits(IDS)[:, -1], rounded.begin()(IDS))


@torch.inference_mode()
def test_more_positions_than_are_read_at_once_are_the_same() -> None:
    model = gpt(replace(CONFIG, max_length=200))
    many = np.arange(600).reshape(3, 200) * 7 % 41
    engine = engine_of(model, int8=False, threads=2)
    np.testing.assert_allclose(engine.logits(many), model(torch.from_numpy(many)), atol=1e-4, rtol=0)
    with pytest.raises(ValueError, match="more than the context"):
        engine.states(np.ones((1, 201), int))


def test_out_of_range_inputs_raise_an_error() -> None:
    step = engine_of(gpt(CONFIG), int8=False, threads=1).begin()
    with pytest.raises(IndexError):
        step(np.array([[41]]))
    step(IDS)
    with pytest.raises(ValueError, match="3 rows"):
        step.session.step(IDS[:2])  # type: ignore[union-attr]
