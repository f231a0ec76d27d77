"""A BERT that says nonsense, but always the same, and a classifier of the same sizes."""

import torch

from qkv.core.stack_config import StackConfig
from qkv.families.bert.classifier import TextClassifier, TextClassifierDefaults
from qkv.families.bert.config import BertClassifierConfig, BertConfig, EncoderConfig
from qkv.families.bert.model import Bert as BertModel
from qkv.families.bert.model import BertClassifier
from qkv.families.bert.product import Bert, BertDefaults
from qkv.text.wordpiece import WordPieceTokenizer

TEXTS = [
    "The cat sat on the mat. It slept there for hours, and nobody cared.",
    "A dog barked at the cat! Why did it bark?",
    "He is reading a book on the mat, and the dog sleeps.",
] * 4
CONTEXT = 24


def pieces() -> WordPieceTokenizer:
    return WordPieceTokenizer.learn(TEXTS, 120)


def encoder_config(vocab: int) -> EncoderConfig:
    stack = StackConfig(
        depth=2, width=20, heads=2, ffn_width=36, norm="post", activation="gelu", dropout=0.1, norm_eps=1e-12
    )
    return EncoderConfig(vocab_size=vocab, max_length=CONTEXT, pad=0, segments=2, stack=stack)


def spread_out(model: torch.nn.Module, seed: int) -> None:
    """Weights large enough that texts differ."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            around = 1.0 if name.endswith("norm.weight") else 0.0
            parameter.copy_(around + torch.randn_like(parameter) * 0.3)


def tiny_bert(**heads: bool) -> Bert:
    words = pieces()
    model = BertModel(BertConfig(encoder=encoder_config(len(words)), **heads)).eval()
    spread_out(model, 5)
    return Bert(model, words, BertDefaults(max_length=CONTEXT))


def tiny_classifier(
    classes: tuple[str, ...] = ("bad", "fine", "good"), *, pairs: bool = False
) -> TextClassifier:
    words = pieces()
    config = BertClassifierConfig(
        encoder=encoder_config(len(words)), outputs=len(classes) or 1, numbers=not classes
    )
    model = BertClassifier(config).eval()
    spread_out(model, 6)
    defaults = TextClassifierDefaults(
        max_length=CONTEXT, classes=classes, pairs=pairs, mean=2.5, deviation=1.5
    )
    return TextClassifier(model, words, defaults)
