"""What the systems of the benchmark share: the data, the published settings, and how translations are scored."""

import math
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from curves import Point
from torch import Tensor

import qkv
from qkv.data.parallel import ParallelText, read_two
from qkv.evaluation.scores import Scorer
from qkv.progress.terminal import count_progress, say
from qkv.text.tokenizer import Tokenizer
from qkv.training.distributed import cores

POINTS = 8
CHOSEN_ON = 300  # sentences of val: scoring is not in the time of a run, but somebody waits for it
BEAM, LENGTH_PENALTY = 5, 1.0
DECODED_TOGETHER = 4_096  # source tokens times beams
JUST_NOW = "weights as they stood"
TRAIN, VALID, TEST = "train", "val", "test_2016_flickr"

Translate = Callable[[Sequence[str]], list[str]]
Candidates = dict[float, dict[str, Translate]]  # minutes -> what the weights are -> their translations
Weights = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Options:
    data: Path | None = None
    """Folder with Multi30k: train, val and test_2016_flickr, each .lc.norm.tok.en and .lc.norm.tok.de."""
    minutes: float = 60.0
    """Wall-clock limit of each training run."""
    out: Path = Path("runs/benchmark-multi30k")
    """Folder for the runs, results.json and curve.png."""
    only: str = "ours,marian,marian-small,joeynmt"
    """Which systems to run; results of others that are in --out already are kept."""
    seed: int = 1
    """The same for every system."""
    joeynmt_python: str = sys.executable
    """The Python interpreter that JoeyNMT is installed for."""
    report: bool = False
    """Print and draw what results.json in --out holds, without training."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What a training run has left, beside its weights; kept on disk, so that scoring can be repeated."""

    about: str
    parameters: int
    tokens_per_second: float  # target tokens, padding not counted
    weights: dict[str, Any]  # where they are, in the words of the system


@dataclass(frozen=True)
class System:
    """Two steps, each into or from a folder of its own; a system that is not installed has nothing trained."""

    train: Callable[["Options", "Texts", Path], Trained | None]
    candidates: Callable[["Options", "Texts", Path, Trained], Candidates]


@dataclass(frozen=True, kw_only=True)
class PeerSettings:
    """By default those of Wu et al., ACL 2021, Multi30k Transformer-Tiny."""

    vocabulary: int = 10_000
    depth: int = 4  # of the encoder, and of the decoder
    width: int = 128
    hidden: int = 256
    heads: int = 4
    dropout: float = 0.3
    label_smoothing: float = 0.1
    learning_rate: float = 5e-3
    warmup_steps: int = 2_000
    adam_betas: tuple[float, float] = (0.9, 0.98)
    batch_tokens: int = 4_096
    batches: int = 2  # added up for an update; the paper has two GPUs
    averaged: int = 10  # checkpoints, one an epoch


def how_measured() -> dict[str, Any]:
    return {
        "beam": BEAM,
        "length_penalty": LENGTH_PENALTY,
        "bleu": "sacrebleu, --tokenize none",
        "chosen_on": f"the first {CHOSEN_ON} sentences of val",
        "machine": {"processor": platform.processor() or platform.machine(), "cores": cores()},
        "versions": {
            "qkv": qkv.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "transformers": version("transformers") if find_spec("transformers") else None,
        },
    }


def file_of(data: Path, part: str, language: str) -> Path:
    return data / f"{part}.lc.norm.tok.{language}"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What is learned from and what is scored on."""

    folder: Path
    train: ParallelText
    valid: ParallelText  # the part of it that chooses
    test: ParallelText

    @classmethod
    def read(cls, folder: Path) -> "Texts":
        train, valid, test = (
            read_two(file_of(folder, part, "en"), file_of(folder, part, "de"))
            for part in (TRAIN, VALID, TEST)
        )
        few = ParallelText(source=valid.source[:CHOSEN_ON], target=valid.target[:CHOSEN_ON])
        return cls(folder=folder, train=train, valid=few, test=test)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The peers' joint vocabulary: of the published size, learned as ours is."""
        return Tokenizer.learn([*self.train.source, *self.train.target], PeerSettings.vocabulary)


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


def scored_all(system: str, candidates: Candidates, texts: Texts) -> list[Point]:
    points = []
    with count_progress(f"{system}: translating at each point", len(candidates)) as done:
        for minutes, at_that_time in sorted(candidates.items()):
            points.append(scored(minutes, at_that_time, texts))
            done(1)
            say(f"{system}: {minutes:.1f} minutes, val {points[-1].valid:.2f}, test {points[-1].test:.2f}")
    return points


def mean_weights(all_weights: Sequence[Weights]) -> Weights:
    return {name: sum(each[name] for each in all_weights) / len(all_weights) for name in all_weights[0]}


@contextmanager
def bar_of_minutes(what: str, minutes: float) -> Iterator[Callable[[float], None]]:
    """A bar in seconds; it is told the minutes that are over."""
    shown = 0
    with count_progress(f"{what}, seconds", math.ceil(60 * minutes)) as done:

        def show(over: float) -> None:
            nonlocal shown
            done(int(60 * over) - shown)
            shown = int(60 * over)

        yield show
