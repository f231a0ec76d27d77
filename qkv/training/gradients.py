"""All gradients of a model in one flat tensor: adding up over processes, the norm and zeroing are one call each."""

from collections.abc import Iterable

from torch import Tensor, nn

from qkv.training.distributed import Group


class Gradients:
    """The parameters' `.grad` are views into `flat`, whose last places carry notes between processes."""

    def __init__(self, parameters: Iterable[nn.Parameter], group: Group, notes: int):
        self.group = group
        owners = [parameter for parameter in parameters if parameter.requires_grad]
        total = sum(parameter.numel() for parameter in owners)
        self.flat = group.buffer(total + notes, owners[0].device)
        self.values, self.notes = self.flat[:total], self.flat[total:]
        start = 0
        for parameter in owners:
            end = start + parameter.numel()
            parameter.grad = self.values[start:end].view_as(parameter)
            start = end

    def zero(self) -> None:
        self.flat.zero_()

    def add_up(self) -> None:
        self.group.add_up(self.flat)

    def clip(self, limit: float) -> Tensor:
        """Scale the gradients down to the norm `limit` where it is larger (0: never); the norm before that."""
        norm = self.values.norm()
        if limit:
            self.values.mul_((limit / (norm + 1e-6)).clamp(max=1.0))
        return norm
