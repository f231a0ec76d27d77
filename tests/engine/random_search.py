"""Search with a random model on a given library, on any platform: needs only NumPy.

    python tests/engine/random_search.py LIBRARY [LEVEL]

Prints one JSON object for each number format. Emulated and foreign machines must print the same ids, and nearly the same
scores.
"""

import ctypes
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).parents[2]
WIDTH, HEADS, HEAD, HIDDEN, VOCAB, DEPTH, CONTEXT = 48, 3, 16, 80, 300, 2, 24
SENTENCES, LIMIT = 5, 16


def structures() -> ModuleType:
    """qkv.engine.library without the rest of the package, which needs more than NumPy."""
    sys.path.insert(0, str(ROOT))
    if "qkv.engine" not in sys.modules:
        package = ModuleType("qkv.engine")
        package.__path__ = [str(ROOT / "qkv" / "engine")]
        sys.modules["qkv.engine"] = package
    return importlib.import_module("qkv.engine.library")


class RandomModel:
    """A translator with random weights in the layout of packing.py."""

    def __init__(self, built: ModuleType, *, int8: bool):
        self.built, self.int8 = built, int8
        self.random, self.kept = np.random.default_rng(0), list[object]()
        self.struct = built.ModelStruct(
            encoder=self.stack(cross=False), decoder=self.stack(cross=True), tokens=self.floats(VOCAB, WIDTH),
            output=self.linear(WIDTH, -(-VOCAB // 16) * 16), vocab=VOCAB, rounded=int8, token_scale=1.0,
        )  # fmt: skip

    def keep(self, array: np.ndarray) -> int:
        self.kept.append(array)
        return array.ctypes.data

    def floats(self, *shape: int, scale: float = 1.0, plus: float = 0.0) -> int:
        return self.keep((self.random.standard_normal(shape) * scale + plus).astype(np.float32))

    def linear(self, inputs: int, outputs: int) -> ctypes.Structure:
        whole = self.random.integers(-30, 31, (outputs // 16, inputs // 4, 16, 4), dtype=np.int8)
        scale = np.full(outputs, 0.08 / inputs**0.5, np.float32)
        bias = self.floats(outputs, scale=0.1)
        if self.int8:
            sums = (whole.sum((1, 3), dtype=np.int64).reshape(outputs) * scale).astype(np.float32)
            return self.built.LinearStruct(
                weight=self.keep(whole), scale=self.keep(scale), sum=self.keep(sums), bias=bias, inputs=inputs, outputs=outputs
            )  # fmt: skip
        weight = np.ascontiguousarray(
            whole.transpose(0, 1, 3, 2).reshape(outputs // 16, inputs, 16) * scale[0]
        )
        return self.built.LinearStruct(weight=self.keep(weight), bias=bias, inputs=inputs, outputs=outputs)

    def norm(self) -> ctypes.Structure:
        return self.built.NormStruct(
            weight=self.floats(WIDTH, scale=0.1, plus=1.0), bias=self.floats(WIDTH, scale=0.1)
        )

    def attention(self, *, cross: bool) -> ctypes.Structure:
        inner = HEADS * HEAD
        return self.built.AttentionStruct(
            norm=self.norm(),
            project=self.linear(WIDTH, inner if cross else 3 * inner),
            memory=self.linear(WIDTH, 2 * inner),
            output=self.linear(inner, WIDTH),
        )

    def stack(self, *, cross: bool) -> ctypes.Structure:
        blocks = (self.built.BlockStruct * DEPTH)()
        for index in range(DEPTH):
            blocks[index] = self.built.BlockStruct(
                own=self.attention(cross=False), cross=self.attention(cross=True), norm=self.norm(),
                expand=self.linear(WIDTH, HIDDEN), contract=self.linear(HIDDEN, WIDTH),
            )  # fmt: skip
        self.kept.append(blocks)
        return self.built.StackStruct(
            blocks=blocks, last=self.norm(), positions=self.floats(CONTEXT, WIDTH), depth=DEPTH, width=WIDTH,
            heads=HEADS, head=HEAD, turned=HEAD, pre=1, activation=2, cross=cross, epsilon=1e-5,
        )  # fmt: skip


def search(library: ctypes.CDLL, model: RandomModel, threads: int) -> dict[str, object]:
    """Beam search for random sources."""
    random = np.random.default_rng(1)
    lengths = np.arange(4, 4 + SENTENCES, dtype=np.int32)
    sources = random.integers(3, VOCAB, lengths.sum(), dtype=np.int32)
    limits, penalty = np.full(SENTENCES, LIMIT, np.int32), np.arange(1.0, LIMIT + 2)
    ids, gains = np.zeros((SENTENCES, LIMIT + 1), np.int32), np.zeros((SENTENCES, LIMIT + 1), np.float32)
    counts, finished = np.zeros((SENTENCES, 2), np.int32), np.zeros(SENTENCES, np.int32)
    scores = np.zeros(SENTENCES)
    wish = model.built.WishStruct(
        limits=limits.ctypes.data,
        penalty=penalty.ctypes.data,
        start=1,
        end=2,
        least=1,
        never=-1,
        width=3,
        best=1,
    )
    session = library.qkv_begin(
        ctypes.byref(model.struct), sources.ctypes.data, lengths.ctypes.data, SENTENCES, -1, threads
    )
    outputs = (each.ctypes.data for each in (ids, gains, counts, scores, finished))
    library.qkv_search(session, ctypes.byref(wish), LIMIT, *outputs)
    library.qkv_end(session)
    found = [row[:count].tolist() for row, count in zip(ids, counts[:, 0], strict=True)]
    return {"ids": found, "scores": scores.round(4).tolist()}


def main(path: str, level: str | None = None) -> None:
    built = structures()
    library = built.declared(ctypes.CDLL(path))
    built.use_level(library, level)
    for int8 in (False, True):
        model = RandomModel(built, int8=int8)
        one, two = (search(library, model, threads) for threads in (1, 2))
        assert one == two
        print(json.dumps({"level": library.qkv_used_level().decode(), "int8": int8, **one}))


if __name__ == "__main__":
    main(*sys.argv[1:])
