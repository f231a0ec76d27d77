"""What the small files of a published folder say is done, or refused by name; what changes nothing is let through."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from published import write_bert, write_gpt1, write_gpt2, write_vit
from transformers import AutoTokenizer, BertModel

from qkv.errors import QkvError
from qkv.hub import folder as folders
from qkv.hub.importing import import_model, open_published

TEXT = "The ÜBER Katze 你好, liebt"
SENTENCES = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    write_bert(tmp_path / "published", BertModel)
    return tmp_path / "published"


@pytest.fixture
def gpt2(tmp_path: Path) -> Path:
    write_gpt2(tmp_path / "published")
    return tmp_path / "published"


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def edited(path: Path, **changes: Any) -> None:
    write(path, (json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}) | changes)


def refused(folder: Path, match: str) -> None:
    with pytest.raises(QkvError, match=match):
        open_published(folder)


# Tokenizers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
def test_a_tokenizer_of_another_kind_is_rejected_by_its_class(bert: Path, file: str) -> None:
    edited(bert / file, tokenizer_class="BertJapaneseTokenizer")
    refused(bert, "uses the tokenizer class BertJapaneseTokenizer, which qkv does not support")


@pytest.mark.parametrize("saved", [False, True])  # as tokenizer.json too, or as vocab.txt alone
@pytest.mark.parametrize(
    "settings",
    [
        {"do_lower_case": False},
        {"do_lower_case": True, "strip_accents": False},
        {"tokenize_chinese_chars": False},
        {},
    ],
)
def test_capitals_accents_and_han_are_read_as_the_settings_say(
    bert: Path, saved: bool, settings: dict[str, Any]
) -> None:
    if saved:
        AutoTokenizer.from_pretrained(bert).save_pretrained(bert)
        assert (bert / "tokenizer.json").exists()
    edited(bert / "tokenizer_config.json", **settings)
    theirs = AutoTokenizer.from_pretrained(bert)
    assert open_published(bert).tokenizer.encode(TEXT) == theirs(TEXT, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"do_basic_tokenize": False}, "do_basic_tokenize is False"),
        ({"never_split": ["ab"]}, r"never_split is \['ab'\]"),
        ({"do_lower_case": "perhaps"}, "do_lower_case should be true or false"),
        ({"cls_token": "[UNK]"}, r"cls_token is '\[UNK\]'; qkv supports only \[CLS\]"),
        ({"auto_map": {"AutoTokenizer": ["mine.Mine", None]}}, "needs custom code .auto_map."),
    ],
)
def test_settings_of_a_tokenizer_that_are_not_computed_are_rejected_by_name(
    bert: Path, settings: dict[str, Any], match: str
) -> None:
    edited(bert / "tokenizer_config.json", **settings)
    refused(bert, match)


def test_a_leading_space_setting_and_a_separate_vocabulary_file_are_rejected_by_name(
    gpt2: Path, tmp_path: Path
) -> None:
    edited(gpt2 / "tokenizer_config.json", add_prefix_space=True)
    refused(gpt2, "add_prefix_space is True; qkv supports only False")
    write_gpt1(tmp_path / "gpt1")
    write(tmp_path / "gpt1" / "added_tokens.json", {"<more>": 280})
    refused(tmp_path / "gpt1", r"added_tokens.json has tokens that the vocabulary lacks \(<more>\)")


def test_a_tokenizer_that_transformers_reads_otherwise_is_rejected(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = AutoTokenizer.from_pretrained(bert)
    theirs.backend_tokenizer.normalizer = None
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *given, **named: theirs)
    with pytest.raises(QkvError, match=r"splits 'The Quick .* into other tokens than qkv. Nothing was"):
        import_model(bert, tmp_path / "out", origin="here")
    assert not (tmp_path / "out").exists()


def test_token_ids_must_match_the_embeddings(gpt2: Path) -> None:
    path = gpt2 / "tokenizer.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    last = max(stored["model"]["vocab"], key=stored["model"]["vocab"].get)
    stored["model"]["vocab"][last] = 10**6
    stored["added_tokens"] = [each for each in stored["added_tokens"] if each["content"] != last]
    write(path, stored)
    edited(gpt2 / "config.json", eos_token_id=3)
    refused(gpt2, r"must be the numbers from 0 to \d+, each once")


def test_the_padding_of_the_model_is_that_of_the_tokenizer(bert: Path) -> None:
    edited(bert / "config.json", pad_token_id=7)
    refused(bert, r"\[PAD\] has id 0 in its tokenizer, but pad_token_id in its config.json is 7")


# Sentence-transformers -----------------------------------------------------------------------------------------------


def sentences(folder: Path, parts: list[tuple[str, str]]) -> None:
    listed = [{"type": f"sentence_transformers.models.{name}", "path": path} for name, path in parts]
    (folder / "modules.json").write_text(json.dumps(listed))
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        (SENTENCES[:1], "lists Transformer: qkv supports Transformer, Pooling and optionally Normalize"),
        ([*SENTENCES, SENTENCES[2]], "each once and in this order"),
        ([("Transformer", "0_Transformer"), SENTENCES[1]], "has the Transformer in the folder 0_Transformer"),
    ],
)
def test_parts_of_a_sentence_transformer_in_another_order_or_place_are_rejected(
    bert: Path, parts: list[tuple[str, str]], match: str
) -> None:
    sentences(bert, parts)
    refused(bert, match)


def test_what_a_sentence_transformer_does_with_a_text_before_it_is_cut_is_rejected(bert: Path) -> None:
    sentences(bert, SENTENCES)
    write(bert / "sentence_bert_config.json", {"do_lower_case": True})
    open_published(bert)  # its tokenizer does that too
    edited(bert / "tokenizer_config.json", do_lower_case=False)
    refused(bert, "do_lower_case lowercases text before the tokenizer")
    write(bert / "sentence_bert_config.json", {"do_lower_case": False})
    write(
        bert / "config_sentence_transformers.json", {"prompts": {"query": "q: "}, "default_prompt_name": None}
    )
    open_published(bert)
    edited(bert / "config_sentence_transformers.json", default_prompt_name="query")
    refused(bert, "default_prompt_name adds the prompt 'query' to every text")


# Pictures ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"do_normalize": False}, "do_normalize is False"),
        ({"do_rescale": False}, "do_rescale is False"),
        ({"rescale_factor": 1 / 127.5}, "rescale_factor is 0.0078"),
        ({"do_center_crop": True}, "do_center_crop is True"),
        ({"size": {"shortest_edge": 16}}, "images are resized to .*, but the model reads 12 × 12"),
        ({"size": 16}, "images are resized to 16"),
    ],
)
def test_unsupported_image_preprocessing_is_rejected(
    tmp_path: Path, settings: dict[str, Any], match: str
) -> None:
    write_vit(tmp_path / "published")
    path = tmp_path / "published" / "preprocessor_config.json"
    edited(path, size=12, do_normalize=True, do_rescale=True, rescale_factor=0.00392156862745098, resample=2)
    open_published(tmp_path / "published")
    edited(path, **settings)
    refused(tmp_path / "published", match)


# Settings without effect, and files that are not believed ----------------------------------------------------------


def test_settings_with_the_value_that_changes_nothing_are_let_through(bert: Path) -> None:
    inert = {
        "emb_size": 12,
        "pruned_heads": {},
        "use_bfloat16": False,
        "num_labels": 2,
        "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",
    }
    edited(bert / "config.json", **inert)
    open_published(bert)
    for changes, match in (
        ({"emb_size": 7}, "emb_size is 7; qkv supports only 12"),
        ({"pruned_heads": {"0": [1]}}, "unknown settings: pruned_heads"),
        (
            {"sbert_ce_default_activation_function": "torch.nn.Sigmoid"},
            "sbert_ce_default_activation_function",
        ),
    ):
        edited(bert / "config.json", **{**inert, **changes})
        refused(bert, match)


@pytest.mark.parametrize(
    ("write_model", "names"),
    [
        (lambda folder: write_bert(folder, BertModel), ["vocab.txt", "modules.json"]),
        (write_gpt1, ["vocab.json", "merges.txt"]),
        (write_gpt2, ["tokenizer.json"]),
    ],
)
def test_no_file_is_read_that_is_too_large(
    write_model: Callable[[Path], Any], names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "published"
    write_model(folder)
    monkeypatch.setattr(folders, "LARGEST_JSON", 100_000)
    open_published(folder)
    for name in names:
        before = (folder / name).read_bytes() if (folder / name).exists() else b"[]"
        (folder / name).write_bytes(before + b" " * 100_001)
        refused(folder, f"{name} has .* bytes, which is too large to read")
        (folder / name).write_bytes(before)
        if before == b"[]":
            (folder / name).unlink()


def test_a_kernel_that_a_config_names_is_not_fetched_and_an_adapter_not_overlooked(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    real = BertModel.from_pretrained

    def opened(*each: Any, **how: Any) -> Any:
        asked.append(how.get("attn_implementation"))
        return real(*each, **how)

    monkeypatch.setattr(BertModel, "from_pretrained", opened)
    edited(bert / "config.json", attn_implementation="somebody/kernel")
    imported = import_model(bert, tmp_path / "out", origin="here")
    assert asked == ["eager"]
    assert imported.proof is not None
    assert torch.isfinite(torch.tensor(imported.proof.difference))
    write(bert / "adapter_config.json", {"peft_type": "LORA"})
    refused(bert, "has an adapter_config.json: it is an adapter for another model")
