"""A translator is the same wherever it goes: what the script of the round trip compares, on a model with random weights."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from published import mixed_lines, shaken

from qkv import load
from qkv.core.stack_config import StackConfig
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.text.tokenizer import Tokenizer

pytest.importorskip("ctranslate2")
SPECIFICATION = importlib.util.spec_from_file_location(
    "round_trip", Path(__file__).parents[2] / "benchmarks" / "round_trip.py"
)
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
round_trip: Any = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(round_trip)


def saved(folder: Path, positions: Any) -> Path:
    tokens = Tokenizer.learn(mixed_lines(100, 3), 330)
    stack = StackConfig(depth=1, width=24, heads=3, ffn_width=16, norm="post", activation="relu", dropout=0.1)
    config = TranslatorConfig(
        vocab_size=len(tokens), max_length=60, pad=0, start=1, end=2, positions=positions, encoder=stack, decoder=stack
    )  # fmt: skip
    defaults = TranslatorDefaults(
        languages=Languages.of("en", "de"), max_source_length=50, beam_size=3, length_penalty=1.0
    )
    Translator(shaken(TranslatorModel(config), scale=0.6), tokens, defaults).save(folder)
    return folder


def test_every_system_gives_the_same_output_and_rounds_int8_the_same_way(tmp_path: Path) -> None:
    found = round_trip.translations(saved(tmp_path / "model", "interleaved"), mixed_lines(12, 4), tmp_path)
    ours = found["qkv"]
    assert all(ours)
    for station in ("CTranslate2, float32", "transformers", "qkv, imported back"):
        assert found[station] == ours, station
    rounded = found["CTranslate2, int8"]
    assert rounded == found["CTranslate2, the float32 folder opened in int8"]


def test_rotary_positions_go_to_ctranslate2_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = saved(tmp_path / "model", "rotary")
    found = round_trip.translations(model, mixed_lines(4, 4), tmp_path)
    assert "no translator in transformers has rotary positions" in capsys.readouterr().err
    assert found["CTranslate2, float32"] == found["qkv"]
    assert "transformers" not in found
    assert load(model).model.config.positions == "rotary"
