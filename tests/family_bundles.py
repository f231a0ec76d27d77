"""Small bundles of the other members of the family: random, but never undecided."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from digits import digit_lines

from qkv.core.stack_config import StackConfig

STACK = StackConfig(depth=2, width=24, heads=3, ffn_width=40, norm="pre", activation="gelu", dropout=0.0)


def disturbed(model: torch.nn.Module) -> Any:
    """Weights so large that attention has its favourites."""
    torch.manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


def save_gpt(folder: Path) -> str:
    models = pytest.importorskip("qkv.families.gpt.model", reason="there is no GPT yet")
    generator = pytest.importorskip("qkv.families.gpt.product")
    from qkv.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.learn(digit_lines(60), 330)
    config = models.GPTConfig(
        vocab_size=len(tokenizer), max_length=80, end=2, positions="learned", stack=STACK
    )
    defaults = generator.LanguageModelDefaults(token_type="subwords")
    generator.LanguageModel(disturbed(models.GPT(config)), tokenizer, defaults).save(folder)
    return "one two three"


def save_bert(folder: Path) -> str:
    models = pytest.importorskip("qkv.families.bert.model", reason="there is no BERT yet")
    pipeline = pytest.importorskip("qkv.families.bert.product")
    from qkv.text.wordpiece import WordPieceTokenizer  # type: ignore[import-not-found,unused-ignore]

    pieces = WordPieceTokenizer.learn(digit_lines(200), 120)
    encoder = models.EncoderConfig(
        vocab_size=len(pieces), max_length=64, pad=pieces.pad, segments=2, stack=STACK
    )
    config = models.BertConfig(encoder=encoder, pooler=True, words=True, next_sentence=True)
    pipeline.Bert(disturbed(models.Bert(config)), pieces, pipeline.BertDefaults(max_length=60)).save(folder)
    return "one two [MASK] four"


def save_vit(folder: Path) -> str:
    models = pytest.importorskip("qkv.families.vit.model", reason="there is no ViT yet")
    pipeline = pytest.importorskip("qkv.families.vit.product")
    image = pytest.importorskip("PIL.Image")
    config = models.VitConfig(height=8, width=12, channels=1, patch=4, classes=3, stack=STACK)
    defaults = pipeline.ClassifierDefaults(classes=("circle", "square", "line"), colours="grey")
    pipeline.ImageClassifier(disturbed(models.Vit(config)), defaults).save(folder)
    path = folder.parent / "picture.png"
    image.fromarray(np.arange(96, dtype=np.uint8).reshape(8, 12) * 2).save(path)
    return str(path)


SAVED = {"gpt": save_gpt, "bert": save_bert, "vit": save_vit}
