"""The systems of the benchmark of encoding: ids of sentences in, a normalised vector for each out."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from qkv.families.bert.encoding import Row, encode_rows, normalize
from qkv.families.bert.product import Bert
from qkv.hub.importing import open_published
from qkv.runtime.running import ComputeType, Running

Vectors = NDArray[np.float32]


class System(Protocol):
    name: str

    def __call__(self, rows: Sequence[list[int]]) -> Vectors: ...


class Ours:
    def __init__(self, name: str, published: Path, compute: ComputeType):
        model = open_published(published)
        assert isinstance(model, Bert)
        self.name, self.model = name, model._running(Running(compute_type=compute))

    def __call__(self, rows: Sequence[list[int]]) -> Vectors:
        vectors = encode_rows(self.model._runner.texts, [Row(row, [0] * len(row)) for row in rows], "mean")
        return normalize(vectors)


class BertModelSystem:
    def __init__(self, published: Path):
        from transformers import BertModel

        self.name, self.model = "BertModel", BertModel.from_pretrained(published).eval()

    @torch.inference_mode()
    def __call__(self, rows: Sequence[list[int]]) -> Vectors:
        ids, mask = (torch.from_numpy(each) for each in padded(rows))
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        real = mask[..., None]
        found: Vectors = F.normalize((states * real).sum(1) / real.sum(1), dim=-1).numpy()
        return found


class OnnxSystem:
    def __init__(self, name: str, published: Path, folder: Path, *, int8: bool):
        import onnxruntime

        self.name = name
        graph = folder / "fused.onnx"
        if not graph.exists():
            export(published, folder / "plain.onnx")
            fuse(folder / "plain.onnx", graph, published)
        if int8:
            graph = quantised(graph, folder / "int8.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def __call__(self, rows: Sequence[list[int]]) -> Vectors:
        ids, mask = padded(rows)
        [states] = self.session.run(None, {"ids": ids, "mask": mask, "segments": np.zeros_like(ids)})
        means = (states * mask[..., None]).sum(1, dtype=np.float32) / mask.sum(1, dtype=np.float32)[:, None]
        found: Vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
        return found


def padded(rows: Sequence[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids filled up to the longest, and which are real."""
    width = max(map(len, rows))
    ids, mask = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = row, 1
    return ids, mask


class States(torch.nn.Module):
    """What is exported: ids, mask and segments in, states out."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        answer = self.model(input_ids=ids, attention_mask=mask, token_type_ids=segments)
        states: torch.Tensor = answer.last_hidden_state
        return states


def export(published: Path, to: Path) -> None:
    from transformers import BertModel

    model = BertModel.from_pretrained(published, attn_implementation="eager").eval()
    ids = torch.ones(2, 7, dtype=torch.long)
    names = ["ids", "mask", "segments"]
    torch.onnx.export(
        States(model),
        (ids, ids, ids * 0),
        str(to),
        input_names=names,
        output_names=["states"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in [*names, "states"]},
        opset_version=17,
        dynamo=False,
    )


def fuse(plain: Path, to: Path, published: Path) -> None:
    """With onnxruntime's own operators for a BERT's attention, norms and activations."""
    import json

    from onnxruntime.transformers import optimizer

    logging.getLogger("onnxruntime.transformers").setLevel(logging.ERROR)
    config = json.loads((published / "config.json").read_text())
    heads, width = config["num_attention_heads"], config["hidden_size"]
    optimizer.optimize_model(
        str(plain), model_type="bert", num_heads=heads, hidden_size=width
    ).save_model_to_file(str(to))


def quantised(graph: Path, to: Path) -> Path:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(
        graph,
        to,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,  # sums of products of bytes overflow on processors without VNNI otherwise
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )
    return to


def vectors_of(system: System, rows: Sequence[list[int]]) -> Vectors:
    return np.concatenate([system(rows[start : start + 8]) for start in range(0, len(rows), 8)])
