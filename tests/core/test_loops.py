"""Attention by compiled loops is the attention of the formula, in value and in gradient."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from qkv.core import attention
from qkv.core.attention import Attention, attend, compiled_loops
from qkv.core.block import Stack
from qkv.core.masks import as_scores, causal_mask, padding_mask
from qkv.core.stack_config import StackConfig

loops = pytest.importorskip("qkv.core.loops", reason="numba is not installed")

B, H, T, S, K = 3, 4, 5, 7, 6


@pytest.fixture
def compiled() -> Iterator[None]:
    with compiled_loops() as there:
        assert there
        yield
    assert attention.loops is None


def some(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def lengths(*numbers: int) -> Tensor:
    return torch.tensor([[1] * number + [0] * (S - number) for number in numbers])


MASKS = {
    "none": (S, None),
    "padding": (S, padding_mask(lengths(7, 3, 1), pad=0)),
    "causal": (T, causal_mask(T, T)),
    "causal, more keys than queries": (S, causal_mask(T, S)),
    "a hole": (S, torch.tensor([True, False, True, True, False, True, False])[None, None, None].expand(B, 1, 1, S)),
    "each its own": (S, torch.ones(B, 1, T, S, dtype=torch.bool).tril(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_value_and_gradients_are_those_of_the_formula(name: str) -> None:
    keys, mask = MASKS[name]
    q, k, v = some(B, H, T, K, seed=1), some(B, H, keys, K, seed=2), some(B, H, keys, K, seed=3)
    scores = None if mask is None else as_scores(mask, torch.float32)
    ours, formula = loops.short_attention(q, k, v, scores), attend(q, k, v, mask)
    torch.testing.assert_close(ours, formula, atol=1e-5, rtol=1e-5)
    upstream = some(B, H, T, K, seed=4).detach()
    torch.testing.assert_close(
        torch.autograd.grad(ours, [q, k, v], upstream),
        torch.autograd.grad(formula, [q, k, v], upstream),
        atol=1e-5,
        rtol=1e-5,
    )


def test_large_scores_stay_finite() -> None:
    q, k, v = (some(B, H, T, K, seed=seed) for seed in (1, 2, 3))
    z = loops.short_attention(q * 1e4, k, v, None)
    z.sum().backward()
    torch.testing.assert_close(z, attend(q * 1e4, k, v))
    assert q.grad is not None
    assert q.grad.isfinite().all()


def test_inputs_that_do_not_lie_side_by_side_are_read_right() -> None:
    q, k, v = (some(B, H, K, T, seed=seed).transpose(2, 3) for seed in (1, 2, 3))
    torch.testing.assert_close(loops.short_attention(q, k, v, None), attend(q, k, v), atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("compiled")
def test_a_stack_learns_the_same_with_and_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    config = StackConfig(
        depth=2, width=H * K, heads=H, ffn_width=9, norm="pre", activation="relu", dropout=0.0
    )
    torch.manual_seed(1)
    stack, x = Stack(config, cross=True), some(B, T, H * K, seed=1).detach()
    memory, memory_mask = some(B, S, H * K, seed=2).detach(), padding_mask(lengths(7, 3, 1), pad=0)

    def gradients() -> dict[str, Tensor]:
        stack.zero_grad()
        stack(x, mask=causal_mask(T, T), memory=memory, memory_mask=memory_mask).square().sum().backward()
        return {name: p.grad.clone() for name, p in stack.named_parameters() if p.grad is not None}

    calls: list[int] = []
    own = loops.short_attention
    monkeypatch.setattr(loops, "short_attention", lambda *args: calls.append(1) or own(*args))
    with_loops = gradients()
    assert len(calls) == 4  # two in each block
    attention.loops = None
    torch.testing.assert_close(with_loops, gradients(), atol=1e-4, rtol=1e-4)
    assert len(calls) == 4


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_stays_nan(value: float) -> None:
    """The loop of training looks for it, and skips the batch."""
    q, k, v = (some(B, H, T, K, seed=seed) for seed in (1, 2, 3))
    z = loops.short_attention(q + torch.tensor(value), k, v, None)
    assert z.isnan().any()
    z.sum().backward()
    assert q.grad is not None
    assert not q.grad.isfinite().all()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "mask", [causal_mask(T, T), torch.rand(B, H, T, T, generator=torch.Generator().manual_seed(1))]
)
def test_a_boolean_mask_and_one_for_each_head_mean_what_they_do_without_loops(mask: Tensor) -> None:
    module, x = Attention(H * K, H, dropout=0.0), some(B, T, H * K, seed=1)
    with torch.no_grad():
        expected = module(x, mask=mask)
    torch.testing.assert_close(module(x, mask=mask), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("compiled")
def test_mixed_precision_is_left_to_torch() -> None:
    q, k, v = (some(B, H, T, K, seed=seed) for seed in (1, 2, 3))
    with torch.autocast("cpu", torch.bfloat16):
        assert attention.fused(q, k, v.bfloat16(), None, 0.0).isfinite().all()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("why", ["too long", "no gradient", "dropout", "doubles"])
def test_where_they_do_not_fit_torchs_kernel_is_used(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Tensor) -> Tensor:
        raise AssertionError("the loops were used")

    monkeypatch.setattr(loops, "short_attention", refuse)
    module = Attention(H * K, H, dropout=0.1 if why == "dropout" else 0.0)
    x = some(B, loops.LONGEST + (1 if why == "too long" else 0), H * K, seed=1)
    if why == "doubles":
        module, x = module.double(), x.double()
    with torch.set_grad_enabled(why != "no gradient"):
        assert module(x).isfinite().all()
    if why == "too long":
        with pytest.raises(AssertionError, match="were used"):
            module(x[:, 1:])
