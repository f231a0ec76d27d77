"""Time to quality on Multi30k en-de: how soon does qkv translate well, and how soon do others?

    python benchmarks/multi30k.py --data DIR --minutes 60

trains, one after another, each with all cores of this machine and a limit of so many minutes:

  ours     the command `qkv train translator --recipe multi30k-tiny`, with the limit as its --minutes
  marian   Hugging Face transformers' MarianMTModel in a plain PyTorch loop, with the published settings
           of Wu et al. (ACL 2021), Transformer-Tiny
  joeynmt  JoeyNMT's own command with the same settings, where it is installed

Each run leaves weights about every twelfth of its time. When it is over they translate val and test2016 with
beam 5, which is not in its time. At each point the weights as they stood compete with the average of the last
checkpoints; the validation part decides. results.json has all points; `--report` draws them again.
"""

import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import tyro
from curves import (
    Curve,
    Point,
    curves_picture,
    curves_table,
    json_lines,
    ratios_table,
    read_curves,
    spread,
    write_results,
)
from rich.console import Console
from torch import Tensor

import qkv
from qkv.checkpoint.files import read_json, read_tensors, write_file, write_json, write_tensors
from qkv.cli import fail
from qkv.cli.terminal import counting, say
from qkv.data.batching import pad_rows, token_batches
from qkv.data.parallel import ParallelText, read_two
from qkv.errors import UserError
from qkv.evaluation.scores import Scorer
from qkv.pipeline import Translator, load_weights
from qkv.text.tokenizer import Tokenizer
from qkv.training.corpus import PairData
from qkv.training.distributed import cores

POINTS = 12
BEAM, LENGTH_PENALTY = 5, 1.0
LEVELS = (40.0, 41.02)
PUBLISHED = 41.02  # Wu et al., ACL 2021, test2016
DECODED_TOGETHER = 4_096  # source tokens times beams
JUST_NOW = "weights as they stood"
TRAIN, VALID, TEST = "train", "val", "test_2016_flickr"

Translate = Callable[[Sequence[str]], list[str]]
Weights = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Options:
    data: Path | None = None
    """Folder with Multi30k: train, val and test_2016_flickr, each .lc.norm.tok.en and .lc.norm.tok.de."""
    minutes: float = 60.0
    """Wall-clock limit of each training run."""
    out: Path = Path("runs/benchmark-multi30k")
    """Folder for the runs, results.json and curve.png."""
    only: str = "ours,marian,joeynmt"
    """Which systems to run; results of others that are in --out already are kept."""
    seed: int = 1
    """The same for every system."""
    joeynmt_python: str = sys.executable
    """The Python interpreter that JoeyNMT is installed for."""
    report: bool = False
    """Print and draw what results.json in --out holds, without training."""

    @cached_property
    def systems(self) -> list[str]:
        names = [name.strip() for name in self.only.split(",")]
        unknown = [name for name in names if name not in SYSTEMS]
        if unknown:
            raise UserError(f"--only knows {', '.join(SYSTEMS)}, not {', '.join(unknown)}.")
        return names


def file_of(data: Path, part: str, language: str) -> Path:
    return data / f"{part}.lc.norm.tok.{language}"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What is learned from and what is scored on."""

    folder: Path
    train: ParallelText
    valid: ParallelText
    test: ParallelText

    @classmethod
    def read(cls, folder: Path) -> "Texts":
        train, valid, test = (
            read_two(file_of(folder, part, "en"), file_of(folder, part, "de"))
            for part in (TRAIN, VALID, TEST)
        )
        return cls(folder=folder, train=train, valid=valid, test=test)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The peers' joint vocabulary, made like ours, so that models and loops alone differ."""
        return Tokenizer.learn([*self.train.source, *self.train.target], Published.vocabulary)


@dataclass(frozen=True, kw_only=True)
class Published:
    """Wu et al., ACL 2021, Multi30k Transformer-Tiny."""

    vocabulary: int = 10_000
    depth: int = 4  # of the encoder, and of the decoder
    width: int = 128
    hidden: int = 256
    heads: int = 4
    dropout: float = 0.3
    smoothing: float = 0.1
    rate: float = 5e-3
    warmup: int = 2_000
    betas: tuple[float, float] = (0.9, 0.98)
    batch_tokens: int = 4_096
    batches: int = 2  # added up for an update; the paper has two GPUs
    averaged: int = 10  # checkpoints, one an epoch


# Scoring, alike for all


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    return Scorer.make(tokenize="none").score(hypotheses, references).bleu.value


def scored(minutes: float, candidates: Mapping[str, Translate], texts: Texts) -> Point:
    """The candidate that is best on the validation part, and what it does on the test."""
    on_valid = {
        name: bleu(translate(texts.valid.source), texts.valid.target)
        for name, translate in candidates.items()
    }
    best = max(on_valid, key=lambda name: on_valid[name])
    test = bleu(candidates[best](texts.test.source), texts.test.target)
    return Point(minutes=minutes, valid=on_valid[best], test=test, weights=best)


def scored_all(system: str, candidates: Mapping[float, Mapping[str, Translate]], texts: Texts) -> list[Point]:
    points = []
    with counting(f"{system}: translating at each point", len(candidates)) as progress:
        for minutes, at_that_time in sorted(candidates.items()):
            points.append(scored(minutes, at_that_time, texts))
            progress.advance(progress.task_ids[0])
            say(f"{system}: {minutes:.1f} minutes, val {points[-1].valid:.2f}, test {points[-1].test:.2f}")
    return points


def mean_of(all_weights: Sequence[Weights]) -> Weights:
    return {name: sum(each[name] for each in all_weights) / len(all_weights) for name in all_weights[0]}


@contextmanager
def bar_of_minutes(what: str, minutes: float) -> Iterator[Callable[[float], None]]:
    """A bar in seconds; it is told the minutes that are over."""
    with counting(f"{what}, seconds", math.ceil(60 * minutes)) as progress:
        yield lambda over: progress.update(progress.task_ids[0], completed=min(60 * minutes, int(60 * over)))


# Ours


def our_command(options: Options, texts: Texts, out: Path) -> list[str]:
    """The command that is measured; all that a user would type is here."""
    what = ["--recipe", "multi30k-tiny", "--data", str(texts.folder)]
    ends = ["--minutes", str(options.minutes), "--seed", str(options.seed), "--out", str(out)]
    return [sys.executable, "-m", "qkv", "train", "translator", *what, *ends]


def run_ours(options: Options, texts: Texts) -> Curve:
    out, kept = options.out / "ours" / "run", options.out / "ours" / "snapshots"
    kept.mkdir(parents=True)
    command = our_command(options, texts, out)
    process = subprocess.Popen(command)  # it shows its own progress
    try:
        while process.poll() is None:
            keep_snapshots(out, kept)
            time.sleep(0.5)
        keep_snapshots(out, kept)
    finally:
        process.terminate()  # where it has ended already, this does nothing
        process.wait()
    if process.returncode != 0:
        raise UserError(f"our own training ended with {process.returncode}.")
    report = read_json(out / "report.json")
    return Curve(
        about=" ".join(["qkv", *command[3:]]),
        limit=options.minutes,
        parameters=report["parameters"],
        tokens_per_second=report["training"]["tokens_per_second"],
        points=scored_all("ours", our_candidates(out, kept), texts),
    )


def keep_snapshots(out: Path, kept: Path) -> None:
    """Training removes its old snapshots; another name for the same file outlives that, and takes no room."""
    for snapshot in (out / "training" / "snapshots").glob("step-*.safetensors"):
        try:
            os.link(snapshot, kept / snapshot.name)
        except (FileExistsError, FileNotFoundError):  # kept already; or removed between the look and the link
            continue


def our_candidates(out: Path, kept: Path) -> dict[float, dict[str, Translate]]:
    """At every point the snapshot and the average of the last ones; at the end what the command hands over."""
    translator = qkv.load(out)
    rows = json_lines(out / "training" / "log.jsonl")
    minutes = {row["step"]: row["seconds"] / 60 for row in rows if "validation_loss" in row}
    averaged = read_json(out / "training" / "run.json")["settings"]["training"]["average"]
    steps = sorted(minutes)

    def snapshots(last: int) -> list[Path]:
        return [kept / f"step-{step}.safetensors" for step in steps if step <= last][-averaged:]

    candidates = {}
    for step in spread(minutes, POINTS)[:-1]:
        paths = snapshots(step)
        candidates[minutes[step]] = {
            JUST_NOW: with_our_weights(translator, paths[-1:]),
            f"average of {len(paths)}": with_our_weights(translator, paths),
        }
    candidates[minutes[steps[-1]]] = {
        "the model handed over": with_our_weights(translator, [out / "model.safetensors"])
    }
    return candidates


def with_our_weights(translator: Translator, paths: Sequence[Path]) -> Translate:
    def translate(sentences: Sequence[str]) -> list[str]:
        load_weights(translator.model, mean_of([read_tensors(path) for path in paths]), str(paths[-1]))
        return translator.translate(sentences, beam=BEAM, length_penalty=LENGTH_PENALTY)

    return translate


# Hugging Face transformers' Marian, in the loop that people write around it


def new_marian(tokenizer: Tokenizer, settings: Published) -> Any:
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(
        MarianConfig(
            vocab_size=len(tokenizer),
            d_model=settings.width,
            encoder_layers=settings.depth,
            decoder_layers=settings.depth,
            encoder_attention_heads=settings.heads,
            decoder_attention_heads=settings.heads,
            encoder_ffn_dim=settings.hidden,
            decoder_ffn_dim=settings.hidden,
            dropout=settings.dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=tokenizer.pad,
            eos_token_id=tokenizer.end,
            decoder_start_token_id=tokenizer.start,
            forced_eos_token_id=None,
            attn_implementation="eager",  # faster than SDPA on a CPU at this size
        )
    )


class MarianRun:
    """Updates until the time is over; weights are kept at every twelfth of it."""

    def __init__(self, texts: Texts, settings: Published, minutes: float, seed: int, folder: Path):
        torch.manual_seed(seed)
        self.settings, self.minutes, self.seed, self.folder = settings, minutes, seed, folder
        self.tokenizer = texts.tokenizer
        self.model = new_marian(self.tokenizer, settings)
        context = self.model.config.max_position_embeddings
        self.data = PairData(texts.train, self.tokenizer, settings.batch_tokens, context, shuffled=True)
        self.optimiser = torch.optim.Adam(
            (p for p in self.model.parameters() if p.requires_grad), lr=0.0, betas=settings.betas, fused=True
        )
        self.updates, self.tokens, self.seconds = 0, 0, 0.0
        self.last_epochs: deque[Weights] = deque(maxlen=settings.averaged)
        self.kept: dict[float, dict[str, Path]] = {}  # by minutes

    def go(self) -> None:
        self.model.train()
        began = time.monotonic()
        with bar_of_minutes("marian: training", self.minutes) as show:
            for batches in self.updates_of_epochs():
                self.update(batches)
                self.seconds = time.monotonic() - began
                show(self.seconds / 60)
                if self.seconds >= 60 * self.minutes * (len(self.kept) + 1) / POINTS:
                    self.keep()
                if self.seconds >= 60 * self.minutes:
                    return

    def updates_of_epochs(self) -> Iterator[list[list[int]]]:
        epoch = 0
        while True:
            batches = self.data.epoch(self.seed + epoch)
            for first in range(0, len(batches), self.settings.batches):
                yield batches[first : first + self.settings.batches]
            epoch += 1
            self.last_epochs.append(self.weights())

    def update(self, batches: Sequence[list[int]]) -> None:
        self.updates += 1
        for group in self.optimiser.param_groups:
            group["lr"] = inverse_root(self.settings, self.updates)
        tokens = sum(map(self.data.tokens, batches))
        for rows in batches:
            (self.summed_loss(rows) / tokens).backward()
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.tokens += tokens

    def summed_loss(self, rows: list[int]) -> Tensor:
        batch, pad = self.data.batch(rows), self.tokenizer.pad
        logits = self.model(
            input_ids=batch.source,
            attention_mask=(batch.source != pad).long(),
            decoder_input_ids=batch.shifted,
            use_cache=False,
        ).logits
        return F.cross_entropy(
            logits.flatten(0, 1),
            batch.target.flatten(),
            ignore_index=pad,
            label_smoothing=self.settings.smoothing,
            reduction="sum",
        )

    def weights(self) -> Weights:
        """Shared matrices once."""
        return {name: tensor.detach().clone() for name, tensor in self.model.named_parameters()}

    def keep(self) -> None:
        at_hand = {JUST_NOW: self.weights()}
        if self.last_epochs:
            at_hand[f"average of {len(self.last_epochs)}"] = mean_of(list(self.last_epochs))
        paths = {}
        for number, (name, weights) in enumerate(at_hand.items()):
            paths[name] = self.folder / f"update-{self.updates}-{number}.safetensors"
            write_tensors(paths[name], weights)
        self.kept[self.seconds / 60] = paths

    def with_weights(self, path: Path) -> Translate:
        def translate(sentences: Sequence[str]) -> list[str]:
            kept = read_tensors(path)
            with torch.no_grad():
                for name, parameter in self.model.named_parameters():
                    parameter.copy_(kept[name])
            return marian_translations(self.model.eval(), self.tokenizer, sentences)

        return translate


def inverse_root(settings: Published, update: int) -> float:
    return settings.rate * min(update / settings.warmup, (settings.warmup / update) ** 0.5)


@torch.inference_mode()
def marian_translations(model: Any, tokenizer: Tokenizer, sentences: Sequence[str]) -> list[str]:
    from transformers import GenerationConfig

    sources = [[*ids, tokenizer.end] for ids in tokenizer.encode_all(sentences)]
    results = [""] * len(sources)
    for rows in token_batches([len(ids) for ids in sources], DECODED_TOGETHER // BEAM, seed=None):
        source = pad_rows([sources[row] for row in rows], tokenizer.pad)
        settings = GenerationConfig(
            num_beams=BEAM,
            length_penalty=LENGTH_PENALTY,
            do_sample=False,
            max_new_tokens=2 * source.shape[1] + 20,
            pad_token_id=tokenizer.pad,
            eos_token_id=tokenizer.end,
            decoder_start_token_id=tokenizer.start,
        )
        mask = (source != tokenizer.pad).long()
        answers = model.generate(input_ids=source, attention_mask=mask, generation_config=settings)
        for row, ids in zip(rows, answers.tolist(), strict=True):
            results[row] = tokenizer.decode(ids)
    return results


def run_marian(options: Options, texts: Texts) -> Curve:
    folder = options.out / "marian"
    folder.mkdir(parents=True)
    torch.set_num_threads(cores())
    settings = Published()
    run = MarianRun(texts, settings, options.minutes, options.seed, folder)
    run.go()
    candidates = {
        minutes: {name: run.with_weights(path) for name, path in paths.items()}
        for minutes, paths in run.kept.items()
    }
    return Curve(
        about=f"MarianMTModel, {settings}, {run.updates} updates",
        limit=options.minutes,
        parameters=sum(p.numel() for p in run.model.parameters() if p.requires_grad),
        tokens_per_second=run.tokens / run.seconds,
        points=scored_all("marian", candidates, texts),
    )


# JoeyNMT's command. It reads files of pieces made beforehand, separated by spaces.

JOEY_GUESS = 9  # updates a minute, to space its checkpoints before its speed is known
JOEY_PATIENCE = 120  # seconds for it to save its weights when asked to stop


def run_joeynmt(options: Options, texts: Texts) -> Curve | None:
    python = options.joeynmt_python
    if subprocess.run([python, "-c", "import joeynmt.training"], capture_output=True).returncode != 0:
        say("joeynmt: not installed for this interpreter, left out (--joeynmt-python names another).")
        return None
    folder = (options.out / "joeynmt").resolve()
    write_pieces(folder / "data", texts)
    config = folder / "train.yaml"
    write_json(config, joey_config(folder, options, None))  # JSON is YAML too
    began = train_joey(
        [python, "-m", "joeynmt", "train", str(config), "--skip-test"], folder, options.minutes
    )
    log = (folder / "model" / "train.log").read_text(encoding="utf-8")
    checkpoints = {int(p.stem): p for p in (folder / "model").glob("*.ckpt") if p.stem.isdigit()}
    minutes = {step: (path.stat().st_mtime - began) / 60 for step, path in checkpoints.items()}
    candidates = {
        minutes[step]: {JUST_NOW: with_checkpoint(options, texts, folder, checkpoints[step])}
        for step in spread(minutes, POINTS)
    }
    speeds = [float(speed) for speed in re.findall(r"Tokens per Sec:\s*([\d.]+)", log)]
    return Curve(
        about=f"JoeyNMT's command, {Published()}, {max(minutes)} updates, no average of checkpoints",
        limit=options.minutes,
        parameters=int(re.findall(r"Total params: (\d+)", log)[-1]),
        tokens_per_second=sum(speeds) / max(1, len(speeds)),
        points=scored_all("joeynmt", candidates, texts),
    )


def write_pieces(folder: Path, texts: Texts) -> None:
    folder.mkdir(parents=True)
    tokenizer = texts.tokenizer
    # It counts the time of its own validations: ten sentences take none.
    few = ParallelText(source=texts.valid.source[:10], target=texts.valid.target[:10])
    for part, pairs in {"train": texts.train, "dev": few}.items():
        for language, sentences in {"en": pairs.source, "de": pairs.target}.items():
            write_file(folder / f"{part}.{language}", as_pieces(tokenizer, sentences).encode())
    ids = range(tokenizer.end + 1, len(tokenizer))
    vocabulary = "\n".join(tokenizer.pieces.id_to_token(number) for number in ids)
    write_file(folder / "vocabulary.txt", f"{vocabulary}\n".encode())


def as_pieces(tokenizer: Tokenizer, sentences: Sequence[str]) -> str:
    lines = tokenizer.encode_all(sentences)
    return "".join(" ".join(map(tokenizer.pieces.id_to_token, ids)) + "\n" for ids in lines)


def from_pieces(tokenizer: Tokenizer, line: str) -> str:
    ids = [tokenizer.pieces.token_to_id(piece) for piece in line.split()]
    return tokenizer.decode([number for number in ids if number is not None])


def joey_config(folder: Path, options: Options, checkpoint: Path | None) -> dict[str, Any]:
    settings = Published()
    side = {"level": "word", "voc_file": str(folder / "data" / "vocabulary.txt")}
    stack = {
        "type": "transformer",
        "num_layers": settings.depth,
        "num_heads": settings.heads,
        "embeddings": {"embedding_dim": settings.width, "scale": True, "dropout": settings.dropout},
        "hidden_size": settings.width,
        "ff_size": settings.hidden,
        "dropout": settings.dropout,
        "layer_norm": "post",
        "activation": "relu",
    }
    return {
        "name": "multi30k",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": options.seed,
        "data": {
            "train": str(folder / "data" / "train"),
            "dev": str(folder / "data" / "dev"),
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "testing": {
            "beam_size": BEAM,
            "beam_alpha": LENGTH_PENALTY,
            "batch_size": DECODED_TOGETHER // BEAM,
            "batch_type": "token",
            "max_output_length": 60,  # the longest sentence of both parts has fewer pieces
            "eval_metrics": ["bleu"],
            **({} if checkpoint is None else {"load_model": str(checkpoint)}),
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": list(settings.betas),
            "learning_rate": settings.rate,
            "learning_rate_min": 0.0,
            "learning_rate_warmup": settings.warmup,
            "scheduling": "warmupinversesquareroot",
            "label_smoothing": settings.smoothing,
            "loss": "crossentropy",
            "normalization": "tokens",
            "batch_size": settings.batch_tokens,
            "batch_type": "token",
            "batch_multiplier": settings.batches,
            "epochs": 10_000,  # the clock ends it
            "validation_freq": max(1, round(JOEY_GUESS * options.minutes / (2 * POINTS))),
            "logging_freq": 1,
            "early_stopping_metric": "loss",
            "print_valid_sents": [],
            "keep_best_ckpts": -1,  # all of them
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "normal",
            "embed_init_weight": settings.width**-0.5,
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
    }


def train_joey(command: Sequence[str], folder: Path, minutes: float) -> float:
    """Run it until its time is over; when did its first epoch begin?"""
    with open(folder / "output.log", "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        began = first_epoch(process, folder / "output.log")
        with bar_of_minutes("joeynmt: training", minutes) as show:
            while process.poll() is None and time.time() - began < 60 * minutes:
                time.sleep(0.2)
                show((time.time() - began) / 60)
        if process.poll() is not None:
            raise UserError(
                f"JoeyNMT ended by itself with {process.returncode}: see {folder / 'output.log'}."
            )
        process.send_signal(signal.SIGINT)  # it saves its weights and ends
        with suppress(
            subprocess.TimeoutExpired
        ):  # without it, the checkpoints that it has saved before must do
            process.wait(JOEY_PATIENCE)
    finally:
        process.kill()
        process.wait()
    return began


def first_epoch(process: subprocess.Popen[bytes], log: Path) -> float:
    while process.poll() is None:
        if "EPOCH 1" in log.read_text(encoding="utf-8"):
            return time.time()
        time.sleep(0.1)
    raise UserError(f"JoeyNMT ended with {process.returncode} before its first epoch: see {log}.")


def with_checkpoint(options: Options, texts: Texts, folder: Path, checkpoint: Path) -> Translate:
    config = folder / f"translate-{checkpoint.stem}.yaml"

    def translate(sentences: Sequence[str]) -> list[str]:
        write_json(config, joey_config(folder, options, checkpoint))
        answer = subprocess.run(
            [options.joeynmt_python, "-m", "joeynmt", "translate", str(config)],
            input=as_pieces(texts.tokenizer, sentences),
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        if answer.returncode != 0:
            raise UserError(f"JoeyNMT cannot translate: {answer.stderr.strip().splitlines()[-1]}")
        return [from_pieces(texts.tokenizer, line) for line in answer.stdout.splitlines()]

    return translate


# All of it


SYSTEMS: dict[str, Callable[[Options, Texts], Curve | None]] = {
    "ours": run_ours,
    "marian": run_marian,
    "joeynmt": run_joeynmt,
}


def run(options: Options) -> None:
    results = options.out / "results.json"
    if options.report:
        show(options.out, read_curves(results))
        return
    if options.data is None:
        raise UserError("--data names the folder with Multi30k; --report needs none.")
    there = [name for name in options.systems if (options.out / name).exists()]
    if there:
        raise UserError(
            f"{options.out} already holds {', '.join(there)}: give another --out, or less in --only."
        )
    texts = Texts.read(options.data)
    curves = read_curves(results) if results.exists() else {}
    for name in options.systems:
        curve = SYSTEMS[name](options, texts)
        if curve is not None:
            curves[name] = curve
            write_results(results, facts(options), curves)
    show(options.out, curves)


def facts(options: Options) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "beam": BEAM,
        "length_penalty": LENGTH_PENALTY,
        "bleu": "sacrebleu, --tokenize none",
        "machine": {"processor": platform.processor() or platform.machine(), "cores": cores()},
        "versions": {"qkv": qkv.__version__, "torch": torch.__version__, "python": platform.python_version()},
    }


def show(out: Path, curves: Mapping[str, Curve]) -> None:
    if not curves:
        raise UserError("there are no results to show.")
    console = Console(highlight=False, width=max(120, shutil.get_terminal_size().columns))
    for table in (curves_table(curves, LEVELS), ratios_table(curves, LEVELS)):
        if table is not None:
            console.print(table)
    curves_picture(out / "curve.png", curves, PUBLISHED)
    say(f"the picture is {out / 'curve.png'}")


def main() -> None:
    # A shell's background jobs ignore Ctrl-C and hand that down, but JoeyNMT can be stopped in no other way.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = tyro.cli(Options, description=__doc__, config=(tyro.conf.FlagCreatePairsOff,))
    try:
        run(options)
    except UserError as error:
        sys.exit(fail(str(error)))
    except KeyboardInterrupt:
        fail("stopped; the results of the systems that were finished are kept.")
        sys.exit(130)


if __name__ == "__main__":
    main()
