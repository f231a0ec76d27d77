import pytest
import torch

from qkv.core.dropout import Dropout


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_about_the_share_is_dropped_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(0)
    mask = Dropout(share)(torch.ones(1000, 1003))
    assert abs((mask == 0).double().mean().item() - share) < 0.004  # 1/256 and the chance
    assert abs(mask.double().mean().item() - 1) < 0.02
    assert len(mask.unique()) == 2


def test_every_place_is_decided_on_its_own() -> None:
    torch.manual_seed(0)
    dropped = (Dropout(0.5)(torch.ones(4000, 64)) == 0).double()
    correlation = torch.corrcoef(dropped.T).fill_diagonal_(0)
    assert correlation.abs().max() < 0.08  # five standard deviations of 4,000 draws


def test_the_gradient_goes_through_what_is_kept_alone() -> None:
    torch.manual_seed(0)
    x = torch.randn(7, 5, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, (y / x).detach())
    assert 0 < (y == 0).sum() < y.numel()


def test_outside_training_and_with_share_zero_nothing_happens() -> None:
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_seed_decides() -> None:
    x = torch.ones(50, 50)
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(Dropout(0.3)(x))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_half_precision_stays_half_precision() -> None:
    assert Dropout(0.3)(torch.ones(8, dtype=torch.bfloat16)).dtype is torch.bfloat16
