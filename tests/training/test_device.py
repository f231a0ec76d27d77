"""Products in bf16 are chosen where they pay, never against the person's word, and a run writes down what was chosen."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from digit_runs import Recorder, digit_corpus, tiny_settings

from qkv.checkpoint.files import read_json
from qkv.training.device import multiplies_bf16, with_precision
from qkv.training.settings import TranslatorSettings
from qkv.training.translator import train_translator

CPU = torch.device("cpu")


def settings_of(width: int, precision: str) -> TranslatorSettings:
    settings = tiny_settings(precision=precision)
    return replace(settings, model=replace(settings.model, width=width))


@pytest.mark.parametrize(
    ("width", "features", "wanted", "given"),
    [
        (512, {"avx512_bf16": True}, "auto", "bf16"),
        (1024, {"amx_bf16": True}, "auto", "bf16"),
        (512, {"avx512_bf16": False, "amx_bf16": False}, "auto", "float32"),
        (512, {}, "auto", "float32"),
        (128, {"avx512_bf16": True}, "auto", "float32"),
        (512, {"avx512_bf16": True}, "float32", "float32"),
        (128, {}, "bf16", "bf16"),
    ],
)
def test_it_is_chosen_for_wide_models_on_processors_that_have_it(
    width: int, features: dict[str, bool], wanted: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features, raising=False)
    assert with_precision(settings_of(width, wanted), width, CPU).training.precision == given


def test_a_device_that_is_not_known_to_have_it_gets_float32() -> None:
    assert not multiplies_bf16(torch.device("mps"))


def test_a_run_writes_down_what_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, corpus = tmp_path / "run", digit_corpus()
    monkeypatch.setattr("qkv.training.device.WIDE", 1)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    settings = tiny_settings(precision="auto")
    outcome = train_translator(corpus, settings, out, watch=lambda _: Recorder())
    assert outcome.report is not None
    assert outcome.report["settings"]["training"]["precision"] == "bf16"
    assert read_json(out / "training" / "run.json")["settings"]["training"]["precision"] == "bf16"
