"""GPT: what its loss is, what each logit depends on, and that a step equals the whole, also past the context."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
import torch.nn.functional as F

from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape
from qkv.families.gpt.config import GPTConfig, TaskConfig, first_read
from qkv.families.gpt.model import GPT, GPTForTask, TaskBatch, TextBatch

B, T, H, K = 2, 5, 3, 4
D, V, PAD, END = H * K, 11, 0, 2
STACK = StackConfig(depth=2, width=D, heads=H, ffn_width=13, norm="post", activation="gelu", dropout=0.0)
CONFIG = GPTConfig(vocab_size=V, max_length=7, end=END, positions="learned", stack=STACK)
VARIANTS = {
    "GPT-1": CONFIG,
    "GPT-2": replace(CONFIG, stack=replace(STACK, norm="pre")),
    "rotary, even context": replace(
        CONFIG, max_length=8, positions="rotary", stack=replace(STACK, norm="pre", heads=H // 3)
    ),
}
every_variant = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
TEXT = torch.tensor([[3, 4, 5, 6, 7, 8, 9, 10, 3, 5, 7, 9, 4, 6, 8, 10, 3, 3, 4, 4]])
TWO = torch.cat([TEXT, TEXT.flip(1)])


def gpt(config: GPTConfig = CONFIG) -> GPT:
    torch.manual_seed(1)
    model = GPT(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


# The loss -------------------------------------------------------------------------------------------------


@every_variant
def test_the_loss_is_the_cross_entropy_of_the_logits_without_padding(config: GPTConfig) -> None:
    model, rows = gpt(config), [TEXT[0, :6], TEXT[0, 6:10]]
    each = [F.cross_entropy(model(row[None, :-1])[0], row[1:], reduction="sum") for row in rows]
    torch.testing.assert_close(model.loss(TextBatch.of(rows, PAD)), sum(each) / 8, atol=1e-5, rtol=1e-5)


def test_a_batch_moves_whole() -> None:
    batch = TextBatch.of([TEXT[0, :6], TEXT[0, 6:10]], PAD).to(torch.device("meta"))
    assert {batch.ids.device.type, batch.target.device.type, batch.real.device.type} == {"meta"}


# What a logit depends on ------------------------------------------------------------------------------------


@every_variant
@torch.no_grad()
def test_a_token_never_sees_the_future(config: GPTConfig) -> None:
    model, ids = gpt(config), TEXT[:, :T]
    for place in range(1, T):
        changed = ids.clone()
        changed[0, place] = 1
        torch.testing.assert_close(model(changed)[:, :place], model(ids)[:, :place], atol=0, rtol=0)
        assert not torch.allclose(model(changed)[:, place:], model(ids)[:, place:])


@every_variant
@torch.no_grad()
def test_the_spelled_out_attention_gives_the_same_logits(config: GPTConfig) -> None:
    model, tape = gpt(config), Tape()
    torch.testing.assert_close(model(TWO[:, :T], tape), model(TWO[:, :T]), atol=1e-5, rtol=1e-5)
    assert tape["decoder.1.attention.weights"].shape == (B, config.stack.heads, T, T)


def first_spread(norm: Literal["pre", "post"]) -> dict[str, float]:
    stack = replace(STACK, width=96, heads=3, ffn_width=96, depth=8, norm=norm)
    model = GPT(replace(CONFIG, stack=stack))
    return {
        name: weight.detach().std().item() for name, weight in model.named_parameters() if weight.ndim == 2
    }


def test_residual_branches_of_pre_norm_start_smaller() -> None:
    torch.manual_seed(5)
    for name, std in first_spread("pre").items():
        residual = name.endswith(("output.weight", "contract.weight"))
        assert std == pytest.approx(0.02 / 4 if residual else 0.02, rel=0.1), name
    assert all(std == pytest.approx(0.02, rel=0.1) for std in first_spread("post").values())


# Steps ------------------------------------------------------------------------------------------------------


@every_variant
@torch.no_grad()
def test_a_step_equals_reading_the_window_anew_also_past_the_context(config: GPTConfig) -> None:
    model = gpt(config)
    step = model.begin()
    for length in range(1, TWO.shape[1] + 1):
        window = TWO[:, first_read(length, config.max_length) : length]
        assert window.shape[1] <= config.max_length
        torch.testing.assert_close(
            step(TWO[:, length - 1 : length]), model(window)[:, -1], atol=1e-5, rtol=1e-5
        )
    assert step.slid


@every_variant
@torch.no_grad()
def test_it_makes_no_difference_in_which_portions_a_text_is_read(config: GPTConfig) -> None:
    model = gpt(config)
    whole = model.begin()(TWO)
    for portions in ([19, 1], [1] * 20, [7, 8, 5], [3, 14, 3]):
        step = model.begin()
        for part in TWO.split(portions, dim=1):
            logits = step(part)
        torch.testing.assert_close(logits, whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_rows_can_be_reordered_and_leave() -> None:
    model = gpt()
    step = model.begin()
    step(TWO[:, :4])
    step.select(torch.tensor([1]))
    expected = model(TWO[1:, :6])[:, -1]
    torch.testing.assert_close(step(TWO[1:, 4:6]), expected, atol=1e-5, rtol=1e-5)
    step(TWO[1:, 6:9])  # slides with the rows that are left
    assert step.slid


@pytest.mark.parametrize("context", [2, 7, 8, 64])
def test_a_window_fits_and_keeps_at_least_half_a_context(context: int) -> None:
    for length in range(1, 5 * context):
        kept = length - first_read(length, context)
        assert kept <= context
        assert kept == length or kept > context // 2


@torch.no_grad()
def test_a_step_reads_only_what_is_new() -> None:
    model, seen = gpt(), []
    model.tokens.register_forward_hook(lambda module, given, result: seen.append(given[0].shape[1]))
    step = model.begin()
    for place in range(10):
        step(TWO[:, place : place + 1])
    assert seen == [1, 1, 1, 1, 1, 1, 1, 4, 1, 1]  # at the eighth the older half of seven is forgotten


# Tasks ------------------------------------------------------------------------------------------------------

ROWS = [TEXT[0, :6], TEXT[0, 6:10], TEXT[0, 2:9], TEXT[0, 1:4]]


def for_task(**changes: object) -> GPTForTask:
    torch.manual_seed(2)
    given: dict[str, object] = {"gpt": CONFIG, "task": "classes", "classes": 3} | changes
    model = GPTForTask(TaskConfig(**given)).eval()  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def batch_of(answer: torch.Tensor) -> TaskBatch:
    return TaskBatch.of([ROWS[:2], ROWS[2:]], answer, PAD)


@torch.no_grad()
def test_states_of_both_orders_are_added_up_before_the_matrix() -> None:
    model, batch = for_task(), batch_of(torch.tensor([1, 0]))
    states = [model.gpt.read(row[None])[0, -1] for row in ROWS]
    expected = torch.stack([model.head(states[0] + states[1]), model.head(states[2] + states[3])])
    torch.testing.assert_close(model(batch.text.ids, batch.last), expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_choices_compete_by_a_score_each() -> None:
    model, batch = for_task(task="choice", classes=1), batch_of(torch.tensor([1, 0]))
    states = torch.stack([model.gpt.read(row[None])[0, -1] for row in ROWS])
    scores = model.head(states).view(2, 2)
    torch.testing.assert_close(model(batch.text.ids, batch.last), scores, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model.loss(batch), F.cross_entropy(scores, batch.answer), atol=1e-5, rtol=1e-5)


def test_the_language_models_loss_is_added_in_training_alone() -> None:
    model, batch = for_task(auxiliary=0.25), batch_of(torch.tensor([1, 0]))
    own, text = model.loss(batch), model.gpt.loss(TextBatch.of(ROWS, PAD))
    torch.testing.assert_close(model.train().loss(batch), own + 0.25 * text, atol=1e-5, rtol=1e-5)


def test_a_number_is_learned_by_its_squared_error() -> None:
    model, batch = for_task(task="value", classes=1), batch_of(torch.tensor([1.5, -0.5]))
    scores = model(batch.text.ids, batch.last)[:, 0]
    torch.testing.assert_close(model.loss(batch), (scores - batch.answer).square().mean())
