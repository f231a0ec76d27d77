"""All published weights are used, or one message lists those that are not."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tiny_bert import pieces
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

from qkv.checkpoint.files import write_json
from qkv.errors import QkvError
from qkv.families.bert.classifier import TextClassifier
from qkv.families.bert.hub_weights import bert_from, encoder_config
from qkv.families.bert.product import Bert
from qkv.hub.importing import open_published

SIZES: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": 40,
    "hidden_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "max_position_embeddings": 16,
}


def weights(kind: Any = BertModel, **more: Any) -> dict[str, Tensor]:
    torch.manual_seed(1)
    sizes = {name: value for name, value in SIZES.items() if name != "model_type"}
    model = kind(BertConfig(**{**sizes, **more}))
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def test_missing_unexpected_and_misshapen_weights_are_in_one_message() -> None:
    given = weights()
    given["encoder.layer.0.attention.self.extra.weight"] = torch.zeros(2)
    del given["embeddings.LayerNorm.bias"]
    given["pooler.dense.bias"] = torch.zeros(5)
    with pytest.raises(QkvError) as told:
        bert_from(SIZES, given, "here")
    said = str(told.value)
    assert "missing: encoder.norm.bias" in said
    assert "left over: encoder.layer.0.attention.self.extra.weight" in said
    assert "pooler.linear.bias has (5,) instead of (12,)" in said


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("hidden_act", "mish"),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
        ("tie_word_embeddings", False),
    ],
)
def test_settings_that_we_do_not_compute_are_rejected_by_name(setting: str, value: object) -> None:
    with pytest.raises(QkvError, match=rf"{setting} is '?{value}'?"):
        encoder_config(SIZES | {setting: value}, "here")


def test_settings_that_nobody_knows_are_rejected_by_name() -> None:
    with pytest.raises(QkvError, match="unknown settings: rope_theta"):
        encoder_config(SIZES | {"rope_theta": 1e4}, "here")
    with pytest.raises(QkvError, match="hidden_size is missing"):
        encoder_config({name: v for name, v in SIZES.items() if name != "hidden_size"}, "here")
    with pytest.raises(QkvError, match="cannot be built: width 12 is not a multiple of heads 5"):
        encoder_config(SIZES | {"num_attention_heads": 5}, "here")


def test_old_names_of_norms_and_copies_of_the_embeddings_are_known() -> None:
    given = weights(BertForMaskedLM)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in given.items()
    }
    assert old.keys() != given.keys()
    new, same = bert_from(SIZES, given, "here"), bert_from(SIZES, old, "here")
    assert all(
        torch.equal(a, b) for a, b in zip(new.state_dict().values(), same.state_dict().values(), strict=True)
    )
    untied = given | {"cls.predictions.decoder.weight": torch.ones(40, 12)}
    with pytest.raises(QkvError, match=r"decoder\.weight differs from embeddings\.word_embeddings\.weight"):
        bert_from(SIZES, untied, "here")


# Folders ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As transformers saves a BERT."""
    words = pieces()
    config = SIZES | {"vocab_size": len(words), "transformers_version": "4.8.2"}
    write_json(tmp_path / "config.json", config)
    save_file(weights(vocab_size=len(words)), tmp_path / "model.safetensors")
    (tmp_path / "tokenizer.json").write_text(words.text())
    return tmp_path


def test_an_imported_bert_uses_mean_pooling(folder: Path) -> None:
    model = open_published(folder)
    assert isinstance(model, Bert)
    assert (model._defaults.pooling, model._defaults.max_length, model._defaults.normalized) == (
        "mean",
        16,
        True,
    )
    assert model.embed(["the cat"]).shape == (1, 12)


def test_what_sentence_transformers_adds_is_read(folder: Path) -> None:
    parts = [("Transformer", ""), ("Pooling", "1_Pooling")]
    write_json(
        folder / "modules.json", [{"type": f"sentence_transformers.models.{a}", "path": b} for a, b in parts]
    )
    (folder / "1_Pooling").mkdir()
    write_json(
        folder / "1_Pooling" / "config.json",
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "word_embedding_dimension": 12},
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 9})
    model = open_published(folder)
    assert isinstance(model, Bert)
    assert (model._defaults.pooling, model._defaults.max_length, model._defaults.normalized) == (
        "first",
        9,
        False,
    )
    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_max_tokens": True})
    with pytest.raises(QkvError, match="not by pooling_mode_max_tokens"):
        open_published(folder)
    write_json(folder / "modules.json", [{"type": "sentence_transformers.models.Dense", "path": "2"}])
    with pytest.raises(QkvError, match="the module Dense"):
        open_published(folder)


def test_a_published_classifier_brings_its_classes(folder: Path) -> None:
    words = pieces()
    sizes = {"vocab_size": len(words), "num_labels": 2}
    save_file(weights(BertForSequenceClassification, **sizes), folder / "model.safetensors")
    config = SIZES | {"vocab_size": len(words), "id2label": {"0": "bad", "1": "good"}}
    write_json(folder / "config.json", config)
    model = open_published(folder)
    assert isinstance(model, TextClassifier)
    assert model.classes == ("bad", "good")
    write_json(folder / "config.json", config | {"id2label": {"0": "bad"}})
    with pytest.raises(QkvError, match="does not name each of the 2 classes"):
        open_published(folder)


def test_folders_that_hold_no_such_model_are_rejected(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="there is no folder"):
        open_published(tmp_path / "none")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(QkvError, match="its weights are a pickle"):
        open_published(folder)
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(QkvError, match="is damaged"):
        open_published(folder)
    (folder / "config.json").unlink()
    with pytest.raises(QkvError, match=r"has no config\.json"):
        open_published(folder)


def test_a_vocabulary_of_another_model_is_rejected(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(QkvError, match=r"neither tokenizer\.json nor vocab\.txt"):
        open_published(folder)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n")
    with pytest.raises(QkvError, match="the tokenizer has 6 tokens"):
        open_published(folder)
