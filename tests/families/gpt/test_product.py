"""Continuing texts: the same seed the same text, greedy is the likeliest, windows slide, and likelihoods add up."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from language_models import TEXT, untrained

import qkv
from qkv.engine import GPTEngine, NoEngineError
from qkv.engine.reference.gpt import NumpyGPT
from qkv.errors import QkvError
from qkv.families.gpt.config import first_read
from qkv.families.gpt.options import GenerationOptions
from qkv.families.gpt.product import LanguageModel, TokenType
from qkv.runtime.runners import WITHOUT_ENGINE
from qkv.runtime.running import EXACT, Running

texts = pytest.mark.parametrize(
    "generator", [untrained("subwords"), untrained("characters")], ids=["subwords", "characters"]
)
SEED = 2  # of a long text
GREEDY = GenerationOptions(max_new_tokens=15, temperature=0)


def by_hand(generator: LanguageModel, ids: list[int], tokens: int) -> list[int]:
    """The likeliest next token, found by reading the window anew each time."""
    config, said = generator.model.config, list(ids)
    for _ in range(tokens):
        window = said[first_read(len(said), config.max_length) :]
        scores = generator.model(torch.tensor([window]))[0, -1]
        scores[:2] = float("-inf")  # padding and start are never said
        said.append(int(scores.argmax()))
    return said[len(ids) :]


@texts
@torch.no_grad()
def test_temperature_0_takes_the_likeliest_also_past_the_context(generator: LanguageModel) -> None:
    ids = generator.tokenizer.encode("the dog")
    expected = by_hand(generator, ids, 15)
    assert generator.tokenizer.end not in expected
    said = list(generator._stream_ids(ids, GREEDY, lambda: None))
    assert said == expected
    assert generator.generate("the dog", GREEDY) == b"".join(
        generator.tokenizer.token_bytes[token] for token in expected
    ).decode(errors="replace")


@texts
def test_the_same_seed_gives_the_same_text_and_another_another(generator: LanguageModel) -> None:
    told = [
        generator.generate("the", GenerationOptions(max_new_tokens=30, temperature=1.0, seed=seed))
        for seed in (1, 1, 2)
    ]
    assert told[0] == told[1] != told[2]


@texts
def test_streamed_text_equals_generated_text(generator: LanguageModel) -> None:
    generation = GenerationOptions(max_new_tokens=25, temperature=1.0, seed=SEED)
    bits = list(generator.stream("the", generation))
    assert len(bits) > 3
    assert "".join(bits) == generator.generate("the", generation)


@texts
def test_sliding_is_reported_once(generator: LanguageModel) -> None:
    told: list[str] = []
    list(generator.stream("the", GREEDY, lambda: told.append("slides")))
    assert told == ["slides"]
    list(generator.stream("th", GenerationOptions(max_new_tokens=2), lambda: told.append("again")))
    assert told == ["slides"]


@texts
def test_a_prompt_longer_than_the_context_is_read_in_its_window(generator: LanguageModel) -> None:
    prompt = TEXT[:60]
    ids = generator.tokenizer.encode(prompt)
    window = ids[first_read(len(ids), 9) :]
    few = GenerationOptions(max_new_tokens=1, temperature=0)  # a second token slides elsewhere
    assert list(generator._stream_ids(ids, few, lambda: None)) == list(
        generator._stream_ids(window, few, lambda: None)
    )


def test_without_a_prompt_a_document_is_begun_after_an_end() -> None:
    generator = untrained("characters")
    expected = by_hand(generator, [generator.tokenizer.end], 8)
    assert generator.generate(
        "", GenerationOptions(max_new_tokens=8, temperature=0)
    ) == generator.tokenizer.decode(expected)


def test_it_ends_before_the_stop() -> None:
    generator = untrained("characters")
    whole = generator.generate("the", GenerationOptions(max_new_tokens=40, temperature=1.0, seed=SEED))
    stop = whole[10:12]
    cut = generator.generate(
        "the", GenerationOptions(max_new_tokens=40, temperature=1.0, seed=SEED, stop=stop)
    )
    assert cut == whole.partition(stop)[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"temperature": -0.1}, "temperature must be 0 or more"),
        ({"temperature": float("nan")}, "temperature must be 0 or more"),
        ({"temperature": float("inf")}, "temperature must"),
        ({"temperature": 1e-40}, "temperature must"),
        ({"max_new_tokens": 0}, "max_new_tokens must be from 1 to 1,000,000,000"),
        ({"max_new_tokens": 10**12}, "max_new_tokens must be from 1 to 1,000,000,000"),
        ({"seed": 10**18}, "seed must have at most 18 digits"),
        ({"seed": -(10**30)}, "seed must have at most 18 digits"),
        ({"top_p": 0.0}, "top.p must"),
        ({"top_k": -1}, "top.k must not be negative"),
        ({"temperature": 0, "top_k": -1}, "top.k must not be negative"),
    ],
)
def test_impossible_options_are_errors(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(QkvError, match=sentence):
        GenerationOptions(**options)  # type: ignore[arg-type]


@texts
@torch.no_grad()
def test_likelihoods_use_the_windows_of_generation(generator: LanguageModel) -> None:
    ids = generator.tokenizer.encode(TEXT[:80])
    found = generator.log_probabilities(TEXT[:80])
    stream = [generator.tokenizer.end, *ids]
    each = []
    for place in range(1, len(stream)):
        window = torch.tensor([stream[first_read(place, 9) : place]])
        each.append(generator.model(window)[0, -1].log_softmax(-1)[stream[place]])
    np.testing.assert_allclose(found, torch.stack(each), atol=1e-4, rtol=1e-4)


def test_a_large_vocabulary_is_scored_in_smaller_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = untrained("characters")
    together = generator.log_probabilities(TEXT)
    rows: list[int] = []
    generator.model.tokens.register_forward_pre_hook(lambda _, given: rows.append(len(given[0])))
    monkeypatch.setattr("qkv.families.gpt.product.SCORES_AT_ONCE", 2 * 9 * generator.model.config.vocab_size)
    torch.testing.assert_close(generator.log_probabilities(TEXT), together, atol=1e-5, rtol=1e-5)
    assert max(rows) == 2


def test_choices_are_scored_by_their_likelihood_after_the_prompt() -> None:
    generator = untrained("characters")
    scores = generator.score_choices("the ", ["cat", "dog"])
    whole = generator.log_probabilities("the cat")
    assert scores[0] == pytest.approx(float(whole[-3:].sum()), abs=1e-4)
    with pytest.raises(QkvError, match="none may be empty"):
        generator.score_choices("the ", ["cat", ""])


def test_an_empty_text_has_no_likelihood() -> None:
    with pytest.raises(QkvError, match="without tokens"):
        untrained("subwords").log_probabilities("")


@pytest.mark.parametrize("pieces", ["subwords", "characters", "notes"])
def test_a_saved_model_gives_the_same_output(pieces: str, tmp_path: Path) -> None:
    generator = untrained(pieces)  # type: ignore[arg-type]
    generator.save(tmp_path)
    again = qkv.load(tmp_path, EXACT)
    assert isinstance(again, LanguageModel)
    ids = [5, 6, 7]
    assert list(again._stream_ids(ids, GREEDY, lambda: None)) == list(
        generator._stream_ids(ids, GREEDY, lambda: None)
    )


# Music ------------------------------------------------------------------------------------------------------


def test_music_continues_in_voices_and_whole_frames() -> None:
    generator = untrained("notes", max_length=16)
    beginning = [(60, 55, 52, 48), (62, 55, 53, 47)]
    notes, generation = generator._notes(), GenerationOptions(max_new_tokens=22, temperature=1.0)
    said = list(generator._stream_ids(notes.encode_frames(beginning), generation, lambda: None))
    assert len(said) == 22
    voices = [notes.of_voice(place % 4) for place in range(len(said))]
    assert all(token in voice for token, voice in zip(said, voices, strict=True))
    found = generator.compose(beginning, generation)
    assert found[:2] == beginning
    assert notes.encode_frames(found)[8:] == said[:20]  # the sixth frame is not whole


def test_the_likelihood_of_music_is_that_of_its_notes() -> None:
    generator = untrained("notes", max_length=16)
    pieces = [[(60, 55, 52, 48)] * 5, [(62, 57, 53, 46)] * 3]
    nats = [
        -float(generator._log_probabilities_of(generator._notes().encode_frames(p)).sum()) for p in pieces
    ]
    assert generator._nats_of_music(pieces) == pytest.approx(sum(nats), rel=1e-5)


def test_text_and_music_are_not_mixed_up() -> None:
    music = untrained("notes")
    for ask in (
        music.stream,
        music.log_probabilities,
        lambda text: music.score_choices(text, ["cat", "dog"]),
    ):
        with pytest.raises(QkvError, match="makes music"):
            ask("the")
    with pytest.raises(QkvError, match="generates text"):
        untrained("characters").compose()


def broken_compiler(*_: object, **__: object) -> None:
    raise NoEngineError("there is no C++ compiler")


@pytest.mark.parametrize("pieces", ["subwords", "characters"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_engine_continues_as_the_model_does(pieces: TokenType, temperature: float) -> None:
    generator, generation = untrained(pieces), GenerationOptions(max_new_tokens=40, temperature=temperature)
    by_engine = generator._running(EXACT)
    if not isinstance(by_engine._runner, GPTEngine):
        pytest.skip("the engine cannot be built here")
    for prompt in ("", "the dog", TEXT[:80]):
        assert by_engine.generate(prompt, generation) == generator.generate(prompt, generation)


def test_the_engine_composes_what_the_model_does() -> None:
    generator, generation = untrained("notes"), GenerationOptions(max_new_tokens=40, temperature=1.0)
    assert generator._running(EXACT).compose([], generation) == generator.compose([], generation)


@pytest.mark.parametrize("compute", ["float32", "int8"])
def test_without_a_compiler_the_text_is_the_same_with_one_warning(
    compute: Literal["float32", "int8"], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator, generation = untrained("subwords"), GenerationOptions(max_new_tokens=30, temperature=0)
    running = Running(compute_type=compute)
    by_engine = generator._running(running)
    monkeypatch.setattr("qkv.engine.gpt.GPTEngine", broken_compiler)
    told: list[str] = []
    by_numpy = generator._running(running, told.append)
    assert isinstance(by_numpy._runner, NumpyGPT)
    assert told == [WITHOUT_ENGINE.format(error="there is no C++ compiler")]
    assert by_numpy.generate("the dog", generation) == by_engine.generate("the dog", generation)


def test_bf16_continues_a_text_and_leaves_the_model_as_it_is() -> None:
    generator = untrained("subwords")
    smaller = generator._running(Running(compute_type="bf16"))
    assert smaller.generate("the dog", GREEDY)
    assert generator.model.tokens.weight.dtype is torch.float32
