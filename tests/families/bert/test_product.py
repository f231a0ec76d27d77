"""Filling in, embedding and comparing texts; what cannot be done is a sentence."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_bert import CONTEXT, tiny_bert

from qkv.checkpoint.files import read_json, write_json
from qkv.errors import QkvError
from qkv.families.bert.encoding import concatenate
from qkv.families.bert.product import Bert
from qkv.families.loading import load
from qkv.runtime.running import EXACT, Running

TEXTS = ["the cat sat", "a dog barked at the cat", "why?"]


@pytest.fixture(scope="module", params=[EXACT, Running(engine="torch")], ids=["engine", "torch"])
def bert(request: pytest.FixtureRequest) -> Bert:
    return tiny_bert()._running(request.param)


def test_the_engine_and_torch_give_the_same_output() -> None:
    engine, by_torch = (tiny_bert()._running(each) for each in (EXACT, Running(engine="torch")))
    [one], [other] = (each.fill("the [MASK] sat", top_k=9) for each in (engine, by_torch))
    assert [guess.word for guess in one] == [guess.word for guess in other]
    for mine, theirs in zip(one, other, strict=True):
        assert mine.probability == pytest.approx(theirs.probability, abs=1e-5)
    follows = [each.follows("the cat sat", "it slept") for each in (engine, by_torch)]
    assert follows[0] == pytest.approx(follows[1], abs=1e-5)


def test_each_mask_gets_its_likeliest_words_best_first(bert: Bert) -> None:
    places = bert.fill("the [MASK] sat on the [MASK].", top_k=6)
    assert [len(guesses) for guesses in places] == [6, 6]
    for guesses in places:
        chances = [guess.probability for guess in guesses]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1
        assert not {"[MASK]", "[CLS]", "[PAD]"} & {guess.word for guess in guesses}
    every = bert.fill("the [MASK] sat", top_k=10_000)[0]
    assert sum(guess.probability for guess in every) == pytest.approx(1, abs=1e-5)


def test_fill_returns_the_probabilities_of_the_model(bert: Bert) -> None:
    pieces = bert.tokenizer
    ids = [pieces.begin, *pieces.encode("the"), pieces.mask, *pieces.encode("sat"), pieces.separator]
    with torch.no_grad():
        logits = bert.model(torch.tensor([ids]))[0, 2]
    logits[list(pieces.special)] = float("-inf")
    assert bert.fill("the [MASK] sat", top_k=1)[0][0].word == pieces.show([int(logits.argmax())])[0]


def test_vectors_are_means_or_first_places_of_length_one(bert: Bert) -> None:
    for pooling in ("mean", "first"):
        vectors = bert.embed(TEXTS, pooling=pooling)
        assert vectors.shape == (3, 20)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
        alone = np.concatenate([bert.embed([text], pooling=pooling) for text in TEXTS])
        assert vectors == pytest.approx(alone, abs=1e-5)
    raw = bert.embed(TEXTS, raw=True)
    assert np.linalg.norm(raw, axis=1).max() > 1.1


def test_a_text_is_most_like_itself(bert: Bert) -> None:
    assert bert.similar("the cat sat", "the cat sat") == pytest.approx(1, abs=1e-5)
    assert bert.similar("the cat sat", "why?") < 0.999
    assert bert.similar("the cat sat", "why?") == pytest.approx(bert.similar("why?", "the cat sat"), abs=1e-6)


def test_a_long_text_is_read_in_parts_and_every_place_counts(bert: Bert) -> None:
    long = "The cat sat on the mat. It slept there for hours. A dog barked at the cat. Why did it bark?"
    assert len(bert.tokenizer.encode(long)) > CONTEXT
    vectors = bert.embed([long, TEXTS[0]], raw=True)
    parts, owners = bert._parts_of([long], "mean")
    assert set(owners) == {0}
    lengths = [len(row.ids) for row in parts]
    states = bert._runner.texts(*concatenate(parts))
    assert vectors[0] == pytest.approx(states.mean(0), abs=1e-5)
    assert sum(lengths) == len(bert.tokenizer.encode(long)) + 2 * len(parts)


def test_the_next_sentence_has_a_probability(bert: Bert) -> None:
    assert 0 < bert.follows("the cat sat", "it slept") < 1


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda bert: bert.fill("the cat sat"), r"has no \[MASK\]"),
        (lambda bert: bert.fill("the [MASK] " + "cat " * 30), "reads at most 24"),
        (lambda bert: bert.similar("the cat", "\u200b"), r"the pair \(second text\) is empty"),
        (lambda bert: bert.follows("the cat", "\u200b"), r"pairs\[0\] has an empty text"),
        (lambda bert: bert.embed(["cat " * 30], pooling="first"), r"texts\[0\] has 32 tokens"),
        (lambda bert: bert.follows("the cat", "cat " * 30), "reads at most 24"),
    ],
)
def test_an_impossible_request_raises_an_error(bert: Bert, ask, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(QkvError, match=says):
        ask(bert)


def test_an_empty_text_is_the_two_marks_alone(bert: Bert) -> None:
    marks = [bert.tokenizer.join_texts([[]])]
    expected = bert._runner.texts(*marks[0], [2], "mean")[0]
    vectors = bert.embed(["the cat", "", " \u200b"], raw=True)
    assert vectors[1] == pytest.approx(expected, abs=1e-5)
    assert vectors[2] == pytest.approx(expected, abs=1e-5)
    assert vectors[0] == pytest.approx(bert.embed("the cat", raw=True), abs=1e-5)


def test_one_text_gives_one_vector(bert: Bert) -> None:
    assert bert.embed("the cat") == pytest.approx(bert.embed(["the cat"])[0])


def test_heads_that_are_not_there_are_named() -> None:
    bare = tiny_bert(words=False, next_sentence=False)
    with pytest.raises(QkvError, match="no head for masked words"):
        bare.fill("the [MASK]")
    with pytest.raises(QkvError, match="no head for the next sentence"):
        bare.follows("a", "b")
    assert bare.info()["heads"] == "none (embeddings only)"


def test_saved_and_loaded_it_gives_the_same_output(bert: Bert, tmp_path: Path) -> None:
    bert.save(tmp_path / "m")
    again = load(tmp_path / "m", EXACT)
    assert [guess.word for guess in again.fill("the [MASK] sat")[0]] == [
        guess.word for guess in bert.fill("the [MASK] sat")[0]
    ]
    assert again.embed(TEXTS) == pytest.approx(bert.embed(TEXTS), abs=1e-5)
    assert again.info() == bert.info()


def test_files_that_do_not_belong_together_are_rejected(bert: Bert, tmp_path: Path) -> None:
    bert.save(tmp_path / "m")
    config = read_json(tmp_path / "m" / "config.json")
    config["model"]["encoder"]["vocab_size"] += 1
    write_json(tmp_path / "m" / "config.json", config)
    with pytest.raises(QkvError, match="do not belong together"):
        load(tmp_path / "m")
