"""For every kind of model, an interrupted run ends like an uninterrupted one.

Kills at any instant, and what the disk holds after them, are tried with the translator; all kinds share that code.
What a kind brings itself is its data, whose order and noise must be functions of the seed, and its files.
"""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import code_of
from drawings import SHORT_RUN, TINY_BLOCKS, halves
from language_models import save_text
from training_commands import number_pairs

from qkv.checkpoint.files import file_hash
from qkv.training.loop import Run

STEPS, CUT_OFF = 8, 5  # with a checkpoint every 3 steps
RUN = f"""--steps {STEPS} --batch-tokens 128 --validate-every 3 --log-every 1
    --average 2 --processes 1""".split()
SMALL = [
    "--width",
    "16",
    "--depth",
    "1",
    "--heads",
    "2",
    "--ffn-width",
    "16",
    "--max-length",
    "24",
]


def translator(folder: Path, *more: str) -> list[Any]:
    small = """--width 16 --ffn-width 16 --heads 2 --encoder-depth 1 --decoder-depth 1
        --vocab-size 270 --bpe-dropout 0.1"""
    return ["translator", "--pairs", number_pairs(folder / "a.tsv"), *small.split(), *more]


def labels(folder: Path) -> Path:
    generator = random.Random(1)
    words = ["one", "two", "three", "four"]
    rows = [" ".join(generator.choices(words, k=generator.randint(1, 5))) for _ in range(60)]
    path = folder / "labels.tsv"
    path.write_text("".join(f"{row}\t{'long' if len(row.split()) > 2 else 'short'}\n" for row in rows))
    return path


def chorales(folder: Path) -> Path:
    pieces = [[[60 + (n + k) % 5, 55, 52, 48 - n % 3] for n in range(40)] for k in range(8)]
    path = folder / "music.json"
    path.write_text(json.dumps({"train": pieces[:5], "valid": pieces[5:7], "test": pieces[7:]}))
    return path


def gpt(folder: Path) -> list[Any]:
    return ["gpt", "--text", save_text(folder / "a.txt"), "--vocab-size", "300", *SMALL]


def bert(folder: Path) -> list[Any]:
    words = save_text(folder / "a.txt").read_text().split()
    sentences = [" ".join(words[start : start + 6]) + "." for start in range(0, len(words), 6)]
    (folder / "b.txt").write_text(
        "\n\n".join("\n".join(sentences[start : start + 5]) for start in range(0, len(sentences), 5)) + "\n"
    )
    return ["bert", "--text", folder / "b.txt", "--vocab-size", "120", *SMALL]


def fine_tuned(begun: Callable[[Path], list[Any]]) -> Callable[[Path], list[Any]]:
    def arguments(folder: Path) -> list[Any]:
        command, model = begun(folder), folder / begun.__name__
        assert code_of("train", *command, *RUN, "--out", model) == 0
        return [command[0], "--fine-tune", model, "--labels", labels(folder)]

    return arguments


def tuned_gpt(folder: Path) -> list[Any]:
    command, model = gpt(folder), folder / "begun"
    assert code_of("train", *command, *RUN, "--out", model) == 0
    return ["gpt", "--fine-tune", model, "--text", save_text(folder / "b.txt", lines=40), "--dropout", "0.1"]


def tuned_music(folder: Path) -> list[Any]:
    command, model = ["gpt", "--music", chorales(folder), *SMALL], folder / "begun"
    assert code_of("train", *command, *RUN, "--out", model) == 0
    return ["gpt", "--fine-tune", model, "--music", folder / "music.json"]


def vit(folder: Path) -> list[Any]:
    augmented = ["--flip", "--erase", "0.5", "--operations", "2"]
    return ["vit", "--images", halves(folder / "images", each=20), *TINY_BLOCKS, *augmented]


def tuned_vit(folder: Path) -> list[Any]:
    """For classes of other names, so that the head is new; the pictures are made to fit."""
    command, model = vit(folder), folder / "begun"
    assert code_of("train", *command, *RUN, "--out", model) == 0
    others = halves(folder / "others", each=20, size=11)
    (others / "left").rename(others / "right")
    return ["vit", "--fine-tune", model, "--images", others, "--fit", "--flip", "--dropout", "0.1"]


def codebook(folder: Path) -> list[Any]:
    return ["codebook", "--scenes", "100", "--width", "8", "--patch", "8"]


def dalle(folder: Path) -> list[Any]:
    codes = folder / "codes"
    assert code_of("train", *codebook(folder), *SHORT_RUN, "--out", codes) == 0
    judged = ["--measured-captions", "1", "--measured-candidates", "1"]
    return ["dalle", "--scenes", "100", "--codebook", codes, *TINY_BLOCKS, *judged]


KINDS: dict[str, Callable[[Path], list[Any]]] = {
    "translator": translator,
    "one stream": lambda folder: [*translator(folder), "--encoder-depth", "0"],
    "recurrent": lambda folder: translator(folder, "--architecture", "recurrent"),
    "gpt": gpt,
    "music": lambda folder: ["gpt", "--music", chorales(folder), *SMALL],
    "gpt that goes on": tuned_gpt,
    "music that goes on": tuned_music,
    "gpt with labels": fine_tuned(gpt),
    "bert": bert,
    "bert with labels": fine_tuned(bert),
    "bert with labels that goes on": fine_tuned(fine_tuned(bert)),
    "vit": vit,
    "vit that goes on": tuned_vit,
    "codebook": codebook,
    "dalle": dalle,
}


def tuned_translator(folder: Path) -> list[Any]:
    command, model = translator(folder), folder / "begun"
    assert code_of("train", *command, *RUN, "--out", model) == 0
    return ["translator", "--fine-tune", model, "--pairs", folder / "a.tsv"]


BEGIN_WITH_A_MODEL = {
    "translator that goes on": tuned_translator,
    **{
        kind: KINDS[kind]
        for kind in ("gpt that goes on", "gpt with labels", "bert with labels", "vit that goes on", "dalle")
    },
}


def described_otherwise(text: str) -> str:
    changed = text.replace('"heads": 2', '"heads": 1').replace('"side": 32', '"side": 32, "temperature": 2.0')
    return text + "\n" if changed == text else changed


@pytest.mark.parametrize("kind", BEGIN_WITH_A_MODEL)
def test_a_run_is_not_resumed_with_a_model_to_begin_with_that_is_described_otherwise(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its weights are the same ones, and fit the other settings too."""
    arguments = [*BEGIN_WITH_A_MODEL[kind](tmp_path), *RUN]
    base = arguments[arguments.index("--codebook" if kind == "dalle" else "--fine-tune") + 1]
    out = tmp_path / "out"
    assert code_of("train", *arguments, "--out", out) == 0
    described = {"settings": base / "config.json", "vocabulary": base / "tokenizer.json"}
    for what, path in described.items():
        if not path.exists():  # a codebook has no vocabulary
            continue
        before = path.read_text()
        path.write_text(described_otherwise(before))
        assert path.read_text() != before
        capsys.readouterr()
        code = code_of("train", arguments[0], "--resume", "--out", out)
        error = capsys.readouterr().err
        assert code == (3 if "is damaged" in error else 2)
        assert re.search(
            f"(since the run was started: the {what} of the|{path.name} is damaged or belongs)", error
        )
        path.write_text(before)
    assert code_of("train", arguments[0], "--resume", "--out", out) == 0


def learned(out: Path) -> dict[str, str]:
    """Hashes of all that a run has learned, and of its log."""
    states = sorted((out / "training").glob("step-*/*.safetensors"))
    snapshots = sorted((out / "training" / "snapshots").iterdir())
    assert states
    assert snapshots
    files = [*states, *snapshots, out / "training" / "log.jsonl", out / "model.safetensors"]
    return {str(path.relative_to(out)): file_hash(path) for path in files}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_cut_off_ends_as_one_that_never_was(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [*KINDS[kind](tmp_path), *RUN]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert code_of("train", *arguments, "--out", whole) == 0
    steps = Run.one_step

    def cut_off(run: Run, rows: list[int]) -> object:
        if run.position.step == CUT_OFF:
            raise KeyboardInterrupt  # from inside a step: nothing is saved on the way out
        return steps(run, rows)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "one_step", cut_off)
        assert code_of("train", *arguments, "--out", cut) == 130
    assert {path.name for path in (cut / "training").glob("step-*")} == {"step-3"}
    assert code_of("train", arguments[0], "--resume", "--out", cut) == 0
    assert learned(cut) == learned(whole)
