"""A translator exported to CTranslate2 gives the same output."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from qkv.core.pairs import TranslationStep
from qkv.core.stack_config import StackConfig
from qkv.decoding.greedy import greedy
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.ctranslate2 import save_translator
from qkv.families.translator.model import Translator

ctranslate2 = pytest.importorskip("ctranslate2")

STACK = StackConfig(depth=2, width=12, heads=3, ffn_width=13, norm="post", activation="relu", dropout=0.0)
CONFIG = TranslatorConfig(
    vocab_size=37,
    max_length=29,
    pad=0,
    start=1,
    end=2,
    positions="halves",
    encoder=STACK,
    decoder=replace(STACK, depth=3, ffn_width=17),
)
VARIANTS = {
    "post": CONFIG,
    "pre, learned": replace(
        CONFIG,
        positions="learned",
        encoder=replace(STACK, norm="pre", activation="gelu"),
        decoder=replace(CONFIG.decoder, norm="pre", activation="swish"),
    ),
}
PIECES = [f"p{number}" for number in range(37)]


def translator(config: TranslatorConfig) -> Translator:
    torch.manual_seed(1)
    model = Translator(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
def test_it_gives_the_same_output_there(config: TranslatorConfig, tmp_path: Path) -> None:
    model = translator(config)
    save_translator(model, PIECES, tmp_path / "folder")
    there = ctranslate2.Translator(str(tmp_path / "folder"), compute_type="float32", intra_threads=1)
    for source in ([3, 4, 5, 6, 7], [9, 10, 3], [5]):
        step = TranslationStep(model, torch.tensor([[*source, 2]]))
        [wanted] = greedy(step, torch.tensor([1]), 2, torch.tensor([12]))
        given = [[PIECES[token] for token in source]]
        [found] = there.translate_batch(given, beam_size=1, max_decoding_length=12, return_scores=True)
        assert found.hypotheses[0] == [PIECES[token] for token in wanted.ids]


def test_what_it_cannot_hold_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="every id needs its own name"):
        save_translator(translator(CONFIG), ["p"] * 37, tmp_path)
