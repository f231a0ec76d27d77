"""Each experiment takes away one thing and nothing else, in a copy: the model itself stays as it was."""

import numpy as np
import pytest
import torch
from explorable import SENTENCE, random_translator

from qkv.errors import QkvError
from qkv.families.translator.trace import trace_translator
from qkv.tracing.experiments import Experiment, shuffle_words
from qkv.tracing.trace import Trace


def traced(experiment: Experiment = Experiment(), **options: str) -> Trace:  # noqa: B008
    return trace_translator(random_translator(**options), SENTENCE, experiment)  # type: ignore[arg-type]


def close(one: object, other: object) -> None:
    np.testing.assert_allclose(one, other, atol=2e-4)


def test_the_model_stays_as_it_was() -> None:
    translator = random_translator()
    before = {name: each.clone() for name, each in translator.model.state_dict().items()}
    everything = Experiment(no_scaling=True, no_mask=True, no_positions=True, silenced=("encoder.1",))
    trace_translator(translator, SENTENCE, everything)
    after = translator.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert translator.model.source_positions.table.abs().sum() > 0  # type: ignore[union-attr]


def test_without_scaling_the_softmax_sees_the_scores_themselves() -> None:
    usual, changed = traced(), traced(Experiment(no_scaling=True))
    close(changed["encoder.0.attention.scaled"], usual["encoder.0.attention.scores"])


def test_without_the_mask_every_token_attends_to_later_ones() -> None:
    usual, changed = traced(), traced(Experiment(no_mask=True))
    assert np.isneginf(usual["decoder.0.attention.masked"]).any()
    for block in range(3):
        assert np.isfinite(changed[f"decoder.{block}.attention.masked"]).all()
        assert (changed[f"decoder.{block}.attention.weights"] > 0).all()
    close(changed["encoder.output"], usual["encoder.output"])


@pytest.mark.parametrize("positions", ["interleaved", "halves", "learned", "rotary"])
def test_without_positions_the_encoder_cannot_tell_order(positions: str) -> None:
    translator = random_translator(positions=positions)
    plain = Experiment(no_positions=True)
    one, other = (trace_translator(translator, text, plain) for text in ("one two nine", "nine one two"))
    first, second = (np.array(each.sides[0].ids) for each in (one, other))
    assert sorted(first) == sorted(second)
    assert list(first) != list(second)
    close(one["encoder.output"][first.argsort()], other["encoder.output"][second.argsort()])


def test_a_silenced_head_adds_nothing() -> None:
    usual, changed = traced(), traced(Experiment(silenced=("encoder.0.attention.1",)))
    weight = usual.weights["encoder.blocks.0.attention.sublayer.output.weight"].numpy()
    share = usual["encoder.0.attention.heads"][1] @ weight[:, 8:16].T
    close(changed["encoder.0.attention.output"], usual["encoder.0.attention.output"] - share)
    assert np.abs(share).max() > 0.01


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_silenced_block_adds_nothing(norm: str) -> None:
    changed = traced(Experiment(silenced=("decoder.1",)), norm=norm)
    for sublayer in ("attention", "cross_attention", "feed_forward"):
        assert not changed[f"decoder.1.{sublayer}.output"].any()
    if norm == "pre":
        close(changed["decoder.1.feed_forward.result"], changed["decoder.0.feed_forward.result"])


@pytest.mark.parametrize(
    "name", ["encoder.2", "decoder.0.attention.3", "encoder.0.cross_attention.0", "tokens", "x" * 99]
)
def test_silencing_a_missing_head_raises_an_error(name: str) -> None:
    with pytest.raises(QkvError, match="to silence"):
        traced(Experiment(silenced=(name,)))


def test_shuffling_keeps_the_words_and_changes_their_order() -> None:
    text = "the cat saw the dog"
    assert shuffle_words(text, 0) == text
    assert shuffle_words(text, 5) == shuffle_words(text, 5) != text
    assert sorted(shuffle_words(text, 5).split()) == sorted(text.split())
    assert shuffle_words("one", 7) == "one"
