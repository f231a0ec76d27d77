"""Guarantees are kept in a few decoder steps, and no word is lost."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from untrained_translators import TOKENIZER, WITH, WITHOUT

from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.step import Step
from qkv.families.translator.general_search import GeneralSearch
from qkv.families.translator.guarantees.attempts import TIMES_A_PLAIN_ONE
from qkv.families.translator.guarantees.job import Job, Reading
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.search import Request, Search, Searcher
from qkv.text.glossary import Glossary

TEXTS = [
    "{name} likes cats",
    "my friends like %s",
    "the cat danced at https://example.com/some/long/path/index.html?q=1",
    "Row %d, invoice %s/%u: account %s is not of type Accounts Receivable.",
    "the {color} cat danced in the {place}",
]
TERMS = Glossary.of([("cat", "Katze"), ("friends", "die Katze tanzte")])


class Counted:
    """A step that counts tokens times rows."""

    def __init__(self, step: Step, count: Callable[[int], None]):
        self.step, self.count = step, count

    def __call__(self, ids: Tensor) -> Tensor:
        self.count(ids.numel())
        return self.step(ids)

    def select(self, rows: Tensor) -> None:
        self.step.select(rows)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    begin = GeneralSearch.begin
    monkeypatch.setattr(
        GeneralSearch,
        "begin",
        lambda self, *rest: Counted(begin(self, *rest), lambda more: counted.append(more)),
    )
    return counted


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("translator", [WITHOUT, WITH], ids=["without stand-ins", "with stand-ins"])
@pytest.mark.parametrize("options", [{}, {"glossary": TERMS}, {"contain": ("Katze",)}], ids=str)
def test_guarantees_cost_at_most_five_plain_translations_even_with_an_untrained_model(
    options: dict[str, Any], translator: Translator, beam: int, steps: list[int]
) -> None:
    for text in TEXTS:
        steps.clear()
        source = TOKENIZER.encode(text)
        texts, plain = translator._pipeline.texts, TranslationOptions(beam_size=beam)
        texts.searcher(plain).find([Request(source=source)], texts.search(plain), lambda _: None)
        once = max(sum(steps), beam * (len(source) + 1))
        steps.clear()
        translator.translate(text, beam=beam, **options)
        assert sum(steps) <= TIMES_A_PLAIN_ONE * once, text


class Scripted(Searcher):
    """Returns scripted translations, free or constrained."""

    script: dict[str, str]
    constrained: str

    def find(
        self, requests: Sequence[Request], search: Search, done: Callable[[int], None]
    ) -> list[list[Hypothesis]]:
        return [[self.hypothesis(request)] for request in requests]

    def hypothesis(self, request: Request) -> Hypothesis:
        ids = TOKENIZER.encode(self.script[TOKENIZER.decode(request.source).strip()])
        score = -1.0
        if request.prefix:  # an anchor
            ids, score = list(request.prefix[:-1]), -9.0
        elif request.contain:
            ids, score = TOKENIZER.encode(self.constrained), -0.1
        return Hypothesis(ids, score, True, [score / (len(ids) + 1)] * (len(ids) + 1))


def scripted(
    monkeypatch: pytest.MonkeyPatch, script: dict[str, str], constrained: str = ""
) -> Callable[..., str]:
    monkeypatch.setattr("qkv.families.translator.text_search.Searcher", Scripted)
    monkeypatch.setattr(Scripted, "script", script, raising=False)
    monkeypatch.setattr(Scripted, "constrained", constrained, raising=False)
    return WITHOUT.translate


def test_a_text_whose_placeholder_confuses_the_model_is_translated_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translate = scripted(
        monkeypatch, {"{name} like cats": "tanzte", "like cats": "mag Katzen"}, constrained="{name}."
    )
    assert translate("{name} like cats") == "{name} mag Katzen"


def test_a_likelier_constrained_translation_that_lost_a_word_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = {"the cat danced": "die Katze tanzte schön"}
    translate = scripted(monkeypatch, script, constrained="Mieze.")
    for options in ({"glossary": Glossary.of([("cat", "Mieze")])}, {"contain": ("Mieze",)}):
        found = translate("the cat danced", beam=4, **options).split()
        assert {"Mieze", "tanzte", "schön"} <= set(found), found


def test_a_reading_without_spans_has_single_spaces_and_maps_positions() -> None:
    job = Job.of("{a} the {b} {c} cat danced at {d}.", TranslationOptions())
    reading = Reading.without_spans(job)
    assert reading is not None
    assert reading.text == "the cat danced at ."
    assert [reading.place(span.start) for span in job.kept] == [0, 3, 3, 18]
    assert reading.place(job.text.index("danced")) == reading.text.index("danced")
    assert Reading.without_spans(Job.of("the cat", TranslationOptions())) is None


def test_no_span_goes_before_the_prefix() -> None:
    for text in TEXTS:
        assert WITHOUT.translate(text, prefix="die Katze").startswith("die Katze")


@torch.inference_mode()
def test_alignments_of_a_text_with_spans_count_its_own_words() -> None:
    for text in TEXTS:
        answer = WITHOUT.translate(text, details=True)
        read, said = len(text.split()), len(answer.text.split())
        assert all(one < read and two < said for one, two in answer.alignment or [])
