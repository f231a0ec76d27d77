"""Without the compiled engine NumPy computes the same, and one warning says so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from drawings import untrained_classifier

import qkv
from qkv.core.stack_config import StackConfig
from qkv.engine.library import NoEngineError
from qkv.engine.reference.encoder import NumpyEncoder
from qkv.engine.reference.gpt import NumpyGPT
from qkv.engine.reference.vit import NumpyVit
from qkv.families.bert.config import EncoderConfig
from qkv.families.bert.model import Encoder
from qkv.families.bert.runner import open_encoder
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.gpt.runner import open_gpt
from qkv.families.vit.model import Vit
from qkv.runtime.running import EXACT, Running

STACK = StackConfig(depth=1, width=12, heads=2, ffn_width=16, norm="pre", activation="gelu", dropout=0.0)


def arrays(model: torch.nn.Module, prefix: str) -> dict[str, Any]:
    return {prefix + name: tensor.numpy() for name, tensor in model.state_dict().items()}


def opened_gpt(warn: Callable[[str], None]) -> Any:
    torch.manual_seed(1)
    config = GPTConfig(vocab_size=20, max_length=9, end=2, positions="learned", stack=STACK)
    return open_gpt(config, arrays(GPT(config), "gpt."), EXACT, warn, prefix="gpt.")


def opened_encoder(warn: Callable[[str], None]) -> Any:
    torch.manual_seed(1)
    config = EncoderConfig(vocab_size=20, max_length=9, pad=0, segments=1, stack=STACK)
    return open_encoder(config, arrays(Encoder(config), "encoder."), EXACT, warn)


def hide_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise NoEngineError("there is no compiler")

    for module in ("gpt", "texts"):
        monkeypatch.setattr(f"qkv.engine.{module}.library", missing)


@pytest.mark.parametrize(
    ("open_model", "kind", "compute"),
    [
        (opened_gpt, NumpyGPT, lambda model: model.logits([[3, 4, 5]])),
        (opened_encoder, NumpyEncoder, lambda model: model([3, 4, 5], [0, 0, 0], [2, 1])),
    ],
)
def test_without_the_engine_numpy_computes_the_same_and_warns_once(
    open_model: Any, kind: type, compute: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    with_engine = compute(open_model(warnings.append))
    hide_engine(monkeypatch)
    count = len(warnings)  # 0, or 1 on a machine without a compiler
    model = open_model(warnings.append)
    assert isinstance(model, kind)
    assert len(warnings) == count + 1
    assert "NumPy computes the same results more slowly: there is no compiler" in warnings[-1]
    np.testing.assert_allclose(compute(model), with_engine, atol=1e-5)


def test_models_that_the_engine_does_not_know_open_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings are errors in tests."""
    untrained_classifier().save(tmp_path)
    hide_engine(monkeypatch)
    opened = qkv.load(tmp_path)
    assert isinstance(opened._runner, NumpyVit)
    assert isinstance(opened.model, Vit)
    assert isinstance(qkv.load(tmp_path, engine="torch")._runner, Vit)


def test_a_saved_copy_has_the_weights_of_its_bundle(tmp_path: Path) -> None:
    untrained_classifier().save(tmp_path / "first")
    qkv.load(tmp_path / "first", Running(compute_type="int8")).save(tmp_path / "second")
    first, second = (tmp_path / name / "model.safetensors" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
