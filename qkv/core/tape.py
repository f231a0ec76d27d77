"""Record every intermediate of one forward pass by name. Without a tape there is no cost."""

from torch import Tensor


class Tape:
    """Names such as `decoder.1.cross_attention.weights`, in the order in which they were computed.

    With `only`, a single one is recorded, and other parts of the model work as without a tape.
    """

    def __init__(self, tensors: dict[str, Tensor] | None = None, prefix: str = "", only: str | None = None):
        self.tensors: dict[str, Tensor] = {} if tensors is None else tensors
        self.prefix, self.only = prefix, only

    def record(self, name: str, tensor: Tensor) -> None:
        if self.only is None or self.prefix + name == self.only:
            self.tensors[self.prefix + name] = tensor.detach()

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[self.prefix + name]

    def inside(self, name: str) -> "Tape":
        """The same tape, with names relative to a part of the model."""
        return Tape(self.tensors, f"{self.prefix}{name}.", self.only)

    def wants(self, name: str) -> bool:
        return self.only is None or self.only.startswith(f"{self.prefix}{name}.")


def inside(tape: Tape | None, name: str) -> Tape | None:
    return None if tape is None or not tape.wants(name) else tape.inside(name)
