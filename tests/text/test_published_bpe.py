"""Tokenizers of published models: what precedes a text, and what separates a prompt from its continuation."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from language_models import STACK

from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.gpt.options import GenerationOptions
from qkv.families.gpt.product import LanguageModel, LanguageModelDefaults
from qkv.text.published_bpe import PublishedBPE
from qkv.text.tokenizer import BYTES

ENDS_WORDS = ["<unk>", "d", "o", "g", "d</w>", "o</w>", "g</w>", ".</w>"]


def published(folder: Path, *, byte_level: bool) -> PublishedBPE:
    pieces = [*BYTES, "<|endoftext|>"] if byte_level else ENDS_WORDS
    (folder / "vocab.json").write_text(json.dumps({piece: n for n, piece in enumerate(pieces)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    found = PublishedBPE.of_merges(folder / "vocab.json", folder / "merges.txt", byte_level=byte_level)
    found.end = len(pieces) - 1 if byte_level else 0
    return found


@pytest.mark.parametrize("byte_level", [True, False], ids=["gpt2", "gpt1"])
def test_the_start_of_a_text_is_the_end_token(byte_level: bool, tmp_path: Path) -> None:
    tokenizer = published(tmp_path, byte_level=byte_level)
    assert tokenizer.start == tokenizer.end


def test_a_continuation_begins_with_a_space_if_tokens_end_words(tmp_path: Path) -> None:
    tokenizer = published(tmp_path, byte_level=False)
    assert [tokenizer.separator_after(prompt) for prompt in ("dog", "dog ", "dog\n", "")] == [" ", "", "", ""]
    assert published(tmp_path, byte_level=True).separator_after("dog") == ""


def test_a_continuation_is_not_glued_to_its_prompt(tmp_path: Path) -> None:
    tokenizer = published(tmp_path, byte_level=False)
    torch.manual_seed(4)
    model = GPT(GPTConfig(vocab_size=8, max_length=9, end=0, positions="learned", stack=replace(STACK)))
    generator = LanguageModel(model, tokenizer, LanguageModelDefaults(token_type="published"))
    generation = GenerationOptions(max_new_tokens=9, temperature=1.0, seed=2)
    with_space = generator.generate("dog ", generation)
    assert with_space.strip()
    assert generator.generate("dog", generation) == f" {with_space}"
    stopped = replace(generation, stop=" ")
    assert generator.generate("dog", stopped).strip() == with_space.split(" ")[0]
