"""Tiny untrained codebooks, DALL-E models and images, shared by several tests."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from qkv.core.stack_config import StackConfig
from qkv.data.worlds.scenes import all_captions
from qkv.families.dalle.codebook import CodebookModel
from qkv.families.dalle.codes import Codebook
from qkv.families.dalle.config import CodebookConfig, DalleConfig
from qkv.families.dalle.model import Dalle
from qkv.families.dalle.product import ImageGenerator, ImageGeneratorDefaults
from qkv.families.vit.config import VitConfig
from qkv.families.vit.model import Vit
from qkv.families.vit.product import ClassifierDefaults, ImageClassifier
from qkv.text.tokenizer import Tokenizer

STACK = StackConfig(depth=1, width=12, heads=2, ffn_width=16, norm="pre", activation="gelu", dropout=0.0)
TINY_BLOCKS = ["--width", "16", "--depth", "1", "--heads", "2", "--ffn-width", "16"]
SHORT_RUN = ["--steps", "6", "--validate-every", "3", "--processes", "1"]


def untrained_codes() -> Codebook:
    torch.manual_seed(2)
    config = CodebookConfig(
        side=32, channels=3, patch=8, width=8, depth=0, quantizer="lattice", levels=(4, 3)
    )
    return Codebook(CodebookModel(config))


def untrained_painter(*, closed: bool = True) -> ImageGenerator:
    """It draws nonsense, but always the same for the same caption and seed."""
    codes, texts = untrained_codes(), all_captions()
    tokenizer = Tokenizer.learn(texts, 400)
    torch.manual_seed(3)
    config = DalleConfig(
        vocab_size=len(tokenizer),
        places=30,
        codes=12,
        grid=4,
        pad=tokenizer.pad,
        start=tokenizer.start,
        end=tokenizer.end,
        stack=STACK,
    )
    words = tuple(sorted({word for text in texts for word in text.split()})) if closed else ()
    defaults = ImageGeneratorDefaults(words=words, temperature=1.0, top_p=1.0, guidance=2.0)
    return ImageGenerator(Dalle(config), tokenizer, codes, defaults)


def untrained_classifier() -> ImageClassifier:
    torch.manual_seed(4)
    model = Vit(VitConfig(height=8, width=8, channels=3, patch=4, classes=3, stack=STACK))
    torch.nn.init.normal_(model.head.weight)
    return ImageClassifier(model, ClassifierDefaults(classes=("ant", "bee", "cow"), colours="colour"))


def halves(folder: Path, each: int = 12, size: int = 8) -> Path:
    """Two classes that anyone can tell apart: bright above, and bright on the left."""
    numbers = np.random.default_rng(1)
    for name, axis in (("above", 0), ("left", 1)):
        (folder / name).mkdir(parents=True)
        bright = np.where(np.arange(size) < size // 2, 200, 0)
        values = np.broadcast_to(np.expand_dims(bright, 1 - axis), (size, size))
        for number in range(each):
            noisy = values[:, :, None] + numbers.integers(0, 55, (size, size, 3))
            Image.fromarray(noisy.astype(np.uint8)).save(folder / name / f"{number}.png")
    return folder
