"""Tiny language models that several tests use."""

from dataclasses import replace
from pathlib import Path

import torch

from qkv.core.stack_config import StackConfig
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.gpt.product import LanguageModel, LanguageModelDefaults, TokenType
from qkv.text.characters import CharacterTokenizer
from qkv.text.notes import Notes
from qkv.text.tokenizer import Tokenizer

TEXT = "the cat danced – the dog sang.\n" * 12
STACK = StackConfig(depth=1, width=12, heads=2, ffn_width=16, norm="pre", activation="gelu", dropout=0.0)


def untrained(pieces: TokenType, max_length: int = 9) -> LanguageModel:
    """Untrained, but deterministic."""
    tokenizers = {
        "subwords": lambda: Tokenizer.learn([TEXT], 300, sentences=False),
        "characters": lambda: CharacterTokenizer.of([TEXT]),
        "notes": Notes.all,
    }
    tokenizer = tokenizers[pieces]()
    torch.manual_seed(4)
    config = GPTConfig(
        vocab_size=len(tokenizer),
        max_length=max_length,
        end=tokenizer.end,
        positions="rotary",
        stack=replace(STACK),
    )
    model = GPT(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return LanguageModel(model.eval(), tokenizer, LanguageModelDefaults(token_type=pieces))


def counting_text(lines: int) -> str:
    """Lines that count, in words: easily learned."""
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return "".join(" ".join(words[(n + k) % 10] for k in range(6)) + "\n" for n in range(lines))


def save_text(path: Path, lines: int = 60) -> Path:
    path.write_text(counting_text(lines), encoding="utf-8")
    return path
