"""Run commands in tests, in this process or in another, with tiny models and files."""

import os
import subprocess
import sys
from pathlib import Path

import torch

from qkv.cli import DATA, DISK, USAGE, main
from qkv.core.stack_config import StackConfig
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.text.tokenizer import Tokenizer

TINY_OPTIONS = """--width 16 --encoder-depth 1 --decoder-depth 1 --heads 2
    --ffn-width 16 --batch-tokens 256 --validate-every 3 --beam-size 1"""


TINY = TINY_OPTIONS.split()


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def save_untrained(folder: Path, lines: list[str], *, beam: int, length_penalty: float) -> None:
    """Save an untrained model. Its translations are nonsense, but always the same."""
    torch.manual_seed(2)
    tokenizer = Tokenizer.learn(lines, 290)
    stack = StackConfig(depth=1, width=12, heads=2, ffn_width=16, norm="pre", activation="relu", dropout=0.0)
    config = TranslatorConfig(
        vocab_size=len(tokenizer), max_length=40, pad=0, start=1, end=2, positions="halves", encoder=stack, decoder=stack
    )  # fmt: skip
    languages = Languages(source="en", target="xx")
    defaults = TranslatorDefaults(
        languages=languages, max_source_length=30, beam_size=beam, length_penalty=length_penalty
    )
    Translator(TranslatorModel(config), tokenizer, defaults).save(folder)


def code_of(*arguments: str | Path) -> int:
    """The exit code of a command run in this process."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def process(*arguments: str | bytes, **options: object) -> subprocess.Popen[bytes]:
    usual = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-m", "qkv", *arguments]
    return subprocess.Popen(command, **{"env": ENVIRONMENT, **usual, **options})  # type: ignore[call-overload]


def training(files: Path, *options: str | Path, out: str = "out", target: str = "a.xx") -> list[str]:
    named = ["--source", files / "a.en", "--target", files / target, "--out", files / out]
    return ["train", "translator", *map(str, [*named, *TINY, *options])]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(error: str, out: str, code: int) -> str:
    """Check that a command rejected its options, files or paths with one error message, and return it."""
    assert code in (USAGE, DATA, DISK)
    assert out == ""
    assert "Traceback" not in error
    sentences = [line for line in error.splitlines() if line.startswith("error: ")]
    assert len(sentences) == 1, error
    assert error.splitlines()[-1] == sentences[0]
    assert sentences[0].endswith((".", "?")), sentences[0]
    return sentences[0]
