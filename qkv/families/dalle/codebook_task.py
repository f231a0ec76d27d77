"""Trains a codebook on images."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from qkv.checkpoint.bundle import save_report
from qkv.data.images import Bytes, hash_of
from qkv.errors import QkvError
from qkv.families.dalle.codebook import CodebookModel, Pixels
from qkv.families.dalle.codes import Codebook, reconstruction
from qkv.families.dalle.config import CodebookConfig
from qkv.families.dalle.settings import CodebookSettings
from qkv.runtime.pixels import as_input
from qkv.training.card import Purpose, model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.report import facts_of_run
from qkv.training.rows import Rows
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Task
from qkv.training.trainable import Setup

PURPOSE = Purpose(
    task="",
    command="qkv info .",
    python='model.decode(model.encode("image.png"))',
    use="The model turns images into codes, with which a DALL-E is trained, and codes into images.",
)


@dataclass(frozen=True, kw_only=True)
class ImageData:
    """Images to train and validate on."""

    train: Bytes  # (N, 3, side, side)
    valid: Bytes
    origin: str
    measure: Callable[[Codebook], dict[str, Any]]  # further results for the report

    @property
    def amount(self) -> int:
        return len(self.train)


def codebook_task(data: ImageData, inputs: Any, settings: CodebookSettings, setup: Setup) -> "CodebookTask":
    setup.say(f"{data.origin}: {len(data.train):,} to train on, {len(data.valid):,} to validate on")
    # A codebook consists of convolutions, for which there are no int16 products.
    settings = with_precision(
        settings, settings.model.width, choose_device(settings.training), setup.group, of=("bf16",)
    )
    return CodebookTask(data, settings)


@dataclass(frozen=True)
class CodebookTask(Task[Codebook]):
    images: ImageData
    settings: CodebookSettings

    @property
    def width(self) -> int:
        return self.settings.model.width

    def fingerprint(self) -> dict[str, str]:
        return {
            "training pictures": hash_of(self.images.train),
            "validation pictures": hash_of(self.images.valid),
        }

    def files(self) -> dict[str, bytes]:
        return {}

    def assemble(self, folder: Path) -> Assembled[Codebook]:
        _, channels, side, _ = self.images.train.shape
        try:
            config = CodebookConfig(side=side, channels=channels, **asdict(self.settings.model))
        except ValueError as error:
            raise QkvError(f"this codebook cannot be built: {error}. Choose another patch size.") from None
        batch_size = self.settings.training.batch_tokens // config.grid**2
        train, valid = (
            Rows(len(part), batch_size, config.grid**2, batches_of(part), shuffled=shuffled)
            for part, shuffled in ((self.images.train, True), (self.images.valid, False))
        )
        return Assembled(product=Codebook(CodebookModel(config)), train=train, valid=valid)

    def finish(self, product: Codebook, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        measured, known = reconstruction(product, self.images.valid), self.images.measure(product)
        config = product.model.config
        report = {
            **facts_of_run(run, product.model, chosen, self.settings),
            "kind": "codebook",
            "data": {"origin": self.images.origin, "images": len(self.images.train)},
            "reconstruction": measured,
            **known,
            "results": {
                "RMSE": f"{measured['rmse']:.3f} (pixel range 1)",
                "signal to noise": f"{measured['psnr']:.2f} dB",
                "codes in use": f"{measured['used']} of {config.codes}; perplexity {measured['perplexity']:.0f}",
                **known.get("results", {}),
            },
        }
        save_report(out, report, model_card("Codebook", PURPOSE, report))
        return report


def batches_of(pictures: Bytes) -> Callable[[list[int], int], Pixels]:
    return lambda rows, seed: Pixels(torch.from_numpy(as_input(pictures[rows])))
