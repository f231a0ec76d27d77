"""A recurrent translator is walked through as well: every number is found again, also where something was changed."""

from dataclasses import replace

import numpy as np
import pytest
from explorable import SENTENCE, random_recurrent

from qkv.errors import QkvError
from qkv.explorer.recompute import check
from qkv.families.tracing import trace
from qkv.families.translator.trace import trace_translator
from qkv.tracing.experiments import Experiment

EXPERIMENTS = [
    Experiment(no_scaling=True),
    Experiment(silenced=("decoder.0.cross_attention.1",)),
    Experiment(silenced=("encoder.1", "decoder.2")),
    Experiment(shuffle=3),
]


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("beam", [1, 3])
def test_every_number_of_its_trace_is_found_again(heads: int, beam: int) -> None:
    translator = random_recurrent(heads=heads, beam=beam)
    found = trace(translator, SENTENCE)
    seen = check(found)
    assert seen.arrays == 2 + 2 + 3 + 2 + 10 + 1  # tokens, states, outputs, attention, logits
    assert seen.largest < 1e-4, seen
    assert found.translation == translator.translate(SENTENCE)
    assert found["decoder.0.cross_attention.weights"].shape[0] == heads


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_so_it_is_in_every_experiment(experiment: Experiment) -> None:
    assert check(trace_translator(random_recurrent(), SENTENCE, experiment)).largest < 1e-4


@pytest.mark.parametrize("name", ["encoder.1.states", "decoder.0.cross_attention.weights", "logits"])
def test_a_number_that_is_wrong_is_seen(name: str) -> None:
    found = trace(random_recurrent(), SENTENCE)
    wrong = found[name].copy()
    wrong.flat[5] += 0.01
    seen = check(replace(found, arrays={**found.arrays, name: wrong}))
    assert seen.where == name
    assert seen.largest == pytest.approx(0.01, abs=1e-3)


def test_a_silenced_lstm_shows_nothing_of_its_own() -> None:
    changed = trace_translator(random_recurrent(), SENTENCE, Experiment(silenced=("encoder.1", "decoder.2")))
    np.testing.assert_array_equal(changed["encoder.1.states"], changed["encoder.0.states"])
    np.testing.assert_array_equal(changed["decoder.2.states"], changed["decoder.1.states"])
    assert np.abs(changed["encoder.0.states"]).max() > 0.1


@pytest.mark.parametrize(
    "name",
    ["decoder.1.cross_attention.0", "decoder.0.attention.0", "decoder.0.cross_attention.3", "encoder.2"],
)
def test_what_it_does_not_have_cannot_be_silenced(name: str) -> None:
    with pytest.raises(QkvError, match="to silence"):
        trace_translator(random_recurrent(), SENTENCE, Experiment(silenced=(name,)))


def test_bertviz_gets_the_attention_that_there_is() -> None:
    told = trace(random_recurrent(), SENTENCE).bertviz()
    assert set(told) == {"cross_attention", "encoder_tokens", "decoder_tokens"}
    [weights] = told["cross_attention"]
    assert weights.shape == (1, 3, len(told["decoder_tokens"]), len(told["encoder_tokens"]))
