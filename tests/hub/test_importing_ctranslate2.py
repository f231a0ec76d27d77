"""Translators of CTranslate2 and packages of Argos Translate become bundles that compute the same."""

import json
import random
import shutil
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from commands import code_of
from published import mixed_lines, shaken, write_marian

import qkv
from qkv.core.stack_config import StackConfig
from qkv.errors import QkvError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.ctranslate2 import translate_with_both
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.hub_vocabularies import source_order
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.families.translator.recompute import recompute
from qkv.families.translator.search import Request
from qkv.hub.ctranslate2_file import Stored
from qkv.hub.exporting_ctranslate2 import export_to_ctranslate2
from qkv.hub.importing import Imported
from qkv.hub.importing_ctranslate2 import import_from_ctranslate2
from qkv.text.plain_tokens import PlainTokenizer
from qkv.text.tokenizer import Tokenizer

ctranslate2 = pytest.importorskip("ctranslate2")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")
QUANTIZATIONS = ["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny OPUS-MT, as transformers writes it."""
    folder = tmp_path_factory.mktemp("published")
    write_marian(folder)
    return folder


@pytest.fixture(scope="module")
def converted(marian: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, converted by CTranslate2 to int8."""
    return convert(marian, tmp_path_factory.mktemp("converted") / "int8", "int8")


def convert(published: Path, folder: Path, quantization: str) -> Path:
    converter = ctranslate2.converters.TransformersConverter(
        str(published), copy_files=["source.spm", "target.spm"]
    )
    converter.convert(str(folder), quantization=None if quantization == "float32" else quantization)
    return folder


def read(path: Path, out: Path) -> Imported:
    return import_from_ctranslate2(path, out, origin="here")


def refused(path: Path, tmp_path: Path) -> str:
    """The error of an import, which writes nothing."""
    with pytest.raises(QkvError) as error:
        read(path, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    return str(error.value)


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def package(folder: Path, path: Path, pieces: str = "source.spm") -> Path:
    """The folder as Argos Translate packs it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        metadata = {"package_version": "1.9", "from_code": "zh", "to_code": "en"}
        archive.writestr("translate-zh_en/metadata.json", json.dumps(metadata))
        archive.writestr("translate-zh_en/README.md", "made by a test")
        archive.write(folder / pieces, "translate-zh_en/sentencepiece.model")
        for name in ("model.bin", "config.json", "shared_vocabulary.json"):
            archive.write(folder / name, f"translate-zh_en/model/{name}")
    return path


# The same numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_every_quantization_of_a_marian_model_computes_the_same(
    quantization: str, marian: Path, tmp_path: Path
) -> None:
    folder = convert(marian, tmp_path / "ct2", quantization)
    imported = read(folder, tmp_path / "bundle")
    assert imported.proof is not None
    assert imported.proof.difference < 1e-4
    assert imported.weights is not None
    assert ("dequantized" in imported.weights) == quantization.startswith("int")
    product = qkv.load(tmp_path / "bundle", compute_type="float32")
    assert product.tokenizer.vocabulary[product.model.config.pad] == "<pad>"
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"add_source_eos": True}))
    engine = ctranslate2.Translator(str(folder), compute_type="float32")
    ours, theirs = translate_with_both(product, engine, mixed_lines(6, 8))
    assert ours == theirs
    assert read(folder, tmp_path / "second").proof is not None  # with the end token added by CTranslate2


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["interleaved", "halves", "learned", "rotary", "none"])
def test_what_qkv_exported_comes_back_unchanged(norm: Any, positions: Any, tmp_path: Path) -> None:
    activation = {"interleaved": "gelu", "halves": "gelu_tanh", "learned": "swish"}.get(positions, "relu")
    tokens = Tokenizer.learn(mixed_lines(100, 3), 330)
    stack = StackConfig(
        depth=2, width=24, heads=3, ffn_width=16, norm=norm, activation=activation, dropout=0.1  # type: ignore[arg-type]
    )  # fmt: skip
    config = TranslatorConfig(
        vocab_size=len(tokens), max_length=60, pad=0, start=1, end=2, encoder=stack, decoder=replace(stack, depth=3), positions=positions
    )  # fmt: skip
    defaults = TranslatorDefaults(
        languages=Languages.of("en", "de"), max_source_length=50, beam_size=3, length_penalty=1.0
    )
    Translator(shaken(TranslatorModel(config), scale=0.2), tokens, defaults).save(tmp_path / "model")
    export_to_ctranslate2(tmp_path / "model", tmp_path / "out")
    read(tmp_path / "out", tmp_path / "again")
    first, second = qkv.load(tmp_path / "model"), qkv.load(tmp_path / "again")
    assert second.model.config.positions == positions
    assert second.tokenizer.text() == first.tokenizer.text()
    weights = second.model.state_dict()
    assert all(weights[name].equal(weight) for name, weight in first.model.state_dict().items())


CODES = "#version: 0.2\na b</w>\nc d\ncd a\n"
SOURCES = ["<s>", "a@@", "b", "<blank>", "ab", "c@@", "cda@@", "d", "a", "<unk>", "e", "</s>"]
TARGETS = ["<unk>", "<blank>", "<s>", "</s>", "x@@", "y", "z", "v@@", "w"]


def test_a_vocabulary_for_each_language_untied_tables_bpe_and_no_end_token(tmp_path: Path) -> None:
    """As in packages of Argos, which OpenNMT has trained. Beam search finds the same as CTranslate2 with its stopping rule."""
    names, _ = source_order(SOURCES, TARGETS, [0, 1, 3])
    sides = {
        side: StackConfig(
            depth=depth, width=16, heads=2, ffn_width=24, norm="pre", activation="relu", dropout=0.0
        )
        for side, depth in (("encoder", 2), ("decoder", 1))
    }
    config = TranslatorConfig(
        vocab_size=len(TARGETS), max_length=64, pad=1, start=2, end=3, positions="halves", source_vocab_size=len(names),
        tied_output=False, source_ends=False, output_bias=True, **sides,
    )  # fmt: skip
    tokenizer = PlainTokenizer(
        TARGETS, pad=1, start=2, end=3, unknown=0, codes=CODES, source_vocabulary=names
    )
    defaults = TranslatorDefaults(
        languages=Languages.of("de", "en"), max_source_length=60, beam_size=4, length_penalty=1.0
    )
    model = shaken(TranslatorModel(config))
    with (
        torch.no_grad()
    ):  # CTranslate2 removes the end from the first softmax, which matters only if it is likely there
        model.bias[3] = -3.0
    ours = Translator(model, tokenizer, defaults)
    folder = tmp_path / "argos"
    ours.save(tmp_path / "ours")
    export_to_ctranslate2(tmp_path / "ours", folder)
    (folder / "tokenizer.json").unlink()
    (folder / "bpe.model").write_text(CODES)
    (folder / "source_vocabulary.json").write_text(json.dumps(SOURCES))  # in another order than ours
    reorder_rows(folder / "model.bin", [names.index(name) for name in SOURCES])
    product = read(folder, tmp_path / "bundle").product
    assert product.tokenizer.encode("ab cdae  e x") == [
        names.index(n) for n in ("ab", "cda@@", "e", "e", "<unk>")
    ]
    assert product.tokenizer.decode([4, 5, 7, 8, 6, 3]) == "xy vw z"
    letters = random.Random(3)
    lines = [
        " ".join(letters.choices(["ab", "cdae", "e", "d", "cde", "a"], k=1 + row % 7)) for row in range(40)
    ]
    sources = [[names[id] for id in product.tokenizer.encode(line)] for line in lines]
    engine = ctranslate2.Translator(str(folder), compute_type="float32")
    theirs = [
        each.hypotheses[0] for each in engine.translate_batch(sources, beam_size=4, max_decoding_length=40)
    ]
    loaded = qkv.load(tmp_path / "bundle", compute_type="float32")
    texts, options = loaded._pipeline.texts, qkv.TranslationOptions(beam_size=4, patience=1.0)
    requests = [Request(source=product.tokenizer.encode(line), limit=40) for line in lines]
    found = texts.searcher(options).find(requests, texts.search(options), lambda count: None)
    assert [[TARGETS[id] for id in best.ids] for best, *_ in found] == theirs
    trace = qkv.trace(product, "ab cda e")
    assert np.allclose(
        recompute(trace, {n: w.double().numpy() for n, w in trace.weights.items()})["logits"],
        trace["logits"],
        atol=1e-3,
    )


def reorder_rows(path: Path, order: list[int]) -> None:
    """Put the rows of the encoder's table in this order."""
    stored, name = Stored(path), "encoder/embeddings_0/weight"
    place, rows, whole = stored.find(name), stored.tensor(name).numpy()[order], path.read_bytes()
    path.write_bytes(whole[: place.begin] + rows.tobytes() + whole[place.begin + rows.nbytes :])


def test_embeddings_of_another_scale_and_positions_without_a_table_compute_the_same(
    marian: Path, tmp_path: Path
) -> None:
    from ctranslate2.specs import model_spec

    class Changed(ctranslate2.converters.TransformersConverter):  # type: ignore[misc, name-defined]
        def _load(self) -> Any:
            spec = super()._load()
            for side in (spec.encoder, spec.decoder):
                side.scale_embeddings = False
                side.position_encodings.encodings = model_spec.OPTIONAL
            return spec

    folder = tmp_path / "ct2"
    Changed(str(marian), copy_files=["source.spm", "target.spm"]).convert(str(folder))
    imported = read(folder, tmp_path / "bundle")
    assert imported.proof is not None
    assert imported.product.model.config.positions == "learned"


def test_int8_weights_rounded_again_are_the_same_integers(converted: Path, tmp_path: Path) -> None:
    """So no quantization by rows loses anything after the import."""
    from qkv.hub.ctranslate2_file import Stored

    stored = Stored(converted / "model.bin")
    name = "decoder/layer_0/ffn/linear_0/weight"
    found = stored.find(name)
    integers = np.frombuffer(stored.data, np.int8, found.size, found.begin).reshape(found.shape)
    weight = stored.tensor(name).numpy()
    assert (np.rint(weight * (127 / np.abs(weight).max(axis=1, keepdims=True))) == integers).all()


def test_packages_of_argos_are_read_with_their_languages_and_pieces(converted: Path, tmp_path: Path) -> None:
    path = package(converted, tmp_path / "zh_en.argosmodel")
    assert code_of("import", str(path), "-o", str(tmp_path / "bundle")) == 0
    product = qkv.load(tmp_path / "bundle")
    assert product._defaults.languages == Languages.of("zh", "en")
    report = json.loads((tmp_path / "bundle" / "report.json").read_text())
    assert "dequantized to float32" in report["results"]["weights"]
    assert "CTranslate2" in report["results"]["compared"]
    processor = sentencepiece.SentencePieceProcessor(str(converted / "source.spm"))
    ids = product.tokenizer.ids
    for line in mixed_lines(30, 4):
        wanted = [ids.get(piece, product.tokenizer.unknown) for piece in processor.encode(line, out_type=str)]
        assert product.tokenizer.encode(line) == wanted
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    again = qkv.import_model(tmp_path / "unpacked" / "translate-zh_en", tmp_path / "second")
    assert again.tokenizer.text() == product.tokenizer.text()


# Bad input ---------------------------------------------------------------------------------------------------------


def test_truncated_files_are_errors_wherever_they_end(converted: Path, tmp_path: Path) -> None:
    folder = copied(converted, tmp_path)
    whole = (folder / "model.bin").read_bytes()
    for size in (0, 3, 10, 26, 40, 200, len(whole) // 2, len(whole) - 1):
        (folder / "model.bin").write_bytes(whole[:size])
        assert "model.bin" in refused(folder, tmp_path)
    (folder / "model.bin").write_bytes(whole + b"more")
    assert "4 bytes follow its last entry" in refused(folder, tmp_path)


def test_shapes_and_counts_that_claim_terabytes_are_errors(converted: Path, tmp_path: Path) -> None:
    folder = copied(converted, tmp_path)
    whole = (folder / "model.bin").read_bytes()
    name = b"decoder/embeddings/weight\0"
    place = whole.index(name) + len(name) + 1
    huge = struct.pack("<II", 2**32 - 1, 2**32 - 1)
    (folder / "model.bin").write_bytes(whole[:place] + huge + whole[place + 8 :])
    assert "decoder/embeddings/weight has the shape (4294967295, 4294967295)" in refused(folder, tmp_path)
    header = 4 + 2 + len("TransformerSpec") + 1 + 4
    (folder / "model.bin").write_bytes(whole[:header] + struct.pack("<I", 2**32 - 1) + whole[header + 4 :])
    assert "claims 4,294,967,295 variables" in refused(folder, tmp_path)


def test_newer_versions_and_other_architectures_are_named(converted: Path, tmp_path: Path) -> None:
    folder = copied(converted, tmp_path)
    whole = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(struct.pack("<I", 7) + whole[4:])
    assert "version 7 of CTranslate2's format, but this version of qkv reads up to 6" in refused(
        folder, tmp_path
    )
    (folder / "model.bin").write_bytes(whole[:22] + struct.pack("<I", 9) + whole[26:])
    assert "revision 9 of CTranslate2's TransformerSpec" in refused(folder, tmp_path)
    (folder / "model.bin").write_bytes(whole.replace(b"TransformerSpec", b"WhisperModelSpc", 1))
    assert "is a WhisperModelSpc of CTranslate2, which qkv cannot read" in refused(folder, tmp_path)
    (folder / "model.bin").write_bytes(whole.replace(b"decoder/activation", b"decoder/activatiom"))
    assert "parts that qkv does not support: decoder/activatiom" in refused(folder, tmp_path)


def test_vocabularies_and_settings_that_do_not_fit_are_errors(converted: Path, tmp_path: Path) -> None:
    folder = copied(converted, tmp_path)
    path, config = folder / "shared_vocabulary.json", folder / "config.json"
    names, settings = json.loads(path.read_text()), json.loads(config.read_text())
    path.write_text(json.dumps(names[:-1]))
    assert "These files do not belong together" in refused(folder, tmp_path)
    path.write_text(json.dumps([*names[:-1], names[0]]))
    assert "occurs twice" in refused(folder, tmp_path)
    path.unlink()
    (folder / "source_vocabulary.json").write_text(json.dumps(names))
    (folder / "target_vocabulary.json").write_text(json.dumps(names))
    for changed, message in (
        ({"add_source_bos": True}, "a start token before sources"),
        ({"eos_token": "<none>"}, "the vocabulary lacks <none>"),
        ({"layer_norm_epsilon": "small"}, "layer_norm_epsilon should be"),
        ({"quantization_type": 1}, "unknown settings: quantization_type"),
    ):
        config.write_text(json.dumps(settings | changed))
        assert message in refused(folder, tmp_path)
    config.write_text(json.dumps(settings))
    (folder / "target.spm").unlink()
    assert "target.spm is missing" in refused(folder, tmp_path)
    (folder / "source.spm").unlink()
    assert "has the tokens of a SentencePiece model" in refused(folder, tmp_path)


def test_other_weights_than_those_of_ctranslate2_are_noticed(
    converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qkv.hub.ctranslate2_file import Stored

    honest = Stored.tensor
    monkeypatch.setattr(
        Stored, "tensor", lambda self, name: honest(self, name) * (1.1 if "linear_0/weight" in name else 1)
    )
    assert "the outputs differ" in refused(converted, tmp_path)


def test_hostile_packages_are_errors(converted: Path, tmp_path: Path) -> None:
    path = package(converted, tmp_path / "a.argosmodel")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "is not a complete package" in refused(path, tmp_path)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(50) + whole[middle + 50 :])
    assert "is not a complete package" in refused(path, tmp_path)
    for name, message in (
        ("../../evil", "outside of its own folder"),
        ("/evil", "outside of its own folder"),
        ("translate-zh_en\\..\\evil", "outside of its own folder"),
        ("translate-zh_en/model/model.bin", "two files with the name"),
        ("other/metadata.json", "should have one metadata.json, not 2"),
    ):
        path.write_bytes(whole)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(zipfile.ZipInfo("placeholder"), "x")
            archive.infolist()[-1].filename = name
        assert message in refused(path, tmp_path), name
    assert not (tmp_path.parent / "evil").exists()


def test_packages_that_unpack_to_too_much_are_errors(converted: Path, tmp_path: Path) -> None:
    from qkv.hub import argos

    path = package(converted, tmp_path / "a.argosmodel")
    for name, value, message in (
        ("MOST_MEMBERS", 3, "at most 3"),
        ("LARGEST", 1_000, "which is too much for a package"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(argos, name, value)
            assert message in refused(path, tmp_path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/metadata.json", bytes(100 << 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argos, "LARGEST_RATIO", 100)
        assert "which is too much for a package" in refused(path, tmp_path)
