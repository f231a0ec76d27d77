"""A model and files that the tests of several commands use."""

from pathlib import Path

import pytest
import torch
from commands import digit_lines

from qkv.core.block import StackConfig
from qkv.models.translator import Translator as TranslatorModel
from qkv.models.translator import TranslatorConfig
from qkv.pipeline import Languages, Translator, TranslatorDefaults
from qkv.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model: it says nonsense, but always the same for the same line."""
    torch.manual_seed(2)
    tokenizer = Tokenizer.learn(digit_lines(50), 290)
    stack = StackConfig(depth=1, width=12, heads=2, hidden=16, norm="pre", activation="relu", dropout=0.0)
    config = TranslatorConfig(
        vocab=len(tokenizer),
        context=40,
        pad=0,
        start=1,
        end=2,
        positions="halves",
        encoder=stack,
        decoder=stack,
    )
    languages = Languages(source="en", target="xx")
    defaults = TranslatorDefaults(languages=languages, longest=30, beam=1, length_penalty=1.0)
    folder = tmp_path_factory.mktemp("models") / "untrained"
    Translator(TranslatorModel(config), tokenizer, defaults).save(folder)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with good files and bad ones."""
    lines = "\n".join(digit_lines(60)) + "\n"
    (tmp_path / "a.en").write_text(lines)
    (tmp_path / "a.xx").write_text(lines)
    (tmp_path / "shorter.xx").write_text("one\ntwo\n")
    (tmp_path / "empty.xx").write_text("")
    (tmp_path / "latin1.xx").write_bytes("Größe\n".encode("latin1"))
    return tmp_path
