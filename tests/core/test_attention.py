"""Attention: the fused path equals the formula, heads do not mix, and who is masked has no say."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from qkv.core.attention import Attention, attend
from qkv.core.masks import causal_mask
from qkv.core.positions import RotaryPositions
from qkv.core.tape import Tape

B, T, S, H, K = 2, 5, 7, 3, 4
D = H * K


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def attention(seed: int = 1, dropout: float = 0.0) -> Attention:
    torch.manual_seed(seed)
    module = Attention(D, H, dropout)
    with torch.no_grad():  # biases start at zero: a test with zeros would not see one that is forgotten
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return module.eval()


def padding(*lengths: int) -> Tensor:
    return (torch.arange(S) < torch.tensor(lengths)[:, None])[:, None, None, :]


MASKS = {
    "none": None,
    "causal": causal_mask(T, S),
    "padding": padding(7, 4),
    "both": causal_mask(T, S) & padding(7, 4),
}


@pytest.mark.parametrize("name", MASKS)
def test_the_formula_equals_the_fused_function_of_torch(name: str) -> None:
    q, k, v = seeded(B, H, T, K), seeded(B, H, S, K, seed=1), seeded(B, H, S, K, seed=2)
    fused = F.scaled_dot_product_attention(q, k, v, attn_mask=MASKS[name])
    torch.testing.assert_close(attend(q, k, v, MASKS[name]), fused, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", MASKS)
def test_the_fused_path_equals_the_spelled_out_one(name: str) -> None:
    module, x, source = attention(), seeded(B, T, D), seeded(B, S, D, seed=1)
    spelled_out = module(x, source, mask=MASKS[name], tape=Tape())
    torch.testing.assert_close(module(x, source, mask=MASKS[name]), spelled_out, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MASKS)
def test_gradients_of_the_fused_path_equal_those_of_the_spelled_out_one(name: str) -> None:
    module, x, source = attention(), seeded(B, T, D), seeded(B, S, D, seed=1)
    wanted = seeded(B, T, D, seed=2)
    gradients = []
    for tape in (None, Tape()):
        loss = (module(x, source, mask=MASKS[name], tape=tape) * wanted).sum()
        gradients.append(torch.autograd.grad(loss, list(module.parameters())))
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 6), st.integers(1, 5))
def test_weights_are_probabilities_for_any_shape(seed: int, queries: int, keys: int, width: int) -> None:
    tape = Tape()
    q, k = seeded(queries, width, seed=seed) * 30, seeded(keys, width, seed=seed + 1) * 30
    z = attend(q, k, torch.ones(keys, width), tape=tape)
    assert (tape["weights"] >= 0).all()
    torch.testing.assert_close(z, torch.ones(queries, width))  # the mean of ones is one


def test_scores_are_divided_by_the_root_of_the_width_of_a_head_not_of_the_model() -> None:
    tape = Tape()
    attention()(seeded(B, T, D), tape=tape)
    torch.testing.assert_close(tape["scaled"], tape["scores"] / K**0.5)


def test_each_head_is_the_formula_on_its_own_slice_of_the_projections() -> None:
    module, x, source = attention(), seeded(B, T, D), seeded(B, S, D, seed=1)
    q, k, v = module.query(x), module.key(source), module.value(source)
    heads = [attend(q[..., part], k[..., part], v[..., part]) for part in map(slice_of_head, range(H))]
    by_hand = module.output(torch.cat(heads, dim=-1))  # Z = concatenate(Z₁ … Zₙ) W_O
    torch.testing.assert_close(module(x, source), by_hand, atol=1e-5, rtol=1e-5)


def slice_of_head(head: int) -> slice:
    return slice(head * K, (head + 1) * K)


def test_without_a_source_attention_is_on_itself() -> None:
    module, x = attention(), seeded(B, T, D)
    assert torch.equal(module(x), module(x, x))


def test_attention_does_not_know_the_order_of_its_keys() -> None:
    module, x, source = attention(), seeded(B, T, D), seeded(B, S, D, seed=1)
    order = torch.tensor([3, 0, 6, 2, 5, 1, 4])
    torch.testing.assert_close(module(x, source[:, order]), module(x, source), atol=1e-5, rtol=1e-5)


def test_turned_attention_knows_the_distance_of_its_keys_and_not_where_they_stand() -> None:
    module, x, rotation = attention(), seeded(B, T, D), RotaryPositions(T + 5, K)
    near = module(x, rotation=rotation(0, T))
    torch.testing.assert_close(module(x, rotation=rotation(5, T)), near, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(module(x), near, atol=1e-3)
    reverse = torch.arange(T - 1, -1, -1)  # the same distances, with the other sign
    assert not torch.allclose(module(x[:, reverse], rotation=rotation(0, T))[:, reverse], near, atol=1e-3)


def test_a_token_never_sees_the_future() -> None:
    module, x = attention(), seeded(B, T, D)
    before = module(x, mask=causal_mask(T, T))
    for position in range(T):
        changed = x.clone()
        changed[:, position] += 10
        after = module(changed, mask=causal_mask(T, T))
        torch.testing.assert_close(after[:, :position], before[:, :position], atol=1e-6, rtol=0)
        assert ((after - before)[:, position:].abs().amax(dim=(0, 2)) > 1e-3).all()


def test_what_stands_in_padding_changes_nothing() -> None:
    module, x, source = attention(), seeded(B, T, D), seeded(B, S, D, seed=1)
    filled = source.clone()
    filled[1, 4:] = 1e4
    before, after = (module(x, what, mask=padding(7, 4)) for what in (source, filled))
    torch.testing.assert_close(after, before, atol=1e-6, rtol=0)
    assert not torch.allclose(module(x, filled), module(x, source))


def test_padded_keys_count_as_if_they_were_not_there() -> None:
    module, x, source = attention(), seeded(B, T, D), seeded(B, S, D, seed=1)
    padded = module(x, source, mask=padding(7, 4))
    torch.testing.assert_close(padded[1:], module(x[1:], source[1:, :4]), atol=1e-6, rtol=1e-5)


def test_attention_dropout_acts_in_training_only() -> None:
    module, x = attention(dropout=0.5), seeded(B, T, D)
    assert torch.equal(module(x), module(x))
    module.train()
    assert not torch.equal(module(x), module(x))


def test_a_fully_masked_row_is_not_a_number_in_the_formula() -> None:
    """Why the translator refuses an empty source: the two paths would part company here."""
    q, k = seeded(1, 1, T, K), seeded(1, 1, S, K)
    nobody = torch.zeros(1, 1, 1, S, dtype=torch.bool)
    assert attend(q, k, k, nobody).isnan().all()
    assert not F.scaled_dot_product_attention(q, k, k, attn_mask=nobody).isnan().any()
