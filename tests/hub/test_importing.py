"""Published models in, out and back: the same outputs, or a sentence and nothing written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from published import mixed_lines, shaken, write_bert, write_gpt1, write_gpt2, write_marian, write_vit
from safetensors.torch import load_file, save_file
from transformers import (
    AutoTokenizer,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from qkv import load
from qkv.errors import QkvError
from qkv.hub import proof
from qkv.hub.exporting import export_to_transformers
from qkv.hub.importing import import_model

WRITERS: dict[str, Callable[[Path], Any]] = {
    "marian": write_marian,
    "gpt2": write_gpt2,
    "openai-gpt": write_gpt1,
    "vit": write_vit,
    "bert": lambda folder: write_bert(folder, BertModel),
    "masked words": lambda folder: write_bert(folder, BertForMaskedLM),
    "next sentence": lambda folder: write_bert(folder, BertForNextSentencePrediction),
    "pre-training": lambda folder: write_bert(folder, BertForPreTraining),
    "classes": lambda folder: write_bert(folder, BertForSequenceClassification, id2label={0: "no", 1: "yes"}),
    "number": lambda folder: write_bert(folder, BertForSequenceClassification, num_labels=1),
}
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")


def edited(folder: Path, name: str, **changes: Any) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refused(folder: Path, match: str, **how: Any) -> None:
    """With this sentence, and nothing is left behind."""
    out = folder.parent / "out"
    with pytest.raises(QkvError, match=match):
        import_model(folder, out, origin="here", **how)
    assert not [each for each in folder.parent.iterdir() if each != folder]


@pytest.mark.parametrize("name", WRITERS)
def test_every_family_goes_in_out_and_back_with_the_same_outputs(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "published")
    imported = import_model(tmp_path / "published", tmp_path / "first", origin="here")
    assert imported.proof is not None
    assert imported.proof.difference < 1e-5
    assert "transformers" in imported.proof.against
    report = json.loads((tmp_path / "first" / "report.json").read_text())
    assert report["imported"]["difference"] == imported.proof.difference
    exported = export_to_transformers(tmp_path / "first", tmp_path / "out")
    assert exported.proof.difference < 1e-5
    assert exported.greedy == (2 if name in ("marian", "gpt2", "openai-gpt") else None)
    import_model(tmp_path / "out", tmp_path / "second", origin="here")
    first, second = load(tmp_path / "first"), load(tmp_path / "second")
    assert first._defaults == second._defaults
    for weight, tensor in first.model.state_dict().items():
        assert torch.equal(second.model.state_dict()[weight], tensor), weight


@pytest.mark.parametrize("name", ["classes", "number"])
def test_a_classifier_is_imported_for_pairs_on_request(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "bundle", origin="here", pairs=True)
    model = load(tmp_path / "bundle")
    assert model.reads == "pairs"
    assert len(model.classify([("a dog", "the cat")])) == 1
    export_to_transformers(tmp_path / "bundle", tmp_path / "out")
    import_model(tmp_path / "out", tmp_path / "again", origin="here")
    assert load(tmp_path / "again").reads == "pairs"


@pytest.mark.parametrize("name", ["bert", "gpt2", "vit"])
def test_pairs_are_for_classifiers_of_texts(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "published")
    refused(tmp_path / "published", "is not a text classifier: it does not compare pairs", pairs=True)


@pytest.mark.parametrize("name", ["gpt2", "openai-gpt", "bert"])
def test_a_thousand_lines_of_mixed_scripts_have_the_ids_of_hugging_face(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "published")
    product = import_model(tmp_path / "published", tmp_path / "bundle", origin="here").product
    ours = product.tokenizer
    theirs = AutoTokenizer.from_pretrained(tmp_path / "published", model_max_length=10_000)
    export_to_transformers(tmp_path / "bundle", tmp_path / "out")
    again = AutoTokenizer.from_pretrained(tmp_path / "out", model_max_length=10_000)
    for line in mixed_lines(1000, 8):
        ids = theirs(line, add_special_tokens=False)["input_ids"]
        assert ours.encode(line) == ids, line
        assert theirs(line)["input_ids"] == again(line)["input_ids"]
    if name == "gpt2":
        said = b"".join(ours.token_bytes[token] for token in ours.encode("a dog"))
        assert said == b"a dog"


def test_a_model_in_several_files_or_in_sixteen_bits_is_read(tmp_path: Path) -> None:
    model = write_gpt2(tmp_path / "published")
    (tmp_path / "published" / "model.safetensors").unlink()
    model.half().save_pretrained(tmp_path / "published", max_shard_size="5KB")
    assert not (tmp_path / "published" / "model.safetensors").exists()
    imported = import_model(tmp_path / "published", tmp_path / "out", origin="here")
    assert imported.proof is not None
    assert imported.proof.difference < 1e-5
    assert imported.product.model.tokens.weight.dtype == torch.float32


def test_without_transformers_a_fingerprint_in_the_folder_is_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_marian(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "bundle", origin="here")
    monkeypatch.setattr("qkv.hub.proof.has_transformers", lambda: False)
    monkeypatch.setattr("qkv.hub.exporting.has_transformers", lambda: False)
    assert import_model(tmp_path / "published", tmp_path / "unproved", origin="here").proof is None
    exported = export_to_transformers(tmp_path / "bundle", tmp_path / "out")
    assert exported.proof.against == "the reloaded model"
    found = import_model(tmp_path / "out", tmp_path / "again", origin="here").proof
    assert found is not None
    assert found.difference < 1e-5
    assert "fingerprint" in found.against
    notes = json.loads((tmp_path / "out" / "qkv.json").read_text())
    notes["fingerprint"]["logits"][5] += 0.01
    (tmp_path / "out" / "qkv.json").write_text(json.dumps(notes))
    with pytest.raises(QkvError, match=r"differ by up to 1\.0e-02"):
        import_model(tmp_path / "out", tmp_path / "third", origin="here")
    assert not (tmp_path / "third").exists()


def test_a_model_that_computes_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bert(tmp_path / "published", BertForMaskedLM)
    real = proof.open_with_transformers
    monkeypatch.setattr(proof, "open_with_transformers", lambda *each: shaken(real(*each), seed=9))
    refused(tmp_path / "published", "the logits differ by up to .* Nothing was written")


# Bad input ------------------------------------------------------------------------------------------------------


def test_all_faults_of_the_weights_are_in_one_message(tmp_path: Path) -> None:
    folder = tmp_path / "published"
    write_marian(folder)
    weights = load_file(folder / "model.safetensors")
    weights["something.else"] = torch.zeros(3)
    del weights["model.encoder.layers.0.fc1.bias"], weights["model.decoder.layers.2.fc2.weight"]
    weights["model.decoder.layers.1.fc1.weight"] = torch.zeros(4, 5)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    refused(
        folder,
        r"missing: .*encoder.blocks.0.feed_forward.sublayer.expand.bias, "
        r"decoder.blocks.2.feed_forward.sublayer.contract.weight; left over: something.else; "
        r"of another shape: .*decoder.blocks.1.* has \(4, 5\) instead of \(17, 12\)",
    )


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"activation_function": "tanh"}, "activation_function is 'tanh'; qkv supports only relu"),
        ({"scale_embedding": False}, "scale_embedding is False; qkv supports only True"),
        ({"normalize_before": True}, "normalize_before is True"),
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings is False"),
        ({"rotary_embedding": True}, "unknown settings: rotary_embedding"),
        ({"model_type": "bart"}, "has the model type 'bart', which qkv cannot read"),
        (
            {"auto_map": {"AutoModel": "model.Mine"}},
            "needs custom code .auto_map., which qkv never runs",
        ),
        ({"encoder_layers": 1_000_000}, "has 1,000,003 blocks"),
        ({"encoder_layers": 1}, "left over: encoder.blocks.1"),
        ({"d_model": 16_000_000}, "this model cannot be built|of another shape"),
        ({"vocab_size": 10**12}, "vocab_size should be a size"),
        ({"vocab_size": 10_000_000}, "decoder_vocab_size is"),
        ({"max_position_embeddings": 10**9}, "max_position_embeddings should be a size"),
        ({"d_model": "twelve"}, "d_model should be a size, not 'twelve'"),
        ({"encoder_attention_heads": 5}, "width 12 is not a multiple of heads 5"),
        ({"eos_token_id": 99_999}, "eos_token_id should be a token id"),
    ],
)
def test_what_a_config_says_that_we_do_not_compute_is_rejected_by_name(
    changes: dict[str, Any], match: str, tmp_path: Path, marian_folder: Path
) -> None:
    folder = copied(marian_folder, tmp_path)
    edited(folder, "config.json", **changes)
    refused(folder, match)


@pytest.fixture(scope="module")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marian") / "published"
    write_marian(folder, ("fra", "deu"))
    return folder


def copied(folder: Path, to: Path) -> Path:
    target = to / "published"
    target.mkdir()
    for each in folder.iterdir():
        (target / each.name).write_bytes(each.read_bytes())
    return target


def test_a_tokenizer_that_does_not_fit_the_embeddings_is_rejected(
    tmp_path: Path, marian_folder: Path
) -> None:
    folder = copied(marian_folder, tmp_path)
    vocabulary = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(
        json.dumps({k: v for k, v in vocabulary.items() if v < len(vocabulary) - 2})
    )
    refused(folder, "the tokenizer has .* embeddings.*do not belong together")


def test_damaged_weights_are_rejected(tmp_path: Path, marian_folder: Path) -> None:
    folder = copied(marian_folder, tmp_path)
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    refused(folder, "model.safetensors is damaged")
    path.write_bytes(whole[:5])
    refused(folder, "shorter than its own header says")
    path.write_bytes((2**60).to_bytes(8, "little") + whole[8:])
    refused(folder, "shorter than its own header says")
    with open(path, "wb") as file:  # a header of 64 MB of spaces: refused before it is read
        file.write((64 << 20).to_bytes(8, "little"))
        file.truncate((64 << 20) + 8)
    refused(folder, "has a header of 67,108,864 bytes")
    path.unlink()
    refused(folder, "has no weights")


def test_an_index_may_not_leave_the_folder(tmp_path: Path, marian_folder: Path) -> None:
    folder = copied(marian_folder, tmp_path)
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    for name in ("../part.safetensors", "/etc/passwd", "a/../part.safetensors", "..", "..\\part"):
        index = {"weight_map": {"model.shared.weight": name}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        refused(folder, "which is not a file in this folder")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "gone.safetensors"}}')
    refused(folder, "names gone.safetensors, which is missing")


def test_a_pickle_is_read_only_when_asked_for_and_only_weights_of_it(
    tmp_path: Path, marian_folder: Path
) -> None:
    folder = copied(marian_folder, tmp_path)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    refused(folder, "a format that can contain harmful code")
    torch.save({"weights": Harmful(tmp_path / "ran")}, folder / "pytorch_model.bin")
    refused(folder, "contains more than weights, so it was not read", allow_pickle=True)
    assert not (tmp_path / "ran").exists()
    torch.save(weights, folder / "pytorch_model.bin")
    import_model(folder, tmp_path / "out", origin="here", allow_pickle=True)
    assert (tmp_path / "out" / "model.safetensors").exists()


class Harmful:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_a_changed_bit_in_what_we_have_written_is_found(tmp_path: Path, marian_folder: Path) -> None:
    import_model(marian_folder, tmp_path / "bundle", origin="here")
    export_to_transformers(tmp_path / "bundle", tmp_path / "out")
    for folder, act in ((tmp_path / "bundle", load), (tmp_path / "out", None)):
        path = folder / "model.safetensors"
        content = bytearray(path.read_bytes())
        content[-9] ^= 4
        path.write_bytes(content)
        with pytest.raises(QkvError, match="does not match its hash"):
            act(folder) if act else import_model(folder, tmp_path / "again", origin="here")
    assert not (tmp_path / "again").exists()


def test_a_target_language_is_asked_for_in_three_ways(tmp_path: Path, marian_folder: Path) -> None:
    import_model(marian_folder, tmp_path / "plain", origin="here")
    import_model(marian_folder, tmp_path / "french", origin="here", language="fra")
    plain, french = load(tmp_path / "plain"), load(tmp_path / "french")
    from qkv.families.translator.options import TranslationOptions

    wanted = plain.translate(">>fra<< the dog sees the old house")
    assert wanted != plain.translate("the dog sees the old house")
    assert french.translate("the dog sees the old house") == wanted
    assert plain.translate("the dog sees the old house", TranslationOptions(target_language="fra")) == wanted
    assert french.translate(">>deu<< the old house") == plain.translate(
        "the old house", TranslationOptions(target_language="deu")
    )
    with pytest.raises(QkvError, match="has no target language 'spa': choose from deu, fra"):
        plain.translate("the house", TranslationOptions(target_language="spa"))


def test_a_folder_that_is_there_already_is_kept(tmp_path: Path, marian_folder: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    with pytest.raises(QkvError, match="is not empty"):
        import_model(marian_folder, tmp_path / "out", origin="here")
    assert (tmp_path / "out" / "mine.txt").read_text() == "kept"


@pytest.mark.parametrize("kind", [BertForTokenClassification, BertForMultipleChoice])
def test_weights_of_a_head_that_means_something_else_are_rejected_by_the_name_of_their_class(
    kind: type[Any], tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    model = write_bert(folder, kind)
    weights = model.state_dict()
    if "bert.pooler.dense.weight" not in weights:  # which files of earlier versions have, beside this head
        weights |= {"bert.pooler.dense.weight": torch.ones(12, 12), "bert.pooler.dense.bias": torch.ones(12)}
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    refused(folder, f"is a {kind.__name__} .*, which qkv cannot read. Of this type it reads BertModel")


@pytest.mark.parametrize("name", ["gpt2", "vit", "marian"])
def test_every_family_is_read_as_the_class_that_its_config_names(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "published")
    edited(tmp_path / "published", "config.json", architectures=["SomethingElse"])
    refused(tmp_path / "published", "is a SomethingElse")
    edited(tmp_path / "published", "config.json", architectures="MarianMTModel")
    refused(tmp_path / "published", "architectures in its config.json should be a list of names")
    edited(tmp_path / "published", "config.json", architectures=None)
    import_model(tmp_path / "published", tmp_path / "out", origin="here")
