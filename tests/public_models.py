"""A tiny model of every class, in the folders that the examples of docstrings and docs use."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from digits import digit_lines
from PIL import Image

from qkv.core.stack_config import StackConfig
from qkv.families.bert.classifier import TextClassifier, TextClassifierDefaults
from qkv.families.bert.config import BertClassifierConfig, BertConfig, EncoderConfig
from qkv.families.bert.model import Bert as BertModel
from qkv.families.bert.model import BertClassifier
from qkv.families.bert.product import Bert, BertDefaults
from qkv.families.dalle.codebook import CodebookModel
from qkv.families.dalle.codes import Codebook
from qkv.families.dalle.config import CodebookConfig, DalleConfig
from qkv.families.dalle.model import Dalle
from qkv.families.dalle.product import ImageGenerator, ImageGeneratorDefaults
from qkv.families.gpt.classifier import ClassifierDefaults, GPTClassifier
from qkv.families.gpt.config import GPTConfig, TaskConfig
from qkv.families.gpt.model import GPT, GPTForTask
from qkv.families.gpt.product import LanguageModel, LanguageModelDefaults
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.families.vit.config import VitConfig
from qkv.families.vit.model import Vit
from qkv.families.vit.product import ClassifierDefaults as ImageDefaults
from qkv.families.vit.product import ImageClassifier
from qkv.text.tokenizer import Tokenizer
from qkv.text.wordpiece import WordPieceTokenizer

STACK = StackConfig(depth=2, width=24, heads=3, ffn_width=40, norm="pre", activation="gelu", dropout=0.0)
CAPTIONS = ["a red ring", "a blue ring", "a ring above a red square"]


def save_models(folder: Path) -> None:
    """All models in `folder/runs`, and an image for those that read images."""
    runs = folder / "runs"
    with torch.random.fork_rng():
        torch.manual_seed(1)
        save_translator(runs / "en-de")
        save_gpts(runs)
        save_berts(runs)
        save_shapes(runs / "shapes")
        save_painter(runs)
    Image.fromarray(np.arange(96, dtype=np.uint8).reshape(8, 12) * 2).save(folder / "picture.png")


def disturbed(model: Any) -> Any:
    """Weights so large that outputs differ."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model.eval()


def save_translator(folder: Path) -> None:
    tokenizer = Tokenizer.learn(digit_lines(50), 290)
    config = TranslatorConfig(
        vocab_size=len(tokenizer), max_length=60, pad=0, start=1, end=2, positions="halves", encoder=STACK, decoder=STACK
    )  # fmt: skip
    defaults = TranslatorDefaults(
        languages=Languages(source="en", target="de"), max_source_length=40, beam_size=2, length_penalty=1.0
    )
    Translator(disturbed(TranslatorModel(config)), tokenizer, defaults).save(folder)


def save_gpts(runs: Path) -> None:
    tokenizer = Tokenizer.learn(digit_lines(60), 330)
    config = GPTConfig(vocab_size=len(tokenizer), max_length=80, end=2, positions="learned", stack=STACK)
    defaults = LanguageModelDefaults(token_type="subwords")
    LanguageModel(disturbed(GPT(config)), tokenizer, defaults).save(runs / "gpt")
    task = disturbed(GPTForTask(TaskConfig(gpt=config, task="classes", classes=2)))
    reads = ClassifierDefaults(token_type="subwords", form="entailment", classes=("no", "yes"))
    GPTClassifier(task, tokenizer, reads).save(runs / "entailment")


def save_berts(runs: Path) -> None:
    pieces = WordPieceTokenizer.learn(digit_lines(200), 120)
    encoder = EncoderConfig(vocab_size=len(pieces), max_length=64, pad=pieces.pad, segments=2, stack=STACK)
    config = BertConfig(encoder=encoder, pooler=True, words=True, next_sentence=True)
    Bert(disturbed(BertModel(config)), pieces, BertDefaults(max_length=60)).save(runs / "bert")
    labels = disturbed(BertClassifier(BertClassifierConfig(encoder=encoder, outputs=2, numbers=False)))
    defaults = TextClassifierDefaults(max_length=60, classes=("bad", "good"), pairs=False)
    TextClassifier(labels, pieces, defaults).save(runs / "sentiment")


def save_shapes(folder: Path) -> None:
    config = VitConfig(height=8, width=12, channels=1, patch=4, classes=3, stack=STACK)
    defaults = ImageDefaults(classes=("circle", "square", "line"), colours="grey")
    ImageClassifier(disturbed(Vit(config)), defaults).save(folder)


def save_painter(runs: Path) -> None:
    codebook = CodebookConfig(
        side=8, channels=3, patch=4, width=8, depth=0, quantizer="lattice", levels=(4, 3)
    )
    codes = Codebook(disturbed(CodebookModel(codebook)))
    codes.save(runs / "codebook")
    tokenizer = Tokenizer.learn(CAPTIONS * 4, 300)
    config = DalleConfig(
        vocab_size=len(tokenizer), places=12, codes=12, grid=2, pad=0, start=1, end=2, stack=STACK
    )
    words = tuple(sorted({word for text in CAPTIONS for word in text.split()}))
    defaults = ImageGeneratorDefaults(words=words, temperature=1.0, top_p=1.0, guidance=2.0)
    ImageGenerator(disturbed(Dalle(config)), tokenizer, codes, defaults).save(runs / "scenes")


def large_gpt(folder: Path) -> None:
    """A language model of 40 MB in float32."""
    stack = StackConfig(
        depth=3, width=512, heads=8, ffn_width=2048, norm="pre", activation="gelu", dropout=0.0
    )
    tokenizer = Tokenizer.learn(digit_lines(60), 330)
    config = GPTConfig(vocab_size=len(tokenizer), max_length=64, end=2, positions="learned", stack=stack)
    defaults = LanguageModelDefaults(token_type="subwords")
    LanguageModel(GPT(config).eval(), tokenizer, defaults).save(folder)
