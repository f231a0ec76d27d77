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
from qkv.data.chorales import Chorale, Music, room_to_transpose, transposed
from qkv.data.documents import Documents
from qkv.data.windows import stream_of
from qkv.errors import UserError
from qkv.evaluation.perplexity import rounded
from qkv.models.gpt import GPT, GPTConfig
from qkv.pipeline.generator import TOKENIZERS, Generator, GeneratorDefaults, PieceKind
from qkv.text.characters import Characters
from qkv.text.notes import Notes
from qkv.text.tokenizer import Tokenizer
from qkv.training.card import model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.distributed import Group
from qkv.training.gpt_settings import GPTModelSettings, GPTSettings, MusicSettings
from qkv.training.loop import Run, Watch
from qkv.training.runs import Assembled, Chosen, Outcome, facts_of_run, train
from qkv.training.stream import Stream, StreamData


class Material(Protocol):
    """What a language model learns from."""

    @property
    def origin(self) -> str: ...

    @property
    def pieces(self) -> PieceKind: ...

    def fingerprint(self) -> dict[str, str]: ...

    def learn(self) -> Tokenizer: ...

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        """To train on and to validate on."""

    def results(self, product: Generator, loss: float, tokens: int) -> dict[str, str]:
        """What was measured, for the report; the loss is that of so many tokens of the validation part."""


@dataclass(frozen=True)
class TextMaterial:
    train: Documents
    valid: Documents
    settings: GPTSettings

    @property
    def origin(self) -> str:
        return self.train.origin

    @property
    def pieces(self) -> PieceKind:
        return self.settings.pieces

    def fingerprint(self) -> dict[str, str]:
        return {"training text": self.train.fingerprint(), "validation text": self.valid.fingerprint()}

    def learn(self) -> Tokenizer:
        """Subwords from the training part alone; characters of both, which tell nothing but that they are there."""
        if self.pieces == "characters":
            return Characters.of([*self.train.texts, *self.valid.texts])
        return Tokenizer.learn(self.train.texts, self.settings.vocabulary, sentences=False)

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


@dataclass(frozen=True)
class MusicMaterial:
    music: Music
    settings: MusicSettings

    @property
    def origin(self) -> str:
        return self.music.origin

    @property
    def pieces(self) -> PieceKind:
        return "notes"

    def fingerprint(self) -> dict[str, str]:
        return self.music.fingerprint()

    def learn(self) -> Tokenizer:
        return Notes.all()

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        notes, most = Notes(tokenizer.pieces), self.settings.transpose
        valid = stream_of(map(notes.encode_frames, self.music.valid), notes.end)

        def train(seed: int) -> Tensor:
            """In another order and in other keys each time: what is sung matters, not how high."""
            generator = random.Random(seed)
            order: list[Chorale] = generator.sample(self.music.train, len(self.music.train))
            moved = [
                transposed(chorale, generator.randint(*room_to_transpose(chorale, most))) for chorale in order
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


def train_gpt(
    material: Material,
    settings: GPTSettings | MusicSettings,
    out: Path,
    *,
    watch: Callable[[Generator], Watch],
    group: Group | None = None,
    resume: bool = False,
    remember: Mapping[str, Any] | None = None,
) -> Outcome[Generator]:
    settings = with_precision(settings, settings.model.width, choose_device())
    task = GPTTask(material, settings)
    return train(task, out, watch=watch, group=group, resume=resume, remember=remember)


@dataclass(frozen=True)
class GPTTask:
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
        context, batch_tokens = settings.model.context, settings.training.batch_tokens
        train, valid = self.material.streams(tokenizer)
        for name, stream in (("text to learn from", train(0)), ("part to validate on", valid(0))):
            if len(stream) <= context + 2:  # an end before it and one after
                raise UserError(
                    f"the {name} has {len(stream) - 2:,} tokens, which is less than a context of {context:,}: give more "
                    "text, or a smaller --model.context."
                )
        model = GPT(architecture(settings.model, len(tokenizer), tokenizer.end))
        return Assembled(
            product=Generator(model, tokenizer, GeneratorDefaults(pieces=pieces)),
            train=StreamData(train, context, batch_tokens, shuffled=True),
            valid=StreamData(valid, context, batch_tokens, shuffled=False),
        )

    def finish(self, product: Generator, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        report = {
            **facts_of_run(run, product.model, chosen, self.settings),
            "kind": "gpt",
            "data": {
                "origin": self.material.origin,
                "tokens": len(run.train),
                "validation_tokens": len(run.valid),
            },
            "vocabulary": len(product.tokenizer),
            "validation": {"loss": round(chosen.loss, 4)},
            "results": self.material.results(product, chosen.loss, len(run.valid)),
        }
        music = self.material.pieces == "notes"
        usage = "qkv generate . -o music.mid --tokens 1024" if music else 'qkv generate . "…"'
        save_report(
            out,
            report,
            model_card("GPT, a model of music" if music else "GPT, a language model", usage, report),
        )
        return report


def architecture(model: GPTModelSettings, vocab: int, end: int) -> GPTConfig:
    sizes = asdict(model)
    context, positions = sizes.pop("context"), sizes.pop("positions")
    try:
        return GPTConfig(
            vocab=vocab, context=context, end=end, positions=positions, stack=StackConfig(**sizes)
        )
    except ValueError as error:
        raise UserError(f"such a model cannot be built: {error}.") from None
