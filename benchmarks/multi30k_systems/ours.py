"""Ours: the command that a user types. Its snapshots are kept as they appear, and scored when it has ended."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from curves import json_lines, spread
from multi30k_systems.common import (
    BEAM,
    JUST_NOW,
    LENGTH_PENALTY,
    POINTS,
    Candidates,
    Options,
    System,
    Texts,
    Trained,
    Translate,
    mean_weights,
)

import qkv
from qkv.checkpoint.files import read_json
from qkv.checkpoint.tensors import read_tensors
from qkv.errors import QkvError
from qkv.families.translator.product import Translator
from qkv.families.translator.recipes import multi30k_tiny
from qkv.runtime.torch_models import with_weights


def our_command(options: Options, texts: Texts, out: Path, model: str = "transformer") -> list[str]:
    """The command that is measured; all that a user would type is here."""
    what = ["--recipe", "multi30k-tiny", "--data", str(texts.folder)]
    steps = multi30k_tiny(len(texts.train)).steps  # said again, since --minutes alone would take their place
    ends = ["--steps", str(steps), "--minutes", str(options.minutes)]
    where = ["--seed", str(options.seed), "--out", str(out)]
    made_of = [] if model == "transformer" else ["--model", model]
    return [sys.executable, "-m", "qkv", "train", "translator", *made_of, *what, *ends, *where]


def train_ours(options: Options, texts: Texts, folder: Path, model: str = "transformer") -> Trained:
    out, kept = folder / "run", folder / "snapshots"
    kept.mkdir()
    command = our_command(options, texts, out, model)
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
        raise QkvError(f"our own training ended with {process.returncode}: what it said is above.")
    report = read_json(out / "report.json")
    return Trained(
        about=" ".join(["qkv", *command[3:]]),
        parameters=report["parameters"],
        tokens_per_second=report["training"]["tokens_per_second"],
        weights={},  # the run and the snapshots have their own names
    )


def keep_snapshots(out: Path, kept: Path) -> None:
    """Training removes its old snapshots; another name for the same file outlives that, and takes no room."""
    for snapshot in (out / "training" / "snapshots").glob("step-*.safetensors"):
        try:
            os.link(snapshot, kept / snapshot.name)
        except (FileExistsError, FileNotFoundError):  # kept already; or removed between the look and the link
            continue


def our_candidates(options: Options, texts: Texts, folder: Path, trained: Trained) -> Candidates:
    """At every point the snapshot and the average of the last ones; at the end what the command hands over."""
    out, kept = folder / "run", folder / "snapshots"
    translator = qkv.load(out)
    validated = {
        row["step"] for row in json_lines(out / "training" / "log.jsonl") if "validation_loss" in row
    }
    clock = {row["step"]: row["seconds"] / 60 for row in json_lines(out / "training" / "timing.jsonl")}
    minutes = {
        step: clock[step] for step in validated
    }  # of two lines for a step the validation's is the last
    averaged = read_json(out / "training" / "run.json")["settings"]["training"]["average"]
    steps = sorted(minutes)

    def snapshots(last: int) -> list[Path]:
        return [kept / f"step-{step}.safetensors" for step in steps if step <= last][-averaged:]

    candidates: Candidates = {}
    for step in spread(minutes, POINTS)[:-1]:
        paths = snapshots(step)
        candidates[minutes[step]] = {
            JUST_NOW: with_our_weights(translator, paths[-1:]),
            f"average of {len(paths)}": with_our_weights(translator, paths),
        }
    ended = read_json(out / "report.json")["training"]["minutes"]  # the last validation included
    candidates[ended] = {"the model handed over": with_our_weights(translator, [out / "model.safetensors"])}
    return candidates


def with_our_weights(translator: Translator, paths: Sequence[Path]) -> Translate:
    def translate(sentences: Sequence[str]) -> list[str]:
        with_weights(translator.model, mean_weights([read_tensors(path) for path in paths]), str(paths[-1]))
        return Translator(translator.model, translator.tokenizer, translator._defaults).translate(
            sentences, beam=BEAM, length_penalty=LENGTH_PENALTY
        )

    return translate


OURS = System(train_ours, our_candidates)
RECURRENT = System(partial(train_ours, model="recurrent"), our_candidates)
