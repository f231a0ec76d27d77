"""Arrays and traces as JSON, for the page."""

import base64
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from qkv.configs import to_dict
from qkv.errors import QkvError
from qkv.explorer.recompute import Check
from qkv.tracing.trace import Trace

Precision = Literal["float16", "float32"]
NAMED = re.compile(r"(?P<weights>weights/)?(?P<name>[\w.]+)(?:\[(?P<row>\d{1,7})\])?")
MOST_NUMBERS = 8_000_000  # in one response


def pack(array: Any, precision: Precision) -> dict[str, Any]:
    """Its shape, and its numbers in little-endian bytes as base64."""
    numbers = np.ascontiguousarray(array, dtype="<f2" if precision == "float16" else "<f4")
    return {
        "shape": list(numbers.shape),
        "dtype": precision,
        "data": base64.b64encode(numbers.tobytes()).decode("ascii"),
    }


def attention_names(trace: Trace) -> list[str]:
    return [name for name in trace.arrays if name.endswith(".weights")]


def tensors(trace: Trace, names: Sequence[str], precision: Precision) -> dict[str, Any]:
    """Recorded arrays by their names, weights of the model as `weights/NAME`, and rows of either as `NAME[3]`."""
    found, numbers = {}, 0
    for name in names:
        array = array_of(trace, name)
        numbers += array.size
        if numbers > MOST_NUMBERS:
            raise QkvError(
                f"these arrays have more than {MOST_NUMBERS:,} values: request fewer, or single rows."
            )
        found[name] = pack(array, precision)
    return found


def array_of(trace: Trace, name: str) -> Any:
    parsed = NAMED.fullmatch(name)
    source: Any = trace.arrays if parsed is None or not parsed["weights"] else trace.weights
    if parsed is None or parsed["name"] not in source:
        raise QkvError(f"this trace has no array named '{name[:80]}'.")
    array = source[parsed["name"]]
    if parsed["weights"]:
        array = array.detach().float().cpu().numpy()
    if parsed["row"] is not None:
        if int(parsed["row"]) >= len(array):
            raise QkvError(f"'{name[:80]}' is out of range: the array has {len(array):,} rows.")
        array = array[int(parsed["row"])]
    return array


def final_output(trace: Trace) -> str:
    """What the model's own method gives, also if it tried again after the traced attempt."""
    return trace.output if trace.translation is None else trace.translation


def summary(trace: Trace, check: Check) -> dict[str, Any]:
    """Everything but the large arrays; attention is included."""
    return {
        "kind": trace.kind,
        "text": trace.text,
        "output": final_output(trace),
        "config": trace.config,
        "sides": [to_dict(each) for each in trace.sides],
        "names": {name: list(array.shape) for name, array in trace.arrays.items()},
        "attention": tensors(trace, attention_names(trace), "float16"),
        "choices": [
            {
                "row": choice.row,
                "chosen": choice.chosen,
                "total": choice.total,
                "candidates": [
                    {"id": c.id, "text": c.text, "logit": c.logit, "log_probability": c.log_probability}
                    for c in choice.candidates
                ],
            }
            for choice in trace.choices
        ],
        "output_weight": trace.output_weight,
        "output_bias": trace.output_bias,
        "picture": None if trace.picture is None else pack(trace.picture, "float16"),
        "beams": None if trace.beams is None else beams_of(trace),
        "check": {
            "arrays": check.arrays,
            "numbers": check.numbers,
            "largest": check.largest,
            "where": check.where,
        },
    }


def beams_of(trace: Trace) -> dict[str, Any]:
    beams = trace.beams
    assert beams is not None
    return {
        "width": beams.width,
        "length_penalty": beams.length_penalty,
        "hypotheses": [
            {
                "text": text,
                "score": each.score,
                "log_probability": sum(each.log_probabilities),
                "divisor": divisor,
                "tokens": len(each.log_probabilities),
                "finished": each.finished,
            }
            for text, each, divisor in beams.hypotheses
        ],
        "pruned": [
            {"text": text, "step": pruned.step, "total": pruned.prefix.total, "best": pruned.prefix.best, "kept": pruned.kept}
            for text, pruned in beams.pruned
        ],
        "rounds": [[{"text": text, "total": total} for text, total in alive] for alive in beams.rounds],
    }  # fmt: skip
