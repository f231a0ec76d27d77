"""What a step computes does not depend on its parts, nor ask a device for a number on the way."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from digit_runs import Recorder, digit_corpus, tiny_settings
from torch import Tensor

from qkv.families.translator.architectures import build
from qkv.families.translator.corpus import PairData
from qkv.families.translator.settings import TranslatorSettings
from qkv.families.translator.task import architecture
from qkv.text.tokenizer import Tokenizer
from qkv.training.distributed import SingleProcess
from qkv.training.loop import Run
from qkv.training.position import Plan
from qkv.training.spread import Part, Shared

CORPUS = digit_corpus()
TOKENIZER = Tokenizer.learn([*CORPUS.train.source, *CORPUS.train.target], 290)


def settings_of(**training: Any) -> TranslatorSettings:
    settings = tiny_settings(**training)
    return replace(settings, model=replace(settings.model, dropout=0.0))


def spread_of(settings: TranslatorSettings, device: str = "cpu") -> Shared:
    torch.manual_seed(1)
    model = build(architecture(settings.model, len(TOKENIZER), TOKENIZER))
    return Shared(model.to(device), SingleProcess(), settings.training)


def gradients_of(spread: Shared) -> Tensor:
    return torch.cat([share.gradients for share in spread.shares])


def run_of(spread: Shared, settings: TranslatorSettings, folder: Path) -> Run:
    data = PairData(CORPUS.train, TOKENIZER, 128, 64, shuffled=True)
    plan = Plan(settings=settings.training, seed=1, steps=1, minutes=None, folder=folder)
    return Run(spread, data, data, plan, lambda *_: None, watch=Recorder(), group=SingleProcess())


def parts_of(spread: Shared, settings: TranslatorSettings, folder: Path) -> list[Part]:
    run = run_of(spread, settings, folder)
    return run.parts_of(list(run.train.epoch(1)[0]))


@pytest.mark.parametrize("parts", [2, 5, 1_000])
def test_a_batch_in_parts_has_the_gradients_of_the_whole(parts: int, tmp_path: Path) -> None:
    found = []
    for settings in (settings_of(), settings_of(gradient_accumulation_steps=parts)):
        spread = spread_of(settings)
        given = parts_of(spread, settings, tmp_path)
        assert sum(share for _, share in given) == pytest.approx(1.0)
        found.append((len(given), spread.backward(given), gradients_of(spread)))
    (one, loss, gradients), (several, loss_in_parts, gradients_in_parts) = found
    assert one == 1
    assert 2 <= several <= parts
    torch.testing.assert_close(loss_in_parts, loss)
    torch.testing.assert_close(gradients_in_parts, gradients, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("precision", "near"), [("bf16", 0.05), ("int16", 0.02)])
def test_mixed_precision_gradients_are_close_and_weights_stay_float32(
    precision: str, near: float, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if precision == "int16":
        request.getfixturevalue("int16")
    found = []
    for settings in (settings_of(), settings_of(precision=precision)):
        spread = spread_of(settings)
        loss = spread.backward(parts_of(spread, settings, tmp_path))
        assert {parameter.dtype for parameter in spread.model.parameters()} == {torch.float32}
        found.append((loss, gradients_of(spread)))
    (loss, gradients), (narrow_loss, narrow_gradients) = found
    assert narrow_loss != loss
    assert narrow_loss == pytest.approx(loss.item(), rel=near / 5)
    assert (narrow_gradients - gradients).norm() < near * gradients.norm()


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_step_never_synchronizes_with_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimiser: str
) -> None:
    """Tensors of the device "meta" have no numbers: whoever asks for one gets an error."""
    settings = settings_of(gradient_accumulation_steps=2, optimizer=optimiser, weight_decay=0.1)
    run = run_of(spread_of(settings, "meta"), settings, tmp_path)
    monkeypatch.setattr(
        run.optimizer.adamw.fused, "step", lambda: None
    )  # torch's fused kernel knows no such device
    done = run.one_step(list(run.train.epoch(1)[0]))
    assert run.position.step == 1
    assert done.finite.device.type == "meta"
    with pytest.raises(RuntimeError):
        bool(done.finite)
