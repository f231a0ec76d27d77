"""Text in, text out: every line answered, in order, with nothing dropped."""

from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv import pipeline
from qkv.core.block import StackConfig
from qkv.errors import UserError
from qkv.models.translator import Translator as TranslatorModel
from qkv.models.translator import TranslatorConfig
from qkv.pipeline import Languages, Translator, TranslatorDefaults
from qkv.text.tokenizer import Tokenizer

SENTENCES = ["the cat danced", "the baby is crying", "I like cats", "my friends like tomatoes"]
TOKENIZER = Tokenizer.learn(SENTENCES * 3, 320)
WITHOUT_LETTERS = [
    "",
    " ",
    "   ",
    "👍",
    "👩‍👩‍👧",
    "42",
    "3.14 − 1 = ?",
    "\x00\x07\x1b",
    "\t\t",
    "\u2028",
    "…",
    "\u0301",
]


def architecture(context: int) -> TranslatorConfig:
    stack = StackConfig(depth=2, width=12, heads=3, hidden=20, norm="pre", activation="relu", dropout=0.1)
    return TranslatorConfig(
        vocab=len(TOKENIZER),
        context=context,
        pad=0,
        start=1,
        end=2,
        positions="interleaved",
        encoder=stack,
        decoder=stack,
    )


def untrained(kind: type[Translator] = Translator, *, context: int = 60, longest: int = 20) -> Translator:
    """Random weights, scaled up until different sentences get different translations."""
    torch.manual_seed(5)
    model = TranslatorModel(architecture(context))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter *= 2
    languages = Languages(source="en", target="de")
    defaults = TranslatorDefaults(languages=languages, longest=longest, beam=1, length_penalty=1.0)
    return kind(model, TOKENIZER, defaults)


class Echo(Translator):
    """Says what it was given, and remembers it."""

    given: list[str]

    def translate_pieces(
        self,
        texts: Sequence[str],
        beam: int | None,
        length_penalty: float | None,
        done: Callable[[int], None] | None,
    ) -> list[str]:
        self.given = list(texts)
        return list(texts)


ECHO = untrained(Echo)


@pytest.mark.parametrize("text", WITHOUT_LETTERS)
def test_what_has_no_letter_comes_back_as_it_is(text: str) -> None:
    translator = untrained()
    assert translator.translate(text) == text
    assert translator.translate([text, "the cat", text])[::2] == [text, text]


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=150))
def test_nothing_of_any_text_is_lost_on_the_way_through_pieces(text: str) -> None:
    echo = ECHO
    assert echo.translate(text) == text
    assert all(piece == piece.strip() != "" for piece in echo.given)
    assert all(len(TOKENIZER.encode(piece)) <= echo.limit for piece in echo.given)


def test_a_line_of_ten_thousand_words_is_translated_in_pieces_with_nothing_dropped() -> None:
    echo = untrained(Echo)
    words = [SENTENCES[number % 4].split()[number % 3] for number in range(10_000)]
    line = " ".join(words)
    assert echo.translate(line) == line
    assert [word for piece in echo.given for word in piece.split()] == words
    assert len(echo.given) >= 10_000 / echo.limit
    assert max(len(TOKENIZER.encode(piece)) for piece in echo.given) <= echo.limit


def test_a_long_line_is_really_translated_within_the_context() -> None:
    """The limit of a piece is the model's when training has shown longer sentences than it can take."""
    translator = untrained(context=12, longest=500)
    assert translator.limit == 11
    answer = translator.translate("the cat danced. " * 50)
    assert answer != "the cat danced. " * 50
    assert translator.translate("猫👍" * 60) != ""


def test_sentences_of_a_long_text_are_translated_one_by_one() -> None:
    translator = untrained(longest=6)
    first, second = "the cat danced. ", "my friends like tomatoes!"
    assert len(translator.pieces_of(first + second)) == 2
    assert translator.translate(first + second) == translator.translate(first) + translator.translate(second)


def test_translations_do_not_depend_on_what_stands_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = untrained()
    texts = [
        " ".join(SENTENCES[(number + offset) % 4] for offset in range(1 + number % 5)) for number in range(30)
    ]
    texts[7], texts[20] = "", "👍"
    monkeypatch.setattr(pipeline, "BATCH_TOKENS", 64)
    batches: list[int] = []
    together = translator.translate(texts, done=batches.append)
    assert len(batches) > 3
    assert max(batches) > 1
    assert together == [translator.translate(text) for text in texts]
    assert len(set(together)) > 10, "the model tells its sentences apart"


def test_beam_search_does_not_depend_on_what_stands_beside_it() -> None:
    translator = untrained()
    texts = [*SENTENCES, "cats", " ".join(SENTENCES)]
    assert translator.translate(texts, beam=3) == [translator.translate(text, beam=3) for text in texts]


def test_done_is_told_of_every_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH_TOKENS", 16)
    finished: list[int] = []
    untrained().translate([*SENTENCES, "", "👍"], done=finished.append)
    assert sum(finished) == len(SENTENCES)


@pytest.mark.parametrize(("before", "after"), [(" ", ""), ("", "  "), ("\t ", "\u3000"), ("", "\u2028")])
def test_white_space_around_a_text_is_kept(before: str, after: str) -> None:
    translator = untrained()
    plain = translator.translate("the cat danced")
    assert translator.translate(f"{before}the cat danced{after}") == f"{before}{plain}{after}"


def test_a_text_gives_a_text_and_a_list_a_list() -> None:
    translator = untrained()
    assert isinstance(translator.translate("the cat"), str)
    assert translator.translate(["the cat"]) == [translator.translate("the cat")]
    assert translator.translate(("the cat",)) == [translator.translate("the cat")]
    assert translator.translate([]) == []


@pytest.mark.parametrize(("beam", "penalty"), [(0, None), (-1, None), (1, -0.5)])
@pytest.mark.parametrize("text", ["the cat", "", []])
def test_a_bad_beam_is_refused_whatever_the_text(
    text: str | list[str], beam: int, penalty: float | None
) -> None:
    with pytest.raises(UserError, match="--beam must be at least 1"):
        untrained().translate(text, beam=beam, length_penalty=penalty)


def test_translating_needs_no_gradient_and_no_dropout() -> None:
    translator = untrained()
    translator.model.train()
    answers = {translator.translate("the cat danced") for _ in range(3)}
    assert len(answers) == 1
    assert all(parameter.grad is None for parameter in translator.model.parameters())


def test_attention_rows_sum_to_one_and_have_a_word_on_each_axis() -> None:
    translator = untrained()
    attention = translator.attention("the cat danced")
    assert attention.source == ["the", "cat", "danced", "<end>"]
    said = TOKENIZER.encode("the cat danced")
    ids = translator.decode([said], 1, 0.0)[0]
    assert attention.target == [*TOKENIZER.show(ids), "<end>"]
    depth, heads = translator.model.config.decoder.depth, translator.model.config.decoder.heads
    assert attention.weights.shape == (depth, heads, len(ids) + 1, len(said) + 1)
    sums = attention.weights.sum(dim=-1)
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def test_attention_is_there_also_where_the_model_talks_to_the_end_of_its_context() -> None:
    translator = untrained(context=16)
    with torch.no_grad():
        translator.model.tokens.weight[2] = -10 * translator.model.tokens.weight.mean(dim=0)
        translator.model.decoder.norm.weight.zero_()
        translator.model.decoder.norm.bias.copy_(translator.model.tokens.weight[5] * 100)
    assert len(translator.attention("the cat danced").target) == 16


@pytest.mark.parametrize("text", ["", " ", "👍", "the cat danced. " * 30])
def test_attention_of_nothing_or_of_too_much_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="needs one sentence that is not empty and not too long"):
        untrained().attention(text)
