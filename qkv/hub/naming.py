"""From another library's names of weights to ours: every weight has a place, every place a weight, or it is said."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

from qkv.errors import UserError

SHOWN = 6  # faults named in one message


def placed(
    weights: Mapping[str, Tensor], rename: Callable[[str], str | None], model: nn.Module, where: str
) -> dict[str, Tensor]:
    """The weights under our names, as the model's own type; faults of all kinds in one message.

    `rename` gives our name, or None for what holds no weight, such as a table that can be computed.
    """
    own, found, left_over, twice = model.state_dict(), {}, [], []
    for theirs, tensor in weights.items():
        name = rename(theirs)
        if name is None:
            continue
        if name not in own:
            left_over.append(theirs)
        elif name in found:
            twice.append(theirs)
        else:
            found[name] = tensor
    shapes = [
        f"{name} has shape {tuple(found[name].shape)} instead of {tuple(own[name].shape)}"
        for name in own
        if name in found and found[name].shape != own[name].shape
    ]
    faults = {
        "missing": [name for name in own if name not in found],
        "left over": left_over,
        "given twice": twice,
        "of another shape": shapes,
    }
    said = [f"{what}: {listed(names)}" for what, names in faults.items() if names]
    if said:
        raise UserError(f"{where}: the weights do not fit its config; {'; '.join(said)}.")
    return {name: tensor.to(own[name].dtype) for name, tensor in found.items()}


def listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def check_known(config: Mapping[str, Any], known: Mapping[str, tuple[Any, ...]], where: str) -> None:
    """Settings with values that we do not compute are refused by name; `known` has those that we do."""
    for name, values in known.items():
        if name in config and config[name] not in values:
            can = " or ".join(str(value) for value in values)
            raise UserError(f"{where}: {name} is '{config[name]}', and qkv knows {can} only.")
