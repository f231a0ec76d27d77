"""Models in Marian's formats: tiny, random, and written with NumPy."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HIDDEN, HEADS, SOURCES, TARGETS = 16, 24, 2, 21, 19
FLOAT32, INT8, INTGEMM_8, NEW_INTGEMM_8 = 0x404, 0x101, 0x4101, 0x10001


def layer_names(side: str, number: int, *, cell: bool, pre: bool) -> dict[str, tuple[int, ...]]:
    """The weights of a layer, as Marian names and shapes them."""
    layer, mark, found = f"{side}_l{number}", "_pre" if pre else "", dict[str, tuple[int, ...]]()
    parts = {"rnn": ("", "f")} if cell else {"self": ("q", "k", "v", "o")}
    parts |= {"context": ("q", "k", "v", "o")} if side == "decoder" else {}
    for name, letters in parts.items():
        for letter in letters:
            found[f"{layer}_{name}_W{letter}"] = (WIDTH, WIDTH)
            if letter:
                found[f"{layer}_{name}_b{letter}"] = (1, WIDTH)
        norm = ("rnn_ln" if pre else "rnn_ffn_ln") if name == "rnn" else f"{name}_Wo_ln"
        found |= {f"{layer}_{norm}_{kind}{mark}": (1, WIDTH) for kind in ("scale", "bias")}
    found |= {f"{layer}_ffn_W1": (WIDTH, HIDDEN), f"{layer}_ffn_b1": (1, HIDDEN)}
    found |= {f"{layer}_ffn_W2": (HIDDEN, WIDTH), f"{layer}_ffn_b2": (1, WIDTH)}
    return found | {f"{layer}_ffn_ffn_ln_{kind}{mark}": (1, WIDTH) for kind in ("scale", "bias")}


def settings_of(tied: str, *, cell: bool, pre: bool, sizes: tuple[int, int]) -> str:
    flags = {
        name: str(name == tied).lower()
        for name in ("tied-embeddings", "tied-embeddings-all", "tied-embeddings-src")
    }
    lines = {
        **flags, "type": "transformer", "dim-emb": WIDTH, "enc-depth": 2, "dec-depth": 1, "transformer-heads": HEADS,
        "transformer-dim-ffn": HIDDEN, "transformer-ffn-depth": 2, "transformer-ffn-activation": "swish",
        "transformer-preprocess": "n" if pre else '""', "transformer-postprocess": "da" if pre else "dan",
        "transformer-postprocess-top": "n" if pre else '""', "transformer-postprocess-emb": "d",
        "transformer-decoder-autoreg": "rnn" if cell else "self-attention", "dec-cell": "ssru", "enc-cell": "gru",
        "transformer-tied-layers": "[]", "input-types": "[]", "lemma-dim-emb": 0, "version": "v1.12.0 2023",
    }  # fmt: skip
    text = "".join(f"{name}: {value}\n" for name, value in lines.items())
    return f"{text}dim-vocabs:\n  - {sizes[0]}\n  - {sizes[1]}\n"


def random_weights(
    tied: str, *, cell: bool = False, pre: bool = False, sizes: tuple[int, int] = (SOURCES, TARGETS)
) -> dict[str, Any]:
    shapes: dict[str, tuple[int, ...]] = {"decoder_ff_logit_out_b": (1, sizes[1])}
    if tied in ("tied-embeddings-all", "tied-embeddings-src"):
        shapes["Wemb"] = (sizes[1], WIDTH)
    else:
        shapes |= {"encoder_Wemb": (sizes[0], WIDTH), "decoder_Wemb": (sizes[1], WIDTH)}
    if tied not in ("tied-embeddings-all", "tied-embeddings"):
        shapes["decoder_ff_logit_out_Wt"] = (sizes[1], WIDTH)
    for number in (1, 2):
        shapes |= layer_names("encoder", number, cell=False, pre=pre)
    shapes |= layer_names("decoder", 1, cell=cell, pre=pre)
    if pre:
        shapes |= {
            f"{side}_top_ln_{kind}": (1, WIDTH)
            for side in ("encoder", "decoder")
            for kind in ("scale", "bias")
        }
    chance = np.random.default_rng(7)
    weights = {name: chance.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
    text = settings_of(tied, cell=cell, pre=pre, sizes=sizes).encode() + b"\0"
    return {**weights, "special:model.yml": np.frombuffer(text, np.int8)}


def binary(weights: dict[str, Any], rounded: int = 0) -> bytes:
    """Marian's own format. With `rounded`, matrices are int8 for intgemm: their transpose, and then their factor."""
    contents, kinds = [], []
    for name, each in weights.items():
        kind = INT8 if each.dtype == np.int8 else FLOAT32
        content = each.tobytes()
        if rounded and each.ndim == 2 and min(each.shape) > 1:
            kind, factor = rounded, np.float32(127 / np.abs(each).max())
            rows = each if name.endswith(("Wemb", "Wt")) else each.T
            content = np.round(rows * factor).astype(np.int8).tobytes() + factor.tobytes()
        contents.append(content + bytes(-len(content) % 256))
        kinds.append(kind)
    pairs = list(zip(weights.items(), kinds, contents, strict=True))
    whole = struct.pack("<2Q", 1, len(pairs))
    whole += b"".join(struct.pack("<4Q", len(n) + 1, k, w.ndim, len(c)) for (n, w), k, c in pairs)
    whole += b"".join(name.encode() + b"\0" for name in weights)
    whole += b"".join(struct.pack(f"<{each.ndim}i", *each.shape) for each in weights.values())
    gap = -(len(whole) + 8) % 256
    return whole + struct.pack("<Q", gap) + bytes(gap) + b"".join(contents)


def plain_folder(folder: Path, weights: dict[str, Any], name: str = "model.npz", rounded: int = 0) -> Path:
    """With a plain vocabulary for each language, and the settings of its use."""
    folder.mkdir()
    sizes = SOURCES, TARGETS
    if "Wemb" in weights:
        sizes = (len(weights["Wemb"]),) * 2
    if name.endswith(".npz"):
        np.savez(folder / name, **weights)
    else:
        (folder / name).write_bytes(binary(weights, rounded))
    for side, letter, size in zip(("src", "trg"), "st", sizes, strict=True):
        letter = "s" if sizes[0] == sizes[1] else letter
        tokens = ["</s>", "<unk>", '"', *(f"{letter}{number}" for number in range(size - 3))]
        quoted = {'"': r'"\""'}
        lines = (f"{quoted.get(token, token)}: {id}\n" for id, token in enumerate(tokens))
        (folder / f"{side}.yml").write_text("".join(lines))
    (folder / "decoder.yml").write_text(
        f"relative-paths: true\nmodels:\n  - /elsewhere/{name}\nvocabs:\n  - src.yml\n  - trg.yml\nbeam-size: 3\nnormalize: 0.6\n"
    )
    return folder
