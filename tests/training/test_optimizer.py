"""Muon orthogonalises and leaves embeddings to AdamW; both save their state, and neither takes a step on non-finite gradients."""

from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from qkv.engine.int16 import Int16
from qkv.training.distributed import SingleProcess
from qkv.training.optimizer import Optimizer, orthogonal
from qkv.training.settings import TrainingSettings
from qkv.training.shares import parameter_groups
from qkv.training.spread import Shared

SETTINGS = TrainingSettings(
    batch_tokens=1, learning_rate=1e-2, warmup_steps=0, validate_every=1, optimizer="muon"
)


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 24), nn.Linear(24, 8), nn.Linear(8, 8)
    )


YES = torch.tensor(True)  # the gradients are numbers


def spread_of(model: nn.Module, settings: TrainingSettings = SETTINGS) -> Shared:
    return Shared(model, SingleProcess(), settings)


def gradients_into(spread: Shared, seed: int) -> None:
    torch.manual_seed(seed)
    for share in spread.shares:
        share.gradients.normal_()


def test_all_singular_values_come_near_one() -> None:
    torch.manual_seed(0)
    matrices = torch.randn(6, 16, 40) * torch.logspace(-3, 3, 6)[:, None, None]
    values = torch.linalg.svdvals(orthogonal(matrices))
    assert values.min() > 0.5
    assert values.max() < 1.3


@pytest.mark.parametrize("upright", [False, True])
def test_products_in_16_bits_orthogonalise_as_well(upright: bool, int16: Int16) -> None:
    torch.manual_seed(0)
    kept = torch.randn(2, *((320, 80) if upright else (80, 320))) * torch.logspace(-3, 3, 2)[:, None, None]
    matrices = kept.transpose(1, 2) if upright else kept
    found = orthogonal(matrices, int16)
    assert not torch.equal(found, orthogonal(matrices))
    assert (found - orthogonal(matrices)).norm() < 0.02 * found.norm()
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.5
    assert values.max() < 1.3


def test_a_model_that_is_trained_in_16_bits_has_muon_in_them_too(
    int16: Int16, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nn.Sequential(nn.Linear(64, 80))
    spread = spread_of(model, replace(SETTINGS, precision="int16"))
    optimiser = Optimizer(spread, SETTINGS)
    gradients_into(spread, 1)
    asked: list[tuple[int, ...]] = []
    orthogonalize = Int16.orthogonalize

    def counted(self: Int16, matrices: Tensor, *rest: Any) -> Tensor:
        asked.append(tuple(matrices.shape))
        return orthogonalize(self, matrices, *rest)

    monkeypatch.setattr(Int16, "orthogonalize", counted)
    optimiser.step(0.01, YES)
    assert asked == [(1, 64, 80)]


def test_the_singular_vectors_stay() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(1, 8, 12)
    u, _, vt = torch.linalg.svd(matrix[0], full_matrices=False)
    inside = u.T @ orthogonal(matrix)[0] @ vt.T  # diagonal where the vectors are the same
    assert (inside - inside.diag().diag()).abs().max() < 1e-4


def test_the_linear_layers_are_its_own_and_nothing_else() -> None:
    model = make_model()
    kinds = parameter_groups(model, SETTINGS)
    own = [id(p) for kind in kinds if kind.rule == "muon" for p in kind.parameters]
    others = [id(p) for kind in kinds if kind.rule == "adamw" for p in kind.parameters]
    assert set(own) == {id(model[i].weight) for i in range(1, 5)}  # type: ignore[index]
    assert sorted(own + others) == sorted(id(p) for p in model.parameters())
    assert all(len({p.shape for p in kind.parameters}) == 1 for kind in kinds if kind.rule == "muon")


@pytest.mark.parametrize("shape", [(64, 64), (64, 16), (16, 64)])
@pytest.mark.parametrize("rate", [1e-2, 3e-3])
def test_a_step_has_the_size_of_an_adamw_step(rate: float, shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    model = nn.Linear(*shape, bias=False)
    spread = spread_of(model)
    before = model.weight.detach().clone()
    gradients_into(spread, 1)
    Optimizer(spread, SETTINGS).step(rate, YES)
    size = (model.weight - before).square().mean().sqrt().item()
    assert 0.2 * rate < size < 0.6 * rate  # AdamW's are 0.2 to 0.4 times the rate in practice


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_weight_decay_pulls_matrices_towards_zero_and_leaves_words_and_biases(
    optimiser: Literal["adamw", "muon"],
) -> None:
    after = []
    for decay in (0.0, 0.5):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Embedding(8, 8), nn.Linear(8, 8))
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        settings = replace(SETTINGS, optimizer=optimiser, weight_decay=decay)
        spread = spread_of(model, settings)
        gradients_into(spread, 1)
        Optimizer(spread, settings).step(1e-2, YES)
        after.append(model.state_dict())
    pulled = {name: after[1][name] - after[0][name] for name in before}
    torch.testing.assert_close(pulled["1.weight"], -0.005 * before["1.weight"], atol=1e-6, rtol=0)
    assert not pulled["0.weight"].any()
    assert not pulled["1.bias"].any()


def test_the_optimizer_state_survives_a_round_trip() -> None:
    runs = []
    for interrupted in (False, True):
        model = make_model()
        spread = spread_of(model)
        optimiser = Optimizer(spread, SETTINGS)
        for step in range(6):
            gradients_into(spread, step)
            optimiser.step(1e-2, YES)
            if interrupted and step == 2:
                kept = {name: tensor.clone() for name, tensor in optimiser.tensors().items()}
                optimiser = Optimizer(spread, SETTINGS)
                optimiser.restore(kept)
        runs.append(model.state_dict())
    for name in runs[0]:
        assert torch.equal(runs[0][name], runs[1][name])


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_non_finite_gradients_change_neither_weights_nor_optimizer_state(
    optimiser: Literal["adamw", "muon"],
) -> None:
    model = make_model()
    settings = replace(SETTINGS, optimizer=optimiser, weight_decay=0.5)
    spread = spread_of(model, settings)
    own = Optimizer(spread, settings)
    gradients_into(spread, 1)
    own.step(1e-2, YES)
    before = {name: tensor.clone() for name, tensor in {**model.state_dict(), **own.tensors()}.items()}
    for share in spread.shares:
        share.gradients.fill_(float("nan"))
    own.step(1e-2, ~YES)
    for name, tensor in {**model.state_dict(), **own.tensors()}.items():
        assert torch.equal(tensor, before[name]), name
