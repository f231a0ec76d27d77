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

from qkv.checkpoint.files import write_file, write_json
from qkv.cli.terminal import say
from qkv.data.parallel import ParallelText
from qkv.errors import UserError
from qkv.text.tokenizer import Tokenizer

JOEY_GUESS = 9  # updates a minute, to space its checkpoints before its speed is known
JOEY_PATIENCE = 120  # seconds for it to save its weights when asked to stop


def train_joeynmt(options: Options, texts: Texts, folder: Path) -> Trained | None:
    python = options.joeynmt_python
    if subprocess.run([python, "-c", "import joeynmt.training"], capture_output=True).returncode != 0:
        say("joeynmt: not installed for this interpreter, left out (--joeynmt-python names another).")
        return None
    folder = folder.resolve()
    write_pieces(folder / "data", texts)
    config = folder / "train.yaml"
    write_json(config, joey_config(folder, options, None))  # JSON is YAML too
    command = [python, "-m", "joeynmt", "train", str(config), "--skip-test"]
    began = train_joey(command, folder, options.minutes)
    log = (folder / "model" / "train.log").read_text(encoding="utf-8")
    checkpoints = {int(p.stem): p for p in (folder / "model").glob("*.ckpt") if p.stem.isdigit()}
    sizes = re.findall(r"Total params: (\d+)", log)
    if not checkpoints or not sizes:
        raise UserError(f"JoeyNMT saved no weights within {options.minutes:g} minutes: give more --minutes.")
    speeds = [float(speed) for speed in re.findall(r"Tokens per Sec:\s*([\d.]+)", log)]
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
    settings = PeerSettings()
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
            reason = (answer.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise UserError(f"JoeyNMT cannot translate ({reason}): see {config}.")
        return [from_pieces(texts.tokenizer, line) for line in answer.stdout.splitlines()]

    return translate


JOEYNMT = System(train_joeynmt, joey_candidates)
