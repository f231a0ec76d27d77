"""Small models with every part that the explorer shows: random, but never undecided."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from digits import digit_lines

from qkv.checkpoint.tensors import write_tensors
from qkv.core.stack_config import StackConfig
from qkv.families.translator.config import RecurrentConfig, TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.families.translator.recurrent import Recurrent
from qkv.text.tokenizer import Tokenizer

SENTENCE = "one two three seven nine"
STEPS = (8, 64)


def random_translator(
    norm: str = "pre",
    positions: str = "interleaved",
    activation: str = "relu",
    beam: int = 1,
    languages: Sequence[str] = ("en", "xx"),
    seed: int = 3,
    cell: str = "attention",
) -> Translator:
    """Two encoder blocks, three decoder blocks, three heads of width 8; weights so large that attention has its favourites."""
    torch.manual_seed(seed)
    tokenizer = Tokenizer.learn([*digit_lines(60), "<img onerror> x = (1) "], 340)
    stack = StackConfig(
        depth=2, width=24, heads=3, ffn_width=40, norm=norm, activation=activation, dropout=0.0
    )  # type: ignore[arg-type]
    config = TranslatorConfig(
        vocab_size=len(tokenizer),
        max_length=128,
        pad=0,
        start=1,
        end=2,
        positions=positions,  # type: ignore[arg-type]
        encoder=stack,
        decoder=replace(stack, depth=3),
        decoder_cell=cell,  # type: ignore[arg-type]
    )
    return decided(TranslatorModel(config), tokenizer, beam, languages)


def random_recurrent(
    heads: int = 3, beam: int = 1, languages: Sequence[str] = ("en", "xx"), seed: int = 3
) -> Translator:
    """Two LSTMs read, three speak, of which the first one looks; its attention has heads of width 4."""
    torch.manual_seed(seed)
    tokenizer = Tokenizer.learn(digit_lines(60), 340)
    config = RecurrentConfig(
        vocab_size=len(tokenizer),
        max_length=128,
        pad=0,
        start=1,
        end=2,
        width=10,
        hidden=12,
        encoder_depth=2,
        decoder_depth=3,
        heads=heads,
        dropout=0.0,
    )
    return decided(Recurrent(config), tokenizer, beam, languages)


def decided(model: Any, tokenizer: Tokenizer, beam: int, languages: Sequence[str]) -> Translator:
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "tokens" not in name:
                weight.mul_(2.0)
            elif weight.dim() == 1:
                weight.add_(0.1 * torch.randn_like(weight))
    source, target = languages
    defaults = TranslatorDefaults(
        languages=Languages(source=source, target=target),
        max_source_length=64,
        beam_size=beam,
        length_penalty=0.6 if beam > 1 else 0.0,
    )
    return Translator(model.eval(), tokenizer, defaults)


def save_explorable(folder: Path, made: Any = random_translator, **options: Any) -> Translator:
    """A bundle with two checkpoints of its training."""
    translator: Translator = made(**options)
    translator.save(folder)
    for number, step in enumerate(STEPS):
        earlier = made(**{**options, "seed": 20 + number})
        kind = folder / "training" / ("milestones" if number == 0 else "snapshots")
        kind.mkdir(parents=True, exist_ok=True)
        write_tensors(kind / f"step-{step}.safetensors", earlier.model.state_dict())
    return translator
