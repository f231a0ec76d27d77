"""The engine's search, and decoding on its steps, give the output of the model, with any options."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from qkv.core.stack_config import StackConfig
from qkv.engine import Engine, NoEngineError
from qkv.engine.reference.translator import NumpyTranslator
from qkv.errors import QkvError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.search import (
    BY_REQUESTS,
    BY_THE_CALLER,
    OBEYED,
    ONLY_BY_DEFAULT,
    Request,
    width_for,
)
from qkv.runtime.running import EXACT
from qkv.text.glossary import Glossary
from qkv.text.tokenizer import Tokenizer

SENTENCES = ["the cat danced", "the baby is crying", "I like {name} and cats", "my friends like tomatoes"]
TOKENIZER = Tokenizer.learn(SENTENCES * 3, 320)


def untrained(seed: int = 4) -> Translator:
    torch.manual_seed(seed)
    stack = StackConfig(depth=2, width=16, heads=2, ffn_width=24, norm="pre", activation="relu", dropout=0.0)
    config = TranslatorConfig(
        vocab_size=len(TOKENIZER), max_length=40, pad=0, start=1, end=2, positions="halves", encoder=stack, decoder=stack
    )  # fmt: skip
    model = TranslatorModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter *= 2
    languages = Languages(source="en", target="de")
    defaults = TranslatorDefaults(languages=languages, max_source_length=20, beam_size=2, length_penalty=1.0)
    return Translator(model, TOKENIZER, defaults)


@pytest.fixture(scope="module")
def model() -> Translator:
    return untrained()


@pytest.fixture(scope="module", params=[Engine, NumpyTranslator])
def without_torch(model: Translator, request: pytest.FixtureRequest) -> Translator:
    """The same model on the compiled engine and in NumPy, in float32."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param is NumpyTranslator:
            patch.setattr("qkv.families.translator.runner.Engine", no_engine)
        translator = model._running(EXACT)
    if not isinstance(translator._runner, request.param):
        pytest.skip("there is no compiler for the engine")
    return translator


@pytest.mark.parametrize(
    "wishes",
    [{"beam_size": 1}, {"beam_size": 3, "num_hypotheses": 3}, {"beam_size": 2, "prefix": "my cat"}],
    ids=str,
)
def test_an_ensemble_translates_like_the_models(
    wishes: dict[str, Any], model: Translator, without_torch: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoding, other = TranslationOptions(**wishes), untrained(5)
    wanted = model._together_with([other])._pipeline.hypotheses(SENTENCES, decoding)
    if isinstance(without_torch._runner, NumpyTranslator):
        monkeypatch.setattr("qkv.families.translator.runner.Engine", no_engine)
    pipeline = without_torch._together_with([other._running(EXACT)])._pipeline
    engine = pipeline.texts.searcher(decoding).engine
    assert (engine is not None and len(engine.others) == 1) == isinstance(without_torch._runner, Engine)
    found = pipeline.hypotheses(SENTENCES, decoding)
    for one, same in zip(found, wanted, strict=True):
        assert [each.text for each in one] == [each.text for each in same]
        for each, theirs in zip(one, same, strict=True):
            assert each.score == pytest.approx(theirs.score, abs=1e-3)


def test_a_draft_changes_no_translation(
    model: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.engine.engine.drafting_pays", lambda engine, drafter: True)
    model.save(tmp_path / "model")
    untrained(5).save(tmp_path / "other")
    translator = Translator.load(tmp_path / "model")
    for drafter in ("model", "other"):
        options = TranslationOptions(beam_size=1, draft=str(tmp_path / drafter))
        engine = translator._pipeline.texts.searcher(options).engine
        if engine is None:
            pytest.skip("there is no compiler for the engine")
        assert engine.drafter is not None
        for sentence in SENTENCES:
            assert translator.translate(sentence, options) == translator.translate(sentence, beam_size=1)
        many = translator.translate(SENTENCES, options)
        assert many == translator.translate(SENTENCES, beam_size=1)


def test_a_draft_that_cannot_work_is_an_error(model: Translator, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    other = untrained()
    other.tokenizer = Tokenizer.learn(["other words"] * 9, 290)
    config = replace(other.model.config, vocab_size=len(other.tokenizer))
    Translator(TranslatorModel(config), other.tokenizer, other._defaults).save(tmp_path / "other")
    translator = Translator.load(tmp_path / "model")
    with pytest.raises(QkvError, match="another vocabulary"):
        translator.translate("the cat", beam_size=1, draft=str(tmp_path / "other"))
    with pytest.raises(QkvError, match="`draft` is for greedy search: set `beam_size` to 1"):
        translator.translate("the cat", draft=str(tmp_path / "model"))
    with pytest.raises(QkvError, match="nowhere"):
        translator.translate("the cat", beam_size=1, draft=str(tmp_path / "nowhere"))


def no_engine(*_: Any, **__: Any) -> None:
    raise NoEngineError("there is no C++ compiler")


@pytest.mark.parametrize(
    "wishes",
    [
        {"beam_size": 1}, {"beam_size": 4, "num_hypotheses": 4}, {"beam_size": 3, "patience": 1.0, "num_hypotheses": 2},
        {"beam_size": 3, "contain": ("crying", "like")}, {"beam_size": 3, "avoid": ("a", "th")}, {"beam_size": 2, "prefix": "my cat"},
        {"beam_size": 2, "no_repeat_ngram_size": 2, "num_hypotheses": 2}, {"beam_size": 3, "coverage_penalty": 2.0}, {"repetition_penalty": 1.5},
        {"sample": True, "temperature": 1.3, "seed": 5}, {"sample": True, "top_k": 9, "num_hypotheses": 3, "seed": 6},
        {"beam_size": 2, "glossary": Glossary.of([("cat", "Katze"), ("like", "I like")]), "num_hypotheses": 2},
    ],
    ids=str,
)  # fmt: skip
def test_the_engine_and_numpy_translate_like_the_model(
    wishes: dict[str, Any], model: Translator, without_torch: Translator
) -> None:
    decoding = TranslationOptions(**wishes)
    wanted, found = (
        model._pipeline.hypotheses(SENTENCES, decoding),
        without_torch._pipeline.hypotheses(SENTENCES, decoding),
    )
    assert [[each.text for each in row] for row in found] == [[each.text for each in row] for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert [each.score for each in one] == pytest.approx([each.score for each in other], abs=1e-3)


def test_a_prefix_longer_than_the_context_raises_an_error() -> None:
    with pytest.raises(QkvError, match=r"need .* tokens, but this model has only 40 positions: shorten them"):
        untrained().translate("the cat", TranslationOptions(prefix="x " * 60))


def test_no_sample_contains_a_partial_character() -> None:
    translator = untrained()
    wild = TranslationOptions(sample=True, temperature=1_000.0)
    ids = TOKENIZER.encode("the cat danced")
    requests = [Request(source=ids, whole=True, seed=seed) for seed in range(20)]
    found = translator._pipeline.texts.searcher(wild).find(
        requests, translator._pipeline.texts.search(wild), lambda _: None
    )
    texts = [
        TOKENIZER.decode(translator._pipeline.texts.without_partial_character(each).ids) for (each,) in found
    ]
    assert not any("\ufffd" in text for text in texts), texts
    assert any(not text.isascii() for text in texts), "there is something to be whole"
    free = [replace(each, whole=False) for each in requests]
    found = translator._pipeline.texts.searcher(wild).find(
        free, translator._pipeline.texts.search(wild), lambda _: None
    )
    assert any("\ufffd" in TOKENIZER.decode(each.ids) for (each,) in found), (
        "without the rule there are halves"
    )


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("beam", [1, 3])
def test_the_compiled_search_obeys_the_rules_of_retries_like_the_general_one(
    size: int, beam: int, model: Translator
) -> None:
    translator = model._running(EXACT)
    if not isinstance(translator._runner, Engine):
        pytest.skip("there is no compiler for the engine")
    texts, decoding = translator._pipeline.texts, TranslationOptions(beam_size=beam, num_hypotheses=beam)
    searcher, search = texts.searcher(decoding), texts.search(decoding)
    requests = [
        Request(source=TOKENIZER.encode(text), no_repeat_ngram_size=size, whole=True) for text in SENTENCES
    ]
    found = searcher.find(requests, search, lambda _: None)
    assert "general" not in vars(searcher), "all of this is for the compiled search"
    free = searcher.find([Request(source=each.source) for each in requests], search, lambda _: None)
    assert [row[0].ids for row in free] != [row[0].ids for row in found], "the rules change something"
    wanted = searcher.general.decode(requests, search)
    assert [[each.ids for each in row] for row in found] == [[each.ids for each in row] for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert [each.score for each in one] == pytest.approx([each.score for each in other], abs=1e-4)


@pytest.mark.parametrize("best", [1, 3])
@pytest.mark.parametrize("beam", [1, 3])
def test_the_compiled_search_obeys_the_rules_of_every_request_like_the_general_one(
    beam: int, best: int, model: Translator
) -> None:
    translator = model._running(EXACT)
    if not isinstance(translator._runner, Engine):
        pytest.skip("there is no compiler for the engine")
    texts = translator._pipeline.texts
    decoding = TranslationOptions(beam_size=beam, num_hypotheses=best, avoid=("a", "th"), patience=1.5)
    searcher, search = texts.searcher(decoding), texts.search(decoding)
    prefix, phrases = tuple(TOKENIZER.encode("my cat")), (tuple(TOKENIZER.encode("crying")),)
    rules: list[dict[str, Any]] = [
        {}, {"prefix": prefix}, {"avoid": (1,)}, {"avoid": (0, 1), "prefix": prefix}, {"beams": 1}, {"beams": 2},
        {"contain": phrases}, {"contain": phrases * 2, "once": 1, "whole": True, "avoid": (1,)}, {"contain": phrases, "beams": 1},
        {"contain": phrases, "prefix": prefix, "beams": 4, "no_repeat_ngram_size": 2},
    ]  # fmt: skip
    requests = [Request(source=TOKENIZER.encode(text), **each) for text in SENTENCES for each in rules]
    found = searcher.find(requests, search, lambda _: None)
    assert "general" not in vars(searcher), "all of this is for the compiled search"
    for request, hypotheses in zip(requests, found, strict=True):
        (wanted,) = searcher.general.decode([request], replace(search, beam=width_for(request, search)))
        assert [each.ids for each in hypotheses] == [each.ids for each in wanted], request
        assert [each.score for each in hypotheses] == pytest.approx(
            [each.score for each in wanted], rel=1e-6, abs=1e-4
        )


def test_every_option_states_whether_the_compiled_search_obeys_it() -> None:
    """An option in none of the lists would send every translation to the general search, which is far slower."""
    stated = [*OBEYED, *BY_REQUESTS, *BY_THE_CALLER, *ONLY_BY_DEFAULT]
    assert sorted(stated) == sorted(each.name for each in fields(TranslationOptions))


def test_an_ensemble_leaves_prefixes_and_required_phrases_to_the_general_search(model: Translator) -> None:
    translator = model._running(EXACT)._together_with([untrained(5)._running(EXACT)])
    texts, decoding = translator._pipeline.texts, TranslationOptions(avoid=("a",))
    searcher, search = texts.searcher(decoding), texts.search(decoding)
    if searcher.engine is None:
        pytest.skip("there is no compiler for the engine")
    rules: list[dict[str, Any]] = [{}, {"avoid": (0,)}, {"beams": 1}, {"prefix": (5,)}, {"contain": ((5,),)}]
    plain = searcher.plain([Request(source=[6, 7], **each) for each in rules], search)
    assert list(plain.requests) == [0, 1, 2]
