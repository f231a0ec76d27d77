"""Small training runs on sentences of digits, for the tests of training."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from digits import digit_lines

from qkv.checkpoint.files import file_hash
from qkv.data.parallel import ParallelText
from qkv.families.translator.corpus import Corpus
from qkv.families.translator.defaults import Languages
from qkv.families.translator.product import Translator
from qkv.families.translator.settings import DecodingSettings, ModelSettings, TranslatorSettings
from qkv.families.translator.task import translator_task
from qkv.training.position import Position
from qkv.training.runs import Outcome
from qkv.training.runs import train as train_task
from qkv.training.settings import TrainingSettings
from qkv.training.trainable import Setup
from qkv.training.watch import Watch


def digit_corpus(count: int = 80, seed: int = 1) -> Corpus:
    lines = digit_lines(count, seed, longest=6)
    return Corpus(
        train=ParallelText(source=lines[10:], target=lines[10:]),
        valid=ParallelText(source=lines[:10], target=lines[:10]),
        dropped={"empty": 0},
        languages=Languages(source="en", target="en"),
        origin="digits",
    )


def tiny_settings(**training: Any) -> TranslatorSettings:
    return TranslatorSettings(
        vocab_size=290,
        steps=20,
        model=ModelSettings(
            width=16,
            encoder_depth=1,
            decoder_depth=1,
            heads=2,
            ffn_width=16,
            dropout=0.2,
            norm="pre",
            max_length=64,
        ),
        training=TrainingSettings(
            **{
                "batch_tokens": 64,
                "learning_rate": 3e-3,
                "warmup_steps": 5,
                "validate_every": 7,
                "average": 2,
                "log_every": 1,
                **training,
            }
        ),
        decoding=DecodingSettings(beam_size=1),
    )


class Recorder(Watch):
    """Notes what the loop says, and may act at a certain step."""

    def __init__(self, at: int | None = None, action: Callable[[], None] | None = None):
        self.at, self.action = at, action
        self.steps: list[int] = []
        self.losses: list[float] = []
        self.validations: list[tuple[int, float, bool]] = []
        self.warnings: list[str] = []
        self.work: list[tuple[str, int, int]] = []

    def on_step(
        self, position: Position, progress: float, loss: float, tokens_per_second: float, learning_rate: float
    ) -> None:
        self.steps.append(position.step)
        self.losses.append(loss)
        if position.step == self.at and self.action is not None:
            self.action()

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        self.validations.append((position.step, loss, improved))

    def on_work(self, what: str, completed: int, total: int) -> None:
        self.work.append((what, completed, total))

    def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)


def train(
    out: Path, settings: TranslatorSettings | None = None, **options: Any
) -> tuple[Outcome[Translator], Recorder]:
    recorder = options.pop("recorder", None) or Recorder()
    corpus = options.pop("corpus", None) or digit_corpus()
    given = frozenset(options.pop("given", ()))
    task = translator_task(
        corpus, settings or tiny_settings(), Setup(group=options.get("group"), given=given)
    )
    return train_task(task, out, watch=lambda _: recorder, **options), recorder


def send(number: signal.Signals) -> Callable[[], None]:
    """A signal that comes while a step is reported; the wish to stop travels with the next step."""
    return lambda: os.kill(os.getpid(), number)


def hashes(out: Path, step: int) -> dict[str, str]:
    files = [
        *(out / "training" / f"step-{step}").glob("*.safetensors"),
        *(out / "training" / "snapshots").iterdir(),
        out / "training" / "log.jsonl",
        out / "model.safetensors",
        out / "tokenizer.json",
    ]
    assert len(files) >= 6
    return {str(path.relative_to(out)): file_hash(path) for path in files}


def logged(out: Path) -> list[dict[str, Any]]:
    lines = (out / "training" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
