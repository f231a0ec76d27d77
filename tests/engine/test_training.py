"""What compiled kernels compute in training is what the formulas of `core` give, in value and in gradient."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from engine_levels import folder_of_all_levels
from torch import Tensor, nn

from qkv.core.attention import Attention, attend
from qkv.core.block import Stack
from qkv.core.dropout import Dropout
from qkv.core.kernels import LONGEST, AttentionByKernels, computed_by, norm
from qkv.core.loss import in_chunks, output_cross_entropy
from qkv.core.masks import as_scores, causal_mask, padding_mask
from qkv.core.positions import RotaryPositions, rotate
from qkv.core.products import ByTorch, multiplied_by
from qkv.core.stack_config import StackConfig
from qkv.engine.int16 import Int16
from qkv.engine.library import LEVEL, library
from qkv.engine.training import CompiledKernels

B, H, T, S, K = 3, 4, 5, 7, 6
LEVELS = ["baseline", "avx2", None]  # None: the best of this processor


@pytest.fixture(scope="module", params=LEVELS)
def kernels(request: pytest.FixtureRequest) -> CompiledKernels:
    found = CompiledKernels()
    if request.param is not None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("qkv.engine.library.PREBUILT", folder_of_all_levels())
            patch.setenv(LEVEL, request.param)
            found.library = library.__wrapped__()
    return found


@pytest.fixture
def compiled() -> Iterator[CompiledKernels]:
    kernels = CompiledKernels()
    with computed_by(kernels):
        yield kernels


def some(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def lengths(*numbers: int) -> Tensor:
    return torch.tensor([[1] * number + [0] * (S - number) for number in numbers])


def by_formula(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rotation: Tensor | None, heads: int
) -> Tensor:
    q, k, v = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in (q, k, v))
    if rotation is not None:
        q, k = rotate(q, rotation), rotate(k, rotation)
    return attend(q, k, v, mask).transpose(1, 2).flatten(-2)


MASKS = {
    "none": (S, None),
    "padding": (S, padding_mask(lengths(7, 3, 1), pad=0)),
    "causal": (T, causal_mask(T, T)),
    "causal, more keys than queries": (S, causal_mask(T, S)),
    "a hole": (S, torch.tensor([True, False, True, True, False, True, False])[None, None, None].expand(B, 1, 1, S)),
    "each its own": (S, torch.ones(B, 1, T, S, dtype=torch.bool).tril(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("width", [6, 32])
def test_attention_and_its_gradients_are_those_of_the_formula(
    name: str, width: int, kernels: CompiledKernels
) -> None:
    keys, mask = MASKS[name]
    q, k, v = (
        some(B, T, H * width, seed=1),
        some(B, keys, H * width, seed=2),
        some(B, keys, H * width, seed=3),
    )
    rotation = RotaryPositions(9, width)(0, T) if keys == T else None
    scores = None if mask is None else as_scores(mask, torch.float32)
    ours: Tensor = AttentionByKernels.apply(q, k, v, scores, rotation, H, kernels)  # type: ignore[no-untyped-call]
    formula = by_formula(q, k, v, mask, rotation, H)
    torch.testing.assert_close(ours, formula, atol=1e-5, rtol=1e-5)
    upstream = some(B, T, H * width, seed=4).detach()
    found, wanted = (torch.autograd.grad(each, [q, k, v], upstream) for each in (ours, formula))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 15, 16, 17, 33])
def test_sentences_of_any_length_are_attended_to(count: int, kernels: CompiledKernels) -> None:
    x = some(
        2, count, 3 * 20, seed=1
    )  # queries, keys and values are parts of one matrix, as products return them
    q, k, v = x.split(20, dim=-1)
    ours: Tensor = AttentionByKernels.apply(q, k, v, None, None, 2, kernels)  # type: ignore[no-untyped-call]
    formula = by_formula(q, k, v, None, None, 2)
    torch.testing.assert_close(ours, formula, atol=1e-5, rtol=1e-5)
    found, wanted = (torch.autograd.grad(each.square().sum(), x) for each in (ours, formula))
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_large_scores_stay_finite_and_a_query_that_sees_nothing_gets_zeros(kernels: CompiledKernels) -> None:
    q, k, v = (some(B, T, H * K, seed=seed).detach() for seed in (1, 2, 3))
    z, _ = kernels.attend(q * 1e4, k, v, None, None, H)
    torch.testing.assert_close(z, by_formula(q * 1e4, k, v, None, None, H))
    mask = torch.zeros(1, T, T)
    mask[0, 2] = -torch.inf
    z, weights = kernels.attend(q, k, v, mask, None, H)
    assert z[:, 2].eq(0).all()
    assert z[:, 3].ne(0).all()
    assert all(each.isfinite().all() for each in kernels.attend_backward(q, k, v, None, H, weights, z))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_stays_nan(value: float, kernels: CompiledKernels) -> None:
    """The loop of training looks for it, and skips the batch."""
    q, k, v = (some(B, T, H * K, seed=seed).detach() for seed in (1, 2, 3))
    q[1, 2, 3] = value
    z, weights = kernels.attend(q, k, v, None, None, H)
    assert z[1, 2].isnan().any()
    assert z[0].isfinite().all()
    assert not all(each.isfinite().all() for each in kernels.attend_backward(q, k, v, None, H, weights, z))


def test_dropout_keeps_what_it_keeps_without_kernels(kernels: CompiledKernels) -> None:
    x, y, dropout = some(3, 5, 7, seed=1), some(3, 5, 7, seed=2), Dropout(0.3)
    results = []
    for active in (None, kernels):
        torch.manual_seed(5)
        with computed_by(active):
            total = dropout.added(x, y)
        results.append([total, *torch.autograd.grad(total.sin().sum(), [x, y])])
    torch.testing.assert_close(*results)


def test_a_layer_norm_and_its_gradients_are_those_of_torch(kernels: CompiledKernels) -> None:
    layer, x = nn.LayerNorm(48, eps=1e-5), some(3, 5, 48, seed=1)
    nn.init.normal_(layer.weight)
    nn.init.normal_(layer.bias)
    results = []
    for active in (None, kernels):
        with computed_by(active):
            y = norm(layer, x)
        results.append([y, *torch.autograd.grad(y.sin().sum(), [x, layer.weight, layer.bias])])
    torch.testing.assert_close(*results, atol=1e-5, rtol=1e-5)


def test_a_stack_learns_the_same_with_and_without_kernels(compiled: CompiledKernels) -> None:
    config = StackConfig(
        depth=2, width=H * 8, heads=H, ffn_width=9, norm="pre", activation="relu", dropout=0.2
    )
    torch.manual_seed(1)
    stack, x = Stack(config, cross=True), some(B, T, H * 8, seed=1).detach()
    memory, memory_mask = some(B, S, H * 8, seed=2).detach(), padding_mask(lengths(7, 3, 1), pad=0)
    rotation = RotaryPositions(9, 8)(0, T)

    def gradients() -> dict[str, Tensor]:
        stack.zero_grad()
        torch.manual_seed(2)
        y = stack(x, mask=causal_mask(T, T), rotation=rotation, memory=memory, memory_mask=memory_mask)
        y.square().sum().backward()
        return {name: p.grad.clone() for name, p in stack.named_parameters() if p.grad is not None}

    with_kernels = gradients()
    with computed_by(None):
        torch.testing.assert_close(with_kernels, gradients(), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("why", ["too long", "dropout", "doubles", "autocast", "a mask for each head"])
def test_where_they_do_not_fit_torch_computes(
    why: str, compiled: CompiledKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Tensor) -> Tensor:
        raise AssertionError("the kernels were used")

    monkeypatch.setattr(CompiledKernels, "attend", refuse)
    module = Attention(H * K, H, dropout=0.1 if why == "dropout" else 0.0)
    x = some(B, LONGEST + (1 if why == "too long" else 0), H * K, seed=1)
    mask = torch.zeros(B, H, len(x[0]), len(x[0])) if why == "a mask for each head" else None
    if why == "doubles":
        module, x = module.double(), x.double()
    with torch.autocast("cpu", torch.bfloat16, enabled=why == "autocast"):
        assert module(x, mask=mask).isfinite().all()
    with pytest.raises(AssertionError, match="were used"):
        Attention(H * K, H, dropout=0.0)(x[:, 1:].float())


@pytest.mark.parametrize(("rows", "words"), [(1, 5), (300, 513), (700, 1_100)])
@pytest.mark.parametrize("size", [0.3, 30.0])
def test_the_loss_of_the_output_layer_is_that_of_the_spelled_out_one(
    rows: int, words: int, size: float, int16: Int16
) -> None:
    """Also with logits whose exponentials would overflow."""
    hidden, weight = some(rows, 40, seed=1).detach() * size, some(words, 40, seed=2).detach()
    targets = torch.randint(0, words, (rows,), generator=torch.Generator().manual_seed(3))
    found, gradients = int16.output_loss(hidden, weight, targets, 0.9, 0.1 / words, gradients=True)
    exact = ByTorch(torch.float32, torch.float32)
    wanted, exactly = in_chunks(exact, hidden, weight, targets, 0.9, 0.1 / words, gradients=True)
    assert gradients is not None
    assert exactly is not None
    assert abs(found - wanted.item()) < 4e-3 * rows * size  # rounding of logits up to 300
    for mine, right in zip(gradients, exactly, strict=True):
        assert (mine - right).norm() < 0.02 * right.norm()
    assert int16.output_loss(hidden, weight, targets, 0.9, 0.1 / words, gradients=False) == (found, None)


def test_a_nan_in_the_output_layer_reaches_the_loss(int16: Int16) -> None:
    hidden, weight = some(60, 40, seed=1).detach(), some(70, 40, seed=2).detach()
    hidden[7, 3] = float("nan")
    with multiplied_by(int16):
        assert output_cross_entropy(hidden, weight, torch.zeros(60, dtype=torch.int64), 0.1).isnan()


def test_targets_outside_of_the_vocabulary_are_rejected(int16: Int16) -> None:
    hidden, weight = some(60, 40, seed=1).detach(), some(70, 40, seed=2).detach()
    with pytest.raises(ValueError, match="ids of the vocabulary"):
        int16.output_loss(hidden, weight, torch.full((60,), 70), 0.9, 0.1, gradients=True)


def test_several_layers_in_one_product_are_what_each_is_alone(int16: Int16) -> None:
    config = StackConfig(depth=1, width=64, heads=4, ffn_width=64, norm="pre", activation="relu", dropout=0.0)
    stack, x = Stack(replace(config)), some(8, 12, 64, seed=1)
    results = []
    for kernels in (None, CompiledKernels()):  # without kernels, queries, keys and values are three products
        with multiplied_by(int16), computed_by(kernels):
            y = stack(x)
        results.append([y, *torch.autograd.grad(y.sin().sum(), [x, *stack.parameters()])])
    for mine, other in zip(*results, strict=True):
        assert (mine - other).norm() < 5e-3 * other.norm() + 1e-5
