"""How a translator is trained: sentence pairs in, a bundle with its report out."""

import json
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qkv.checkpoint.bundle import MODEL_FILE, save_report
from qkv.checkpoint.files import (
    bytes_hash,
    canonical,
    file_hash,
    make_folders,
    read_sealed,
    read_tensors,
    sealed,
    tensors_hash,
    write_file,
    write_json,
)
from qkv.checkpoint.state import load_latest, only_one_run, set_aside_after, states_in
from qkv.configs import changed_options
from qkv.core.attention import compiled_loops
from qkv.core.block import StackConfig
from qkv.errors import UserError
from qkv.evaluation.overlap import seen_in, write_seen
from qkv.evaluation.scores import Scorer
from qkv.models.translator import Translator as TranslatorModel
from qkv.models.translator import TranslatorConfig
from qkv.pipeline import Translator, TranslatorDefaults
from qkv.text.tokenizer import Tokenizer
from qkv.training.corpus import Corpus, PairData
from qkv.training.device import choose_device, with_precision
from qkv.training.distributed import Alone, Group
from qkv.training.loop import Plan, Run, Watch, loss_on
from qkv.training.randomness import seed_for
from qkv.training.report import SCORED, Chosen, make_report, model_card
from qkv.training.settings import ModelSettings, TranslatorSettings, check_settings
from qkv.training.signals import StopRequest
from qkv.training.spread import check_spread, spread
from qkv.training.trust import learn_trust

RUN_FILE, TOKENIZER_FILE = "run.json", "tokenizer.json"  # in OUT/training
LONG_STEPS, LONG_MINUTES, NARROW = 500, 2, 256  # such a run is worth seconds of preparation
ALWAYS_WHOLE = 64  # pieces: so long a sentence is not cut, even where training has shown shorter ones only


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended."""

    translator: Translator
    report: dict[str, Any] | None  # None where the run was interrupted
    exit_code: int
    saved: bool = True  # is what was reached on the disk?


def train_translator(
    corpus: Corpus,
    settings: TranslatorSettings,
    out: Path,
    *,
    watch: Callable[[Translator], Watch],
    group: Group | None = None,
    resume: bool = False,
    exact_vocabulary: bool = False,
    remember: Mapping[str, Any] | None = None,
) -> Outcome:
    """Learn the vocabulary, train, keep the best of what was seen, and write the bundle with its report.

    `remember` is kept in the run folder for whoever resumes; with `exact_vocabulary`, data that cannot
    fill the vocabulary are refused instead of given a smaller one.
    """
    check_settings(settings)
    settings = with_precision(settings, choose_device())
    scorer = Scorer.make(**asdict(settings.scoring))  # a wrong choice is seen before the training
    group = Alone() if group is None else group
    check_spread(group, settings.training)
    folder = out / "training"
    begins = not resume and group.rank == 0
    if begins:
        refuse_to_overwrite(out)
        tokenizer = learn_vocabulary(corpus, settings, exact_vocabulary)
        make_folders(folder)
    with only_one_run(folder) if group.rank == 0 else nullcontext():
        if begins:
            refuse_to_overwrite(out)  # another command may have begun here meanwhile
            begin_run(corpus, settings, folder, tokenizer, remember or {})
        group.wait()
        check_same_run(folder, corpus, settings)
        run, translator = assemble(corpus, settings, out, watch, group)
        if resume:
            go_on(run)
        with loops_that_pay(settings, run.device), StopRequest() as stop:
            complete = run.go(stop)
        if not complete:
            saved = run.saved == run.position.step
            return Outcome(translator=translator, report=None, exit_code=stop.exit_code, saved=saved)
        if group.rank > 0:
            return Outcome(translator=translator, report=None, exit_code=0)
        chosen = keep_the_better(run, translator, out)
        seen = seen_in(corpus.train.source, corpus.train.target)
        answers = [best for best, *_ in translator.answers(corpus.valid.source[:SCORED])]
        trust = learn_trust(translator, corpus.train, corpus.valid, answers, scorer)
        translator.save(out)
        validated = [answer.text for answer in answers]
        report = make_report(translator, corpus, settings, run, chosen, validated, scorer, seen)
        report["trust"] = trust
        save_report(out, report, model_card(report))
        write_seen(out, seen)
        return Outcome(translator=translator, report=report, exit_code=0)


def assemble(
    corpus: Corpus,
    settings: TranslatorSettings,
    out: Path,
    watch: Callable[[Translator], Watch],
    group: Group,
) -> tuple[Run, Translator]:
    """The encoded data, the model with its first weights, and the run that will train it."""
    folder, context, batch_tokens = out / "training", settings.model.context, settings.training.batch_tokens
    tokenizer = Tokenizer.load(folder / TOKENIZER_FILE)
    share = settings.data.subword_dropout
    train = PairData(corpus.train, tokenizer, batch_tokens, context, shuffled=True, subword_dropout=share)
    valid = PairData(corpus.valid, tokenizer, batch_tokens, context, shuffled=False)
    if not len(train) or not len(valid):
        raise UserError(f"no sentence pair fits into a context of {context} pieces.")
    device = choose_device()
    torch.manual_seed(seed_for(settings.seed, "weights", 0))
    model = TranslatorModel(architecture(settings.model, len(tokenizer), tokenizer))
    longest = max(ALWAYS_WHOLE, *map(len, train.sources))
    defaults = TranslatorDefaults(languages=corpus.languages, longest=longest, **asdict(settings.decoding))
    translator = Translator(model, tokenizer, defaults)
    plan = Plan(
        settings=settings.training,
        seed=settings.seed,
        steps=settings.steps,
        minutes=settings.minutes,
        folder=folder,
        started_with={
            "settings": bytes_hash(canonical(comparable(asdict(settings)))),
            **corpus.fingerprint(),
        },
    )
    spread_model = spread(model, device, group, settings.training)

    def keep(weights: dict[str, Tensor], best: bool) -> None:
        if spread_model.model is not model:
            model.load_state_dict(weights)
        if best:
            translator.save(out)

    return Run(spread_model, train, valid, plan, keep, watch(translator), group), translator


def refuse_to_overwrite(out: Path) -> None:
    if (out / "training" / RUN_FILE).exists():
        raise UserError(
            f"{out} already holds a training run: give --resume to go on with it, or another --out."
        )
    if states_in(out / "training"):
        raise UserError(
            f"{out / 'training'} holds checkpoints but no {RUN_FILE}: restore it from a copy, or give another --out."
        )
    if out.is_file() or (out.is_dir() and any(path.name != "training" for path in out.iterdir())):
        raise UserError(f"{out} already exists and is not empty: give another --out.")


def learn_vocabulary(corpus: Corpus, settings: TranslatorSettings, exact: bool) -> Tokenizer:
    """One vocabulary for both languages, from the training part alone."""
    tokenizer = Tokenizer.learn([*corpus.train.source, *corpus.train.target], settings.vocabulary)
    if exact and len(tokenizer) < settings.vocabulary:
        raise UserError(
            f"the data fill a vocabulary of {len(tokenizer)} pieces at most: "
            f"give --vocabulary {len(tokenizer)} or less, not {settings.vocabulary}."
        )
    return tokenizer


def begin_run(
    corpus: Corpus,
    settings: TranslatorSettings,
    folder: Path,
    tokenizer: Tokenizer,
    remember: Mapping[str, Any],
) -> None:
    write_file(folder / TOKENIZER_FILE, tokenizer.text().encode())
    facts = {
        "settings": asdict(settings),
        "data": corpus.fingerprint(),
        "tokenizer": file_hash(folder / TOKENIZER_FILE),
        **remember,
    }
    # Last: where it is, the run can be resumed.
    write_json(folder / RUN_FILE, sealed(facts))


def architecture(model: ModelSettings, vocab: int, tokenizer: Tokenizer) -> TranslatorConfig:
    try:
        stack = StackConfig(
            depth=model.encoder_depth,
            width=model.width,
            heads=model.heads,
            hidden=model.hidden,
            norm=model.norm,
            activation=model.activation,
            dropout=model.dropout,
            attention_dropout=model.attention_dropout,
        )
        return TranslatorConfig(
            vocab=vocab,
            context=model.context,
            pad=tokenizer.pad,
            start=tokenizer.start,
            end=tokenizer.end,
            positions=model.positions,
            encoder=stack,
            decoder=replace(stack, depth=model.decoder_depth),
            smoothing=model.smoothing,
        )
    except ValueError as error:
        raise UserError(f"such a model cannot be built: {error}.") from None


def check_same_run(folder: Path, corpus: Corpus, settings: TranslatorSettings) -> None:
    """What a process trains on is what the run folder says, which another process, or another day, may have written."""
    stored, data = read_sealed(folder / RUN_FILE), corpus.fingerprint()
    other = [name for name, value in stored["data"].items() if data[name] != value]
    if other:
        raise UserError(
            f"the {' and the '.join(other)} are not those of the run: resume with the same files, which are the "
            "same on every machine."
        )
    changed = changed_options(comparable(stored["settings"]), comparable(asdict(settings)))
    if changed:
        raise UserError(
            f"the settings are not those of the run in {folder.parent}: {', '.join(changed)} differ; give all processes "
            "the same, or leave them out with --resume."
        )
    if file_hash(folder / TOKENIZER_FILE) != stored["tokenizer"]:
        raise UserError(f"{folder / TOKENIZER_FILE} is damaged; restore it from a copy or train again.")


def comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them, but for the number of processes, which may change."""
    training = {name: value for name, value in settings["training"].items() if name != "processes"}
    found: dict[str, Any] = json.loads(canonical({**settings, "training": training}))
    return found


def go_on(run: Run) -> None:
    """Take up the newest whole state; a run that was ended before its first one starts anew."""
    state, warnings = load_latest(run.plan.folder, run.plan.started_with)
    for sentence in warnings:
        run.watch.warn(sentence)
    step = 0 if state is None else state.step
    if run.group.agree(step) != [step * run.group.size]:
        raise UserError(
            "the processes see different states of the run: is --out the same folder on all machines?"
        )
    if state is not None:
        if run.writes:
            set_aside_after(run.plan.folder, state.step)
        run.resume(state)
        if run.plan.progress(run.position) >= 1.0:
            run.watch.warn("this run had ended already: there is nothing left to train.")
    elif run.writes:
        for log in (run.log, run.timing):
            log.path.unlink(missing_ok=True)


def keep_the_better(run: Run, translator: Translator, out: Path) -> Chosen:
    """The best model so far, or the average of the last snapshots where that is better; it becomes the bundle."""
    position, model = run.position, translator.model
    best = best_so_far(run, out)
    chosen = Chosen(f"snapshot at step {position.kept_step}", position.kept_loss if best else math.inf)
    averaged = run.averaged()
    if len(position.snapshots) > 1 or (averaged and not best):
        model.load_state_dict(averaged)
        with run.spread.arithmetic():  # as those were that it is compared with
            loss = loss_on(model, run.valid)
        if loss < chosen.loss:
            best = averaged
            steps = ", ".join(map(str, position.snapshots))
            chosen = Chosen(f"average of the snapshots at steps {steps}", loss)
    if not best:
        raise UserError(f"neither {out / MODEL_FILE} nor a snapshot can be read: restore one from a copy.")
    model.load_state_dict(best)
    translator.save(out)
    return chosen


def best_so_far(run: Run, out: Path) -> dict[str, Tensor]:
    """The weights in the bundle, if they are those that the run has put there; nothing where they are not."""
    try:
        weights = read_tensors(out / MODEL_FILE)
    except UserError as error:
        run.watch.warn(f"{error} The average of the last snapshots takes its place.")
        return {}
    if tensors_hash(weights) == run.position.kept_hash:
        return weights
    run.watch.warn(
        f"{out / MODEL_FILE} is not what this run has put there: the last snapshots take its place."
    )
    return {}


def loops_that_pay(settings: TranslatorSettings, device: torch.device) -> AbstractContextManager[object]:
    """Loops of our own for attention are made for one thread, and compiling them takes as long as many short steps.

    In a wide model attention itself is a small part of the work.
    """
    long = (settings.steps or math.inf) >= LONG_STEPS and (settings.minutes or math.inf) >= LONG_MINUTES
    fits = device.type == "cpu" and torch.get_num_threads() == 1 and settings.model.width <= NARROW
    return compiled_loops() if long and fits else nullcontext()
