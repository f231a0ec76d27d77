"""From the arguments of a Python function to a training run and its model."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from signal import SIGTERM
from typing import TYPE_CHECKING, Any

from qkv.api.jobs import Job, Show, execute
from qkv.api.loading import folder_of
from qkv.api.resuming import resumed_command, run_file, stored_command, trainable_of_run
from qkv.environment import require_torch, under_torchrun
from qkv.errors import DataError, InputError, InputTypeError, QkvError, type_name
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.families.loading import load
from qkv.progress.display import warn_caller
from qkv.signatures import options_of, replace_options, unknown_option
from qkv.training.command import Command, fitting_trainable, nominal_command
from qkv.training.python_data import GivenData, Values, write_data
from qkv.training.trainable import Trainable, path_inputs

if TYPE_CHECKING:
    from qkv.training.callbacks import Callback

FEWEST_TO_JUDGE = 20  # rows with labels
MODELS = ("fine_tune", "codebook")  # inputs that are models


VALID = {"valid_pairs": "valid", "valid_text": "valid", "valid_labels": "valid"}
"""What validation data are called in Python, whatever the family calls them."""


@contextmanager
def arguments_called(called: Mapping[str, str]) -> Iterator[None]:
    """Errors in data name the argument of the function that was called."""
    try:
        yield
    except InputError as error:
        if type(error) not in (InputError, InputTypeError):
            raise
        pattern = rf"^(the columns of )?({'|'.join(called)})(?=[\[ ])"
        message = re.sub(pattern, lambda found: (found[1] or "") + called[found[2]], str(error))
        raise type(error)(message) from None


def trainables_of(name: str) -> tuple[Trainable, ...]:
    found: tuple[Trainable, ...] = resolve(trainings()[name].trainables)
    return found


def train_model(
    function: str,
    name: str,
    given: Mapping[str, Any],
    callbacks: Sequence[Callback],
    progress: bool,
    called: Mapping[str, str] = VALID,
) -> Any:
    """Start a run of what `qkv train NAME` trains, or resume it if `resume` is given. Returns the model.

    `given` has the options that the caller gave, by name. Data that are None were not given. `called` has the names of
    inputs as the caller writes them, for messages.
    """
    siblings = trainables_of(name)
    files = {each for sibling in siblings for each in (*path_inputs(sibling.inputs), *sibling.inputs.PYTHON)}
    given = {each: value for each, value in given.items() if value is not None or each not in files}
    if given.get("output") is None:
        raise TypeError(f"{function}() needs output, the folder for the model.")
    out = Path(given["output"])
    if given.get("resume") and run_file(out).is_file():
        return resume_model(function, out, given, callbacks, progress)
    trainable = fitting_trainable(siblings, set(given))
    check_names(function, trainable, given)
    default = nominal_command(trainable, given.get("recipe"))
    data, rest = split_data(trainable, {**given, "output": out, "resume": False})
    paths = {each.name: each.path for each in options_of(default)}
    names = [*data.values, *rest, *(each for each in given if each in paths)]
    chosen = frozenset(paths[each][1:] for each in names if each in paths) - {()}
    job = Job(trainable=trainable, command=replace_options(default, rest), given=chosen)
    with arguments_called(called):
        return run(job, data, callbacks, progress)


def resume_model(
    function: str, out: Path, given: Mapping[str, Any], callbacks: Sequence[Callback], progress: bool
) -> Any:
    """Resume the run in a folder. Returns the model."""
    if not run_file(out).is_file():
        raise DataError(f"no run found in {out}. Check the folder.")
    trainable = trainable_of_run(out)
    check_names(function, trainable, given)
    before = stored_command(trainable, out)
    data, rest = split_data(trainable, {**given, "output": out, "resume": True})
    changed: Command = replace_options(replace(before, resume=False), rest)
    return run(Job(trainable=trainable, command=resumed_command(before, changed)), data, callbacks, progress)


def check_names(function: str, trainable: Trainable, given: Mapping[str, Any]) -> None:
    known = {each.name for each in options_of(nominal_command(trainable, None))} | trainable.inputs.PYTHON
    unknown = sorted(given.keys() - known)
    if unknown:
        raise TypeError(unknown_option(function, unknown[0], known))


def split_data(trainable: Trainable, given: dict[str, Any]) -> tuple[GivenData, dict[str, Any]]:
    """The data of a run, and its other options."""
    files = set(path_inputs(trainable.inputs))
    models = {name: model_input(name, given[name]) for name in MODELS if name in files and name in given}
    in_memory = {name: model for name, model in models.items() if not isinstance(model, Path)}
    given = {name: value for name, value in (given | models).items() if name not in in_memory}
    data = trainable.inputs.from_python(given)
    models_first = (partial(write_model, name, model) for name, model in in_memory.items())
    data = replace(data, writers=(*models_first, *data.writers))
    others = files | trainable.inputs.PYTHON
    return data, {name: value for name, value in given.items() if name not in others}


def model_input(name: str, model: Any) -> Any:
    """The folder of a model, or the model itself if it is in memory only."""
    if isinstance(model, str | Path):
        return folder_of(model, None)  # the name of a model on the hub is imported first
    if not hasattr(model, "save"):
        raise InputTypeError(f"{name} is {type(model).__name__}; expected a model or its folder.")
    opened = getattr(model, "_opened", None)
    return model if opened is None else opened.folder


def write_model(name: str, model: Any, folder: Path, _: Values) -> Values:
    model.save(folder / name)
    return {name: folder / name}


def run(job: Job, data: GivenData, callbacks: Sequence[Callback], progress: bool) -> Any:
    require_torch("training")
    if under_torchrun():
        raise QkvError("Python functions train on one machine. Under torchrun, use the command `qkv train`.")
    check_callbacks(callbacks)
    from qkv.training.claim import claim_output
    from qkv.training.signals import StopRequest

    out, show, stop = job.command.output, Show(progress=progress, callbacks=callbacks), StopRequest()
    with (
        kept_random_state(),
        claim_output(out, resume=job.command.resume),
        write_data(data, out, resumes=job.command.resume) as values,
    ):
        command = replace(job.command, inputs=replace(job.command.inputs, **values))
        outcome = execute(replace(job, command=command), show, stop, claimed=True)
    if outcome.report is None or stop.error is not None:
        show.say(f"stopped at step {outcome.step:,}, saved. To resume: qkv.resume({str(out)!r})")
        if stop.error is not None:
            raise stop.error
        if stop.received == SIGTERM:
            sys.exit(stop.exit_code)
        raise KeyboardInterrupt(f"the run is saved. Resume it with qkv.resume({str(out)!r}).")
    model = load(out)
    for line in model.report.advice:
        show.say(f"advice: {line}")
    return model


def check_callbacks(callbacks: Any) -> None:
    if not isinstance(callbacks, Sequence):
        raise InputTypeError(
            f"callbacks is {type_name(callbacks)}; expected a list of instances of qkv.Callback."
        )
    for number, each in enumerate(callbacks):
        if isinstance(each, type):
            name = each.__name__
            raise InputTypeError(
                f"callbacks[{number}] is the class {name}; give an instance, such as {name}()."
            )
        if not hasattr(each, "on_validation"):
            raise InputTypeError(
                f"callbacks[{number}] is {type_name(each)}; expected an instance of qkv.Callback."
            )


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Training seeds torch's generator in every step. Afterwards the program goes on with its own numbers."""
    import torch

    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


# Fine-tuning ---------------------------------------------------------------------------------------------


def fine_tuning_of(kind_commands: Sequence[str]) -> str | None:
    """The name of the training that fine-tunes a kind of bundle, from the commands that accept it."""
    for command in kind_commands:
        words = command.split()
        if words[:1] == ["train"] and words[-1].endswith("fine-tune"):
            return words[1]
    return None


def name_data(siblings: Sequence[Trainable], data: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The options with the data under the name of their input.

    Texts and their labels may be given apart. Where a model can be fine-tuned on several kinds of data, rows of more
    than a text have labels.
    """
    if data is None:
        return given
    mains = {each.inputs.MAIN for each in siblings}
    labels = given.get("labels")
    if labels is not None and not isinstance(labels, str | Path):
        first = "image" if "images" in mains else "text"
        name = "images" if first == "image" else "labels"
        check_same_length(("data", data, f"{first}s"), ("labels", labels))
        return {**given, "labels": None, name: {first: data, "label": labels}}
    if mains == {"labels"} and isinstance(data, list | tuple) and data and isinstance(data[0], str):
        raise InputError("data has texts without labels. Give `labels`, or rows of a text and a label.")
    if len(mains) > 1:
        name, data = kind_of_data(data)
    else:
        [name] = mains
    if name == "labels":
        warn_of_unlikely_labels(data)
    if given.get(name) is not None:
        raise InputError(f"the data are given twice, also as {name}.")
    return {**given, name: data}


def check_same_length(one: tuple[str, Any, str], other: tuple[str, Any]) -> None:
    """Do two arguments have the same number of items, as far as that is known?"""
    (name, items, what), (other_name, others) = one, other
    if hasattr(items, "__len__") and hasattr(others, "__len__") and len(items) != len(others):
        raise InputError(
            f"{name} has {len(items):,} {what} but {other_name} has {len(others):,}. Give one for each."
        )


def warn_of_unlikely_labels(data: Any) -> None:
    """Sentence pairs look like texts with labels. As labels, nearly all targets are different."""
    if not isinstance(data, list | tuple) or len(data) < FEWEST_TO_JUDGE:
        return
    labels = [row[-1] for row in data if isinstance(row, list | tuple) and row]
    different = len({each for each in labels if isinstance(each, str)})
    if different > len(data) / 2:
        warn_caller(
            f"{different:,} of {len(data):,} labels are different, so these may be sentence pairs. The model becomes a "
            "classifier with a class for each label. To train on texts, give a list of strings."
        )


def kind_of_data(data: Any) -> tuple[str, Any]:
    """Whether data for a language model are text, music or labels, and the data again: an iterator loses its first row."""
    from itertools import chain

    from qkv.data.labels import LABEL_NAMES
    from qkv.data.python_rows import column_names, first_of, is_path

    if is_path(data):
        name = str(data).lower().removesuffix(".gz")
        endings = {"labels": (".tsv",), "music": (".mid", ".midi", ".json")}
        return next((kind for kind, known in endings.items() if name.endswith(known)), "text"), data
    columns = column_names(data)
    if columns is None and hasattr(data, "__iter__"):
        rows = iter(data)
        first = next(rows, None)
        data = chain([] if first is None else [first], rows)
        if not isinstance(first, dict):
            return ("text" if isinstance(first, str | Path) else "labels"), data
        columns = [str(name) for name in first]
    return ("labels" if columns is not None and first_of(LABEL_NAMES, columns) else "text"), data
