"""Settings of a published model besides its weights survive import and export."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from published import mixed_lines, write_bert, write_marian, write_vit
from transformers import BertForSequenceClassification, GenerationConfig, MarianMTModel

from qkv import load
from qkv.families.translator.options import TranslationOptions
from qkv.hub.exporting import export_to_transformers
from qkv.hub.importing import import_model
from qkv.runtime.running import EXACT

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")
WAYS = [
    TranslationOptions(beam_size=1),
    TranslationOptions(beam_size=3),
    TranslationOptions(beam_size=3, repetition_penalty=1.1),
    TranslationOptions(sample=True, seed=3),
]


def imported(folder: Path, **how: Any) -> Any:
    import_model(folder, folder.parent / f"{folder.name}-bundle", origin="here", **how)
    return load(folder.parent / f"{folder.name}-bundle")


def test_marians_padding_logit_changes_neither_translations_nor_scores(tmp_path: Path) -> None:
    found = []
    for bias in (0.0, 8.0):
        model = write_marian(tmp_path / f"{bias}")
        model.final_logits_bias[0, -1] = bias
        model.save_pretrained(tmp_path / f"{bias}")
        product = imported(tmp_path / f"{bias}")
        for computing in (product, product._running(EXACT)):  # by the model, and by the engine
            for how in WAYS:
                answers = computing._pipeline.hypotheses(mixed_lines(3, 5), how)
                found.append([answer.log_probabilities for [answer, *_] in answers])
    without, with_padding = found[: len(found) // 2], found[len(found) // 2 :]
    for one, other in zip(without, with_padding, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            assert mine == pytest.approx(theirs, abs=1e-4)


def test_the_exported_config_excludes_padding_from_the_probabilities(tmp_path: Path) -> None:
    write_marian(tmp_path / "published")
    imported(tmp_path / "published")
    export_to_transformers(tmp_path / "published-bundle", tmp_path / "out")
    told = GenerationConfig.from_pretrained(tmp_path / "out")
    pad = MarianMTModel.from_pretrained(tmp_path / "out").config.pad_token_id
    assert (told.renormalize_logits, told.bad_words_ids) == (True, [[pad]])


def test_the_target_language_that_is_wanted_by_default_comes_back(tmp_path: Path) -> None:
    write_marian(tmp_path / "published", ("fra", "deu"))
    wanted = imported(tmp_path / "published", language="fra").translate("the dog sees the old house", beam=1)
    export_to_transformers(tmp_path / "published-bundle", tmp_path / "out")
    again = imported(tmp_path / "out")
    assert again.tokenizer.language == "fra"
    assert again.translate("the dog sees the old house", beam=1) == wanted
    import_model(tmp_path / "out", tmp_path / "german", origin="here", language="deu")
    assert load(tmp_path / "german").tokenizer.language == "deu"


def test_numbers_are_on_the_scale_of_their_labels_in_transformers_too(tmp_path: Path) -> None:
    write_bert(tmp_path / "published", BertForSequenceClassification, num_labels=1)
    product = imported(tmp_path / "published")._running(EXACT)
    product._defaults = replace(product._defaults, mean=3.0, deviation=2.0)
    product.save(tmp_path / "learned")
    [wanted] = product.classify([("the old dog",)])
    exported = export_to_transformers(tmp_path / "learned", tmp_path / "out")
    assert exported.proof.difference < 1e-5
    theirs = BertForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    ids, _ = product.tokenizer.join_texts([product.tokenizer.encode("the old dog")])
    with torch.no_grad():
        assert float(theirs(torch.tensor([ids])).logits) == pytest.approx(wanted.number, abs=1e-4)
    [same] = imported(tmp_path / "out")._running(EXACT).classify([("the old dog",)])
    assert same.number == pytest.approx(wanted.number, abs=1e-4)


def test_two_classes_with_one_name_get_numbered_names(tmp_path: Path) -> None:
    write_vit(tmp_path / "published", id2label={0: "crane", 1: "dog", 2: "crane"})
    product = imported(tmp_path / "published")
    assert product.classes == ("crane (0)", "dog", "crane (2)")
    export_to_transformers(tmp_path / "published-bundle", tmp_path / "out")
    assert imported(tmp_path / "out").classes == product.classes
