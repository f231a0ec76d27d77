"""Processes that share one model's memory, each updating its part, do together what one does alone."""

import threading
import time
from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from qkv.training.distributed import SingleProcess
from qkv.training.optimizer import Optimizer
from qkv.training.settings import TrainingSettings
from qkv.training.spread import Part, Shared

SETTINGS = TrainingSettings(
    batch_tokens=1, learning_rate=1e-2, warmup_steps=0, validate_every=1, weight_decay=0.1
)
YES = torch.tensor(True)
STEPS = 4


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(11, 8)
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 24), nn.Linear(24, 8), nn.Linear(8, 8))

    def loss(self, batch: Tensor) -> Tensor:
        loss: Tensor = self.layers(self.words(batch)).square().mean()
        return loss


class Room:
    """What threads need to play processes of one machine: memory by its number, and a place to meet."""

    def __init__(self, size: int):
        self.size = size
        self.lock, self.barrier = threading.Lock(), threading.Barrier(size, timeout=60)
        self.memory: dict[int, Tensor] = {}
        self.numbers: dict[int, Tensor] = {}


class InARoom(SingleProcess):
    def __init__(self, room: Room, rank: int):
        self.room, self.rank, self.size, self.asked = room, rank, room.size, 0

    def shared_zeros(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        self.asked += 1
        time.sleep(0.02 * (self.rank == 0))  # it fills in the weights
        with self.room.lock:
            return self.room.memory.setdefault(self.asked, torch.zeros(shape, device=device))

    def total(self, number: Tensor) -> Tensor:
        self.room.numbers[self.rank] = number
        self.wait()
        total = torch.stack([self.room.numbers[rank] for rank in range(self.size)]).sum()
        self.wait()
        return total

    def wait(self) -> None:
        self.room.barrier.wait()


def batches(step: int) -> Tensor:
    return torch.randint(0, 11, (6, 5), generator=torch.Generator().manual_seed(step))


def train(spread: Shared, parts: list[int], settings: TrainingSettings) -> dict[str, Tensor]:
    """Some steps in which this process computes these sixths of every batch; its state afterwards."""
    optimiser = Optimizer(spread, settings)
    for step in range(STEPS):
        given: list[Part] = [(batches(step)[part], 1 / 6) for part in parts]
        spread.backward(given)
        spread.clip(0.1)  # less than the norm is
        time.sleep(0.02 * (step % 3 == spread.group.rank))  # whoever does not wait for others is too early
        optimiser.step(1e-2, YES)
    return {**spread.model.state_dict(), **optimiser.tensors()}


@pytest.mark.parametrize("processes", [2, 3, 5])
@pytest.mark.parametrize("rule", ["adamw", "muon"])
def test_they_have_the_weights_and_the_state_of_one(processes: int, rule: Literal["adamw", "muon"]) -> None:
    settings = replace(SETTINGS, optimizer=rule)
    expected = train(Shared(Model(), SingleProcess(), settings), list(range(6)), settings)
    first = Model().state_dict()
    room, models = Room(processes), [Model() for _ in range(processes)]
    found: dict[int, dict[str, Tensor]] = {}

    def process(rank: int) -> None:
        spread = Shared(models[rank], InARoom(room, rank), settings)
        found[rank] = train(spread, list(range(6))[rank::processes], settings)

    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(processes))
    for state in found.values():
        assert state.keys() == expected.keys()
        for name, tensor in state.items():
            torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-6, msg=name)
    assert all(not torch.equal(found[0][name], tensor) for name, tensor in first.items())


@pytest.mark.parametrize("rule", ["adamw", "muon"])
def test_every_number_is_updated_by_one_process(rule: Literal["adamw", "muon"]) -> None:
    settings, room, models = replace(SETTINGS, optimizer=rule), Room(3), [Model() for _ in range(3)]
    owners = torch.zeros(sum(p.numel() for p in models[0].parameters()))
    spreads: dict[int, Shared] = {}
    threads = [
        threading.Thread(
            target=lambda rank: spreads.update({rank: Shared(models[rank], InARoom(room, rank), settings)}),
            args=(rank,),
        )
        for rank in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for spread in spreads.values():
        start = 0
        for share in spread.shares:
            owners[start : start + share.length][share.part] += 1
            start += share.length
    assert len(spreads) == 3
    assert owners.eq(1).all()


def test_the_gradients_of_a_model_are_clipped_to_the_norm_and_begin_at_zero() -> None:
    model = Model()
    spread = Shared(model, SingleProcess(), SETTINGS)
    spread.backward([(batches(1), 10.0)])
    separate = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    assert spread.clip(0.1).item() == pytest.approx(separate.norm().item())
    clipped = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    assert clipped.norm().item() == pytest.approx(0.1, abs=1e-4)
    spread.backward([])
    assert not any(p.grad.any() for p in model.parameters() if p.grad is not None)
