"""The translator: what its loss is, what each logit depends on, and that a step equals the whole."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.core.pairs import TranslationBatch, TranslationStep
from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape
from qkv.core.translation import CrossHeads
from qkv.families.translator.config import OneStreamConfig, TranslatorConfig
from qkv.families.translator.model import OneStream, Translator

B, T, S, H, K = 2, 5, 7, 3, 4
D, V = H * K, 11
PAD, START, END = 0, 1, 2
STACK = StackConfig(depth=2, width=D, heads=H, ffn_width=13, norm="post", activation="relu", dropout=0.0)
CONFIG = TranslatorConfig(
    vocab_size=V,
    max_length=9,
    pad=PAD,
    start=START,
    end=END,
    positions="interleaved",
    encoder=STACK,
    decoder=replace(STACK, depth=3, ffn_width=17),
)
VARIANTS = {
    "post, interleaved": CONFIG,
    "post, halves": replace(CONFIG, positions="halves"),
    "pre, learned": replace(
        CONFIG,
        positions="learned",
        encoder=replace(CONFIG.encoder, norm="pre"),
        decoder=replace(CONFIG.decoder, norm="pre", activation="gelu"),
    ),
    "pre, rotary": replace(
        CONFIG,
        positions="rotary",
        encoder=replace(CONFIG.encoder, norm="pre"),
        decoder=replace(CONFIG.decoder, norm="pre", heads=H // 3),  # another width of heads
    ),
    "post, no positions": replace(CONFIG, positions="none"),
}
WITH_POSITIONS = {name: config for name, config in VARIANTS.items() if config.positions != "none"}
every_variant = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())

SOURCE = torch.tensor([[3, 4, 5, 6, 7, 8, END], [9, 10, 3, END, PAD, PAD, PAD]])
SHIFTED = torch.tensor([[START, 5, 6, 7, 8], [START, 9, 10, PAD, PAD]])
TARGET = torch.tensor([[5, 6, 7, 8, END], [9, 10, END, PAD, PAD]])
BATCH = TranslationBatch.of(SOURCE, SHIFTED, TARGET, PAD)


def translator(config: TranslatorConfig = CONFIG) -> Translator:
    torch.manual_seed(1)
    model = Translator(config).eval()
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
def test_the_loss_is_the_cross_entropy_of_the_logits_without_padding(config: TranslatorConfig) -> None:
    model = translator(config)
    torch.testing.assert_close(model.loss(BATCH), cross_entropy(model(SOURCE, SHIFTED)), atol=1e-5, rtol=1e-5)


def test_gradients_of_the_loss_are_those_of_the_cross_entropy_of_the_logits() -> None:
    model = translator(replace(CONFIG, label_smoothing=0.1)).train()
    parameters = list(model.parameters())
    ours = torch.autograd.grad(model.loss(BATCH), parameters)
    theirs = torch.autograd.grad(cross_entropy(model(SOURCE, SHIFTED), 0.1), parameters)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-3)


def test_labels_are_smoothed_in_training_only() -> None:
    model = translator(replace(CONFIG, label_smoothing=0.1))
    logits = model(SOURCE, SHIFTED)
    torch.testing.assert_close(model.loss(BATCH), cross_entropy(logits), atol=1e-5, rtol=1e-5)
    model.train()
    torch.testing.assert_close(model.loss(BATCH), cross_entropy(logits, 0.1), atol=1e-5, rtol=1e-5)
    assert not torch.isclose(cross_entropy(logits), cross_entropy(logits, 0.1))


def test_the_loss_is_a_mean_over_words_not_over_sentences() -> None:
    model = translator()
    rows = [TranslationBatch.of(SOURCE[[row]], SHIFTED[[row]], TARGET[[row]], PAD) for row in range(B)]
    first, second = (model.loss(row) for row in rows)
    torch.testing.assert_close(model.loss(BATCH), (5 * first + 3 * second) / 8, atol=1e-5, rtol=1e-5)


@every_variant
def test_gradient_reaches_every_parameter(config: TranslatorConfig) -> None:
    model = translator(config).train()
    model.loss(BATCH).backward()
    # A bias of the keys adds the same to every score of a query, and softmax does not see it.
    # Where keys are turned by their position, what the bias adds differs from key to key.
    silent = {name for name, parameter in model.named_parameters() if not reached(parameter)}
    unseen = [name for name, _ in model.named_parameters() if name.endswith("key.bias")]
    if config.positions == "rotary":
        unseen = [name for name in unseen if "cross_attention" in name]
    assert silent == set(unseen)


def reached(parameter: torch.nn.Parameter) -> bool:
    return parameter.grad is not None and bool(parameter.grad.abs().max() > 1e-7)


# What each logit depends on -------------------------------------------------------------------------------


@every_variant
def test_logits_depend_only_on_tokens_up_to_their_position(config: TranslatorConfig) -> None:
    model = translator(config)
    shifted = torch.tensor([[START, 5, 6, 7, 8], [START, 9, 10, 3, 4]])
    before = model(SOURCE, shifted)
    for position in range(T):
        changed = shifted.clone()
        changed[:, position] = 6 + changed[:, position] % 2 * 4 - position % 2
        difference = (model(SOURCE, changed) - before).abs().amax(dim=(0, 2))
        assert difference[:position].sum() < 1e-5
        assert (difference[position:] > 1e-4).all()
        torch.testing.assert_close(
            model(SOURCE, shifted[:, : position + 1]), before[:, : position + 1], atol=1e-5, rtol=1e-5
        )


@every_variant
def test_every_logit_depends_on_every_source_word(config: TranslatorConfig) -> None:
    model = translator(config)
    before = model(SOURCE[:1], SHIFTED[:1])
    for position in range(S):
        changed = SOURCE[:1].clone()
        changed[0, position] = 10
        assert ((model(changed, SHIFTED[:1]) - before).abs().amax(dim=(0, 2)) > 1e-5).all()


@every_variant
def test_padding_and_neighbours_change_nothing(config: TranslatorConfig) -> None:
    model = translator(config)
    together, alone = model(SOURCE, SHIFTED), model(SOURCE[1:, :4], SHIFTED[1:, :3])
    torch.testing.assert_close(together[1:, :3], alone, atol=1e-5, rtol=1e-5)
    wider = F.pad(SOURCE, (0, 2), value=PAD)
    torch.testing.assert_close(model(wider, SHIFTED), together, atol=1e-5, rtol=1e-5)


def test_a_decoder_may_start_with_the_padding_id_as_marian_does() -> None:
    model = translator(replace(CONFIG, start=PAD))
    logits = model(SOURCE, torch.tensor([[PAD, 5, 6], [PAD, 9, 10]]))
    assert logits.isfinite().all()
    assert not torch.allclose(logits, model(SOURCE, torch.tensor([[START, 5, 6], [START, 9, 10]])), atol=1e-3)


@pytest.mark.parametrize("config", WITH_POSITIONS.values(), ids=WITH_POSITIONS.keys())
def test_the_order_of_the_source_words_matters(config: TranslatorConfig) -> None:
    model = translator(config)
    assert not torch.allclose(
        model(SOURCE[:1].flip(1), SHIFTED[:1]), model(SOURCE[:1], SHIFTED[:1]), atol=1e-3
    )


def test_without_positions_the_source_is_a_set_of_words_but_the_target_is_not() -> None:
    model = translator(VARIANTS["post, no positions"])
    before = model(SOURCE[:1], SHIFTED[:1])
    torch.testing.assert_close(model(SOURCE[:1].flip(1), SHIFTED[:1]), before, atol=1e-5, rtol=1e-5)
    swapped = SHIFTED[:1, [0, 2, 1, 3, 4]]
    assert not torch.allclose(model(SOURCE[:1], swapped)[:, 2], before[:, 2], atol=1e-4)


# Embeddings and positions ---------------------------------------------------------------------------------


def test_one_matrix_embeds_the_source_and_the_target_and_makes_the_logits() -> None:
    model = translator()
    matrices = [name for name, parameter in model.named_parameters() if V in parameter.shape]
    assert matrices == ["tokens.weight"]
    memory, mask = model.encode(SOURCE)
    x = model.decode(SHIFTED, memory, mask)
    torch.testing.assert_close(model(SOURCE, SHIFTED), x @ model.tokens.weight.T, atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        model.tokens.weight[5] += 1  # row 5 is a source word and a target word of the first pair alone
    assert not torch.allclose(model.encode(SOURCE)[0][0], memory[0], atol=1e-3)
    assert not torch.allclose(model.decode(SHIFTED, memory, mask)[0], x[0], atol=1e-3)
    torch.testing.assert_close(model.encode(SOURCE)[0][1], memory[1])


def test_the_number_of_parameters_is_the_sum_of_its_parts() -> None:
    def block(config: StackConfig, attentions: int) -> int:
        feed_forward = 2 * D * config.ffn_width + config.ffn_width + D
        return attentions * 4 * (D * D + D) + feed_forward + (attentions + 1) * 2 * D

    blocks = 2 * block(CONFIG.encoder, 1) + 3 * block(CONFIG.decoder, 2)
    assert count(CONFIG) == V * D + blocks
    assert count(replace(CONFIG, positions="halves")) == count(CONFIG)
    assert count(replace(CONFIG, positions="learned")) == count(CONFIG) + 2 * CONFIG.max_length * D


def count(config: TranslatorConfig) -> int:
    return sum(parameter.numel() for parameter in Translator(config).parameters())


def test_embeddings_are_scaled_by_the_root_of_the_width() -> None:
    model = translator()
    embedded = model.embed(SOURCE, torch.zeros(S, D))
    torch.testing.assert_close(embedded, model.tokens.weight[SOURCE] * D**0.5)


def test_learned_positions_are_separate_for_source_and_target() -> None:
    model = translator(VARIANTS["pre, learned"])
    memory, mask = model.encode(SOURCE)
    x = model.decode(SHIFTED, memory, mask)
    with torch.no_grad():
        model.target_positions.table += torch.arange(D)  # type: ignore[operator]
    torch.testing.assert_close(model.encode(SOURCE)[0], memory)
    assert not torch.allclose(model.decode(SHIFTED, memory, mask), x, atol=1e-3)


def test_rotary_positions_need_heads_of_even_width() -> None:
    with pytest.raises(ValueError, match="an even head width"):
        replace(VARIANTS["pre, rotary"], decoder=replace(CONFIG.decoder, heads=4))


def test_sinusoidal_positions_are_not_saved() -> None:
    assert not [name for name in translator().state_dict() if "position" in name]
    learned = translator(VARIANTS["pre, learned"]).state_dict()
    assert [name for name in learned if "position" in name] == [
        "source_positions.table",
        "target_positions.table",
    ]


@every_variant
def test_saved_weights_loaded_into_a_new_model_give_equal_logits(config: TranslatorConfig) -> None:
    model, fresh = translator(config), Translator(config).eval()
    assert not torch.equal(fresh(SOURCE, SHIFTED), model(SOURCE, SHIFTED))
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh(SOURCE, SHIFTED), model(SOURCE, SHIFTED))


# Step -----------------------------------------------------------------------------------------------------


@every_variant
@torch.no_grad()
def test_a_step_equals_the_full_forward_at_each_position(config: TranslatorConfig) -> None:
    model = translator(config)
    whole, step = model(SOURCE, SHIFTED), TranslationStep(model, SOURCE)
    for position in range(T):
        logits = step(SHIFTED[:, position : position + 1])
        torch.testing.assert_close(logits, whole[:, position], atol=1e-5, rtol=1e-5)


@every_variant
@pytest.mark.parametrize("rows", [[1, 0], [1], [1, 1, 0, 1]], ids=str)
@torch.no_grad()
def test_a_step_equals_the_full_forward_after_rows_are_selected(
    config: TranslatorConfig, rows: list[int]
) -> None:
    model = translator(config)
    step = TranslationStep(model, SOURCE)
    step(SHIFTED[:, :1])
    step(SHIFTED[:, 1:2])
    step.select(torch.tensor(rows))
    tails = (torch.arange(len(rows) * 3).view(len(rows), 3) + 4) % (V - 3) + 3  # each row goes its own way
    whole = model(SOURCE[rows], torch.cat([SHIFTED[rows, :2], tails], dim=1))
    for position in range(3):
        logits = step(tails[:, position : position + 1])
        torch.testing.assert_close(logits, whole[:, position + 2], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_step_may_read_a_prefix_at_once() -> None:
    model = translator()
    step, whole = TranslationStep(model, SOURCE), model(SOURCE, SHIFTED)
    torch.testing.assert_close(step(SHIFTED[:, :3]), whole[:, 2], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(step(SHIFTED[:, 3:5]), whole[:, 4], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_the_source_is_encoded_once_and_projected_once_in_each_block() -> None:
    model, calls = translator(), []
    model.encoder.register_forward_hook(lambda *_: calls.append("encoder"))
    for block in model.decoder.blocks:
        attention: Any = block.cross_attention
        attention.sublayer.key.register_forward_hook(lambda *_: calls.append("key"))
    step = TranslationStep(model, SOURCE)
    for position in range(T):
        step(SHIFTED[:, position : position + 1])
        step.select(torch.tensor([1, 0]))
    assert calls == ["encoder"] + ["key"] * CONFIG.decoder.depth


# Errors ------------------------------------------------------------------------------------------


def test_an_empty_source_in_a_batch_raises_an_error() -> None:
    model = translator()
    empty = SOURCE.clone()
    empty[1] = PAD
    for call in (
        lambda: model(empty, SHIFTED),
        lambda: TranslationStep(model, empty),
        lambda: model.encode(SOURCE[:, :0]),
    ):
        with pytest.raises(ValueError, match="no tokens"):
            call()


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_sentence_longer_than_the_context_raises_an_error(config: TranslatorConfig) -> None:
    model, long = translator(config), torch.full((1, 10), 5)
    with pytest.raises(ValueError, match="beyond the context of 9"):
        model(long, SHIFTED[:1])
    with pytest.raises(ValueError, match="beyond the context of 9"):
        model(SOURCE[:1], long)


def test_decoding_past_the_context_raises_an_error() -> None:
    step = TranslationStep(translator(), SOURCE)
    for _ in range(9):
        step(torch.full((B, 1), 5))
    with pytest.raises(ValueError, match="beyond the context of 9"):
        step(torch.full((B, 1), 5))


def test_a_batch_without_a_single_target_word_raises_an_error() -> None:
    with pytest.raises(ValueError, match="no target"):
        translator().loss(TranslationBatch.of(SOURCE, SHIFTED, torch.full_like(TARGET, PAD), PAD))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"decoder": replace(STACK, width=15)}, "encoder width 12 must equal decoder width 15"),
        ({"label_smoothing": 1.0}, "label smoothing"),
        ({"label_smoothing": -0.1}, "label smoothing"),
    ],
)
def test_a_configuration_that_cannot_be_built_raises_an_error(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(CONFIG, **wrong)


# One stream (T-D) -------------------------------------------------------------------------------------------

ONE_STREAM = OneStreamConfig(
    vocab_size=V,
    max_length=9,
    pad=PAD,
    start=START,
    end=END,
    positions="learned",
    decoder=replace(STACK, norm="pre", depth=3),
)
STREAMS = {
    each: replace(ONE_STREAM, positions=each) for each in ("interleaved", "halves", "learned", "rotary")
}
every_stream = pytest.mark.parametrize("config", STREAMS.values(), ids=STREAMS.keys())


def one_stream(config: OneStreamConfig) -> OneStream:
    torch.manual_seed(1)
    model = OneStream(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


@every_stream
@torch.no_grad()
def test_in_one_stream_a_step_equals_the_whole_also_after_a_reorder(config: OneStreamConfig) -> None:
    model = one_stream(config)
    step, logits = TranslationStep(model, SOURCE), model(SOURCE, SHIFTED)
    for place in range(3):
        torch.testing.assert_close(
            step(SHIFTED[:, place : place + 1]), logits[:, place], atol=1e-5, rtol=1e-5
        )
    step.select(torch.tensor([1]))
    torch.testing.assert_close(step(SHIFTED[1:, 3:5]), logits[1:, 4], atol=1e-5, rtol=1e-5)


@every_stream
@torch.no_grad()
def test_in_one_stream_padding_changes_nothing(config: OneStreamConfig) -> None:
    model = one_stream(config)
    alone = model(SOURCE[1:, :4], SHIFTED[1:, :3])
    torch.testing.assert_close(model(SOURCE, SHIFTED)[1:, :3], alone, atol=1e-5, rtol=1e-5)


@every_stream
@torch.no_grad()
def test_in_one_stream_a_target_word_sees_all_of_the_source_and_no_future_word(
    config: OneStreamConfig,
) -> None:
    model, logits = one_stream(config), one_stream(config)(SOURCE, SHIFTED)
    later, other = SHIFTED.clone(), SOURCE.clone()
    later[0, 3], other[0, 5] = 9, 9
    torch.testing.assert_close(model(SOURCE, later)[0, :3], logits[0, :3], atol=0, rtol=0)
    assert not torch.allclose(model(SOURCE, later)[0, 3:], logits[0, 3:])
    assert not torch.isclose(model(other, SHIFTED)[0], logits[0]).all(-1).any()


def test_in_one_stream_the_loss_is_on_the_target_alone() -> None:
    model = one_stream(ONE_STREAM)
    torch.testing.assert_close(model.loss(BATCH), cross_entropy(model(SOURCE, SHIFTED)), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_step_of_a_one_stream_model_returns_attention_on_the_source() -> None:
    model, tape = one_stream(ONE_STREAM), Tape()
    model(SOURCE, SHIFTED, tape)
    step = TranslationStep(model, SOURCE, CrossHeads(block=1, heads=(0, 2)))
    for place in range(2):
        step(SHIFTED[:, place : place + 1])
    looks = tape["decoder.1.cross_attention.weights"][:, [0, 2], 1].mean(1)  # (B, S)
    torch.testing.assert_close(looks.sum(-1), torch.ones(B), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(step.attention.where(SOURCE != PAD, 0.0), looks, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_in_one_stream_the_source_is_read_once() -> None:
    model, seen = one_stream(ONE_STREAM), []
    model.tokens.register_forward_hook(lambda module, given, result: seen.append(given[0].shape[1]))
    step = TranslationStep(model, SOURCE)
    for place in range(3):
        step(SHIFTED[:, place : place + 1])
    assert sorted(seen) == [1, 1, 1, S]
