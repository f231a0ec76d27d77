"""Fine-tunes a language model on other text or music. Its sizes and tokens do not change."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE, description_hashes
from qkv.checkpoint.files import file_hash
from qkv.data.chorales import Music
from qkv.errors import QkvError
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.gpt.music_data import MusicParts
from qkv.families.gpt.product import LanguageModel
from qkv.families.gpt.settings import FineTuneMusicSettings, FineTuneTextSettings
from qkv.families.gpt.stream import StreamData
from qkv.families.gpt.task import TrainingData, both_parts, make_report, write_report
from qkv.families.gpt.text_data import TextData, TextParts
from qkv.families.loading import load_for
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Example, Task, with_epochs
from qkv.training.trainable import Setup
from qkv.training.validation import loss_on


def text_task(data: TextData, inputs: Any, settings: FineTuneTextSettings, setup: Setup) -> "FineTuneGPTTask":
    parts = TextParts(*data.parts(settings.data, settings.seed, setup.say))
    return fine_tune_task(parts, inputs.fine_tune, settings, setup)


def music_task(data: Music, inputs: Any, settings: FineTuneMusicSettings, setup: Setup) -> "FineTuneGPTTask":
    return fine_tune_task(MusicParts(data, settings), inputs.fine_tune, settings, setup)


def fine_tune_task(
    data: TrainingData, base: Path, settings: FineTuneTextSettings | FineTuneMusicSettings, setup: Setup
) -> "FineTuneGPTTask":
    before = model_in(base, music=isinstance(settings, FineTuneMusicSettings))
    config = before.model.config
    settings = with_precision(settings, config.stack.width, choose_device(settings.training), setup.group)
    parts = both_parts(data, before.tokenizer, config.max_length, settings.training.batch_tokens)
    check_length(parts[0], config.max_length)
    settings = with_epochs(settings, lambda: parts[0])
    return FineTuneGPTTask(data, parts, before, base, settings)


def model_in(base: Path, *, music: bool) -> LanguageModel:
    found = load_for(base, "train gpt --fine-tune", LanguageModel)
    if (found._defaults.token_type == "notes") != music:
        known = "text" if music else "music"
        raise QkvError(f"{base} is a model of {known}. Fine-tune it on {known}.")
    return found


def check_length(train: StreamData, context: int) -> None:
    """Check the training part. The validation part may be shorter than the context, which cannot be changed here."""
    tokens = len(train) - 1  # without the final end token
    if tokens < context:
        raise QkvError(
            f"the training text is too short: it has {tokens:,} tokens, fewer than the model's context length of {context:,}: give more text."
        )


@dataclass(frozen=True)
class FineTuneGPTTask(Task[LanguageModel]):
    data: TrainingData
    parts: tuple[StreamData, StreamData]  # to train on and to validate on
    before: LanguageModel
    base: Path  # the folder of the model
    settings: FineTuneTextSettings | FineTuneMusicSettings

    @property
    def width(self) -> int:
        return self.before.model.config.stack.width

    def fingerprint(self) -> dict[str, str]:
        weights = {"weights to begin with": file_hash(self.base / MODEL_FILE)}
        return {**self.data.fingerprint(), **weights, **description_hashes(self.base)}

    def assemble(self, folder: Path) -> Assembled[LanguageModel]:
        before, (train, valid) = self.before, self.parts
        model = GPT(with_dropout(before.model.config, self.settings.dropout))
        model.load_state_dict(before.model.state_dict())
        product = LanguageModel(model, before.tokenizer, before._defaults)
        return Assembled(product=product, train=train, valid=valid)

    def finish(self, product: LanguageModel, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        report = make_report(product, self.data, self.settings, run, chosen)
        with run.spread.arithmetic():  # the precision of the other losses in the report
            loss = loss_on(self.before.model, run.valid)
        earlier = self.data.results(self.before, loss, len(run.valid))
        report["data"]["origin"] += f", on top of {self.base.name}"
        report["fine_tuned"] = {"from": self.base.name, "validation_loss_before": round(loss, 4)}
        report["results"] = {f"{name} before": value for name, value in earlier.items()} | report["results"]
        write_report(out, product, report)
        return report

    def example(self) -> Example[LanguageModel] | None:
        return self.data.example()


def with_dropout(config: GPTConfig, dropout: float | None) -> GPTConfig:
    """The config with another dropout, if one is given."""
    return config if dropout is None else replace(config, stack=replace(config.stack, dropout=dropout))
