"""Translators with random weights: guarantees must hold for them too."""

import torch

from qkv.core.stack_config import StackConfig
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.text.tokenizer import Tokenizer

LINES = ["the cat danced", "my friends like tomatoes", "Tom and Mary are in Boston", "die Katze tanzte"]
TOKENIZER = Tokenizer.learn(LINES * 4, 330)


def knows_nothing(*stand_ins: str) -> Translator:
    torch.manual_seed(5)
    stack = StackConfig(depth=2, width=12, heads=3, ffn_width=20, norm="pre", activation="relu", dropout=0.1)
    config = TranslatorConfig(
        vocab_size=len(TOKENIZER),
        max_length=120,
        pad=0,
        start=1,
        end=2,
        positions="halves",
        encoder=stack,
        decoder=stack,
    )
    model = TranslatorModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter *= 2
    return Translator(
        model,
        TOKENIZER,
        TranslatorDefaults(
            languages=Languages(source="en", target="de"),
            max_source_length=60,
            beam_size=2,
            length_penalty=1.0,
            stand_ins=stand_ins,
        ),
    )


WITHOUT, WITH = knows_nothing(), knows_nothing("Tom", "Mary", "Boston")
