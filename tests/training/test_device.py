"""The device, and narrow number formats: chosen where they are faster, never against a setting, and recorded."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from digit_runs import Recorder, digit_corpus, hashes, send, tiny_settings
from digit_runs import train as train_digits

from qkv.checkpoint.files import read_json
from qkv.engine.int16 import Int16
from qkv.engine.library import NoEngineError
from qkv.errors import OptionError, QkvError
from qkv.families.translator.settings import TranslatorSettings
from qkv.families.translator.task import translator_task
from qkv.training.device import choose_device, int16_products, kinds_for, multiplies_bf16, with_precision
from qkv.training.distributed import SingleProcess
from qkv.training.runs import train

CPU = torch.device("cpu")


def settings_of(width: int, precision: str) -> TranslatorSettings:
    settings = tiny_settings(precision=precision)
    return replace(settings, model=replace(settings.model, width=width))


BF16 = {"avx512_bf16": True}
NO_BF16 = {"avx512_bf16": False, "amx_bf16": False}


@pytest.mark.parametrize(
    ("width", "features", "int16_pays", "threads", "wanted", "given"),
    [
        (512, BF16, True, 1, "auto", "int16"),
        (512, BF16, True, 2, "auto", "bf16"),
        (512, BF16, False, 1, "auto", "bf16"),
        (1024, {"amx_bf16": True}, False, 4, "auto", "bf16"),
        (1024, {"avx512_bf16": True, "amx_bf16": True}, True, 1, "auto", "bf16"),
        (128, {"amx_bf16": True}, True, 1, "auto", "int16"),
        (512, NO_BF16, False, 1, "auto", "float32"),
        (512, NO_BF16, True, 1, "auto", "int16"),
        (512, NO_BF16, True, 2, "auto", "float32"),
        (512, {}, False, 1, "auto", "float32"),
        (128, BF16, False, 1, "auto", "float32"),
        (128, BF16, True, 1, "auto", "int16"),
        (64, NO_BF16, True, 1, "auto", "float32"),
        (512, BF16, True, 1, "float32", "float32"),
        (128, {}, False, 1, "bf16", "bf16"),
        (16, BF16, False, 2, "int16", "int16"),
    ],
)
def test_they_are_chosen_for_models_wide_enough_on_processors_that_gain_by_them(
    width: int,
    features: dict[str, bool],
    int16_pays: bool,
    threads: int,
    wanted: str,
    given: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features, raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr("qkv.training.device.int16_pays", lambda: int16_pays)
    assert with_precision(settings_of(width, wanted), width, CPU).training.precision == given


def test_a_device_that_is_not_known_to_have_it_gets_float32() -> None:
    assert not multiplies_bf16(torch.device("mps"))


def test_a_run_writes_down_what_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, corpus = tmp_path / "run", digit_corpus()
    monkeypatch.setattr("qkv.training.device.WIDE_FOR_BF16", 1)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    settings = tiny_settings(precision="auto")
    outcome = train(translator_task(corpus, settings), out, watch=lambda _: Recorder())
    assert outcome.report is not None
    assert outcome.report["settings"]["training"]["precision"] == "bf16"
    assert read_json(out / "training" / "run.json")["settings"]["training"]["precision"] == "bf16"


class Disagreeing(SingleProcess):
    """Two processes, of which the other one has none of it."""

    size = 2


def test_all_processes_must_gain_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: BF16, raising=False)
    monkeypatch.setattr("qkv.training.device.multiplies_int16", lambda device: True)
    decided = with_precision(settings_of(512, "auto"), 512, CPU, Disagreeing())
    assert decided.training.precision == "float32"


def without_products() -> Int16:
    raise NoEngineError("there is no C++ compiler")


def test_int16_that_is_not_available_is_an_error_before_the_run_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.training.device.Int16", without_products)
    with pytest.raises(
        QkvError, match=r"int16 is not available here: there is no C\+\+ compiler\. Choose float32"
    ):
        train_digits(tmp_path / "run", tiny_settings(precision="int16"))
    assert not (tmp_path / "run").exists()


def test_int16_is_for_a_cpu() -> None:
    with pytest.raises(QkvError, match="int16 needs a CPU, and this is"):
        int16_products(torch.device("meta"))


@pytest.mark.usefixtures("int16")
def test_an_int16_run_resumes_in_float32_if_int16_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, out = tiny_settings(precision="int16"), tmp_path / "run"
    train_digits(out, settings, recorder=Recorder(at=9, action=send(signal.SIGTERM)))
    monkeypatch.setattr("qkv.training.device.Int16", without_products)
    outcome, recorder = train_digits(out, settings, resume=True)
    assert outcome.report is not None
    assert outcome.report["training"]["steps"] == 20
    assert any("products int16, now float32" in sentence for sentence in recorder.warnings)


@pytest.mark.usefixtures("int16")
def test_a_run_in_int16_learns_as_in_float32_and_ends_the_same_when_it_was_interrupted(
    tmp_path: Path,
) -> None:
    in_float, in_int16 = (tiny_settings(precision=precision) for precision in ("float32", "int16"))
    _, expected = train_digits(tmp_path / "float", in_float)
    _, found = train_digits(tmp_path / "whole", in_int16)
    assert found.losses != expected.losses
    assert found.losses == pytest.approx(expected.losses, rel=5e-3)
    train_digits(tmp_path / "halves", in_int16, recorder=Recorder(at=9, action=send(signal.SIGTERM)))
    train_digits(tmp_path / "halves", in_int16, resume=True)
    assert hashes(tmp_path / "halves", 20) == hashes(tmp_path / "whole", 20)


def test_an_unsupported_precision_is_rejected_and_lstms_prefer_bf16(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(QkvError, match=r"int16 does not suit this model\. Choose bf16, or float32"):
        with_precision(settings_of(512, "int16"), 512, CPU, of=("bf16",))
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: BF16, raising=False)
    monkeypatch.setattr("qkv.training.device.multiplies_int16", lambda device: True)
    chosen = [
        with_precision(settings_of(width, "auto"), width, CPU, of=kinds_for(recurrent)).training.precision
        for width, recurrent in ((512, True), (512, False), (128, True))
    ]
    assert chosen == ["bf16", "int16", "int16"]


def test_a_device_that_the_machine_lacks_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device(tiny_settings(device="auto").training) == torch.device("cpu")
    with pytest.raises(OptionError, match="device cuda is not available: torch does not find it"):
        choose_device(tiny_settings(device="cuda").training)
