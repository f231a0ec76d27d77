"""CTranslate2 gives the same output for exported models."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from published import mixed_lines, shaken, write_bert, write_gpt1, write_gpt2, write_marian, write_vit
from transformers import BertModel

from qkv import load
from qkv.core.stack_config import StackConfig
from qkv.errors import QkvError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.hub.exporting_ctranslate2 import export_to_ctranslate2
from qkv.hub.importing import import_model
from qkv.text.tokenizer import Tokenizer

ctranslate2 = pytest.importorskip("ctranslate2")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")


def bundle(folder: Path, **how: Any) -> Path:
    tokens = Tokenizer.learn(mixed_lines(100, 3), 330)
    stack = StackConfig(
        depth=2, width=24, heads=3, ffn_width=16, norm=how.pop("norm"), activation="relu", dropout=0.1
    )
    config = TranslatorConfig(
        vocab_size=len(tokens), max_length=60, pad=0, start=1, end=2, encoder=stack, decoder=replace(stack, depth=3), **how
    )  # fmt: skip
    defaults = TranslatorDefaults(
        languages=Languages.of("en", "de"), max_source_length=50, beam_size=3, length_penalty=1.0
    )
    Translator(shaken(TranslatorModel(config), scale=0.2), tokens, defaults).save(folder)
    return folder


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["interleaved", "halves", "learned", "rotary"])
def test_translators_of_every_layout_give_the_same_output_in_ctranslate2(
    norm: str, positions: str, tmp_path: Path
) -> None:
    model = bundle(tmp_path / "model", norm=norm, positions=positions)
    exported = export_to_ctranslate2(model, tmp_path / "out", lines=mixed_lines(4, 5))
    assert exported.proof.difference < 1e-5
    assert exported.same == exported.total == 2
    assert exported.translations is not None
    assert len(exported.translations[1]) == 4


def test_an_opus_model_with_a_bias_in_its_output_gives_the_same_output_there_and_in_int8_nearly(
    tmp_path: Path,
) -> None:
    write_marian(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "bundle", origin="here")
    before = load(tmp_path / "bundle").model.state_dict()
    exported = export_to_ctranslate2(tmp_path / "bundle", tmp_path / "out")
    assert exported.proof.difference < 1e-5
    rounded = export_to_ctranslate2(tmp_path / "bundle", tmp_path / "small", "int8")
    assert 1e-4 < rounded.proof.difference < 1.0
    assert (tmp_path / "small" / "model.bin").stat().st_size < (tmp_path / "out" / "model.bin").stat().st_size
    assert all(
        before[name].equal(each) for name, each in load(tmp_path / "bundle").model.state_dict().items()
    )


def test_language_models_and_encoders_compute_the_same_there(tmp_path: Path) -> None:
    for name, opened in (("gpt2", "Generator"), ("gpt1", "Generator"), ("bert", "Encoder")):
        folder = tmp_path / name
        if name == "bert":
            write_bert(folder, BertModel)
        else:
            (write_gpt2 if name == "gpt2" else write_gpt1)(folder)
        import_model(folder, tmp_path / f"{name}-bundle", origin="here")
        exported = export_to_ctranslate2(tmp_path / f"{name}-bundle", tmp_path / f"{name}-out")
        assert exported.opened_as == opened
        assert exported.proof.difference < 1e-5
        assert exported.same == exported.total


def test_what_it_cannot_run_is_rejected_by_name(tmp_path: Path) -> None:
    write_vit(tmp_path / "vit")
    import_model(tmp_path / "vit", tmp_path / "bundle", origin="here")
    with pytest.raises(QkvError, match="kind 'vit', which CTranslate2 cannot run"):
        export_to_ctranslate2(tmp_path / "bundle", tmp_path / "out")
    shutil.rmtree(tmp_path / "bundle")
    assert not (tmp_path / "out").exists()


def test_a_recurrent_decoder_is_rejected_by_name(tmp_path: Path) -> None:
    model = bundle(tmp_path / "model", norm="post", positions="interleaved", decoder_cell="ssru")
    with pytest.raises(QkvError, match="CTranslate2 has no SSRU decoder"):
        export_to_ctranslate2(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_opus_model_never_outputs_padding_in_ctranslate2(tmp_path: Path) -> None:
    model = write_marian(tmp_path / "published")
    with torch.no_grad():
        model.final_logits_bias[0, -1] = 30.0  # if it could be said, it would be
    model.save_pretrained(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "bundle", origin="here")
    product = load(tmp_path / "bundle")
    pieces = product.tokenizer.vocabulary
    asked = [[pieces[number] for number in product.tokenizer.encode(line)] for line in mixed_lines(5, 3)]
    for numbers in ("float32", "int8"):
        export_to_ctranslate2(tmp_path / "bundle", tmp_path / numbers, numbers)
        for width in (1, 4):
            for answer in ctranslate2.Translator(str(tmp_path / numbers)).translate_batch(
                asked, beam_size=width, max_decoding_length=30
            ):
                assert "<pad>" not in answer.hypotheses[0]


def test_logits_are_compared_by_their_size_as_in_every_other_proof(tmp_path: Path) -> None:
    """Those of GPT-2 itself lie about -100, where 32 bits leave more than 1e-4 of doubt in a long sum."""
    model = write_gpt2(tmp_path / "published")
    with torch.no_grad():
        model.transformer.ln_f.bias.mul_(3e3)
        model.transformer.ln_f.weight.mul_(3e3)
    model.save_pretrained(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "bundle", origin="here")
    exported = export_to_ctranslate2(tmp_path / "bundle", tmp_path / "out")
    assert 1e-4 < exported.proof.difference <= exported.allowed
