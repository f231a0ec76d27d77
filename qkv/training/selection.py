"""Choose the weights that the bundle gets at the end of a run."""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from qkv.checkpoint.bundle import MODEL_FILE
from qkv.checkpoint.tensors import read_tensors, tensors_hash
from qkv.errors import QkvError
from qkv.training.loop import Run
from qkv.training.product import Product
from qkv.training.validation import loss_on


@dataclass(frozen=True)
class ChosenWeights:
    """Which weights the bundle holds, and their validation loss."""

    sentence: str
    loss: float


def keep_average(run: Run, product: Product, out: Path) -> None:
    """In an extended run, the average that the bundle holds since the earlier end is the model to beat."""
    position, held = run.position, bundle_hash(out)
    if held in (None, position.kept_hash):
        return
    averaged = run.average_snapshots()
    if held == tensors_hash(averaged):
        model = deepcopy(product.model)
        model.load_state_dict(averaged)
        with run.spread.arithmetic():
            position.kept_loss = loss_on(model, run.valid)
        position.kept_hash, position.kept_as = held, name_of_average(position.snapshots)


def bundle_hash(out: Path) -> str | None:
    try:
        return tensors_hash(read_tensors(out / MODEL_FILE))
    except QkvError:
        return None


def name_of_average(steps: Sequence[int]) -> str:
    return f"average of the snapshots at steps {', '.join(map(str, steps))}"


def choose_weights(run: Run, product: Product, out: Path) -> ChosenWeights:
    """Save the best model so far, or the average of the last snapshots if that is better.

    If the last weights are to be kept, the average is used only if they cannot be read.
    """
    position, model, keep = run.position, product.model, run.plan.settings.keep
    averaged = run.average_snapshots()
    best = best_so_far(run, out, averaged)
    which = (
        position.kept_as or f"snapshot at step {position.kept_step}"
        if keep == "best"
        else f"last weights, of step {position.kept_step}"
    )
    chosen = ChosenWeights(which, position.kept_loss if best else math.inf)
    if averaged and (not best or (keep == "best" and len(position.snapshots) > 1)):
        model.load_state_dict(averaged)
        with run.spread.arithmetic():  # as for the losses that it is compared with
            loss = loss_on(model, run.valid)
        if loss < chosen.loss:
            best = averaged
            chosen = ChosenWeights(name_of_average(position.snapshots), loss)
    if not best:
        raise QkvError(
            f"neither {out / MODEL_FILE} nor a snapshot can be read, so there is no model. If the disk is full, free some "
            "space and resume the run. If files were lost, restore one from a copy."
        )
    model.load_state_dict(best)
    product.to_bundle(out)
    return chosen


def best_so_far(run: Run, out: Path, averaged: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the best snapshot, if they are still in the bundle, or nothing.

    If a run was killed during scoring, the average of the snapshots may have replaced them.
    """
    try:
        weights = read_tensors(out / MODEL_FILE)
    except QkvError as error:
        run.watch.warn(f"{error} The average of the last snapshots replaces it.")
        return {}
    found = tensors_hash(weights)
    if found == run.position.kept_hash:
        return weights
    if found != tensors_hash(averaged):
        run.watch.warn(
            f"{out / MODEL_FILE} was not written by this run; the average of the last snapshots replaces it."
        )
    return {}
