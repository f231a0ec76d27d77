"""Trains a language model on text or music."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from qkv.checkpoint.bundle import TOKENIZER_FILE, save_report
from qkv.core.block import StackConfig
from qkv.data.chorales import Music
from qkv.errors import QkvError
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.gpt.music_data import MusicParts
from qkv.families.gpt.product import (
    TOKENIZERS,
    LanguageModel,
    LanguageModelDefaults,
    TokenType,
)
from qkv.families.gpt.settings import GPTModelSettings, GPTSettings, MusicSettings
from qkv.families.gpt.stream import Stream, StreamData
from qkv.families.gpt.text_data import LearnableText, TextData
from qkv.flags import OptionMessageError
from qkv.text.tokenizer import Tokenizer
from qkv.training.card import Purpose, model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.report import facts_of_run
from qkv.training.selection import ChosenWeights
from qkv.training.settings import RunSettings
from qkv.training.task import Assembled, Example, Task
from qkv.training.trainable import Setup

PURPOSE = Purpose(
    task="text-generation",
    command='qkv generate . "…"',
    python='model.generate("…")',
    use="The model continues texts. What it writes may be wrong or harmful, as its training text may be.",
)
MUSIC_PURPOSE = Purpose(
    task="",
    command="qkv generate . -o music.mid --max-new-tokens 1024",
    python='model.compose().save("music.mid")',
    use="The model composes music in the style of its training data.",
)


class TrainingData(Protocol):
    """Training and validation data for a model that has a tokenizer."""

    @property
    def origin(self) -> str: ...

    def fingerprint(self) -> dict[str, str]: ...

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        """The training stream and the validation stream."""

    def results(self, product: LanguageModel, loss: float, tokens: int) -> dict[str, str]:
        """Results for the report. `loss` is the mean over the `tokens` of the validation part."""

    def example(self) -> Example[LanguageModel] | None:
        """An output to show at every validation."""


class LearnableData(TrainingData, Protocol):
    """Data from which a tokenizer can be learned, too."""

    @property
    def token_type(self) -> TokenType: ...

    def learn(self) -> Tokenizer: ...


def text_task(data: TextData, inputs: Any, settings: GPTSettings, setup: Setup) -> "GPTTask":
    """Train on documents. Without a validation part, some of the text is held out."""
    return gpt_task(
        LearnableText(*data.parts(settings.data, settings.seed, setup.say), settings), settings, setup
    )


def music_task(data: Music, inputs: Any, settings: MusicSettings, setup: Setup) -> "GPTTask":
    setup.say(f"{len(data.train):,} chorales to train on, {len(data.valid):,} to validate on")
    return gpt_task(MusicParts(data, settings), settings, setup)


def gpt_task(data: LearnableData, settings: GPTSettings | MusicSettings, setup: Setup) -> "GPTTask":
    settings = with_precision(settings, settings.model.width, choose_device(settings.training), setup.group)
    return GPTTask(data, settings)


@dataclass(frozen=True)
class GPTTask(Task[LanguageModel]):
    data: LearnableData
    settings: GPTSettings | MusicSettings

    @property
    def width(self) -> int:
        return self.settings.model.width

    def fingerprint(self) -> dict[str, str]:
        return self.data.fingerprint()

    def files(self) -> dict[str, bytes]:
        return {TOKENIZER_FILE: self.data.learn().text().encode()}

    def assemble(self, folder: Path) -> Assembled[LanguageModel]:
        settings, token_type = self.settings, self.data.token_type
        tokenizer = TOKENIZERS[token_type].load(folder / TOKENIZER_FILE)
        context = settings.model.max_length
        train, valid = both_parts(self.data, tokenizer, context, settings.training.batch_tokens)
        for name, part in (("training text", train), ("validation text", valid)):
            tokens = len(part) - 1  # without the final end token
            if tokens < context:
                raise OptionMessageError(
                    "the {name} is too short: it has {tokens:,} tokens, fewer than the context length of {context:,}. Give more "
                    "text, or a smaller {max_length}.",
                    name=name,
                    tokens=tokens,
                    context=context,
                )
        model = GPT(architecture(settings.model, len(tokenizer), tokenizer.end))
        return Assembled(
            product=LanguageModel(model, tokenizer, LanguageModelDefaults(token_type=token_type)),
            train=train,
            valid=valid,
        )

    def finish(self, product: LanguageModel, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        report = make_report(product, self.data, self.settings, run, chosen)
        write_report(out, product, report)
        return report

    def example(self) -> Example[LanguageModel] | None:
        return self.data.example()


def both_parts(
    data: TrainingData, tokenizer: Tokenizer, context: int, batch_tokens: int
) -> tuple[StreamData, StreamData]:
    """The training part and the validation part, as Data for the training loop."""
    train, valid = data.streams(tokenizer)
    return (
        StreamData(train, context, batch_tokens, shuffled=True),
        StreamData(valid, context, batch_tokens, shuffled=False),
    )


def make_report(
    product: LanguageModel, data: TrainingData, settings: RunSettings, run: Run, chosen: ChosenWeights
) -> dict[str, Any]:
    """The report of a run."""
    return {
        **facts_of_run(run, product.model, chosen, settings),
        "kind": "gpt",
        "data": {
            "origin": data.origin,
            "tokens": len(run.train),
            "validation_tokens": len(run.valid),
        },
        "vocab_size": len(product.tokenizer),
        "validation": {"loss": round(chosen.loss, 4)},
        "results": data.results(product, chosen.loss, len(run.valid)),
    }


def write_report(out: Path, product: LanguageModel, report: Mapping[str, Any]) -> None:
    """Write the report and the model card."""
    music = product._defaults.token_type == "notes"
    title = "GPT, a model of music" if music else "GPT, a language model"
    save_report(out, report, model_card(title, MUSIC_PURPOSE if music else PURPOSE, report))


def architecture(model: GPTModelSettings, vocab: int, end: int) -> GPTConfig:
    sizes = asdict(model)
    context, positions = sizes.pop("max_length"), sizes.pop("positions")
    try:
        return GPTConfig(
            vocab_size=vocab, max_length=context, end=end, positions=positions, stack=StackConfig(**sizes)
        )
    except ValueError as error:
        raise QkvError(f"this model cannot be built: {error}.") from None
