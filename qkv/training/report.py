"""The facts that the report of every run contains."""

from dataclasses import asdict, replace
from typing import Any

import torch
from torch import nn

from qkv import __version__
from qkv.training.advice import is_still_falling, validation_losses
from qkv.training.loop import Run
from qkv.training.schedule import warmup_steps
from qkv.training.selection import ChosenWeights
from qkv.training.settings import RunSettings


def end_reason(run: Run) -> str:
    """What ended a run: a limit, no more improvement, or a callback."""
    plan, position = run.plan, run.position
    if run.ended:
        return "callback"
    if plan.steps is not None and position.step >= plan.steps:
        return "steps"
    return "minutes" if plan.progress(position) >= 1.0 else "patience"


def parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def facts_of_run(
    run: Run, model: nn.Module, chosen: ChosenWeights, settings: RunSettings, *, counted: str = "tokens"
) -> dict[str, Any]:
    """What every report contains. `counted` is the unit of the speed."""
    position = run.position
    planned = position.step / max(1e-9, run.plan.progress(position))  # also if minutes end the run
    used = replace(settings.training, warmup_steps=warmup_steps(settings.training, planned))
    return {
        "parameters": parameter_count(model),
        "training": {
            "steps": position.step,
            "epochs": round(position.epoch + position.cursor / run.batches_of_epoch, 2),
            "minutes": round(position.seconds / 60, 2),
            f"{counted}_per_second": round(position.tokens / max(1e-9, position.seconds)),
            "seed": settings.seed,
            "ended_by": end_reason(run),
            "still_falling": is_still_falling(validation_losses(run.log.path)),  # the validation loss
            "weights": chosen.sentence,
        },
        "settings": asdict(replace(settings, training=used)),
        "made_with": {
            "qkv": __version__,
            "torch": torch.__version__,
            "processes": run.group.size,
            "threads": torch.get_num_threads(),
        },
    }
