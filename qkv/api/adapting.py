"""adapt: fine-tune a translator on the translations of a project, without losing general quality."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from qkv.api.resuming import data_of_run, run_file, stored_command, trainable_of_run
from qkv.api.starting import model_input, resume_model, train_model
from qkv.checkpoint.bundle import MODEL_FILE
from qkv.checkpoint.files import file_hash, lock_file, make_folders, read_json
from qkv.checkpoint.outputs import check_new_folder
from qkv.data.python_rows import is_path
from qkv.environment import require_torch
from qkv.errors import DataError, QkvError
from qkv.families.translator.adaptation.options import AdaptOptions
from qkv.flags import Flag, OptionMessageError, Positional
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.data.parallel import ParallelText
    from qkv.evaluation.display import Display
    from qkv.families.translator.adaptation.job import Stage
    from qkv.families.translator.product import Translator
    from qkv.keywords import AdaptKeywords


@dataclass(frozen=True, kw_only=True)
class AdaptCommand:
    """What `qkv adapt` and `qkv.adapt` take."""

    model: Annotated[Positional[Path], Flag(metavar="MODEL")]
    """Folder of the translator to adapt, trained or imported."""
    options: Annotated[AdaptOptions, Flag(name="")] = field(default_factory=AdaptOptions)
    output: Annotated[Path, Flag(aliases=["-o", "--out"], metavar="DIR")]
    """Folder for the adapted model. If the command was interrupted, the same command resumes it."""


@with_options(AdaptOptions)
def adapt(
    model: Any,
    pairs: Any = (),
    *,
    output: str | os.PathLike[str],
    progress: bool = True,
    **options: Unpack[AdaptKeywords],
) -> Translator:
    """Adapt a translator to the translations of a project, as `qkv adapt` does.

    It is fine-tuned on as many general pairs as pairs of the project. Learning rate and duration are chosen on held-out
    pairs. A model that loses too much general quality is not written.

    Args:
        model: A translator, its folder, or the name of one on the hub. If it was adapted itself, its base model is used.
        pairs: Translations of the project: files, or a list or table of pairs.
        output: Folder for the adapted model. If an earlier call was interrupted, the same call resumes it.
        progress: Show progress.

    Returns:
        The adapted translator. `report["adaptation"]` is its receipt: scores before and after, and words that it lost.

    Raises:
        ModelError: No snapshot is better on the project's text without losing more than `max_loss`.
        DataError: There are too few pairs, or no general ones.

    Example:
        >>> pairs = [(f"the {a} {b}", f"{b} {a} der") for a in "abcdefgh" for b in "abcdefgh"]
        >>> general = Path("general.tsv")
        >>> _ = general.write_text("".join(f"{a} {b}\\t{b} {a}\\n" for a in "abcdefgh" for b in "abcdefgh"))
        >>> options = {"general": general, "learning_rates": [1e-9], "epochs": 0.1, "processes": 1, "progress": False}
        >>> try:
        ...     adapted = qkv.adapt("runs/en-de", pairs, output="runs/adapted", **options)
        ... except qkv.ModelError as error:
        ...     print("refused")
        refused
    """
    from qkv.families.loading import load
    from qkv.progress.display import python_display

    require_torch("adaptation")
    given = {**options, "pairs": pairs}
    found = replace_options(AdaptOptions(), given)
    base, target = model_input("model", model), Path(output)
    if not isinstance(base, Path):
        base = saved(base, work_folder(target) / "base")
    found = replace(found, pairs=files_of(found, target))
    run_adapt(AdaptCommand(model=base, options=found, output=target), python_display(progress))
    adapted: Translator = load(target)
    return adapted


def saved(model: Any, folder: Path) -> Path:
    """The folder with the model. If an earlier call was interrupted, it is there already.

    Raises:
        QkvError: What is there is another model.
    """
    make_folders(folder.parent)
    with TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary, "base")
        model.save(made)
        if not folder.exists():
            os.rename(made, folder)
        elif file_hash(made / MODEL_FILE) != file_hash(folder / MODEL_FILE):
            raise QkvError(
                f"{folder.parent} holds an adaptation of another model. Remove it, or give another output."
            )
    return folder


def files_of(options: AdaptOptions, output: Path) -> tuple[Path, ...]:
    """Files as they are, and other pairs of a Python program in a file."""
    pairs: Any = options.pairs
    if is_path(pairs):
        return (Path(pairs),)
    if isinstance(pairs, list | tuple) and all(is_path(each) for each in pairs):
        return tuple(map(Path, pairs))
    return (written(options, work_folder(output)),)


def written(options: AdaptOptions, work: Path) -> Path:
    """Pairs of a Python program, as a file."""
    from qkv.data.pair_columns import PairColumns
    from qkv.data.python_texts import write_pairs

    make_folders(work)
    columns = PairColumns(source_language=options.source_language, target_language=options.target_language)
    write_pairs(work / "pairs.jsonl", options.pairs, "pairs", columns)
    return work / "pairs.jsonl"


def work_folder(output: Path) -> Path:
    return output.with_name(f"{output.name}.adapting")


def run_adapt(command: AdaptCommand, display: Display) -> dict[str, Any]:
    """Adapt, and return the receipt. Everything is made in a folder next to the output, which appears when it is complete."""
    from qkv.families.translator.adaptation.job import Adaptation
    from qkv.families.translator.adaptation.result import RESULT, finish

    command.options.check()
    check_new_folder("output", command.output)
    base = base_of(command.model, display)
    work = work_folder(command.output)
    make_folders(work)
    with lock_file(work / "lock", f"{work} is in use by another adaptation. Wait, or give another output."):
        job = Adaptation.prepare(
            base, command.options, work, display, train_stage, partial(pairs_of_run, say=display.say)
        )
        receipt = finish(job, job.search())
    if command.output.exists():
        command.output.rmdir()  # empty, as checked
    os.rename(work / RESULT, command.output)
    shutil.rmtree(work)
    return receipt


def base_of(folder: Path, display: Display) -> Path:
    """The model that an adapted one was made from, so that errors do not add up; or the model itself."""
    from qkv.families.translator.adaptation.receipt import RECEIPT

    if not (folder / RECEIPT).is_file():
        return folder
    stated = read_json(folder / RECEIPT)
    base = Path(str(stated.get("base", {}).get("folder", "")))
    weights = base / MODEL_FILE
    if weights.is_file() and file_hash(weights) == stated["base"].get("weights"):
        display.say(f"{folder} was adapted itself; starting from its base model {base}")
        return base
    display.warn(
        f"{folder} was adapted itself, and its base model {base} is not there any more. Adapting it again loses more general "
        "quality than adapting the base model to all translations."
    )
    return folder


# Training ------------------------------------------------------------------------------------------


def pairs_of_run(base: Path, say: Callable[[str], None]) -> tuple[ParallelText, ParallelText]:
    """What the base model was trained on, and what it was validated on, which it has not learned."""
    if not run_file(base).is_file():
        raise OptionMessageError(
            "{base} has no training data of its own: give general pairs with {general}, or {general_text} and {general_test}.",
            base=base,
        )
    try:
        command = stored_command(trainable_of_run(base), base)
        files = command.inputs.read(command.settings, say)
        corpus = files.split(command.settings, data_of_run(base), say)
    except QkvError as error:
        raise DataError(
            f"the training data of {base} cannot be read ({error}) Give general pairs instead."
        ) from None
    return corpus.train, corpus.valid


def train_stage(stage: Stage) -> None:
    """Train from the base model, or continue where this rate stands."""
    out, options, callbacks = stage.output, stage.options, [steps_callback(stage.advance)]
    report = out / "report.json"
    if report.exists() and read_json(report)["training"]["steps"] >= stage.steps:
        return
    if run_file(out).is_file():
        resume_model("adapt", out, {"steps": stage.steps}, callbacks, False)
        return
    given = {
        "fine_tune": stage.base, "pairs": stage.train, "valid_pairs": stage.valid, "output": out,
        "source_language": options.source_language, "target_language": options.target_language,
        "steps": stage.steps, "learning_rate": stage.rate, "schedule": "constant", "warmup_steps": max(1, min(100, stage.steps // 4)),
        "validate_every": stage.steps, "average": 1, "keep": "last", "batch_tokens": options.batch_tokens,
        "seed": options.seed, "processes": options.processes, "device": options.device,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    train_model("adapt", "translator", given, callbacks, False)


def steps_callback(advance: Callable[[int], object]) -> Any:
    """Shows the steps of a run, also of one that continues."""
    from qkv.training.callbacks import Callback, StartEvent, StepEvent

    class Steps(Callback):
        last = 0

        def on_start(self, event: StartEvent) -> None:
            self.advance_to(event.step)

        def on_step(self, event: StepEvent) -> None:
            self.advance_to(event.step)

        def advance_to(self, step: int) -> None:
            advance(step - self.last)
            self.last = step

    return Steps()
