"""The engine gives the output of the reference: every variant, step by step, after reordering, and in its own search."""

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from qkv.core.stack_config import StackConfig
from qkv.core.translation import CrossHeads
from qkv.decoding.arrays import arrays_for, to_numpy
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, paper_penalty
from qkv.decoding.greedy import greedy
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import NotEmpty
from qkv.decoding.sampling import Sampling, sample
from qkv.decoding.step import Step, Without
from qkv.engine import Engine, PlainSearch
from qkv.engine.reference.translator import NumpyTranslator
from qkv.engine.rounding import Floats
from qkv.errors import QkvError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator
from qkv.runtime.network import Network

PAD, START, END = 0, 1, 2
STACK = StackConfig(depth=2, width=12, heads=3, ffn_width=13, norm="post", activation="relu", dropout=0.0)
CONFIG = TranslatorConfig(
    vocab_size=37,
    max_length=29,
    pad=PAD,
    start=START,
    end=END,
    positions="interleaved",
    encoder=STACK,
    decoder=replace(STACK, depth=3, ffn_width=17),
)
WIDE = StackConfig(
    depth=2, width=160, heads=2, ffn_width=300, norm="pre", activation="gelu_tanh", dropout=0.0
)
VARIANTS = {
    "post, interleaved": CONFIG,
    "post, halves, swish": replace(CONFIG, positions="halves", encoder=replace(STACK, activation="swish")),
    "pre, learned, gelu": replace(
        CONFIG,
        positions="learned",
        encoder=replace(STACK, norm="pre"),
        decoder=replace(CONFIG.decoder, norm="pre", activation="gelu"),
    ),
    "pre, rotary, heads of another width": replace(
        CONFIG,
        positions="rotary",
        encoder=replace(STACK, norm="pre"),
        decoder=replace(CONFIG.decoder, norm="pre", heads=1),
    ),
    "a bias in the output": replace(CONFIG, output_bias=True),
    "SSRU": replace(CONFIG, decoder_cell="ssru"),
    "pre, rotary, wide, SSRU": replace(
        CONFIG,
        positions="rotary",
        encoder=WIDE,
        decoder=replace(WIDE, depth=3, ffn_width=16),
        decoder_cell="ssru",
    ),
    "wide, a large vocabulary": replace(CONFIG, vocab_size=301, encoder=WIDE, decoder=replace(WIDE, heads=4)),
}
every_variant = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
SOURCES = [[3, 4, 5, 6, 7, 8, END], [9, 10, 3, END], [5, END]]
START_IDS = [START] * 3
LIMITS = [20, 15, 9]
PENALTY = paper_penalty(0.6)


def translator(config: TranslatorConfig) -> Translator:
    torch.manual_seed(1)
    model = Translator(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def engine_of(model: Translator, *, int8: bool, threads: int) -> Engine:
    return Engine(model.config, Network.of(model).weights, int8=int8, threads=threads)


def walked(model: Any) -> tuple[list[Floats], list[Floats]]:
    """Logits and attention over some steps, the first of two ids, with rows doubled, dropped and reordered between."""
    ours = arrays_for(model.device).asarray
    step = model.begin(SOURCES, CrossHeads(block=1, heads=(0,)))
    logits, looks = [], []
    ids = np.array([[START, 5], [START, 6], [START, 7]])
    for place in range(6):
        logits.append(to_numpy(step(ours(ids))))
        looks.append(to_numpy(step.attention))
        ids = (np.arange(len(ids)) + 3 * place + 4)[:, None]
        if place == 2:
            step.select(ours([2, 0, 0, 1]))
            ids = np.arange(4)[:, None] + 9
        if place == 4:
            step.select(ours([3, 1]))
            ids = np.array([[4], [8]])
            assert np.array_equal(to_numpy(step.attention), looks[-1][[3, 1]])
    return logits, looks


@every_variant
@pytest.mark.parametrize("threads", [1, 2])
def test_float32_steps_equal_the_model_also_after_rows_are_reordered(
    config: TranslatorConfig, threads: int
) -> None:
    model = translator(config)
    for found, wanted in zip(
        walked(engine_of(model, int8=False, threads=threads)), walked(model), strict=True
    ):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4, rtol=0)


@every_variant
def test_int8_steps_equal_the_same_arithmetic_spelled_out_and_are_near_the_model(
    config: TranslatorConfig,
) -> None:
    model = translator(config)
    found, _ = walked(engine_of(model, int8=True, threads=1))
    spelled_out, _ = walked(NumpyTranslator(model.config, Network.of(model).weights, int8=True))
    exact, _ = walked(model)
    for one, same, near in zip(found, spelled_out, exact, strict=True):
        # Where a number lies between two that it could be rounded to, the last digit decides.
        assert np.abs(one - same).mean() < 0.03 * near.std()
        assert np.abs(one - near).mean() < 0.1 * near.std()


def reference(model: Translator, plain: PlainSearch) -> list[list[Hypothesis]]:
    start, limits = torch.full((len(SOURCES),), START), torch.tensor(LIMITS)
    step: Step = model.begin(SOURCES)
    if plain.never is not None:
        step = Without(step, plain.never)
    if plain.width == 1 and plain.best == 1:
        found = greedy(step, start, END, limits, [NotEmpty(END)])
        return [[replace(each, score=each.score / PENALTY(len(each.log_probabilities)))] for each in found]
    patience = plain.patience / plain.width if plain.patience else None
    beam = Beam(width=plain.width, penalty=PENALTY, best=plain.best, patience=patience)
    return beam_search(step, start, END, limits, beam, [NotEmpty(END)])


@every_variant
@pytest.mark.parametrize(
    ("width", "best", "patience"), [(1, 1, 0), (1, 2, 0), (3, 3, 0), (5, 1, 0), (5, 2, 5), (4, 4, 8)]
)
def test_the_compiled_search_equals_the_general_search(
    config: TranslatorConfig, width: int, best: int, patience: int
) -> None:
    model = translator(config)
    plain = PlainSearch(width=width, penalty=PENALTY, best=best, patience=patience)
    wanted = reference(model, plain)
    for threads in (1, 2):
        found = engine_of(model, int8=False, threads=threads).search(SOURCES, LIMITS, plain)
        for one, other in zip(found, wanted, strict=True):
            assert [(each.ids, each.finished) for each in one] == [
                (each.ids, each.finished) for each in other
            ]
            for mine, theirs in zip(one, other, strict=True):
                assert mine.score == pytest.approx(theirs.score, abs=1e-4)
                assert mine.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-4)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("width", [1, 4])
def test_hypotheses_depend_neither_on_threads_nor_on_neighbours(int8: bool, width: int) -> None:
    model = translator(VARIANTS["wide, a large vocabulary"])
    plain = PlainSearch(width=width, penalty=PENALTY)
    alone, shared = (engine_of(model, int8=int8, threads=threads) for threads in (1, 2))
    together = alone.search(SOURCES, LIMITS, plain)
    assert shared.search(SOURCES, LIMITS, plain) == together
    one_by_one = [([source], [limit]) for source, limit in zip(SOURCES, LIMITS, strict=True)]
    for engine in (alone, shared):
        assert [found[0] for found in engine.search_batches(one_by_one, plain)] == together


def test_steps_take_lists_and_return_arrays_of_numpy() -> None:
    model = translator(CONFIG)
    step = Engine(CONFIG, Network.of(model).weights, int8=False, threads=1).begin(
        SOURCES, CrossHeads(block=1, heads=(0, 2))
    )
    logits = step(np.full((3, 1), START))
    assert type(logits) is type(step.attention) is np.ndarray
    assert logits.dtype == step.attention.dtype == np.float32
    np.testing.assert_allclose(step.attention[0].sum(), 1, atol=1e-5)
    assert (step.attention[2, 2:] == 1).all()  # padding
    step.select([1])
    assert step(np.array([[5]])).shape == (1, 37)


def test_more_sentences_than_are_encoded_at_once_are_the_same() -> None:
    engine = engine_of(translator(CONFIG), int8=True, threads=1)
    plain = PlainSearch(width=2, penalty=PENALTY)
    many = engine.search(SOURCES * 60, LIMITS * 60, plain)  # 780 tokens
    assert many == engine.search(SOURCES, LIMITS, plain) * 60


@every_variant
@pytest.mark.parametrize(("width", "best"), [(1, 1), (3, 3)])
@pytest.mark.parametrize("int8", [False, True])
def test_a_search_records_the_attention_of_reading_its_hypotheses_again(
    config: TranslatorConfig, width: int, best: int, int8: bool
) -> None:
    heads = tuple(range(config.decoder.heads))[-2:]
    look = CrossHeads(block=1, heads=heads)
    plain = PlainSearch(width=width, penalty=PENALTY, best=best, look=look)
    for threads in (1, 2):
        engine = engine_of(translator(config), int8=int8, threads=threads)
        found = engine.search(SOURCES, LIMITS, plain)
        assert found == engine.search(SOURCES, LIMITS, replace(plain, look=None))
        for source, hypotheses in zip(SOURCES, found, strict=True):
            for each in hypotheses:
                step = engine.begin([source], look)
                again = []
                for token in [START, *each.ids][: len(each.log_probabilities)]:
                    step(np.array([[token]]))
                    again.append(step.attention[0])
                np.testing.assert_allclose(each.attention, again, atol=1e-6)


def test_sampling_works_on_its_steps() -> None:
    model = translator(CONFIG)
    found, wanted = (
        sample(each.begin(SOURCES), ours(START_IDS), END, ours(LIMITS), Sampling(temperature=0.7), [1, 2, 3])
        for each in (engine_of(model, int8=False, threads=1), model)
        for ours in [arrays_for(each.device).asarray]
    )
    assert [each.ids for each in found] == [each.ids for each in wanted]


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("vocab", [37, 129])  # the last of 129 is in a tile of its own
def test_an_excluded_id_has_no_probability(width: int, vocab: int) -> None:
    model = translator(replace(VARIANTS["a bias in the output"], vocab_size=vocab))
    never = vocab - 1
    assert model.bias is not None
    model.bias[never] = 30.0  # said all the time, if it could be
    plain = PlainSearch(width=width, penalty=PENALTY, best=width, never=never)
    wanted = reference(model, plain)
    assert (
        never
        in engine_of(model, int8=False, threads=1)
        .search(SOURCES, LIMITS, replace(plain, never=None))[0][0]
        .ids
    )
    for threads in (1, 2):
        found = engine_of(model, int8=False, threads=threads).search(SOURCES, LIMITS, plain)
        for mine, theirs in zip(chain(*found), chain(*wanted), strict=True):
            assert mine.ids == theirs.ids
            assert never not in mine.ids
            assert mine.score == pytest.approx(theirs.score, abs=1e-4)
            assert mine.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-4)


def test_no_hypothesis_is_shorter_than_the_minimum() -> None:
    engine = engine_of(translator(CONFIG), int8=True, threads=2)
    for width in (1, 5):
        plain = PlainSearch(width=width, penalty=PENALTY, least=9)
        for [answer] in engine.search(SOURCES, [9, 9, 9], plain):
            assert len(answer.ids) == 9
            assert END not in answer.ids


@pytest.mark.parametrize(
    ("source", "error"),
    [([[]], ValueError), ([[3] * 30], ValueError), ([[37]], IndexError), ([[-1]], IndexError)],
)
def test_out_of_range_inputs_raise_an_error(source: list[list[int]], error: type[Exception]) -> None:
    engine = engine_of(translator(CONFIG), int8=False, threads=1)
    with pytest.raises(error):
        engine.search(source, [5], PlainSearch(width=1, penalty=PENALTY))
    step = engine.begin(SOURCES)
    with pytest.raises((ValueError, IndexError)):
        step(np.full((3, 1), 37))
    with pytest.raises(ValueError, match="context"):
        step(np.full((3, 30), 3))
    with pytest.raises(ValueError, match="context"):
        engine.search(SOURCES, [30, 9, 9], PlainSearch(width=1, penalty=PENALTY))
    with pytest.raises(ValueError, match="begun with heads"):
        _ = step.attention


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("name", ["tokens.weight", "decoder.blocks.0.attention.sublayer.query.bias"])
def test_nan_and_infinite_weights_raise_an_error(name: str, int8: bool) -> None:
    model = translator(CONFIG)
    dict(model.named_parameters())[name].view(-1)[3] = float("nan")
    with pytest.raises(QkvError, match="NaN or infinite"):
        engine_of(model, int8=int8, threads=1)


def test_threads_get_batches_of_as_many_sources_and_tokens() -> None:
    engine = engine_of(translator(CONFIG), int8=False, threads=2)
    lengths = [3 + row * 7 % 40 for row in range(64)]
    batches = engine.batches(lengths, 1)
    assert sorted(row for batch in batches for row in batch) == list(range(64))
    assert [len(batch) for batch in batches] == [32, 32]
    tokens = [sum(lengths[row] for row in batch) for batch in batches]
    assert abs(tokens[0] - tokens[1]) <= max(lengths)


def test_batches_hold_sources_of_similar_length_and_keep_to_the_token_limit() -> None:
    engine = engine_of(translator(CONFIG), int8=False, threads=2)
    lengths = [1 + row * 13 % 30 for row in range(300)]
    batches = engine.batches(lengths, 4, 800)
    assert sorted(row for batch in batches for row in batch) == list(range(300))
    assert max(sum(lengths[row] for row in batch) for batch in batches) <= 200 + max(lengths)
    for one, other in zip(batches[::2], batches[2::2], strict=False):
        assert max(lengths[row] for row in one) <= min(lengths[row] for row in other)


def test_a_few_sources_are_one_batch_for_all_threads() -> None:
    assert engine_of(translator(CONFIG), int8=False, threads=2).batches([5, 3, 9], 1) == [[1, 0, 2]]
