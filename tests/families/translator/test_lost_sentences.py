"""A translation with fewer sentences than its source is made again, sentence by sentence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest
from untrained_translators import WITHOUT

from qkv.families.translator.options import DEFAULTS, TranslationOptions
from qkv.families.translator.pipeline import Done, Pipeline
from qkv.families.translator.text_search import TextSearch
from qkv.families.translator.translations import Translation

WORDS = {"I see a cat.": "Ich sehe eine Katze.", "It sleeps.": "Sie schläft.", "Why?": "Warum?"}


class OneSentence(Pipeline):
    """Translates the first sentence of a segment and drops the rest, as models of single sentences do."""

    asked: ClassVar[list[list[str]]] = []

    def translate_at_once(
        self,
        segments: Sequence[tuple[str, TranslationOptions]],
        decoding: TranslationOptions,
        done: Done,
        search: TextSearch,
    ) -> list[list[Translation]]:
        self.asked.append([text for text, _ in segments])
        return [[Translation(text=translate(text, own), score=-1.0)] for text, own in segments]


def translate(text: str, options: TranslationOptions) -> str:
    first = next((target for source, target in WORDS.items() if text.startswith(source)), text)
    return " ".join([*options.prefix.split(), *options.contain, first])


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> OneSentence:
    monkeypatch.setattr(OneSentence, "asked", [])
    own = WITHOUT._pipeline
    return OneSentence(own.runners, own.tokenizer, own.defaults)


def test_lost_sentences_are_translated(pipeline: OneSentence) -> None:
    [best, other] = pipeline.best(["I see a cat.  It sleeps. Why?", "Why?"], DEFAULTS)
    assert (best, other) == ("Ich sehe eine Katze.  Sie schläft. Warum?", "Warum?")
    assert pipeline.asked[1] == ["I see a cat.", "It sleeps.", "Why?"]


def test_the_prefix_comes_first_and_required_phrases_come_last(pipeline: OneSentence) -> None:
    options = replace(DEFAULTS, prefix="Ja,", contain=("heute",))
    assert pipeline.best(["I see a cat. It sleeps."], options) == [
        "Ja, Ich sehe eine Katze. heute Sie schläft."
    ]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Dr. Lee sees a cat.", DEFAULTS),
        ("<b>I see a cat. It sleeps.</b>", DEFAULTS),
        ("I see a cat. It sleeps.", replace(DEFAULTS, sample=True)),
    ],
)
def test_other_texts_are_translated_once(
    pipeline: OneSentence, text: str, options: TranslationOptions
) -> None:
    pipeline.best([text], options)
    assert pipeline.asked[1:] in ([], [[]])


def test_a_phrase_to_avoid_does_not_arise_where_sentences_are_joined(pipeline: OneSentence) -> None:
    options = replace(DEFAULTS, avoid=(". Sie",))
    assert pipeline.best(["I see a cat. It sleeps."], options) == ["Ich sehe eine Katze."]


def test_the_segments_of_the_translation_are_its_sentences(pipeline: OneSentence) -> None:
    [[found]] = pipeline.hypotheses(["I see a cat. It sleeps."])
    assert [source for source, _ in found.segments] == ["I see a cat. ", "It sleeps."]
