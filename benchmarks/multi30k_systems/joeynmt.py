"""JoeyNMT's command. It reads files of pieces made beforehand, separated by spaces."""

import re
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from curves import spread
from joeynmt_files import as_pieces, from_pieces, is_installed, joey_config, speeds_in, write_pieces
from multi30k_systems.common import (
    BEAM,
    DECODED_TOGETHER,
    JUST_NOW,
    LENGTH_PENALTY,
    POINTS,
    Candidates,
    Options,
    PeerSettings,
    System,
    Texts,
    Trained,
    Translate,
    bar_of_minutes,
)

from qkv.checkpoint.files import write_json
from qkv.data.parallel import ParallelText
from qkv.errors import QkvError
from qkv.progress.terminal import say

JOEY_GUESS = 9  # updates a minute, to space its checkpoints before its speed is known
JOEY_PATIENCE = 120  # seconds for it to save its weights when asked to stop


def train_joeynmt(options: Options, texts: Texts, folder: Path) -> Trained | None:
    python = options.joeynmt_python
    if not is_installed(python):
        say("joeynmt: not installed for this interpreter, left out (--joeynmt-python names another).")
        return None
    folder = folder.resolve()
    # It counts the time of its own validations: ten sentences take none.
    few = ParallelText(source=texts.valid.source[:10], target=texts.valid.target[:10])
    write_pieces(folder / "data", texts.train, few, texts.tokenizer)
    config = folder / "train.yaml"
    write_json(config, config_of(folder, options, None))  # JSON is YAML too
    command = [python, "-m", "joeynmt", "train", str(config), "--skip-test"]
    began = train_joey(command, folder, options.minutes)
    log = (folder / "model" / "train.log").read_text(encoding="utf-8")
    checkpoints = {int(p.stem): p for p in (folder / "model").glob("*.ckpt") if p.stem.isdigit()}
    sizes = re.findall(r"Total params: (\d+)", log)
    if not checkpoints or not sizes:
        raise QkvError(f"JoeyNMT saved no weights within {options.minutes:g} minutes: give more --minutes.")
    speeds = speeds_in(log)
    minutes = {step: (path.stat().st_mtime - began) / 60 for step, path in checkpoints.items()}
    return Trained(
        about=f"JoeyNMT's command, {PeerSettings()}, {max(minutes)} updates, no average of checkpoints",
        parameters=int(sizes[-1]),
        tokens_per_second=sum(speeds) / max(1, len(speeds)),
        weights={str(minutes[step]): checkpoints[step].name for step in spread(minutes, POINTS)},
    )


def joey_candidates(options: Options, texts: Texts, folder: Path, trained: Trained) -> Candidates:
    folder = folder.resolve()
    return {
        float(minutes): {JUST_NOW: with_checkpoint(options, texts, folder, folder / "model" / name)}
        for minutes, name in trained.weights.items()
    }


def config_of(folder: Path, options: Options, checkpoint: Path | None) -> dict[str, Any]:
    every = max(1, round(JOEY_GUESS * options.minutes / (2 * POINTS)))
    config = joey_config(folder, PeerSettings(), options.seed, validate_every=every)
    config["testing"] = {
        "beam_size": BEAM,
        "beam_alpha": LENGTH_PENALTY,
        "batch_size": DECODED_TOGETHER // BEAM,
        "batch_type": "token",
        "max_output_length": 60,  # the longest sentence of both parts has fewer pieces
        "eval_metrics": ["bleu"],
        **({} if checkpoint is None else {"load_model": str(checkpoint)}),
    }
    return config


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
            raise QkvError(f"JoeyNMT ended by itself with {process.returncode}: see {folder / 'output.log'}.")
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
    raise QkvError(f"JoeyNMT ended with {process.returncode} before its first epoch: see {log}.")


def with_checkpoint(options: Options, texts: Texts, folder: Path, checkpoint: Path) -> Translate:
    config = folder / f"translate-{checkpoint.stem}.yaml"

    def translate(sentences: Sequence[str]) -> list[str]:
        write_json(config, config_of(folder, options, checkpoint))
        answer = subprocess.run(
            [options.joeynmt_python, "-m", "joeynmt", "translate", str(config)],
            input=as_pieces(texts.tokenizer, sentences),
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        if answer.returncode != 0:
            reason = (answer.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise QkvError(f"JoeyNMT cannot translate ({reason}): see {config}.")
        return [from_pieces(texts.tokenizer, line) for line in answer.stdout.splitlines()]

    return translate


JOEYNMT = System(train_joeynmt, joey_candidates)
