"""Muon orthogonalises, is the same however many processes share it, and leaves embeddings to AdamW."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from qkv.training.distributed import Alone
from qkv.training.gradients import Gradients
from qkv.training.optimiser import Optimiser, matrices_of, orthogonal
from qkv.training.settings import TrainingSettings

SETTINGS = TrainingSettings(batch_tokens=1, rate=1e-2, warmup=0, validate_every=1, optimiser="muon")


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 24), nn.Linear(24, 8), nn.Linear(8, 8)
    )


def gradients_into(gradients: Gradients, seed: int) -> None:
    torch.manual_seed(seed)
    gradients.values.copy_(torch.randn_like(gradients.values))


def test_all_singular_values_come_near_one() -> None:
    torch.manual_seed(0)
    matrices = torch.randn(6, 16, 40) * torch.logspace(-3, 3, 6)[:, None, None]
    values = torch.linalg.svdvals(orthogonal(matrices))
    assert values.min() > 0.5
    assert values.max() < 1.3


def test_the_singular_vectors_stay() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(1, 8, 12)
    u, _, vt = torch.linalg.svd(matrix[0], full_matrices=False)
    inside = u.T @ orthogonal(matrix)[0] @ vt.T  # diagonal where the vectors are the same
    assert (inside - inside.diag().diag()).abs().max() < 1e-4


def test_the_linear_layers_are_its_own_and_nothing_else() -> None:
    model = make_model()
    optimiser = Optimiser(model, SETTINGS, Gradients(model.parameters(), Alone(), notes=0))
    others = {id(p) for group in optimiser.adamw.param_groups for p in group["params"]}
    assert optimiser.muon is not None
    own = {id(p) for p in optimiser.muon.matrices}
    assert own == {id(model[i].weight) for i in range(1, 5)}  # type: ignore[index]
    assert own | others == {id(p) for p in model.parameters()}
    assert not own & others


@pytest.mark.parametrize("shape", [(64, 64), (64, 16), (16, 64)])
@pytest.mark.parametrize("rate", [1e-2, 3e-3])
def test_a_step_has_the_size_of_an_adamw_step(rate: float, shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    model = nn.Linear(*shape, bias=False)
    gradients = Gradients(model.parameters(), Alone(), notes=0)
    before = model.weight.detach().clone()
    gradients_into(gradients, 1)
    Optimiser(model, SETTINGS, gradients).step(rate)
    size = (model.weight - before).square().mean().sqrt().item()
    assert 0.2 * rate < size < 0.6 * rate  # AdamW's are 0.2 to 0.4 times the rate in practice


class OneOfTwo(Alone):
    """A process that finds the other's part in `partner` when it adds up."""

    size = 2

    def __init__(self, rank: int):
        self.rank, self.sent, self.partner = rank, [], None  # type: ignore[var-annotated]

    def add_up(self, tensor: Tensor) -> None:
        self.sent.append(tensor.clone())
        if self.partner is not None:
            tensor += self.partner


def test_two_processes_that_share_it_step_as_one_does() -> None:
    alone, expected = make_model(), make_model()
    gradients = Gradients(expected.parameters(), Alone(), notes=1)
    gradients_into(gradients, 3)
    Optimiser(expected, SETTINGS, gradients).step(1e-2)

    contributions = []
    for rank in (0, 1, 0):
        group, model = OneOfTwo(rank), make_model()
        group.partner = contributions[1] if len(contributions) == 2 else None
        gradients = Gradients(model.parameters(), group, notes=1)
        gradients_into(gradients, 3)
        Optimiser(model, SETTINGS, gradients).step(1e-2)
        contributions.append(group.sent[0])
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, expected.state_dict()[name], rtol=1e-5, atol=1e-6)
        assert not torch.equal(tensor, alone.state_dict()[name])
    assert len(matrices_of(model)) == 4


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_weight_decay_pulls_matrices_towards_zero_and_leaves_words_and_biases(
    optimiser: Literal["adamw", "muon"],
) -> None:
    after = []
    for decay in (0.0, 0.5):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Embedding(8, 8), nn.Linear(8, 8))
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        gradients = Gradients(model.parameters(), Alone(), notes=0)
        gradients_into(gradients, 1)
        settings = replace(SETTINGS, optimiser=optimiser, weight_decay=decay)
        Optimiser(model, settings, gradients).step(1e-2)
        after.append(model.state_dict())
    pulled = {name: after[1][name] - after[0][name] for name in before}
    torch.testing.assert_close(pulled["1.weight"], -0.005 * before["1.weight"], atol=1e-6, rtol=0)
    assert not pulled["0.weight"].any()
    assert not pulled["1.bias"].any()


def test_its_state_comes_back() -> None:
    runs = []
    for interrupted in (False, True):
        model = make_model()
        gradients = Gradients(model.parameters(), Alone(), notes=0)
        optimiser = Optimiser(model, SETTINGS, gradients)
        for step in range(6):
            gradients_into(gradients, step)
            optimiser.step(1e-2)
            if interrupted and step == 2:
                kept = {name: tensor.clone() for name, tensor in optimiser.tensors().items()}
                optimiser = Optimiser(model, SETTINGS, gradients)
                optimiser.restore(kept)
        runs.append(model.state_dict())
    for name in runs[0]:
        assert torch.equal(runs[0][name], runs[1][name])
