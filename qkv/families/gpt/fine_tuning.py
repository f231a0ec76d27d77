"""How a language model that was trained or imported before goes on with other text or music: sizes and tokens stay."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE, description_hashes
from qkv.checkpoint.files import file_hash
from qkv.data.chorales import Music
from qkv.errors import UserError
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.gpt.product import Generator
from qkv.families.gpt.settings import FineTuneMusicSettings, FineTuneTextSettings
from qkv.families.gpt.stream import StreamData
from qkv.families.gpt.task import (
    MusicMaterial,
    Passages,
    TextData,
    TextPassages,
    both_parts,
    keep,
    measured,
)
from qkv.families.loading import load_for
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Example, Task, with_epochs
from qkv.training.trainable import Setup
from qkv.training.validation import loss_on


def text_task(data: TextData, inputs: Any, settings: FineTuneTextSettings, setup: Setup) -> "FineTuneGPTTask":
    passages = TextPassages(*data.parts(settings.data, settings.seed, setup.say))
    return fine_tune_task(passages, inputs.fine_tune, settings, setup)


def music_task(data: Music, inputs: Any, settings: FineTuneMusicSettings, setup: Setup) -> "FineTuneGPTTask":
    return fine_tune_task(MusicMaterial(data, settings), inputs.fine_tune, settings, setup)


def fine_tune_task(
    passages: Passages, base: Path, settings: FineTuneTextSettings | FineTuneMusicSettings, setup: Setup
) -> "FineTuneGPTTask":
    before = model_in(base, music=isinstance(settings, FineTuneMusicSettings))
    config = before.model.config
    settings = with_precision(settings, config.stack.width, choose_device(), setup.group)
    parts = both_parts(passages, before.tokenizer, config.max_length, settings.training.batch_tokens)
    refuse_too_short(parts[0], config.max_length)
    settings = with_epochs(settings, lambda: parts[0])
    return FineTuneGPTTask(passages, parts, before, base, settings)


def model_in(base: Path, *, music: bool) -> Generator:
    found = load_for(base, "train gpt --fine-tune", Generator)
    if (found.defaults.token_type == "notes") != music:
        known = "text" if music else "music"
        raise UserError(f"{base} is a model of {known}. Fine-tune it on {known}.")
    return found


def refuse_too_short(train: StreamData, context: int) -> None:
    """What is held out may be shorter: the context cannot be chosen here, and a tenth of a small text is little."""
    tokens = len(train) - 1  # without the end after it
    if tokens < context:
        raise UserError(
            f"there are {tokens:,} tokens to learn from, which is less than the model's context of {context:,}: give more."
        )


@dataclass(frozen=True)
class FineTuneGPTTask(Task[Generator]):
    passages: Passages
    parts: tuple[StreamData, StreamData]  # of them, to train on and to validate on
    before: Generator
    base: Path  # where it is
    settings: FineTuneTextSettings | FineTuneMusicSettings

    @property
    def width(self) -> int:
        return self.before.model.config.stack.width

    def fingerprint(self) -> dict[str, str]:
        weights = {"weights to begin with": file_hash(self.base / MODEL_FILE)}
        return {**self.passages.fingerprint(), **weights, **description_hashes(self.base)}

    def assemble(self, folder: Path) -> Assembled[Generator]:
        before, (train, valid) = self.before, self.parts
        model = GPT(regularised(before.model.config, self.settings.dropout))
        model.load_state_dict(before.model.state_dict())
        product = Generator(model, before.tokenizer, before.defaults)
        return Assembled(product=product, train=train, valid=valid)

    def finish(self, product: Generator, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        report = measured(product, self.passages, self.settings, run, chosen)
        with run.spread.arithmetic():  # as the loss was computed that stands beside it
            loss = loss_on(self.before.model, run.valid)
        earlier = self.passages.results(self.before, loss, len(run.valid))
        report["data"]["origin"] += f", on top of {self.base.name}"
        report["fine_tuned"] = {"from": self.base.name, "validation_loss_before": round(loss, 4)}
        report["results"] = {f"{name} before": value for name, value in earlier.items()} | report["results"]
        keep(out, product, report)
        return report

    def example(self) -> Example[Generator] | None:
        return self.passages.example()


def regularised(config: GPTConfig, dropout: float | None) -> GPTConfig:
    """The same model; what acts in training alone may be another."""
    return config if dropout is None else replace(config, stack=replace(config.stack, dropout=dropout))
