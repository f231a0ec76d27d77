"""A model and the gradients of a step, over all processes that share the run: three ways, one contract.

Shared       one model in memory that all processes see, each of which updates its part. On one machine, or alone.
replicated   every process has the model; torch's DistributedDataParallel adds up gradients while others are computed.
sharded      every process has a part of each weight (torch's fully_shard), and the whole of a block while it computes it.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from qkv.core.block import Block
from qkv.core.products import Products, multiplied_by
from qkv.errors import UserError
from qkv.training.device import products_here
from qkv.training.distributed import Alone, Group, Together
from qkv.training.settings import TrainingSettings
from qkv.training.shares import Everything, Share, Stretch, alike

Part = tuple[Any, float]  # a batch, and its share of the tokens of the step


class Spread(Protocol):
    """What the loop and the optimiser know of a model."""

    model: nn.Module

    @property
    def products(self) -> Products | None:
        """Who multiplies in torch's place, in training."""

    @property
    def shares(self) -> Sequence[Share]:
        """Of all its weights."""

    def backward(self, parts: Sequence[Part]) -> Tensor:
        """Leave the gradients of all processes' parts in this one's shares; the loss of all, still on its device."""

    def clip(self, limit: float) -> Tensor:
        """Scale the gradients down to the norm `limit` where it is larger (0: never); the norm before that."""

    def updated(self) -> None:
        """This process has updated its shares: go on when the model has those of all."""

    def loss(self, batch: Any) -> Tensor: ...

    def arithmetic(self) -> AbstractContextManager[object]:
        """What the loss is computed in."""


class Trained:
    """What the three ways have in common."""

    def __init__(self, model: nn.Module, settings: TrainingSettings):
        self.model, self.precision = model, settings.precision
        self.products = products_here(settings, device_of(model))

    def arithmetic(self) -> AbstractContextManager[object]:
        """With bf16 and int16, products take numbers of half the size."""
        if self.products is not None:
            return multiplied_by(self.products)
        if self.precision != "bf16":
            return nullcontext()
        return torch.autocast(device_of(self.model).type, torch.bfloat16)

    def loss(self, batch: Any) -> Tensor:
        with self.arithmetic():
            return self.model.loss(batch)  # type: ignore[operator]


class Shared(Trained):
    """One set of weights in the memory of all processes, each of which updates its part (see shares.py)."""

    def __init__(self, model: nn.Module, group: Alone, settings: TrainingSettings):
        super().__init__(model, settings)
        self.group = group
        self.shares = [Stretch(kind, group) for kind in alike(model, settings)]
        group.wait()  # the first process has filled in the weights

    def backward(self, parts: Sequence[Part]) -> Tensor:
        for share in self.shares:
            share.gradients.zero_()
        total = torch.zeros((), device=device_of(self.model))
        for batch, weight in parts:
            if weight:
                loss = self.loss(batch) * weight
                loss.backward()
                total += loss.detach()
        total = self.group.total(total)  # all gradients are there now
        for share in self.shares:
            share.add_up()
        return total

    def clip(self, limit: float) -> Tensor:
        own = [share.own_gradients() for share in self.shares]
        squares = torch.stack([gradients.norm() for gradients in own]).square().sum()
        norm = self.group.total(squares).sqrt()
        if limit:
            for gradients in own:
                gradients.mul_((limit / (norm + 1e-6)).clamp(max=1.0))
        return norm

    def updated(self) -> None:
        self.group.wait()


class Exchanged(Trained):
    """Copies or parts whose gradients torch exchanges while it computes them, but for those made `without_exchange`."""

    def __init__(
        self,
        model: nn.Module,
        group: Group,
        settings: TrainingSettings,
        loss_to_learn_from: Callable[[Any], Tensor],
        without_exchange: Callable[[], AbstractContextManager[object]],
    ):
        super().__init__(model, settings)
        self.group = group
        self.shares = [Everything(kind) for kind in alike(model, settings)]
        self.loss_to_learn_from, self.without_exchange = loss_to_learn_from, without_exchange

    def backward(self, parts: Sequence[Part]) -> Tensor:
        """Gradients are exchanged with the last part. torch divides their sum by the number of processes."""
        self.model.zero_grad()
        losses = []
        for number, (batch, share) in enumerate(parts, 1):
            with nullcontext() if number == len(parts) else self.without_exchange():
                with self.arithmetic():
                    loss = self.loss_to_learn_from(batch) * (share * self.group.size)
                loss.backward()
            losses.append(loss.detach())
        total = torch.stack(losses).sum() / self.group.size
        torch.distributed.all_reduce(total)
        return total

    def clip(self, limit: float) -> Tensor:
        return whole(nn.utils.clip_grad_norm_(self.model.parameters(), limit or float("inf")))

    def updated(self) -> None:
        pass  # every process updates all that it has


def replicated(model: nn.Module, group: Group, settings: TrainingSettings) -> Exchanged:
    device = device_of(model)
    wrapped = nn.parallel.DistributedDataParallel(
        Loss(model),
        device_ids=[device] if device.type == "cuda" else None,
        gradient_as_bucket_view=True,
        **without_buffers(),
    )
    return Exchanged(model, group, settings, wrapped, wrapped.no_sync)


def without_buffers() -> dict[str, Any]:
    """Buffers are the same everywhere and never change; newer versions of torch call their exchange by another name."""
    known = inspect.signature(nn.parallel.DistributedDataParallel.__init__).parameters
    return {"forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers": False}


def sharded(model: nn.Module, device: torch.device, group: Group, settings: TrainingSettings) -> Exchanged:
    """Block by block the weights go to the device, each process's part of them."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(device.type, (group.size,))
    for module in model.modules():
        if isinstance(module, Block):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    register_fsdp_forward_method(model, "loss")

    @contextmanager
    def without_exchange() -> Iterator[None]:
        model.set_requires_gradient_sync(False)  # type: ignore[operator]
        yield
        model.set_requires_gradient_sync(True)  # type: ignore[operator]

    return Exchanged(model, group, settings, model.loss, without_exchange)  # type: ignore[arg-type]


class Loss(nn.Module):
    """DistributedDataParallel knows a model by its forward alone."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> Tensor:
        loss: Tensor = self.model.loss(batch)  # type: ignore[operator]
        return loss


def spread(model: nn.Module, device: torch.device, group: Group, settings: TrainingSettings) -> Spread:
    """A model, which is on the CPU, ready to be trained by the group on this device.

    Sharded, it is another one than was given, which stays where it is, whole.
    """
    check_spread(group, settings)
    if settings.sharded:
        return sharded(deepcopy(model), device, group, settings)
    if isinstance(group, Together):
        return replicated(model.to(device), group, settings)
    assert isinstance(group, Alone)
    return Shared(model.to(device), group, settings)


def check_spread(group: Group, settings: TrainingSettings) -> None:
    if settings.sharded and not isinstance(group, Together):
        raise UserError(
            "--sharded divides a model among the processes of torchrun: start the command with torchrun, and "
            "with at least two processes."
        )


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor of which this process may hold a part; every process must ask."""
    found: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return found


def laid_like(tensor: Tensor, like: Any) -> Tensor:
    """A whole tensor, known to every process, divided as `like` is."""
    if not hasattr(like, "placements"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def whole_ones(tensors: Mapping[str, Tensor], wanted: bool) -> dict[str, Tensor]:
    """All of each tensor, put together one after another, for the process that wants them; every process must ask."""
    found = {}
    for name, tensor in tensors.items():
        complete = whole(tensor)
        if wanted:  # what was put together goes to the CPU, for there may be no room for all of it
            found[name] = tensor if complete is tensor else complete.cpu()
    return found


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    own = model.state_dict()
    model.load_state_dict({name: laid_like(tensor, own[name]) for name, tensor in weights.items()})
