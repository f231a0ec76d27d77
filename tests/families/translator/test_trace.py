"""A trace is the translation itself: the same words, and every number on the way to them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from explorable import SENTENCE, random_translator, save_explorable

import qkv
from qkv.errors import QkvError
from qkv.families.tracing import trace
from qkv.families.translator.trace import trace_translator
from qkv.tracing.experiments import Experiment


@pytest.mark.parametrize("beam", [1, 3])
def test_the_words_are_those_of_translate(beam: int) -> None:
    translator = random_translator(beam=beam)
    for text in (SENTENCE, "nine", "zero four, {name} five"):
        assert trace(translator, text).translation == translator.translate(text)


def test_the_output_is_the_text_of_the_traced_tokens_also_of_a_model_that_loops() -> None:
    found = []
    for seed in range(6):
        translator = random_translator(seed=seed)
        each = trace(translator, SENTENCE)
        ids = each.side("decoder").ids[1:]
        half = "\N{REPLACEMENT CHARACTER}"  # bytes of a character that the end cuts
        assert each.output.rstrip(half) == translator.tokenizer.decode(ids).strip().rstrip(half)
        assert each.translation == translator.translate(SENTENCE)
        found.append(each)
    assert any(each.output != each.translation for each in found)  # one was retried


def test_the_recorded_logits_predict_the_output() -> None:
    found = trace(random_translator(), SENTENCE)
    target = found.side("decoder")
    assert len(found.choices) == len(target.output)
    for choice, row in zip(found.choices, found["logits"], strict=True):
        likeliest = max(choice.candidates, key=lambda each: each.logit)
        assert likeliest.id == int(row.argmax())
        assert choice.total == pytest.approx(float(np.logaddexp.reduce(row.astype(np.float64))), abs=1e-6)
        assert choice.chosen in [each.id for each in choice.candidates]
    # Greedy search says the likeliest; where the answer was cut off, what follows is the end by decree.
    said = [choice.chosen for choice in found.choices[:-1]]
    assert said == [int(row.argmax()) for row in found["logits"][:-1]] or 2 in found["logits"].argmax(-1)


def test_hypotheses_that_lost_were_less_likely_when_they_did() -> None:
    beams = trace(random_translator(beam=4), SENTENCE).beams
    assert beams is not None
    scores = [hypothesis.score for _, hypothesis, _ in beams.hypotheses]
    assert scores == sorted(scores, reverse=True)
    for _, hypothesis, divisor in beams.hypotheses:
        assert hypothesis.score == pytest.approx(sum(hypothesis.log_probabilities) / divisor, abs=1e-4)
    assert beams.pruned
    for _, lost in beams.pruned:
        assert lost.prefix.best <= lost.kept + 1e-5
    assert all(len(alive) <= 4 for alive in beams.rounds)


def test_an_unknown_name_raises_an_error_with_the_nearest_names() -> None:
    found = trace(random_translator(), "one")
    with pytest.raises(KeyError) as caught:
        found["encoder.0.attention.weight"]
    assert "encoder.0.attention.weights" in str(caught.value)
    assert len(str(caught.value)) < 250
    assert len(repr(found)) < 250


def test_attention_is_exported_for_bertviz() -> None:
    found = trace(random_translator(), "one two")
    given = found.bertviz()
    source, target = len(given["encoder_tokens"]), len(given["decoder_tokens"])
    assert [tuple(each.shape) for each in given["cross_attention"]] == [(1, 3, target, source)] * 3
    assert [tuple(each.shape) for each in given["encoder_attention"]] == [(1, 3, source, source)] * 2
    for each in given["decoder_attention"]:
        torch.testing.assert_close(each.sum(-1), torch.ones(1, 3, target))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("12 + 3", "nothing to translate"), ("", "nothing"), ("nine " * 70, "can be traced")],
)
def test_untraceable_text_raises_an_error(text: str, sentence: str) -> None:
    with pytest.raises(QkvError, match=sentence):
        trace(random_translator(), text)


def test_a_forced_token_is_output_and_the_rest_follows_from_it() -> None:
    translator = random_translator()
    free = trace(translator, SENTENCE)
    other = next(each.id for each in free.choices[1].candidates if each.id != free.choices[1].chosen)
    forced = trace_translator(translator, SENTENCE, Experiment(force=(free.choices[0].chosen, other)))
    assert [choice.chosen for choice in forced.choices[:2]] == [free.choices[0].chosen, other]
    with pytest.raises(QkvError, match="a forced token"):
        trace_translator(translator, SENTENCE, Experiment(force=(99_999,)))


def test_the_package_gives_a_trace_of_a_folder(tmp_path: Path) -> None:
    save_explorable(tmp_path / "model")
    found = qkv.trace(tmp_path / "model", SENTENCE)
    assert isinstance(found, qkv.Trace)
    assert found["decoder.2.cross_attention.weights"].shape == (
        3,
        len(found.side("decoder").tokens),
        len(found.side("encoder").tokens),
    )
