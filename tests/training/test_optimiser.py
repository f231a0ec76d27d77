"""Muon orthogonalises, is the same however many processes share it, and leaves embeddings to AdamW."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from qkv.training.distributed import Alone
from qkv.training.optimiser import Optimiser, matrices_of, orthogonal
from qkv.training.settings import TrainingSettings
from qkv.training.spread import Copy

SETTINGS = TrainingSettings(batch_tokens=1, rate=1e-2, warmup=0, validate_every=1, optimiser="muon")


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 24), nn.Linear(24, 8), nn.Linear(8, 8)
    )


YES = torch.tensor(True)  # the gradients are numbers


def copy_of(model: nn.Module, group: Alone | None = None) -> Copy:
    return Copy(model, group or Alone(), SETTINGS)


def gradients_into(copy: Copy, seed: int) -> None:
    torch.manual_seed(seed)
    copy.values.copy_(torch.randn_like(copy.values))


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
    optimiser = Optimiser(copy_of(model), SETTINGS)
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
    copy = copy_of(model)
    before = model.weight.detach().clone()
    gradients_into(copy, 1)
    Optimiser(copy, SETTINGS).step(rate, YES)
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
    copy = copy_of(expected)
    gradients_into(copy, 3)
    Optimiser(copy, SETTINGS).step(1e-2, YES)

    contributions = []
    for rank in (0, 1, 0):
        group, model = OneOfTwo(rank), make_model()
        group.partner = contributions[1] if len(contributions) == 2 else None
        copy = copy_of(model, group)
        gradients_into(copy, 3)
        Optimiser(copy, SETTINGS).step(1e-2, YES)
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
        copy = copy_of(model)
        gradients_into(copy, 1)
        settings = replace(SETTINGS, optimiser=optimiser, weight_decay=decay)
        Optimiser(copy, settings).step(1e-2, YES)
        after.append(model.state_dict())
    pulled = {name: after[1][name] - after[0][name] for name in before}
    torch.testing.assert_close(pulled["1.weight"], -0.005 * before["1.weight"], atol=1e-6, rtol=0)
    assert not pulled["0.weight"].any()
    assert not pulled["1.bias"].any()


def test_its_state_comes_back() -> None:
    runs = []
    for interrupted in (False, True):
        model = make_model()
        copy = copy_of(model)
        optimiser = Optimiser(copy, SETTINGS)
        for step in range(6):
            gradients_into(copy, step)
            optimiser.step(1e-2, YES)
            if interrupted and step == 2:
                kept = {name: tensor.clone() for name, tensor in optimiser.tensors().items()}
                optimiser = Optimiser(copy, SETTINGS)
                optimiser.restore(kept)
        runs.append(model.state_dict())
    for name in runs[0]:
        assert torch.equal(runs[0][name], runs[1][name])


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_gradients_that_are_no_numbers_move_neither_weights_nor_state(
    optimiser: Literal["adamw", "muon"],
) -> None:
    model = make_model()
    copy = copy_of(model)
    own = Optimiser(copy, replace(SETTINGS, optimiser=optimiser, weight_decay=0.5))
    gradients_into(copy, 1)
    own.step(1e-2, YES)
    before = {name: tensor.clone() for name, tensor in {**model.state_dict(), **own.tensors()}.items()}
    copy.values.fill_(float("nan"))
    own.step(1e-2, ~YES)
    for name, tensor in {**model.state_dict(), **own.tensors()}.items():
        assert torch.equal(tensor, before[name]), name
