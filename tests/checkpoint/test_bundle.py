"""A saved bundle loads unchanged; an incomplete one gives an error that says why."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import qkv
from qkv.checkpoint.bundle import FORMAT, load_bundle, read_config
from qkv.checkpoint.files import write_json
from qkv.checkpoint.tensors import read_tensors, write_tensors
from qkv.core.stack_config import StackConfig
from qkv.errors import QkvError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.text.tokenizer import Tokenizer

SENTENCES = ["the cat danced", "the baby is crying", "I like cats", "my friends like tomatoes"]


def tiny_translator(positions: str = "learned") -> Translator:
    torch.manual_seed(3)
    tokenizer = Tokenizer.learn(SENTENCES * 3, 290)
    stack = StackConfig(
        depth=1, width=12, heads=3, ffn_width=20, norm="pre", activation="relu", dropout=0.1, norm_eps=1e-6
    )
    config = TranslatorConfig(
        vocab_size=len(tokenizer),
        max_length=40,
        pad=0,
        start=1,
        end=2,
        positions=positions,
        encoder=stack,
        decoder=stack,
        label_smoothing=0.1,
    )
    languages = Languages(source="en", target="de")
    defaults = TranslatorDefaults(languages=languages, max_source_length=30, beam_size=2, length_penalty=0.6)
    return Translator(TranslatorModel(config), tokenizer, defaults)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_translator().save(tmp_path / "bundle")
    return tmp_path / "bundle"


def edit_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    write_json(folder / "config.json", {**config, **changes})


@pytest.mark.parametrize("positions", ["interleaved", "halves", "learned", "none"])
def test_save_then_load_gives_equal_logits_and_translations(tmp_path: Path, positions: str) -> None:
    before = tiny_translator(positions)
    before.save(tmp_path / "bundle")
    after = qkv.load(tmp_path / "bundle", compute_type="float32")
    assert after._defaults == before._defaults
    assert after.model.config == before.model.config
    source, shifted = torch.tensor([[5, 9, 260, 2]]), torch.tensor([[1, 7, 8]])
    before.model.eval()
    after.model.eval()
    assert torch.equal(after.model(source, shifted), before.model(source, shifted))
    assert after.translate(SENTENCES) == before.translate(SENTENCES)
    assert after.translate(SENTENCES, beam=1) == before.translate(SENTENCES, beam=1)


def test_a_bundle_is_files_that_others_can_open(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors", "tokenizer.json"}
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["format"] == FORMAT
    assert config["kind"] == "translator"
    assert config["languages"] == {"source": "en", "target": "de"}


def test_the_config_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a config is no bundle, so half of one is never taken for a model."""
    monkeypatch.setattr("qkv.checkpoint.bundle.write_arrays", fail_for_lack_of_space)
    with pytest.raises(OSError, match="No space"):
        tiny_translator().save(tmp_path / "bundle")
    with pytest.raises(QkvError, match=r"has no config\.json"):
        qkv.load(tmp_path / "bundle")


def fail_for_lack_of_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_folder_that_does_not_exist_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match=r"there is no folder .*nowhere\. Give the folder"):
        qkv.load(tmp_path / "nowhere")


def test_a_folder_that_is_not_a_bundle_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match=r"is not a qkv model: it has no config\.json"):
        qkv.load(tmp_path)


def test_the_error_for_a_run_without_a_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "training").mkdir()
    with pytest.raises(QkvError, match="is not a qkv model"):
        qkv.load(tmp_path)
    (tmp_path / "training" / "run.json").touch()
    with pytest.raises(QkvError, match=r"has no model yet: .* Resume the run"):
        qkv.load(tmp_path)


def test_a_file_instead_of_a_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(QkvError, match="is not a qkv model"):
        qkv.load(tmp_path / "file")


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": 1}', '"text"', '{"architectures": ["Marian"]}'])
def test_the_config_of_another_tool_is_rejected(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(QkvError, match="has no format and kind"):
        qkv.load(tmp_path)


@pytest.mark.parametrize("number", [0, FORMAT + 1, "1", None])
def test_the_error_for_another_format_names_both_numbers(folder: Path, number: object) -> None:
    edit_config(folder, format=number)
    with pytest.raises(
        QkvError, match=f"has bundle format {number}, but this version of qkv reads formats 1 to {FORMAT}"
    ):
        qkv.load(folder)


def test_an_unknown_kind_is_rejected(folder: Path) -> None:
    edit_config(folder, kind="oracle")
    with pytest.raises(
        QkvError, match=r"kind 'oracle', which this version of qkv does not know\. It knows translator, gpt"
    ):
        qkv.load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(QkvError, match=name):
        qkv.load(folder)


def test_a_changed_bit_in_the_weights_is_rejected(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 16
    path.write_bytes(content)
    with pytest.raises(QkvError, match="does not match its hash"):
        qkv.load(folder)


def test_a_tokenizer_that_does_not_fit_is_rejected(folder: Path) -> None:
    other = Tokenizer.learn(["nothing in common"] * 3, 265)
    (folder / "tokenizer.json").write_text(other.text(), encoding="utf-8")
    with pytest.raises(QkvError, match=r"tokenizer\.json is damaged or belongs to another model"):
        qkv.load(folder)
    edit_config(folder, sha256={})
    with pytest.raises(
        QkvError, match=f"tokenizer has {len(other)} tokens, but the model has .* do not belong"
    ):
        qkv.load(folder)


def test_missing_unknown_and_misshaped_weights_are_all_in_one_message(folder: Path) -> None:
    weights = read_tensors(folder / "model.safetensors")
    missing = [name for name in weights if name.startswith("decoder.blocks.0.cross_attention.norm")]
    assert len(missing) == 2
    for name in missing:
        del weights[name]
    weights["stowaway"] = torch.zeros(1)
    weights["tokens.weight"] = torch.zeros(3, 12)
    write_tensors(folder / "model.safetensors", weights)
    with pytest.raises(QkvError) as caught:
        qkv.load(folder)
    for name in missing:
        assert f"{name} is missing" in str(caught.value)
    assert "stowaway is unknown" in str(caught.value)
    assert "tokens.weight has shape (3, 12) instead of (" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": None}, "expected an object with the settings of TranslatorConfig"),
        ({"architecture": "abacus"}, "unknown architecture 'abacus'"),
        ({"architecture": "recurrent"}, "RecurrentConfig has no setting 'positions'"),
        ({"beem_size": 3}, "no setting 'beem_size'; did you mean beam_size"),
        ({"beam_size": "three"}, "beam_size should be int, not 'three'"),
        ({"languages": {"source": "en"}}, "Languages lacks target"),
    ],
)
def test_the_error_for_a_bad_config_names_the_setting(
    folder: Path, changes: dict[str, object], sentence: str
) -> None:
    edit_config(folder, **changes)
    with pytest.raises(QkvError, match=r"config\.json") as caught:
        qkv.load(folder)
    assert sentence in str(caught.value)


def test_a_bundle_from_before_architectures_had_names_is_a_transformer(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config.pop("architecture") == "transformer"
    write_json(folder / "config.json", config)
    assert isinstance(qkv.load(folder).model, TranslatorModel)


def test_loading_leaves_every_file_as_it_was(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    qkv.load(folder).translate(SENTENCES)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_config_can_be_read_without_the_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    config = read_config(folder)
    assert config["kind"] == "translator"
    assert "format" not in config


def test_a_bundle_holds_the_weights_and_the_vocabulary_that_were_saved(folder: Path) -> None:
    bundle, translator = load_bundle(folder), tiny_translator()
    assert (bundle.folder / "tokenizer.json").read_text(encoding="utf-8") == translator.tokenizer.text()
    for name, tensor in translator.model.state_dict().items():
        assert np.array_equal(bundle.weights[name], tensor)
