"""A model and the gradients of a step, over all processes that share the run: three ways, one contract.

Copy         every process has the model; gradients lie in one flat tensor that is added up at once. On one machine.
replicated   every process has the model; torch's DistributedDataParallel adds up gradients while others are computed.
sharded      every process has a part of each weight (torch's fully_shard), and the whole of a block while it computes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from qkv.core.block import Block
from qkv.errors import UserError
from qkv.training.distributed import Alone, Group, Together
from qkv.training.settings import TrainingSettings

Part = tuple[Any, float]  # a batch, and its share of the tokens of the step


class Spread(Protocol):
    """What the loop and the optimiser know of a model."""

    model: nn.Module
    own_matrices: slice  # those that this process works on for all, where there is such a division

    def backward(self, parts: Sequence[Part]) -> Tensor:
        """Leave the gradients of all processes' parts in the weights; the loss of all, still on its device."""

    def clip(self, limit: float) -> Tensor:
        """Scale the gradients down to the norm `limit` where it is larger (0: never); the norm before that."""

    def loss(self, batch: Any) -> Tensor: ...

    def arithmetic(self) -> AbstractContextManager[object]:
        """What the loss is computed in."""

    def collected(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Each process has worked out its own matrices of these and has zeros elsewhere: now all have all."""


class Trained:
    """What the three ways have in common."""

    def __init__(self, model: nn.Module, settings: TrainingSettings):
        self.model, self.precision = model, settings.precision

    def arithmetic(self) -> AbstractContextManager[object]:
        """With bf16, products take numbers of half the size."""
        if self.precision == "float32":
            return nullcontext()
        return torch.autocast(device_of(self.model).type, torch.bfloat16)

    def loss(self, batch: Any) -> Tensor:
        with self.arithmetic():
            return self.model.loss(batch)  # type: ignore[operator]


class Copy(Trained):
    """`.grad` of the parameters are views into one flat tensor, whose last place carries the loss."""

    def __init__(self, model: nn.Module, group: Alone, settings: TrainingSettings):
        super().__init__(model, settings)
        self.group = group
        self.own_matrices = slice(group.rank, None, group.size)
        owners = [parameter for parameter in model.parameters() if parameter.requires_grad]
        total = sum(parameter.numel() for parameter in owners)
        self.flat = group.buffer(total + 1, owners[0].device)
        self.values = self.flat[:total]
        start = 0
        for parameter in owners:
            end = start + parameter.numel()
            parameter.grad = self.values[start:end].view_as(parameter)
            start = end

    def backward(self, parts: Sequence[Part]) -> Tensor:
        self.flat.zero_()
        for batch, share in parts:
            if share:
                loss = self.loss(batch) * share
                loss.backward()
                self.flat[-1] += loss.detach()
        self.group.add_up(self.flat)
        return self.flat[-1].clone()

    def clip(self, limit: float) -> Tensor:
        norm = self.values.norm()
        if limit:
            self.values.mul_((limit / (norm + 1e-6)).clamp(max=1.0))
        return norm

    def collected(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Through the memory of the gradients, which have been used."""
        sizes = [tensor.numel() for tensor in tensors]
        space = self.flat[: sum(sizes)]
        torch.cat([tensor.flatten() for tensor in tensors], out=space)
        self.group.add_up(space)
        return [part.view_as(t) for part, t in zip(space.split(sizes), tensors, strict=True)]


class Exchanged(Trained):
    """Copies or parts whose gradients torch exchanges while it computes them, but for those made `without_exchange`."""

    own_matrices = slice(None)  # each process works on all

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

    def collected(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        return list(tensors)


def replicated(model: nn.Module, group: Group, settings: TrainingSettings) -> Exchanged:
    device = device_of(model)
    wrapped = nn.parallel.DistributedDataParallel(
        Loss(model),
        device_ids=[device] if device.type == "cuda" else None,
        broadcast_buffers=False,
        gradient_as_bucket_view=True,
    )
    return Exchanged(model, group, settings, wrapped, wrapped.no_sync)


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
    return Copy(model.to(device), group, settings)


def check_spread(group: Group, settings: TrainingSettings) -> None:
    if settings.sharded and not isinstance(group, Together):
        raise UserError(
            "--training.sharded divides a model among the processes of torchrun: start the command with torchrun."
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
