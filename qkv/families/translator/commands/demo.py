"""`qkv demo`: train a translator between two built-in languages, and show what it has learned."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qkv.cli import program
from qkv.cli.inputs import OutputFolder
from qkv.cli.options import read_options
from qkv.environment import under_torchrun
from qkv.errors import QkvError, check_rules

if TYPE_CHECKING:
    from qkv.data.worlds import Pair
    from qkv.families.translator.product import Translator
    from qkv.families.translator.settings import TranslatorSettings
    from qkv.training.runs import Outcome

Language = Literal["en", "de", "es"]
TRAINED_ON, VALIDATED_ON, TESTED_ON = 100_000, 500, 1_000
ALIGNED_ON = 200  # sentences whose words are aligned


@dataclass(frozen=True, kw_only=True)
class Demo:
    output: OutputFolder = Path("runs/demo")
    """Folder for the model and the plots. An earlier demo in it is replaced."""
    source_language: Language = "en"
    """Source language: English, German or Spanish."""
    target_language: Language = "de"
    """Target language: another of the three."""
    seed: int = 1
    """Seed of the sentences and of the weights."""
    steps: int | None = None
    """Steps of training (default: those of the recipe, 2,700)."""
    resume: bool = False
    """Continue a demo that was interrupted."""
    json: bool = False
    """Print the report as one JSON document."""

    def __post_init__(self) -> None:
        check_rules([("steps", "must be at least 1", self.steps is None or self.steps >= 1)])


def main(arguments: list[str]) -> None:
    command = read_options(
        Demo,
        arguments,
        prog="qkv demo",
        description="Train a translator between two built-in languages in about three minutes on two cores, and show what it has learned.",
    )
    if under_torchrun():
        raise QkvError("the demo runs on one machine: start it without torchrun.")
    if command.source_language == command.target_language:
        raise QkvError("--source-language and --target-language are the same: choose two different ones.")
    from qkv.data.worlds import deck_pairs
    from qkv.progress.terminal import say

    if command.resume and not is_demo(command.output):
        raise QkvError(f"there is no demo to resume in {command.output}: leave out --resume.")
    previous = None if command.resume else set_aside(command.output)
    try:
        translator, report = train(command, arguments, keeps_run=previous is None)
        show_scores(translator, report, command)
        show_deck_sentences(translator, command)
        show_attention(translator, command)
    except BaseException:  # also Ctrl-C: restore the earlier demo
        if previous is not None:
            shutil.rmtree(command.output, ignore_errors=True)
            previous.rename(command.output)
        raise
    if previous is not None:
        shutil.rmtree(previous)
    if command.json:
        from qkv.cli.reports import print_json

        print_json({"output": str(command.output), "report": report})
    folder = shlex.quote(str(command.output))
    sentence = shlex.quote(deck_pairs(command.source_language, command.target_language)[1].source)
    say(f"\nThe model is in {folder}, with its report and its model card. Next steps:")
    say(f"  {program()} translate {folder} {sentence}")
    say(f"  {program()} explore {folder}  # look inside it in a browser")
    say(f"  {program()} info {folder}")
    say(f"  {program()} demo --target-language es --output runs/demo-es")
    say(f"  {program()} train translator --source YOURS.en --target YOURS.de --output runs/mine")


def set_aside(out: Path) -> Path | None:
    """Move an earlier demo aside until the new one is complete. Nothing else is ever moved or removed."""
    previous = out.with_name(f"{out.name}.previous")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return previous if is_demo(previous) else None
    if not is_demo(out):
        raise QkvError(f"{out} holds something other than a demo: give another --output.")
    if not previous.exists():
        out.rename(previous)
    elif is_demo(previous):  # a demo was killed: the last complete one is still aside
        shutil.rmtree(out)
    else:
        raise QkvError(
            f"{previous} holds something other than a demo, but the earlier demo in {out} must be moved there. "
            "Rename it, or give another --output."
        )
    return previous


def is_demo(folder: Path) -> bool:
    from qkv.checkpoint.files import read_json
    from qkv.checkpoint.run_folder import RUN_FILE

    run_file = folder / "training" / RUN_FILE
    run = read_json(run_file) if run_file.is_file() else None
    return isinstance(run, dict) and run.get("demo") is True


def help_training(facts: Mapping[str, Any]) -> int:
    """What a helper process does: its share of the training."""
    return run(Demo(**{**facts, "output": Path(facts["output"])})).exit_code


def train(command: Demo, arguments: list[str], *, keeps_run: bool) -> tuple["Translator", dict[str, Any]]:
    """Train, or say how to go on. An earlier demo is restored in place of a run that was interrupted."""
    from qkv.progress.terminal import say

    try:
        outcome = run(command)
    except KeyboardInterrupt:
        say(f"stopped. {how_to_go_on(command, arguments, keeps_run=keeps_run)}")
        raise
    if outcome.report is None:
        saved = f" at step {outcome.step:,}, saved" if keeps_run and outcome.saved else ""
        say(f"stopped{saved}. {how_to_go_on(command, arguments, keeps_run=keeps_run)}")
        sys.exit(outcome.exit_code)
    return outcome.product, outcome.report


def how_to_go_on(command: Demo, arguments: list[str], *, keeps_run: bool) -> str:
    given = [each for each in arguments if each != "--resume"]
    if keeps_run and is_demo(command.output):
        return f"To resume: {program()} {shlex.join(['demo', *given, '--resume'])}"
    return f"To start again: {program()} {shlex.join(['demo', *given])}"


def run(command: Demo) -> "Outcome[Translator]":
    from dataclasses import asdict, replace

    from qkv.data.parallel import ParallelText
    from qkv.data.worlds import LANGUAGES, deck_pairs, pairs
    from qkv.families.translator.corpus import Corpus
    from qkv.families.translator.defaults import Languages
    from qkv.families.translator.recipes import built_in
    from qkv.families.translator.task import translator_task
    from qkv.progress.terminal import TrainingDisplay, say
    from qkv.training.distributed import HelperJob, processes_for, shared_run
    from qkv.training.runs import train as train_task
    from qkv.training.trainable import Setup

    source, target = command.source_language, command.target_language
    names = f"{LANGUAGES[source]} to {LANGUAGES[target]}"
    say(f"Training a translator from {names} on {TRAINED_ON:,} sentence pairs of the built-in grammar.")
    settings = settings_of_run(command.output) if command.resume else built_in(TRAINED_ON)
    settings = replace(settings, seed=command.seed)
    if command.steps is not None and not command.resume:
        settings = replace(settings, steps=command.steps)
    # Two processes are as fast as one here, and do not stall if another program keeps a core busy.
    processes = processes_for(0, 2 * settings.training.batch_tokens)
    settings = replace(settings, training=replace(settings.training, processes=processes))
    facts = {**asdict(command), "output": str(command.output.absolute())}
    with shared_run(
        HelperJob("qkv.families.translator.commands.demo:help_training", facts), processes
    ) as group:
        parts = [
            ParallelText(source=[pair.source for pair in part], target=[pair.target for pair in part])
            for part in (
                pairs(source, target, TRAINED_ON, part="train", seed=command.seed),
                pairs(source, target, VALIDATED_ON, part="valid", seed=command.seed),
            )
        ]
        corpus = Corpus(
            train=parts[0],
            valid=parts[1],
            dropped={},
            languages=Languages(source=source, target=target),
            origin=f"the built-in grammar, {names}",
            shown=deck_pairs(source, target)[-2].source,
        )
        task = translator_task(corpus, settings, Setup(group=group))
        with TrainingDisplay(task.example()) as display:
            return train_task(
                task,
                command.output,
                watch=display.watch,
                group=group,
                resume=command.resume,
                remember={"demo": True},
            )


def settings_of_run(out: Path) -> "TranslatorSettings":
    from qkv.checkpoint.files import read_sealed
    from qkv.configs import from_dict
    from qkv.families.translator.settings import TranslatorSettings
    from qkv.training.extension import current_settings
    from qkv.training.run_file import RUN_FILE

    path = out / "training" / RUN_FILE
    return from_dict(TranslatorSettings, current_settings(read_sealed(path)), str(path))


def show_scores(translator: "Translator", report: dict[str, Any], command: Demo) -> None:
    """Print the scores on unseen sentences, and add them to the report."""
    from rich.table import Table

    from qkv.checkpoint.bundle import save_report
    from qkv.data.worlds import pairs, reference_agrees
    from qkv.evaluation.scores import score_translations
    from qkv.families.translator.report import model_card
    from qkv.progress.terminal import count_progress, err
    from qkv.runtime.running import EXACT

    tested = pairs(
        command.source_language, command.target_language, TESTED_ON, part="test", seed=command.seed
    )
    with count_progress("translating", len(tested), lines=True) as done:
        translations = translator._running(EXACT).translate([pair.source for pair in tested], done=done)
    scores = score_translations(translations, [pair.target for pair in tested])
    right = [translation == pair.target for translation, pair in zip(translations, tested, strict=True)]
    agrees = [
        reference_agrees(pair, translation) for translation, pair in zip(translations, tested, strict=True)
    ]
    test = report["test"] = {
        **scores.to_dict(),
        "exact_match_known_combinations": share(right, [not pair.unseen for pair in tested]),
        "exact_match_new_combinations": share(right, [pair.unseen for pair in tested]),
        "pronoun_agreement": share(agrees, [bool(pair.references) for pair in tested]),
        "pronoun_agreement_two_candidates": share(agrees, [pair.contested for pair in tested]),
        "alignment_error": alignment_error_of(translator, tested[:ALIGNED_ON]),
    }
    save_report(command.output, report, model_card(report))
    training = report["training"]
    table = Table(title=f"{TESTED_ON:,} unseen sentences", show_header=False, title_justify="left")
    table.add_row("BLEU", f"{scores.bleu.value:.1f}")
    table.add_row("exact match", f"{scores.exact_match:.1f} %")
    table.add_row("  seen combinations of words", f"{test['exact_match_known_combinations']:.1f} %")
    table.add_row("  unseen combinations of words", f"{test['exact_match_new_combinations']:.1f} %")
    table.add_row("pronoun agrees with its noun", f"{test['pronoun_agreement']:.1f} %")
    table.add_row("  if two nouns are possible", f"{test['pronoun_agreement_two_candidates']:.1f} %")
    table.add_row("alignment error rate (AER)", f"{test['alignment_error']:.1f} %")
    table.add_row("training time", f"{training['minutes']:.1f} minutes, {training['steps']:,} steps")
    table.add_row("speed", f"{training['tokens_per_second']:,} target tokens/s")
    table.add_row("size", f"{report['parameters']:,} parameters, {report['vocab_size']:,} tokens")
    err.print(table)


def alignment_error_of(translator: "Translator", pairs: list["Pair"]) -> float:
    """AER of the word alignments that the attention gives for the references, against the grammar's own."""
    from qkv.evaluation.alignment import alignment_error

    found = [translator.align(pair.source, pair.target) for pair in pairs]
    return alignment_error(found, [pair.alignment for pair in pairs])


def share(right: list[bool], chosen: list[bool]) -> float:
    picked = [each for each, choice in zip(right, chosen, strict=True) if choice]
    return 100 * sum(picked) / max(1, len(picked))


def show_deck_sentences(translator: "Translator", command: Demo) -> None:
    from rich.table import Table

    from qkv.data.worlds import deck_pairs
    from qkv.progress.terminal import err, escape_markup

    pairs: list[Pair] = deck_pairs(command.source_language, command.target_language)
    translations = translator.translate([pair.source for pair in pairs])
    table = Table(
        "", "sentence from the lecture slides (not in the training data)", "translation", title="", box=None
    )
    for pair, translation in zip(pairs, translations, strict=True):
        if translation == pair.target:
            table.add_row("[green]✓[/green]", pair.source, escape_markup(translation))
        else:
            table.add_row(
                "[red]✗[/red]",
                pair.source,
                f"{escape_markup(translation)}  [dim](right: {pair.target})[/dim]",
            )
    err.print(table)


def show_attention(translator: "Translator", command: Demo) -> None:
    from qkv.data.worlds import deck_pairs
    from qkv.pictures import attention_picture, learning_curve_picture
    from qkv.progress.terminal import err, heat_map, say

    sentence = deck_pairs(command.source_language, command.target_language)[-1].source
    attention = translator.attention(sentence)
    say("\nAttention of each target word (encoder-decoder attention, last block, mean of the heads):\n")
    err.print(heat_map(attention.source, attention.target, attention.weights[-1].mean(axis=0).tolist()))
    attention_file, curve_file = command.output / "attention.png", command.output / "learning-curve.png"
    try:
        attention_picture(attention_file, attention)
        learning_curve_picture(curve_file, command.output / "training")
        say(f"\nPlots: {attention_file} and {curve_file}")
    except (QkvError, OSError, ValueError) as error:  # no matplotlib, or a full disk
        say(f"\nNo plots: {error}")
