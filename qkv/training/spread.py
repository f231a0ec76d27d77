"""Three ways to spread a model over the processes of a run, behind one interface.

Shared       one model in shared memory; each process updates a part of it. For one machine, or one process.
replicate    every process has the model; torch's DistributedDataParallel adds up the gradients.
shard        every process has a part of each weight (torch's fully_shard), and an entire block while it computes it.
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
from qkv.errors import QkvError
from qkv.training.device import products_here
from qkv.training.distributed import Group, SingleProcess, TorchrunGroup
from qkv.training.settings import TrainingSettings
from qkv.training.shares import OwnShare, Share, SharedMemoryShare, parameter_groups

Part = tuple[Any, float]  # a batch, and its share of the tokens of the step


class Spread(Protocol):
    """What the loop and the optimizer know of a model."""

    model: nn.Module

    @property
    def products(self) -> Products | None:
        """The backend for matrix products in training, if it is not torch."""

    @property
    def shares(self) -> Sequence[Share]:
        """The shares of all weights."""

    def backward(self, parts: Sequence[Part]) -> Tensor:
        """Compute the gradients of all processes' parts, for this one's shares. Return the total loss, on its device."""

    def clip(self, limit: float) -> Tensor:
        """Clip the gradients to the norm `limit`, unless it is 0. Return the norm before."""

    def wait_for_updates(self) -> None:
        """Wait until all processes have updated their shares."""

    def loss(self, batch: Any) -> Tensor: ...

    def arithmetic(self) -> AbstractContextManager[object]:
        """The context in which the loss is computed."""


class BaseSpread:
    """What all three ways share."""

    def __init__(self, model: nn.Module, settings: TrainingSettings):
        self.model, self.precision = model, settings.precision
        self.products = products_here(settings, device_of(model))

    def arithmetic(self) -> AbstractContextManager[object]:
        """With bf16 and int16, matrix products use 16-bit numbers."""
        if self.products is not None:
            return multiplied_by(self.products)
        if self.precision != "bf16":
            return nullcontext()
        return torch.autocast(device_of(self.model).type, torch.bfloat16)

    def loss(self, batch: Any) -> Tensor:
        with self.arithmetic():
            return self.model.loss(batch)  # type: ignore[operator]


class Shared(BaseSpread):
    """One set of weights in shared memory. Each process updates its part (see shares.py)."""

    def __init__(self, model: nn.Module, group: SingleProcess, settings: TrainingSettings):
        super().__init__(model, settings)
        self.group = group
        self.shares = [SharedMemoryShare(kind, group) for kind in parameter_groups(model, settings)]
        group.wait()  # until the first process has written the weights

    def backward(self, parts: Sequence[Part]) -> Tensor:
        for share in self.shares:
            share.gradients.zero_()
        total = torch.zeros((), device=device_of(self.model))
        for batch, weight in parts:
            if weight:
                loss = self.loss(batch) * weight
                loss.backward()
                total += loss.detach()
        total = self.group.total(total)  # now all gradients are complete
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

    def wait_for_updates(self) -> None:
        self.group.wait()


class ExchangedGradients(BaseSpread):
    """Copies or shards whose gradients torch exchanges during backward, except inside `without_exchange`."""

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
        self.shares = [OwnShare(kind) for kind in parameter_groups(model, settings)]
        self.loss_to_learn_from, self.without_exchange = loss_to_learn_from, without_exchange

    def backward(self, parts: Sequence[Part]) -> Tensor:
        """The last part exchanges the gradients. torch divides their sum by the number of processes."""
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
        return gather(nn.utils.clip_grad_norm_(self.model.parameters(), limit or float("inf")))

    def wait_for_updates(self) -> None:
        pass  # every process updates everything it has


def replicate(model: nn.Module, group: Group, settings: TrainingSettings) -> ExchangedGradients:
    device = device_of(model)
    wrapped = nn.parallel.DistributedDataParallel(
        Loss(model),
        device_ids=[device] if device.type == "cuda" else None,
        gradient_as_bucket_view=True,
        **without_buffers(),
    )
    return ExchangedGradients(model, group, settings, wrapped, wrapped.no_sync)


def without_buffers() -> dict[str, Any]:
    """Do not exchange buffers, which never change. Newer versions of torch have another name for this option."""
    known = inspect.signature(nn.parallel.DistributedDataParallel.__init__).parameters
    return {"forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers": False}


def shard(
    model: nn.Module, device: torch.device, group: Group, settings: TrainingSettings
) -> ExchangedGradients:
    """Move each process's part of the weights to its device, block by block."""
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

    return ExchangedGradients(model, group, settings, model.loss, without_exchange)  # type: ignore[arg-type]


class Loss(nn.Module):
    """DistributedDataParallel only calls forward."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> Tensor:
        loss: Tensor = self.model.loss(batch)  # type: ignore[operator]
        return loss


def spread(model: nn.Module, device: torch.device, group: Group, settings: TrainingSettings) -> Spread:
    """Prepare a model, which is on the CPU, to be trained by the group on this device.

    Sharding uses a copy; the given model stays entire.
    """
    check_spread(group, settings)
    if settings.sharded:
        return shard(deepcopy(model), device, group, settings)
    if isinstance(group, TorchrunGroup):
        return replicate(model.to(device), group, settings)
    assert isinstance(group, SingleProcess)
    return Shared(model.to(device), group, settings)


def check_spread(group: Group, settings: TrainingSettings) -> None:
    if settings.sharded and not isinstance(group, TorchrunGroup):
        raise QkvError(
            "sharding divides a model among the processes of torchrun. Start the command with torchrun and at least two "
            "processes."
        )


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def gather(tensor: Tensor) -> Tensor:
    """The entire tensor, if this process has a shard of it. Every process must call this."""
    found: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return found


def shard_like(tensor: Tensor, like: Any) -> Tensor:
    """An entire tensor, the same in every process, sharded like `like`."""
    if not hasattr(like, "placements"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def gather_tensors(tensors: Mapping[str, Tensor], wanted: bool) -> dict[str, Tensor]:
    """The entire tensors, for the process that wants them. Every process must call this."""
    found = {}
    for name, tensor in tensors.items():
        complete = gather(tensor)
        if wanted:  # on the CPU: the device may not have room for all of them
            found[name] = tensor if complete is tensor else complete.cpu()
    return found


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    own = model.state_dict()
    model.load_state_dict({name: shard_like(tensor, own[name]) for name, tensor in weights.items()})
