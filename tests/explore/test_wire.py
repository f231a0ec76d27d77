"""Numbers arrive as they were sent, and what is not there is refused."""

import base64

import numpy as np
import pytest
from explorable import random_translator

from qkv.errors import QkvError
from qkv.explorer.recompute import check
from qkv.explorer.wire import pack, summary, tensors
from qkv.families.tracing import trace
from qkv.tracing.trace import Trace


@pytest.fixture(scope="module")
def found() -> Trace:
    return trace(random_translator(), "one two")


def unpacked(sent: dict[str, object]) -> object:
    kind = {"float16": "<f2", "float32": "<f4"}[str(sent["dtype"])]
    return np.frombuffer(base64.b64decode(str(sent["data"])), kind).reshape(sent["shape"])  # type: ignore[call-overload]


def test_float32_is_exact_and_minus_infinity_survives_float16() -> None:
    array = np.array([[1.5, -2.25, 1 / 3], [0.0, -np.inf, 1e-7]], dtype=np.float32)
    assert (unpacked(pack(array, "float32")) == array).all()  # type: ignore[attr-defined]
    np.testing.assert_allclose(unpacked(pack(array, "float16")), array, rtol=1e-3, atol=1e-7)


def test_rows_and_weights_have_names(found: Trace) -> None:
    names = ("encoder.output", "encoder.output[1]", "weights/tokens.weight[7]")
    sent = tensors(found, names, "float32")
    assert (unpacked(sent[names[1]]) == found["encoder.output"][1]).all()  # type: ignore[attr-defined]
    assert (unpacked(sent[names[2]]) == found.weights["tokens.weight"][7].numpy()).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["encoder", "weights/nothing", "encoder.output[9999]", "../config", "encoder.output[-1]", ""]
)
def test_what_is_not_there_is_rejected(name: str, found: Trace) -> None:
    with pytest.raises(QkvError):
        tensors(found, [name], "float16")


def test_attention_is_in_the_summary_and_its_rows_add_up_to_one(found: Trace) -> None:
    told = summary(found, check(found))
    assert len(told["attention"]) == 2 + 3 + 3
    for sent in told["attention"].values():
        np.testing.assert_allclose(np.asarray(unpacked(sent), dtype=np.float64).sum(-1), 1, atol=4e-3)
