"""A bundle whose config or weights somebody has tampered with loads, or is one clear error; it never costs all memory."""

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from drawings import untrained_classifier, untrained_codes, untrained_painter
from explorable import random_recurrent, random_translator
from language_models import untrained
from tiny_bert import tiny_bert, tiny_classifier

import qkv
from qkv.checkpoint.files import write_json
from qkv.checkpoint.header import LARGEST_HEADER, read_header
from qkv.checkpoint.tensors import read_tensors
from qkv.errors import QkvError
from qkv.families.dalle.codebook import CodebookModel
from qkv.families.dalle.codes import Codebook
from qkv.families.dalle.config import CodebookConfig
from qkv.families.gpt.classifier import ClassifierDefaults, GPTClassifier
from qkv.families.gpt.config import TaskConfig
from qkv.families.gpt.model import GPTForTask
from qkv.families.translator.aligner import Aligner
from qkv.families.translator.config import OneStreamConfig
from qkv.families.translator.model import OneStream
from qkv.families.translator.product import Translator
from qkv.families.translator.translations import Confidence

resource = pytest.importorskip("resource", reason="memory is limited by a system call")
ROOM = 2**30  # bytes that loading a tiny model may take


def with_all_defaults(translator: Translator) -> Translator:
    confidence = Confidence(bias=0.5, weights=(1.0, 2.0, 3.0), good="good")
    aligner = Aligner(block=0, heads=(0, 1), late=True)
    defaults = replace(translator._defaults, stand_ins=("one",), aligner=aligner, confidence=confidence)
    return Translator(translator.model, translator.tokenizer, defaults)


def one_stream() -> Translator:
    whole = random_translator()
    values = {
        name: value
        for name, value in vars(whole.model.config).items()
        if name in {field.name for field in fields(OneStreamConfig)}
    }
    config = OneStreamConfig(**{**values, "positions": "rotary", "output_bias": True})
    return Translator(OneStream(config), whole.tokenizer, whole._defaults)


def gumbel_codes() -> Codebook:
    config = CodebookConfig(side=32, channels=3, patch=8, width=8, depth=2, quantizer="gumbel", levels=(4, 3))
    return Codebook(CodebookModel(config))


def gpt_classifier() -> GPTClassifier:
    base = untrained("subwords")
    model = GPTForTask(TaskConfig(gpt=base.model.config, task="classes", classes=2))
    defaults = ClassifierDefaults(
        token_type="subwords", form="classification", classes=("bad", "good"), last=3
    )
    return GPTClassifier(model, base.tokenizer, defaults)


PRODUCTS: dict[str, Callable[[], Any]] = {
    "transformer": lambda: with_all_defaults(random_translator()),
    "transformer, learned": lambda: random_translator(norm="post", positions="learned"),
    "one-stream": one_stream,
    "recurrent": random_recurrent,
    "gpt": lambda: untrained("subwords"),
    "gpt-classifier": gpt_classifier,
    "bert": tiny_bert,
    "bert, encoder alone": lambda: tiny_bert(pooler=False, words=False, next_sentence=False),
    "bert-classifier": tiny_classifier,
    "vit": untrained_classifier,
    "codebook": untrained_codes,
    "codebook, gumbel": gumbel_codes,
    "dalle": untrained_painter,
}


@pytest.fixture(scope="module", params=PRODUCTS)
def product(request: pytest.FixtureRequest) -> Any:
    return PRODUCTS[request.param]()


@pytest.fixture(scope="module")
def folder(product: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "bundle"
    product.save(path)
    return path


@contextmanager
def little_memory() -> Iterator[None]:
    """In here, what asks for much memory fails instead of stopping the machine."""
    now = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def loads_or_refuses(folder: Path) -> str:
    """The error, if there is one."""
    try:
        with little_memory():
            qkv.load(folder)
    except QkvError as error:
        return str(error)
    return ""


HOSTILE = [
    None, True, -1, 3, 65_536, 900_000_000, 2**62, 10**400, 1e308, float("nan"), "x" * 10**5, "\ud800", [], [10**9] * 40,
    {"depth": 1},
]  # fmt: skip


def places_in(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value in a config, and of the first in each list."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield (*at, key)
        yield from places_in(inner, (*at, key))


def changed(config: Any, place: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(config))
    inside = copy
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return copy


def test_a_config_knows_the_weights_of_its_model(product: Any, folder: Path) -> None:
    wanted = {name: tuple(tensor.shape) for name, tensor in product.model.state_dict().items()}
    assert dict(product.model.config.shapes()) == wanted == read_header(folder / "model.safetensors").shapes


@pytest.mark.parametrize("product", [name for name in PRODUCTS if "," not in name], indirect=True)
def test_any_value_in_a_config_loads_or_is_one_clear_error(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    try:
        for place in places_in(config):
            for value in HOSTILE:
                path.write_text(json.dumps(changed(config, place, value)), encoding="utf-8")
                try:
                    assert len(loads_or_refuses(folder)) < 3_000
                except Exception as error:
                    raise AssertionError(f"{place} as {str(value)[:40]!r}") from error
    finally:
        write_json(path, config)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("kind",), [], "has no format and kind"),
        (("model", "vocab"), -1, "pad 0 is not a token"),
        (("model", "start"), 2**40, "start 1099511627776 is not a token"),
        (("model", "end"), 340, "end 340 is not a token"),
        (("model", "context"), 900_000_000, "context of 900000000 positions is too large"),
        (
            ("model", "decoder", "depth"),
            900_000_000,
            "decoder.blocks.3.attention.sublayer.query.weight is missing",
        ),
        (("model", "encoder", "depth"), 1, "encoder.blocks.1.attention.sublayer.query.weight is unknown"),
        (("model", "encoder", "ffn_width"), 2**40, "has shape (40, 24) instead of (1099511627776, 24)"),
        (("model", "encoder", "norm_eps"), -1, "norm_eps must be from 0 to 1"),
        (("beam_size",), 100_000, "beam_size should be from 1 to 1000"),
        (("length_penalty",), 1e300, "length_penalty should be from 0 to 50"),
        (("max_source_length",), 0, "max_source_length should be at least 1"),
        (("sha256",), {"../report.json": "0"}, "sha256 must map file names to hashes"),
        (("sha256",), {"other.json": "0"}, "other.json is missing"),
        (("confidence", "weights"), [1.0], "a confidence must have 3 weights, not 1"),
    ],
    ids=str,
)
def test_what_is_wrong_in_a_config_is_named(
    place: tuple[str, ...], value: object, sentence: str, tmp_path: Path
) -> None:
    with_all_defaults(random_translator()).save(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(changed(json.loads(path.read_text()), place, value)))
    assert sentence in loads_or_refuses(tmp_path)


def test_the_tokenizer_belongs_to_the_weights(tmp_path: Path) -> None:
    """Two tokens that are swapped leave its size as it was, and every text would be read wrongly."""
    random_translator().save(tmp_path)
    path = tmp_path / "tokenizer.json"
    content = path.read_text(encoding="utf-8")
    assert loads_or_refuses(tmp_path) == ""
    assert '"a":67,"b":68' in content
    path.write_text(content.replace('"a":67,"b":68', '"b":67,"a":68'), encoding="utf-8")
    assert "tokenizer.json is damaged or belongs to another model" in loads_or_refuses(tmp_path)
    path.unlink()
    assert "tokenizer.json is missing" in loads_or_refuses(tmp_path)


def test_a_bundle_without_a_hash_of_its_tokenizer_still_loads(tmp_path: Path) -> None:
    random_translator().save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert list(config.pop("sha256")) == ["tokenizer.json"]
    write_json(tmp_path / "config.json", config)
    assert loads_or_refuses(tmp_path) == ""


def entry(shape: object, begin: object, end: object, dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def header(entries: object) -> bytes:
    return json.dumps(entries).encode()


HEADERS = {
    "no JSON": b"\xff{",
    "no object": b"[]",
    "nested": b"[" * 10**6,
    "nested objects": b'{"a":' * 10**6,
    "a name twice": b'{"a":%s,"a":%s}' % ((header(entry([2], 0, 8)),) * 2),
    "metadata that are numbers": header({"__metadata__": {"sha256": 1}}),
    "an entry that is a number": header({"a": 1}),
    "overlapping": header({"a": entry([2], 0, 8), "b": entry([1], 4, 8)}),
    "a gap": header({"a": entry([1], 4, 8)}),
    "too short": header({"a": entry([1], 0, 4)}),
    "too long": header({"a": entry([4], 0, 16)}),
    "shape and size differ": header({"a": entry([3], 0, 8)}),
    "negative": header({"a": entry([-2], 0, 8)}),
    "overflowing": header({"a": entry([2**62, 2**62, 2**62], 0, 8)}),
    "huge numbers": b'{"a":{"dtype":"F32","shape":[%s],"data_offsets":[0,8]}}' % (b"9" * 10**5),
    "many dimensions": header({"a": entry([1] * 10**5 + [2], 0, 8)}),
    "floats": header({"a": entry([2.0], 0, 8)}),
    "a bool": header({"a": entry([True, 2], 0, 8)}),
    "unknown format": header({"a": entry([2], 0, 8, "F31")}),
    "a format that is a list": header({"a": entry([2], 0, 8, [])}),
    "one offset": header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0]}}),
}


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_a_hostile_header_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(content)) + content + bytes(8))
    with (
        little_memory(),
        pytest.raises(QkvError, match=r"model\.safetensors is damaged \(.+\)\. Restore it") as caught,
    ):
        read_tensors(path)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("length", [LARGEST_HEADER + 1, 2**63, 2**64 - 1])
def test_the_length_of_a_header_is_not_believed(length: int, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b"{}")
    with little_memory(), pytest.raises(QkvError, match="is damaged"):
        read_tensors(path)
