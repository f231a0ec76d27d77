"""How a language model is trained, of text or of music: material in, a bundle with its report out."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, save_report
from qkv.core.block import StackConfig
from qkv.data.chorales import Chorale, Music, transpose, transposition_range
from qkv.data.documents import Documents, hold_out_text
from qkv.data.windows import stream_of
from qkv.errors import UserError
from qkv.evaluation.perplexity import rounded
from qkv.families.gpt.model import GPT, GPTConfig
from qkv.families.gpt.product import TOKENIZERS, GenerationOptions, Generator, GeneratorDefaults, TokenType
from qkv.families.gpt.settings import (
    FineTuneMusicSettings,
    GPTModelSettings,
    GPTSettings,
    MusicSettings,
    TextSettings,
)
from qkv.families.gpt.stream import Stream, StreamData
from qkv.text.characters import CharacterTokenizer
from qkv.text.notes import Notes
from qkv.text.tokenizer import Tokenizer
from qkv.training.card import model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.runs import Assembled, Chosen, Example, Task, facts_of_run
from qkv.training.settings import RunSettings, share_of
from qkv.training.trainable import Setup

SHOWN = 60  # characters of an example


class Passages(Protocol):
    """What a language model that has its tokens already learns from."""

    @property
    def origin(self) -> str: ...

    def fingerprint(self) -> dict[str, str]: ...

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        """To train on and to validate on."""

    def results(self, product: Generator, loss: float, tokens: int) -> dict[str, str]:
        """What was measured, for the report; the loss is that of so many tokens of the validation part."""

    def example(self) -> Example[Generator] | None:
        """An output to show at every validation."""


class Material(Passages, Protocol):
    """What a language model learns from that is new, and what its tokens are."""

    @property
    def pieces(self) -> TokenType: ...

    def learn(self) -> Tokenizer: ...


@dataclass(frozen=True)
class TextPassages:
    train: Documents
    valid: Documents

    @property
    def origin(self) -> str:
        return self.train.origin

    def fingerprint(self) -> dict[str, str]:
        return {"training text": self.train.fingerprint(), "validation text": self.valid.fingerprint()}

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        train, valid = (
            stream_of(tokenizer.encode_all(part.texts), tokenizer.end) for part in (self.train, self.valid)
        )
        return lambda seed: train, lambda seed: valid

    def results(self, product: Generator, loss: float, tokens: int) -> dict[str, str]:
        size = sum(len(text.encode()) for text in self.valid.texts)
        return {
            "validation loss": f"{loss:.4f} per token, {tokens:,} tokens",
            "perplexity": f"{rounded(loss)} per token",
            "bits per byte": f"{loss * tokens / size / math.log(2):.4f}",
        }

    def example(self) -> Example[Generator] | None:
        lines = [line for line in self.valid.texts[0].splitlines() if line.strip()]
        prompt = next((line for line in lines if len(line.split()) > 1), lines[0])[:SHOWN]
        options = GenerationOptions(max_new_tokens=SHOWN)
        return Example(f"How it continues   {prompt}", lambda product: product.generate(prompt, options))


@dataclass(frozen=True)
class TextMaterial(TextPassages):
    settings: GPTSettings

    @property
    def pieces(self) -> TokenType:
        return self.settings.token_type

    def learn(self) -> Tokenizer:
        """Subwords from the training part alone; characters of both, which tell nothing but that they are there."""
        if self.pieces == "characters":
            return CharacterTokenizer.of([*self.train.texts, *self.valid.texts])
        return Tokenizer.learn(self.train.texts, self.settings.vocab_size, sentences=False)


@dataclass(frozen=True)
class MusicMaterial:
    music: Music
    settings: MusicSettings | FineTuneMusicSettings

    @property
    def origin(self) -> str:
        return self.music.origin

    @property
    def pieces(self) -> TokenType:
        return "notes"

    def fingerprint(self) -> dict[str, str]:
        return self.music.fingerprint()

    def learn(self) -> Tokenizer:
        return Notes.all()

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        notes, most = Notes(tokenizer.library), self.settings.transpose
        valid = stream_of(map(notes.encode_frames, self.music.valid), notes.end)

        def train(seed: int) -> Tensor:
            """In another order and in other keys each time: what is sung matters, not how high."""
            generator = random.Random(seed)
            order: list[Chorale] = generator.sample(self.music.train, len(self.music.train))
            moved = [
                transpose(chorale, generator.randint(*transposition_range(chorale, most)))
                for chorale in order
            ]
            return stream_of(map(notes.encode_frames, moved), notes.end)

        return train, lambda seed: valid

    def results(self, product: Generator, loss: float, tokens: int) -> dict[str, str]:
        found = {"validation loss": f"{loss:.4f} per note"}
        parts = {"validation": self.music.valid, "test": self.music.test}
        for name, chorales in parts.items():
            if chorales:
                nats, frames = product.nats_of_music(chorales), sum(map(len, chorales))
                found[f"{name}, negative log-likelihood"] = (
                    f"{nats / frames:.4f} per frame, {nats / frames / 4:.4f} per note, {frames:,} frames"
                )
        return found

    def example(self) -> Example[Generator] | None:
        return None


@dataclass(frozen=True)
class TextData:
    """Documents that were read, to train on and perhaps to validate on."""

    train: Documents
    valid: Documents | None

    @property
    def amount(self) -> int:
        return self.train.characters

    def parts(
        self, settings: TextSettings, seed: int, say: Callable[[str], None]
    ) -> tuple[Documents, Documents]:
        train, valid = self.train, self.valid
        if valid is None:
            share = min(
                share_of(settings.valid_size, train.characters),
                settings.max_valid_characters / max(1, train.characters),
            )
            train, valid = hold_out_text(train, share, seed)
        say(
            f"{train.characters:,} characters in {len(train):,} documents to train on, "
            f"{valid.characters:,} to validate on"
        )
        return train, valid


def text_task(data: TextData, inputs: Any, settings: GPTSettings, setup: Setup) -> "GPTTask":
    """Train on documents. Without a validation part, some of the text is held out."""
    return gpt_task(
        TextMaterial(*data.parts(settings.data, settings.seed, setup.say), settings), settings, setup
    )


def music_task(data: Music, inputs: Any, settings: MusicSettings, setup: Setup) -> "GPTTask":
    setup.say(f"{len(data.train):,} pieces of music to train on, {len(data.valid):,} to validate on")
    return gpt_task(MusicMaterial(data, settings), settings, setup)


def gpt_task(material: Material, settings: GPTSettings | MusicSettings, setup: Setup) -> "GPTTask":
    settings = with_precision(settings, settings.model.width, choose_device(), setup.group)
    return GPTTask(material, settings)


@dataclass(frozen=True)
class GPTTask(Task[Generator]):
    material: Material
    settings: GPTSettings | MusicSettings

    @property
    def width(self) -> int:
        return self.settings.model.width

    def fingerprint(self) -> dict[str, str]:
        return self.material.fingerprint()

    def files(self) -> dict[str, bytes]:
        return {TOKENIZER_FILE: self.material.learn().text().encode()}

    def assemble(self, folder: Path) -> Assembled[Generator]:
        settings, pieces = self.settings, self.material.pieces
        tokenizer = TOKENIZERS[pieces].load(folder / TOKENIZER_FILE)
        context = settings.model.max_length
        train, valid = both_parts(self.material, tokenizer, context, settings.training.batch_tokens)
        for name, part in (("text to learn from", train), ("part to validate on", valid)):
            tokens = len(part) - 1  # without the end after it
            if tokens < context:
                raise UserError(
                    f"the {name} has {tokens:,} tokens, fewer than the context of {context:,}. Give more text, or a "
                    "shorter context."
                )
        model = GPT(architecture(settings.model, len(tokenizer), tokenizer.end))
        return Assembled(
            product=Generator(model, tokenizer, GeneratorDefaults(token_type=pieces)),
            train=train,
            valid=valid,
        )

    def finish(self, product: Generator, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        report = measured(product, self.material, self.settings, run, chosen)
        keep(out, product, report)
        return report

    def example(self) -> Example[Generator] | None:
        return self.material.example()


def both_parts(
    passages: Passages, tokenizer: Tokenizer, context: int, batch_tokens: int
) -> tuple[StreamData, StreamData]:
    """To train on and to validate on, as the loop takes them."""
    train, valid = passages.streams(tokenizer)
    return (
        StreamData(train, context, batch_tokens, shuffled=True),
        StreamData(valid, context, batch_tokens, shuffled=False),
    )


def measured(
    product: Generator, passages: Passages, settings: RunSettings, run: Run, chosen: Chosen
) -> dict[str, Any]:
    """The report of a run."""
    return {
        **facts_of_run(run, product.model, chosen, settings),
        "kind": "gpt",
        "data": {
            "origin": passages.origin,
            "tokens": len(run.train),
            "validation_tokens": len(run.valid),
        },
        "vocab_size": len(product.tokenizer),
        "validation": {"loss": round(chosen.loss, 4)},
        "results": passages.results(product, chosen.loss, len(run.valid)),
    }


def keep(out: Path, product: Generator, report: Mapping[str, Any]) -> None:
    """The report, with a model card."""
    music = product.defaults.token_type == "notes"
    usage = "qkv generate . -o music.mid --tokens 1024" if music else 'qkv generate . "…"'
    title = "GPT, a model of music" if music else "GPT, a language model"
    save_report(out, report, model_card(title, usage, report))


def architecture(model: GPTModelSettings, vocab: int, end: int) -> GPTConfig:
    sizes = asdict(model)
    context, positions = sizes.pop("max_length"), sizes.pop("positions")
    try:
        return GPTConfig(
            vocab_size=vocab, max_length=context, end=end, positions=positions, stack=StackConfig(**sizes)
        )
    except ValueError as error:
        raise UserError(f"such a model cannot be built: {error}.") from None
