"""The block: where the norm stands, what a configuration refuses, and that padding and the future are unseen."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.block import ACTIVATIONS, FeedForward, Residual, Stack
from qkv.core.masks import causal_mask
from qkv.core.stack_config import StackConfig

B, T, S, H, K = 2, 5, 7, 3, 4
D = H * K
CONFIG = StackConfig(depth=2, width=D, heads=H, ffn_width=13, norm="post", activation="relu", dropout=0.0)
PRE = replace(CONFIG, norm="pre")


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def randomised(module: nn.Module) -> nn.Module:
    """Norms start at one and zero: a test with those would not see one that is misplaced."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return module.eval()


class Doubled(nn.Module):
    def forward(self, x: Tensor, *, tape: None = None) -> Tensor:
        return 2 * x


def test_post_norm_is_the_norm_of_the_sum() -> None:
    residual, x = randomised(Residual(CONFIG, Doubled())), seeded(B, T, D)
    assert torch.equal(residual(x), residual.norm(x + 2 * x))


def test_pre_norm_adds_the_sublayer_of_the_norm() -> None:
    residual, x = randomised(Residual(PRE, Doubled())), seeded(B, T, D)
    assert torch.equal(residual(x), x + 2 * residual.norm(x))


def test_a_pre_norm_stack_ends_with_a_norm_of_its_own_and_a_post_norm_stack_does_not() -> None:
    assert {name for name, _ in Stack(PRE).named_parameters() if name.startswith("norm")} == {
        "norm.weight",
        "norm.bias",
    }
    assert not any(name.startswith("norm") for name, _ in Stack(CONFIG).named_parameters())


@pytest.mark.parametrize("config", [CONFIG, PRE], ids=["post", "pre"])
def test_a_fresh_stack_gives_positions_of_mean_zero_and_variance_one(config: StackConfig) -> None:
    y = Stack(config).eval()(seeded(B, T, D) * 5 + 3)
    torch.testing.assert_close(y.mean(-1), torch.zeros(B, T), atol=1e-5, rtol=0)
    torch.testing.assert_close(y.var(-1, unbiased=False), torch.ones(B, T), atol=1e-3, rtol=0)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_feed_forward_is_two_matrices_around_the_activation_at_each_position(activation: Any) -> None:
    layer = randomised(FeedForward(replace(CONFIG, activation=activation)))
    assert isinstance(layer, FeedForward)
    x, sigma = seeded(B, T, D), ACTIVATIONS[activation]
    by_hand = (
        sigma(x @ layer.expand.weight.T + layer.expand.bias) @ layer.contract.weight.T + layer.contract.bias
    )
    torch.testing.assert_close(layer(x), by_hand, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(layer(x)[:, 3:4], layer(x[:, 3:4]), atol=1e-5, rtol=1e-5)


def test_the_four_activations_are_four_different_functions() -> None:
    x = torch.linspace(-3, 3, 50)
    values = [function(x) for function in ACTIVATIONS.values()]
    assert all(not torch.equal(a, b) for index, a in enumerate(values) for b in values[index + 1 :])
    torch.testing.assert_close(ACTIVATIONS["swish"](x), x * x.sigmoid())
    torch.testing.assert_close(ACTIVATIONS["gelu"](x), x * (1 + torch.erf(x / 2**0.5)) / 2)
    assert torch.equal(ACTIVATIONS["relu"](x), F.relu(x))


@pytest.mark.parametrize("config", [CONFIG, PRE], ids=["post", "pre"])
def test_a_token_never_sees_the_future_through_a_stack(config: StackConfig) -> None:
    stack, x, memory = randomised(Stack(config, cross=True)), seeded(B, T, D), seeded(B, S, D, seed=1)
    before = stack(x, mask=causal_mask(T, T), memory=memory)
    for position in range(T):
        changed = x.clone()
        changed[:, position, 0] += 5
        difference = (stack(changed, mask=causal_mask(T, T), memory=memory) - before).abs().amax(dim=(0, 2))
        assert difference[:position].sum() < 1e-5
        assert (difference[position:] > 1e-4).all()


@pytest.mark.parametrize("config", [CONFIG, PRE], ids=["post", "pre"])
def test_padding_of_the_memory_and_of_the_input_changes_nothing(config: StackConfig) -> None:
    encoder, decoder = randomised(Stack(config)), randomised(Stack(config, cross=True))
    real = (torch.arange(S) < torch.tensor([7, 4])[:, None])[:, None, None, :]
    x, memory = seeded(B, T, D), seeded(B, S, D, seed=1)
    padded = encoder(memory, mask=real)
    torch.testing.assert_close(padded[1:, :4], encoder(memory[1:, :4]), atol=1e-5, rtol=1e-5)
    looked = decoder(x, mask=causal_mask(T, T), memory=padded, memory_mask=real)
    alone = decoder(x[1:], mask=causal_mask(T, T), memory=padded[1:, :4])
    torch.testing.assert_close(looked[1:], alone, atol=1e-5, rtol=1e-5)


def test_every_decoder_block_attends_to_the_same_memory_and_not_only_the_first() -> None:
    stack, x, memory = randomised(Stack(CONFIG, cross=True)), seeded(B, T, D), seeded(B, S, D, seed=1)
    looked_at = []
    for block in stack.blocks:  # type: ignore[union-attr]
        block.cross_attention.sublayer.key.register_forward_hook(
            lambda module, arguments, output: looked_at.append(arguments[0])
        )
    stack(x, memory=memory)
    assert len(looked_at) == CONFIG.depth
    assert all(what is memory for what in looked_at)


def test_dropout_acts_in_training_only() -> None:
    stack, x = Stack(replace(CONFIG, dropout=0.5)), seeded(B, T, D)
    assert not torch.equal(stack(x), stack(x))
    stack.eval()
    assert torch.equal(stack(x), stack(x))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"width": 13}, "width 13 is not a multiple of heads 3"),
        ({"depth": 0}, "at least 1"),
        ({"heads": 0}, "at least 1"),
        ({"ffn_width": -1}, "at least 1"),
        ({"width": 0}, "at least 1"),
        ({"dropout": 1.0}, "dropout"),
        ({"dropout": -0.1}, "dropout"),
        ({"attention_dropout": 1.0}, "dropout"),
    ],
)
def test_a_configuration_that_cannot_be_built_is_rejected(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(CONFIG, **wrong)


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        CONFIG.width = 24  # type: ignore[misc]


def test_a_stack_is_described_in_plain_words() -> None:
    one = StackConfig(depth=1, width=8, heads=1, ffn_width=16, norm="pre", activation="relu", dropout=0.0)
    assert one.sentence() == "1 block, width 8, 1 head, FFN width 16, pre-norm, relu"
    assert replace(one, depth=2, heads=4).sentence().startswith("2 blocks, width 8, 4 heads")
