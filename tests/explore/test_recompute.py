"""The second computation agrees with the model, and would not if either were wrong."""

from dataclasses import replace

import numpy as np
import pytest
from explorable import SENTENCE, random_translator

from qkv.explorer.recompute import check
from qkv.families.tracing import trace
from qkv.families.translator.trace import trace_translator
from qkv.tracing.experiments import Experiment

EVERYTHING = [
    Experiment(no_scaling=True),
    Experiment(no_mask=True),
    Experiment(no_positions=True),
    Experiment(silenced=("encoder.0", "decoder.2.cross_attention.1")),
]


@pytest.mark.parametrize("positions", ["interleaved", "halves", "learned", "rotary", "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_number_of_a_trace_is_found_again(norm: str, positions: str) -> None:
    found = check(trace(random_translator(norm=norm, positions=positions), SENTENCE))
    assert found.arrays > 100
    assert found.largest < 1e-4, found


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "swish"])
def test_every_activation_is_recomputed(activation: str) -> None:
    assert check(trace(random_translator(activation=activation), SENTENCE)).largest < 1e-4


@pytest.mark.parametrize("experiment", EVERYTHING)
@pytest.mark.parametrize("positions", ["interleaved", "rotary"])
def test_so_it_is_in_every_experiment(experiment: Experiment, positions: str) -> None:
    assert (
        check(trace_translator(random_translator(positions=positions), SENTENCE, experiment)).largest < 3e-4
    )


@pytest.mark.parametrize("experiment", [Experiment(), *EVERYTHING, Experiment(silenced=("decoder.1",))])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_values_of_a_recurrent_cell_are_recomputed(norm: str, experiment: Experiment) -> None:
    found = trace_translator(random_translator(norm=norm, cell="ssru"), SENTENCE, experiment)
    assert found["decoder.0.cell.state"].shape == (len(found.side("decoder").tokens), 24)
    assert check(found).largest < 3e-4
    if experiment.silenced == ("decoder.1",):
        assert not found["decoder.1.cell.output"].any()


@pytest.mark.parametrize("name", ["encoder.1.attention.weights", "decoder.0.feed_forward.hidden", "logits"])
def test_a_number_that_is_wrong_is_seen(name: str) -> None:
    found = trace(random_translator(), SENTENCE)
    wrong = found[name].copy()
    wrong.flat[5] += 0.01
    seen = check(replace(found, arrays={**found.arrays, name: wrong}))
    assert seen.where == name
    assert seen.largest == pytest.approx(0.01, abs=1e-3)


def test_a_mask_in_the_wrong_place_is_seen() -> None:
    found = trace(random_translator(), SENTENCE)
    name = "decoder.0.attention.masked"
    assert check(
        replace(found, arrays={**found.arrays, name: np.where(np.isfinite(found[name]), found[name], -1e9)})
    ).largest == float("inf")


def test_an_array_that_is_missing_is_seen() -> None:
    found = trace(random_translator(), SENTENCE)
    with pytest.raises(ValueError, match="only one of the two"):
        check(replace(found, arrays={name: each for name, each in found.arrays.items() if name != "logits"}))
