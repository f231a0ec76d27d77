"""The recurrent translator: what its loss is, what each logit depends on, and that a step equals the whole."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.pairs import TranslationBatch, TranslationStep, attention_of
from qkv.core.tape import Tape
from qkv.core.translation import CrossHeads
from qkv.families.translator import recompute_recurrent as by_numpy
from qkv.families.translator.config import RecurrentConfig
from qkv.families.translator.recurrent import BothWays, Recurrent, lstm, reversed_order

B, T, S, V = 2, 5, 7, 11
PAD, START, END = 0, 1, 2
CONFIG = RecurrentConfig(
    vocab_size=V,
    max_length=9,
    pad=PAD,
    start=START,
    end=END,
    width=10,
    hidden=12,
    encoder_depth=2,
    decoder_depth=3,
    heads=3,
    dropout=0.0,
)
VARIANTS = {
    "deep": CONFIG,
    "one LSTM a side, one head": replace(CONFIG, encoder_depth=1, decoder_depth=1, heads=1),
}
every_variant = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())

SOURCE = torch.tensor([[3, 4, 5, 6, 7, 8, END], [9, 10, 3, END, PAD, PAD, PAD]])
SHIFTED = torch.tensor([[START, 5, 6, 7, 8], [START, 9, 10, PAD, PAD]])
TARGET = torch.tensor([[5, 6, 7, 8, END], [9, 10, END, PAD, PAD]])
BATCH = TranslationBatch.of(SOURCE, SHIFTED, TARGET, PAD)


def recurrent(config: RecurrentConfig = CONFIG) -> Recurrent:
    torch.manual_seed(1)
    model = Recurrent(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def cross_entropy(logits: Tensor, smoothing: float = 0.0) -> Tensor:
    return F.cross_entropy(
        logits.flatten(0, 1), TARGET.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


# The loss -------------------------------------------------------------------------------------------------


@every_variant
def test_the_loss_is_the_cross_entropy_of_the_logits_without_padding(config: RecurrentConfig) -> None:
    model = recurrent(config)
    torch.testing.assert_close(model.loss(BATCH), cross_entropy(model(SOURCE, SHIFTED)), atol=1e-5, rtol=1e-5)


def test_labels_are_smoothed_in_training_only() -> None:
    model = recurrent(replace(CONFIG, label_smoothing=0.1))
    logits = model(SOURCE, SHIFTED)
    torch.testing.assert_close(model.loss(BATCH), cross_entropy(logits), atol=1e-5, rtol=1e-5)
    model.train()
    torch.testing.assert_close(model.loss(BATCH), cross_entropy(logits, 0.1), atol=1e-5, rtol=1e-5)


@every_variant
def test_gradient_reaches_every_parameter(config: RecurrentConfig) -> None:
    model = recurrent(config).train()
    model.loss(BATCH).backward()
    silent = {
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not bool(parameter.grad.abs().max() > 1e-7)
    }
    assert silent == {"cross_attention.key.bias"}, "softmax does not see what is added to all scores"


# What each logit depends on -------------------------------------------------------------------------------


@every_variant
def test_logits_depend_only_on_tokens_up_to_their_position(config: RecurrentConfig) -> None:
    model = recurrent(config)
    shifted = torch.tensor([[START, 5, 6, 7, 8], [START, 9, 10, 3, 4]])
    before = model(SOURCE, shifted)
    for position in range(T):
        changed = shifted.clone()
        changed[:, position] = 6 + changed[:, position] % 2 * 4 - position % 2
        difference = (model(SOURCE, changed) - before).abs().amax(dim=(0, 2))
        assert difference[:position].sum() < 1e-5
        assert (difference[position:] > 1e-5).all()


@every_variant
def test_every_logit_depends_on_every_source_word(config: RecurrentConfig) -> None:
    model = recurrent(config)
    before = model(SOURCE[:1], SHIFTED[:1])
    for position in range(S):
        changed = SOURCE[:1].clone()
        changed[0, position] = 10
        assert ((model(changed, SHIFTED[:1]) - before).abs().amax(dim=(0, 2)) > 1e-5).all()


@every_variant
def test_padding_and_neighbours_change_nothing(config: RecurrentConfig) -> None:
    model = recurrent(config)
    together, alone = model(SOURCE, SHIFTED), model(SOURCE[1:, :4], SHIFTED[1:, :3])
    torch.testing.assert_close(together[1:, :3], alone, atol=1e-5, rtol=1e-5)
    wider = F.pad(SOURCE, (0, 2), value=PAD)
    torch.testing.assert_close(model(wider, SHIFTED), together, atol=1e-5, rtol=1e-5)


def test_the_order_of_the_source_words_matters() -> None:
    model = recurrent()
    flipped = model(SOURCE[:1].flip(1), SHIFTED[:1])
    assert not torch.allclose(flipped, model(SOURCE[:1], SHIFTED[:1]), atol=1e-3)


# Its parts ------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_reading_both_ways_equals_the_bidirectional_lstm_of_torch_on_packed_sentences() -> None:
    torch.manual_seed(2)
    ours = BothWays(10, 12)
    theirs = nn.LSTM(10, 6, batch_first=True, bidirectional=True)
    for name, weight in theirs.named_parameters():
        part = ours.back if name.endswith("_reverse") else ours.onward
        weight.copy_(getattr(part, name.removesuffix("_reverse")))
    x, lengths = torch.randn(B, S, 10), torch.tensor([7, 4])
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    wanted, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    real = torch.arange(S) < lengths[:, None]
    found = ours(x, reversed_order(real))
    torch.testing.assert_close(found[real], wanted[real], atol=1e-6, rtol=1e-5)


def test_words_are_read_from_their_end_and_padding_after_them() -> None:
    real = torch.tensor([[True, True, True, False], [True, False, False, False]])
    assert reversed_order(real).tolist() == [[2, 1, 0, 3], [0, 1, 2, 3]]


def test_the_forget_gate_of_an_lstm_begins_open() -> None:
    made = lstm(5, 4)
    total = made.bias_ih_l0 + made.bias_hh_l0  # type: ignore[operator]
    assert total.tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    kept = torch.full((1, 1, 4), 3.0)
    _, (_, after) = made(torch.zeros(1, 1, 5), (torch.zeros(1, 1, 4), kept))
    torch.testing.assert_close(after, kept * torch.sigmoid(torch.tensor(1.0)))


def test_one_matrix_embeds_the_source_and_the_target_and_makes_the_logits() -> None:
    model = recurrent()
    matrices = [name for name, parameter in model.named_parameters() if V in parameter.shape]
    assert matrices == ["tokens.weight"]
    x = model.decode(SHIFTED, *model.encode(SOURCE))
    torch.testing.assert_close(model(SOURCE, SHIFTED), x @ model.tokens.weight.T, atol=1e-5, rtol=1e-5)


# Where it looks -------------------------------------------------------------------------------------------


@every_variant
@torch.no_grad()
def test_attention_is_recorded_and_adds_up_to_1_on_the_words_alone(config: RecurrentConfig) -> None:
    model, tape = recurrent(config), Tape()
    recorded, plain = model(SOURCE, SHIFTED, tape), model(SOURCE, SHIFTED)
    torch.testing.assert_close(recorded, plain, atol=1e-5, rtol=1e-5)
    weights = tape["decoder.0.cross_attention.weights"]
    assert weights.shape == (B, config.heads, T, S)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, config.heads, T))
    assert (weights[1, :, :, 4:] == 0).all()
    assert config.cross_attention_shape == (1, config.heads)
    names = ["encoder.tokens", "encoder.0.states", "encoder.output", "decoder.0.states", "decoder.output"]
    assert {*names, "logits"} <= set(tape.tensors)


@torch.no_grad()
def test_a_step_returns_its_attention() -> None:
    model, tape = recurrent(), Tape()
    model(SOURCE, SHIFTED, tape)
    look = CrossHeads(block=0, heads=(0, 2))
    step = TranslationStep(model, SOURCE, look)
    for position in range(3):
        step(SHIFTED[:, position : position + 1])
        wanted = attention_of(look, tape)[:, position]
        torch.testing.assert_close(step.attention[0], wanted[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(step.attention[1, :4], wanted[1, :4], atol=1e-5, rtol=1e-5)
        assert (step.attention[1, 4:] == 1).all(), "padding counts as fully seen"
    with pytest.raises(ValueError, match="only if it was begun with cross-attention heads"):
        _ = TranslationStep(model, SOURCE).attention


@every_variant
@torch.no_grad()
def test_every_recorded_value_equals_its_formula(config: RecurrentConfig) -> None:
    model, tape = recurrent(config), Tape()
    model(SOURCE[:1], SHIFTED[:1], tape)
    weights = {name: each.double().numpy() for name, each in model.state_dict().items()}
    again = by_numpy.recurrent(asdict(config), weights, SOURCE[0].tolist(), SHIFTED[0].tolist())
    assert set(again) == set(tape.tensors)
    for name, array in again.items():
        np.testing.assert_allclose(tape[name][0].numpy(), array, atol=1e-5, rtol=1e-4, err_msg=name)


def test_both_sides_are_described_like_stacks() -> None:
    assert (CONFIG.encoder.depth, CONFIG.encoder.width, CONFIG.encoder.heads) == (2, 10, 0)
    assert (CONFIG.decoder.depth, CONFIG.decoder.width, CONFIG.decoder.heads) == (1, 12, 3)


# Step -----------------------------------------------------------------------------------------------------


@every_variant
@torch.no_grad()
def test_a_step_equals_the_full_forward_at_each_position(config: RecurrentConfig) -> None:
    model = recurrent(config)
    whole, step = model(SOURCE, SHIFTED), TranslationStep(model, SOURCE)
    for position in range(T):
        logits = step(SHIFTED[:, position : position + 1])
        torch.testing.assert_close(logits, whole[:, position], atol=1e-5, rtol=1e-5)


@every_variant
@pytest.mark.parametrize("rows", [[1, 0], [1], [1, 1, 0, 1]], ids=str)
@torch.no_grad()
def test_a_step_equals_the_full_forward_after_rows_are_selected(
    config: RecurrentConfig, rows: list[int]
) -> None:
    model = recurrent(config)
    step = TranslationStep(model, SOURCE)
    step(SHIFTED[:, :2])
    step.select(torch.tensor(rows))
    tails = (torch.arange(len(rows) * 3).view(len(rows), 3) + 4) % (V - 3) + 3  # each row goes its own way
    whole = model(SOURCE[rows], torch.cat([SHIFTED[rows, :2], tails], dim=1))
    for position in range(3):
        logits = step(tails[:, position : position + 1])
        torch.testing.assert_close(logits, whole[:, position + 2], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_the_source_is_read_once_and_projected_once() -> None:
    model, calls = recurrent(), []
    model.encoder[0].register_forward_hook(lambda *_: calls.append("encoder"))
    model.cross_attention.key.register_forward_hook(lambda *_: calls.append("key"))
    step = TranslationStep(model, SOURCE)
    for position in range(T):
        step(SHIFTED[:, position : position + 1])
        step.select(torch.tensor([1, 0]))
    assert calls == ["encoder", "key"]


# Errors ------------------------------------------------------------------------------------------


def test_an_empty_source_in_a_batch_raises_an_error() -> None:
    model, empty = recurrent(), SOURCE.clone()
    empty[1] = PAD
    with pytest.raises(ValueError, match="no tokens"):
        model(empty, SHIFTED)


def test_a_sentence_longer_than_the_context_raises_an_error() -> None:
    model, long = recurrent(), torch.full((1, 10), 5)
    with pytest.raises(ValueError, match="beyond the context of 9"):
        model(long, SHIFTED[:1])
    with pytest.raises(ValueError, match="beyond the context of 9"):
        model(SOURCE[:1], long)
    step = TranslationStep(model, SOURCE)
    for _ in range(9):
        step(torch.full((B, 1), 5))
    with pytest.raises(ValueError, match="beyond the context of 9"):
        step(torch.full((B, 1), 5))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"hidden": 13}, "hidden 13 must be even"),
        ({"heads": 5}, "hidden 12 must be a multiple of heads 5"),
        ({"encoder_depth": 0}, "at least 1"),
        ({"dropout": 1.0}, "dropout"),
        ({"label_smoothing": 1.0}, "label smoothing"),
    ],
)
def test_a_configuration_that_cannot_be_built_raises_an_error(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(CONFIG, **wrong)
