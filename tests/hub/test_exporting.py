"""Translators of ours as classes of transformers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from published import mixed_lines, shaken
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from qkv import export, load
from qkv.core.pairs import TranslationBatch
from qkv.core.stack_config import StackConfig
from qkv.errors import ModelError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.hub.exporting import export_to_transformers
from qkv.hub.importing import import_model
from qkv.text.tokenizer import Tokenizer

TOKENS = Tokenizer.learn(mixed_lines(100, 3), 330)


def saved(folder: Path, norm: Any, positions: Any, **others: Any) -> Path:
    stack = StackConfig(depth=2, width=12, heads=3, ffn_width=13, norm=norm, activation="relu", dropout=0.1)
    if positions == "rotary":
        stack = replace(stack, width=24)
    config = TranslatorConfig(
        vocab_size=len(TOKENS), max_length=40, pad=0, start=1, end=2, positions=positions, encoder=stack,
        decoder=replace(stack, depth=3), **others,
    )  # fmt: skip
    defaults = TranslatorDefaults(
        languages=Languages.of("en", "de"), max_source_length=30, beam_size=3, length_penalty=0.7
    )
    Translator(shaken(TranslatorModel(config)), TOKENS, defaults).save(folder)
    return folder


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["interleaved", "halves", "learned"])
def test_a_translator_goes_out_as_the_class_with_its_layout_and_comes_back(
    norm: str, positions: str, tmp_path: Path
) -> None:
    model = saved(tmp_path / "model", norm, positions, output_bias=positions == "halves")
    exported = export_to_transformers(model, tmp_path / "out")
    assert exported.class_name == ("MarianMTModel" if norm == "post" else "PegasusForConditionalGeneration")
    assert exported.proof.difference < 1e-5
    assert exported.greedy == 2
    assert type(AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")).__name__ == exported.class_name
    import_model(tmp_path / "out", tmp_path / "again", origin="here")
    first, again = (load(each, compute_type="float32") for each in (model, tmp_path / "again"))
    assert again._defaults == first._defaults
    lines = mixed_lines(4, 6)
    assert again.translate(lines) == first.translate(lines)


def test_its_tokenizer_is_opened_there_and_puts_the_end_mark(tmp_path: Path) -> None:
    export_to_transformers(saved(tmp_path / "model", "post", "halves"), tmp_path / "out")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "out", model_max_length=10_000)
    for line in mixed_lines(300, 7):
        ids = theirs(line)["input_ids"]
        assert ids == [*TOKENS.encode(line), TOKENS.end]
        assert theirs.decode(ids, skip_special_tokens=True) == line


def test_what_no_class_can_hold_is_rejected_by_name_and_nothing_is_written(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", "pre", "rotary")
    with pytest.raises(ModelError, match="no translator in transformers has rotary positions") as caught:
        export_to_transformers(model, tmp_path / "out")
    assert str(caught.value).endswith('or train one with positions="interleaved".')
    assert caught.value.with_flags().endswith("or train one with --positions interleaved.")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_a_recurrent_decoder_is_rejected_by_name_and_nothing_is_written(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", "post", "interleaved", decoder_cell="ssru")
    with pytest.raises(ModelError, match="no translator in transformers has an SSRU decoder"):
        export_to_transformers(model, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_the_loss_knows_the_bias_of_the_output() -> None:
    stack = StackConfig(depth=1, width=12, heads=3, ffn_width=13, norm="post", activation="relu", dropout=0.0)
    config = TranslatorConfig(
        vocab_size=11,
        max_length=9,
        pad=0,
        start=1,
        end=2,
        positions="halves",
        encoder=stack,
        decoder=stack,
        output_bias=True,
    )
    model = shaken(TranslatorModel(config))
    source, shifted = torch.tensor([[3, 4, 2]]), torch.tensor([[1, 5, 6]])
    target = torch.tensor([[5, 6, 2]])
    wanted = torch.nn.functional.cross_entropy(model(source, shifted)[0], target[0])
    loss = model.loss(TranslationBatch.of(source, shifted, target, pad=0))
    torch.testing.assert_close(loss, wanted)
    assert model.bias is not None
    [own] = torch.autograd.grad(wanted, [model.bias])
    loss.backward()
    torch.testing.assert_close(model.bias.grad, own)


def test_without_transformers_the_report_says_that_it_was_not_checked_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved(tmp_path / "model", "post", "interleaved")
    assert "transformers opens" in str(export(model, "huggingface", tmp_path / "checked"))
    monkeypatch.setattr("qkv.hub.exporting.has_transformers", lambda: False)
    report = str(export(model, "huggingface", tmp_path / "unchecked"))
    assert "largest output difference from the reloaded model: " in report
    assert "not checked with transformers, which is not installed" in report
    assert "transformers opens" not in report
