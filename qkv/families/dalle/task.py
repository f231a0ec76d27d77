"""Trains DALL-E on captioned images and a codebook."""

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, save_report
from qkv.checkpoint.files import bytes_hash, canonical
from qkv.checkpoint.tensors import tensors_hash
from qkv.data.captioned import Captioned, words_of
from qkv.errors import QkvError
from qkv.families.dalle.codes import Codebook
from qkv.families.dalle.config import DalleConfig
from qkv.families.dalle.model import CaptionedBatch, Dalle
from qkv.families.dalle.product import ImageGenerator, ImageGeneratorDefaults
from qkv.families.dalle.settings import DalleSettings, MeasuredSettings
from qkv.text.tokenizer import Tokenizer
from qkv.training.blocks import stack_of
from qkv.training.card import Purpose, model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.report import facts_of_run
from qkv.training.rows import Rows
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Task
from qkv.training.trainable import Setup

PURPOSE = Purpose(
    task="text-to-image",
    command='qkv draw . "…" -o image.png',
    python='model.draw("…").image',
    use="The model draws what captions like those of its training data describe.",
)

CODES_FILE = "codes.npy"  # in OUT/training


@dataclass(frozen=True, kw_only=True)
class CaptionedData:
    """Captioned images to train and validate on, and the codebook that encodes them."""

    train: Captioned
    valid: Captioned
    codes: Codebook
    origin: str
    world: Sequence[str]  # captions of the built-in scenes with all words and the maximum length; else empty
    measure: Callable[[ImageGenerator, MeasuredSettings], dict[str, Any]]  # evaluates drawings for the report

    @property
    def amount(self) -> int:
        return len(self.train)


def dalle_task(data: CaptionedData, inputs: Any, settings: DalleSettings, setup: Setup) -> "DalleTask":
    setup.say(f"{data.origin}: {len(data.train):,} to train on, {len(data.valid):,} to validate on")
    settings = with_precision(settings, settings.model.width, choose_device(settings.training), setup.group)
    return DalleTask(data, settings)


@dataclass(frozen=True)
class DalleTask(Task[ImageGenerator]):
    data: CaptionedData
    settings: DalleSettings

    @property
    def width(self) -> int:
        return self.settings.model.width

    def fingerprint(self) -> dict[str, str]:
        book = self.data.codes.model
        return {
            "training pictures and captions": self.data.train.fingerprint(),
            "validation pictures and captions": self.data.valid.fingerprint(),
            "codebook": tensors_hash(book.state_dict()),
            "settings of the codebook": bytes_hash(canonical(asdict(book.config))),
        }

    def files(self) -> dict[str, bytes]:
        """The vocabulary of the captions, and the codes of all images, with the validation part last."""
        texts = [*(text for each in self.data.train.captions for text in each), *self.data.world]
        tokenizer = Tokenizer.learn(texts, self.settings.vocab_size)
        codes = [self.data.codes.encode(part.pictures) for part in (self.data.train, self.data.valid)]
        content = io.BytesIO()
        np.save(content, np.concatenate(codes).astype(np.int32), allow_pickle=False)
        return {TOKENIZER_FILE: tokenizer.text().encode(), CODES_FILE: content.getvalue()}

    def assemble(self, folder: Path) -> Assembled[ImageGenerator]:
        data, settings = self.data, self.settings
        tokenizer = Tokenizer.load(folder / TOKENIZER_FILE)
        codes = torch.from_numpy(np.load(folder / CODES_FILE, allow_pickle=False)).long()
        train, valid = (encode_captions(part.captions, tokenizer) for part in (data.train, data.valid))
        world = encode_captions([tuple(data.world)], tokenizer)
        places = 2 + max(len(ids) for each in (*train, *valid, *world) for ids in each)
        config = self.architecture(tokenizer, places)
        model = Dalle(config)
        drawing = settings.drawing
        painter = ImageGenerator(
            model,
            tokenizer,
            data.codes,
            ImageGeneratorDefaults(
                words=tuple(sorted({word for text in data.world for word in words_of(text)})),
                **asdict(drawing),
            ),
        )
        tokens = places + config.area
        batch_size = settings.training.batch_tokens // tokens
        blanks = settings.model.blank_captions
        shown = CaptionBatches(train, codes[: len(data.train)], config, blanks)
        held_out = CaptionBatches(valid, codes[len(data.train) :], config, 0.0)
        return Assembled(
            product=painter,
            train=Rows(len(data.train), batch_size, tokens, shown, shuffled=True),
            valid=Rows(len(data.valid), batch_size, tokens, held_out, shuffled=False),
        )

    def architecture(self, tokenizer: Tokenizer, places: int) -> DalleConfig:
        book, model = self.data.codes.config, self.settings.model
        try:
            return DalleConfig(
                vocab_size=len(tokenizer),
                places=places,
                codes=book.codes,
                grid=book.grid,
                pad=tokenizer.pad,
                start=tokenizer.start,
                end=tokenizer.end,
                stack=stack_of(model),
                text_share=model.text_share,
                label_smoothing=model.label_smoothing,
            )
        except ValueError as error:
            raise QkvError(f"this model cannot be built: {error}.") from None

    def finish(self, product: ImageGenerator, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        measured = self.data.measure(product, self.settings.measured)
        report = {
            **facts_of_run(run, product.model, chosen, self.settings),
            "kind": "dalle",
            "data": {"origin": self.data.origin, "images": len(self.data.train)},
            "validation_loss": round(chosen.loss, 4),
            **measured,
            "results": {"validation loss": f"{chosen.loss:.4f}", **measured.get("results", {})},
        }
        save_report(out, report, model_card("Image generator", PURPOSE, report))
        return report


def encode_captions(captions: list[tuple[str, ...]], tokenizer: Tokenizer) -> list[list[list[int]]]:
    """The ids of every caption of every image."""
    flat = iter(tokenizer.encode_all([text for each in captions for text in each]))
    return [[next(flat) for _ in each] for each in captions]


class CaptionBatches:
    """Makes batches. In every epoch each image has one of its captions, and some captions are left empty."""

    def __init__(self, captions: list[list[list[int]]], codes: Tensor, config: DalleConfig, blanks: float):
        self.captions, self.codes, self.config, self.blanks = captions, codes, config, blanks
        self.drawn: tuple[int, Tensor] | None = None  # seed of the epoch, and its random numbers

    def __call__(self, rows: list[int], seed: int) -> CaptionedBatch:
        if self.drawn is None or self.drawn[0] != seed:
            numbers = torch.Generator().manual_seed(seed ^ 1)  # independent of the order of rows
            self.drawn = seed, torch.rand(len(self.captions), 2, generator=numbers)
        config = self.config
        places = torch.full((len(rows), config.places), config.pad)
        for place, row in enumerate(rows):
            which, whether = self.drawn[1][row].tolist()
            each = self.captions[row]
            ids = each[int(which * len(each))][: config.places - 2]
            if whether >= self.blanks:
                places[place, : len(ids) + 1] = torch.tensor([*ids, config.end])
        return CaptionedBatch.of(places, self.codes[rows], config.pad)
