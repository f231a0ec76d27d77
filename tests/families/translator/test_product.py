"""Text in, text out: every line answered, in order, with nothing dropped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.core.stack_config import StackConfig
from qkv.errors import QkvError
from qkv.families.translator.aligner import Aligner
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.guarantees.attempts import Attempt
from qkv.families.translator.guarantees.job import Job, Reading
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.pipeline import Pipeline
from qkv.families.translator.product import Translator
from qkv.families.translator.search import Request
from qkv.families.translator.text_search import TextSearch
from qkv.families.translator.translations import Translation
from qkv.runtime.running import Running
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


def architecture(max_length: int) -> TranslatorConfig:
    stack = StackConfig(depth=2, width=12, heads=3, ffn_width=20, norm="pre", activation="relu", dropout=0.1)
    return TranslatorConfig(
        vocab_size=len(TOKENIZER),
        max_length=max_length,
        pad=0,
        start=1,
        end=2,
        positions="interleaved",
        encoder=stack,
        decoder=stack,
    )


def untrained(kind: type[Translator] = Translator, *, max_length: int = 60, longest: int = 20) -> Translator:
    """Random weights, scaled up until different sentences get different translations."""
    torch.manual_seed(5)
    model = TranslatorModel(architecture(max_length))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter *= 2
    languages = Languages(source="en", target="de")
    defaults = TranslatorDefaults(
        languages=languages, max_source_length=longest, beam_size=1, length_penalty=1.0
    )
    return kind(model, TOKENIZER, defaults)


@dataclass(frozen=True)
class EchoPipeline(Pipeline):
    """Says what it was given, and remembers it."""

    given: list[str] = field(default_factory=list)

    def translate_segments(
        self,
        pieces: Sequence[tuple[str, TranslationOptions]],
        decoding: TranslationOptions,
        done: Callable[[int], None],
        search: TextSearch,
    ) -> list[list[Translation]]:
        self.given[:] = [piece for piece, _ in pieces]
        return [[Translation(text=piece, score=0.0)] for piece in self.given]


class Echo(Translator):
    @property
    def _pipeline(self) -> EchoPipeline:
        self.__dict__.setdefault("given", [])
        return EchoPipeline([self._runner], self.tokenizer, self._defaults, given=self.given)  # type: ignore[attr-defined]


ECHO = untrained(Echo)


@pytest.mark.parametrize("text", WITHOUT_LETTERS)
def test_text_without_letters_is_returned_unchanged(text: str) -> None:
    translator = untrained()
    assert translator.translate(text) == text
    assert translator.translate([text, "the cat", text])[::2] == [text, text]


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=150))
def test_no_text_is_lost_between_segments(text: str) -> None:
    echo = ECHO
    assert echo.translate(text) == text
    assert all(piece == piece.strip() != "" for piece in echo.given)
    assert all(len(TOKENIZER.encode(piece)) <= echo._pipeline.limit for piece in echo.given)


def test_a_line_of_ten_thousand_words_is_translated_in_segments_without_loss() -> None:
    echo = untrained(Echo)
    words = [SENTENCES[number % 4].split()[number % 3] for number in range(10_000)]
    line = " ".join(words)
    assert echo.translate(line) == line
    assert [word for piece in echo.given for word in piece.split()] == words
    assert len(echo.given) >= 10_000 / echo._pipeline.limit
    assert max(len(TOKENIZER.encode(piece)) for piece in echo.given) <= echo._pipeline.limit


def test_a_long_line_is_really_translated_within_the_context() -> None:
    """The limit of a piece is the model's when training has shown longer sentences than it can take."""
    translator = untrained(max_length=12, longest=500)
    assert translator._pipeline.limit == 11
    answer = translator.translate("the cat danced. " * 50)
    assert answer != "the cat danced. " * 50
    assert translator.translate("猫👍" * 60) != ""


def test_sentences_of_a_long_text_are_translated_one_by_one() -> None:
    translator = untrained(longest=6)
    first, second = "the cat danced. ", "my friends like tomatoes!"
    assert len(translator._pipeline.segments(first + second)) == 2
    assert translator.translate(first + second) == translator.translate(first) + translator.translate(second)


def test_translations_do_not_depend_on_batch_neighbours() -> None:
    translator = untrained()
    texts = [
        " ".join(SENTENCES[(number + offset) % 4] for offset in range(1 + number % 5)) for number in range(16)
    ]
    texts[7], texts[12] = "", "👍"
    batches: list[int] = []
    together = translator.translate(texts, TranslationOptions(batch_tokens=48), done=batches.append)
    assert len(batches) > 3
    assert max(batches) > 1
    assert together == [translator.translate(text) for text in texts]
    assert len(set(together)) > 10, "the model tells its sentences apart"


def test_beam_search_does_not_depend_on_batch_neighbours() -> None:
    translator = untrained()
    texts = [*SENTENCES, "cats", " ".join(SENTENCES)]
    assert translator.translate(texts, beam=3) == [translator.translate(text, beam=3) for text in texts]


def test_done_counts_every_segment() -> None:
    finished: list[int] = []
    untrained().translate([*SENTENCES, "", "👍"], TranslationOptions(batch_tokens=16), done=finished.append)
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


def test_hypotheses_of_one_text_are_a_list_and_of_many_a_list_of_lists() -> None:
    translator = untrained()
    (one,) = translator._pipeline.hypotheses(["the cat"], TranslationOptions(beam_size=3, num_hypotheses=2))
    found = translator.translate("the cat", beam_size=3, num_hypotheses=2, details=True)
    assert [each.text for each in found] == [each.text for each in one]


def test_every_line_of_a_text_is_translated_and_line_breaks_are_kept() -> None:
    translator = untrained()
    first, second = translator.translate(["the cat danced", "I like cats"])
    text = "the cat danced\n\n  I like cats\r\n"
    assert translator.translate(text) == f"{first}\n\n  {second}\r\n"
    first, second = ("".join(translator.stream(line)) for line in ("the cat danced", "I like cats"))
    assert "".join(translator.stream(text)) == f"{first}\n\n  {second}\r\n"
    assert all(translator.stream(text))  # no empty parts
    assert translator._pipeline.segments("the <a\nhref='x'>cat</a>\ndanced") == [
        "the <a\nhref='x'>cat</a>\n",
        "danced",
    ]


@pytest.mark.parametrize(("beam", "penalty"), [(0, None), (-1, None), (1, -0.5)])
@pytest.mark.parametrize("text", ["the cat", "", []])
def test_a_bad_beam_raises_an_error_for_any_text(
    text: str | list[str], beam: int, penalty: float | None
) -> None:
    with pytest.raises(QkvError, match=r"beam_size must be from 1|length_penalty must be from 0"):
        untrained().translate(text, beam=beam, length_penalty=penalty)


def test_translating_needs_no_gradient_and_no_dropout() -> None:
    translator = untrained()
    translator.model.train()
    answers = {translator.translate("the cat danced") for _ in range(3)}
    assert len(answers) == 1
    assert all(parameter.grad is None for parameter in translator.model.parameters())


def test_attention_rows_sum_to_one_and_have_a_word_on_each_axis() -> None:
    translator = untrained()
    attention = translator._pipeline.attention("the cat danced")
    assert attention.source == ["the", "cat", "danced", "<end>"]
    said = TOKENIZER.encode("the cat danced")
    search = translator._pipeline.texts.search(
        TranslationOptions(beam_size=1, length_penalty=0.0, batch_tokens=64)
    )
    [[found]] = translator._pipeline.texts.searcher(TranslationOptions()).find(
        [Request(source=said)], search, lambda _: None
    )
    ids = found.ids
    assert attention.target == [*TOKENIZER.show(ids), "<end>"]
    depth, heads = translator.model.config.decoder.depth, translator.model.config.decoder.heads
    assert attention.weights.shape == (depth, heads, len(ids) + 1, len(said) + 1)
    assert np.allclose(attention.weights.sum(-1), 1, atol=1e-5)


def test_attention_works_if_the_output_fills_the_context() -> None:
    translator = untrained(max_length=16)
    with torch.no_grad():
        translator.model.tokens.weight[2] = -10 * translator.model.tokens.weight.mean(dim=0)
        translator.model.decoder.norm.weight.zero_()
        translator.model.decoder.norm.bias.copy_(translator.model.tokens.weight[5] * 100)
    assert len(translator._pipeline.attention("the cat danced").target) == 16


@pytest.mark.parametrize("text", ["", " ", "👍", "the cat danced. " * 30])
def test_attention_of_empty_or_long_text_raises_an_error(text: str) -> None:
    with pytest.raises(QkvError, match="needs one sentence that is neither empty nor too long"):
        untrained()._pipeline.attention(text)


# N-best, scores, chance, streams --------------------------------------------------------------------------


def test_hypotheses_are_sorted_distinct_and_begin_with_the_translation() -> None:
    translator = untrained()
    for text, answers in zip(
        SENTENCES,
        translator._pipeline.hypotheses(SENTENCES, TranslationOptions(beam_size=4, num_hypotheses=4)),
        strict=True,
    ):
        assert answers[0].text == translator.translate(text, beam=4)
        assert [each.score for each in answers] == sorted((each.score for each in answers), reverse=True)
        assert len({each.text for each in answers}) == len(answers)


def test_more_hypotheses_than_beams_widen_the_beam() -> None:
    (answers,) = untrained()._pipeline.hypotheses(
        ["the cat danced"], TranslationOptions(beam_size=1, num_hypotheses=3, no_repeat_ngram_size=2)
    )
    assert len(answers) == 3


@torch.no_grad()
def test_scores_are_those_of_a_full_forward_pass_and_words_add_up() -> None:
    translator = untrained()
    model, config = translator.model.eval(), translator.model.config
    searcher, search = (
        translator._pipeline.texts.searcher(TranslationOptions()),
        translator._pipeline.texts.search(TranslationOptions(beam_size=3, length_penalty=0)),
    )
    requests = [Request(source=TOKENIZER.encode(text)) for text in SENTENCES]
    for request, (found,) in zip(requests, searcher.find(requests, search, lambda _: None), strict=True):
        source = torch.tensor([[*request.source, config.end]])
        ids = [*found.ids, config.end][: len(found.log_probabilities)]
        logits = model(source, torch.tensor([[config.start, *ids[:-1]]]))[0].log_softmax(-1)
        assert found.log_probabilities == pytest.approx(logits[range(len(ids)), ids].tolist(), abs=1e-3)
        assert found.score == pytest.approx(sum(found.log_probabilities), abs=1e-3)
    (answer,) = translator._pipeline.hypotheses(["the cat danced"])[0]
    of_words = sum(word.log_probability for word in answer.words)
    assert [word.text for word in answer.words] == answer.text.split()
    assert of_words >= answer.log_probability - 1e-6  # the end, and pieces that are space, are no words'


def test_samples_depend_only_on_the_seed_and_the_text() -> None:
    translator = untrained()
    drawn = TranslationOptions(sample=True, temperature=1.5, seed=7)
    together = translator.translate(SENTENCES, drawn)
    assert together == [translator.translate(text, drawn) for text in SENTENCES]
    assert together != translator.translate(SENTENCES, replace(drawn, seed=8))
    (several,) = translator._pipeline.hypotheses(["the cat danced"], replace(drawn, num_hypotheses=4))
    assert len({each.text for each in several}) > 1


@pytest.mark.parametrize(
    "text", ["the cat danced", "the cat danced. " * 20, "  my friends ", "👍", "Größe 猫", "{name} danced"]
)
@pytest.mark.parametrize(
    "decoding",
    [TranslationOptions(beam_size=1), TranslationOptions(beam_size=1, sample=True, seed=3)],
    ids=["greedy", "drawn"],
)
def test_a_stream_adds_up_to_the_translation(text: str, decoding: TranslationOptions) -> None:
    translator = untrained()
    parts = list(translator.stream(text, decoding))
    searcher, search = (
        translator._pipeline.texts.searcher(decoding),
        translator._pipeline.texts.search(decoding),
    )
    if (
        "{" not in text
        and len(translator._pipeline.segments(text)) == 1
        and text.strip().isascii()
        and text.strip()
    ):
        attempt = Attempt(reading=Reading.plain(Job.of(text.strip(), decoding)))
        request = replace(translator._pipeline.texts.request(attempt, decoding), whole=True)
        [[found]] = searcher.find([request], search, lambda _: None)
        assert "".join(parts).strip() == TOKENIZER.decode(found.ids).strip().rstrip("\ufffd")
        assert len(parts) > 3
    else:
        assert "".join(parts)


def test_a_stream_has_its_prefix_and_its_phrases_once() -> None:
    translator = untrained()
    text = "the cat danced. " * 8
    assert len(translator._pipeline.segments(text)) > 2
    segments = translator._pipeline.split(text, TranslationOptions(prefix="my", contain=("crying",)))
    assert [each.options.prefix for each in segments] == ["my", *[""] * (len(segments) - 1)]
    assert [each.options.contain for each in segments] == [*[()] * (len(segments) - 1), ("crying",)]
    told = "".join(translator.stream(text, TranslationOptions(beam_size=1, prefix="my", contain=("crying",))))
    assert told.startswith("my")
    assert "crying" in told


@pytest.mark.parametrize("seed", range(3))
def test_sampling_never_outputs_a_partial_character(seed: int) -> None:
    translator = untrained()
    drawn = TranslationOptions(sample=True, temperature=500.0, seed=seed)
    texts = [*SENTENCES, "猫が踊る", "Größe"]
    assert not any("\ufffd" in text for text in translator.translate(texts, drawn))
    assert not any("\ufffd" in text for text in translator.translate(texts, TranslationOptions(beam_size=2)))
    assert "\ufffd" not in "".join(translator.stream("the cat", drawn))


def test_an_aligner_with_missing_heads_raises_an_error() -> None:
    translator = untrained()
    for block, heads in ((2, (0,)), (-1, (0,)), (0, (3,)), (0, ())):
        wrong = replace(translator._defaults, aligner=Aligner(block=block, heads=heads, late=False))
        with pytest.raises(QkvError, match="has 2 blocks of 3 heads"):
            Translator(translator.model, TOKENIZER, wrong)


def test_alternatives_begin_with_the_prefix_and_then_differ() -> None:
    translator = untrained()
    found = translator.alternatives("the cat danced", "my friends", count=4)
    assert 3 <= len(found) <= 4  # two pieces that are parts of a letter read alike
    assert all(each.text.startswith("my friends") for each in found)
    assert len({each.text for each in found}) == len(found)
    with pytest.raises(QkvError, match="one sentence"):
        translator.alternatives("", "my")


def test_models_decide_together_and_must_share_a_vocabulary() -> None:
    translator = untrained()
    assert translator._together_with([translator]).translate(SENTENCES) == translator.translate(SENTENCES)
    stranger = Translator(translator.model, Tokenizer.learn(["x y z"], 270), translator._defaults)
    with pytest.raises(QkvError, match="one vocabulary"):
        translator._together_with([stranger])


@pytest.mark.parametrize("compute", ["bf16", "int8"])
def test_lower_precision_translates_nearly_the_same(compute: Literal["bf16", "int8"]) -> None:
    translator = untrained()
    smaller = translator._running(Running(compute_type=compute))
    texts = [f"{one} {other}" for one in SENTENCES for other in SENTENCES]
    found = [
        answers[0].log_probability
        for answers in smaller._pipeline.hypotheses(texts, TranslationOptions(beam_size=2))
    ]
    wanted = [
        answers[0].log_probability
        for answers in translator._pipeline.hypotheses(texts, TranslationOptions(beam_size=2))
    ]
    near = sum(abs(one - other) < 0.1 * abs(other) + 0.5 for one, other in zip(found, wanted, strict=True))
    assert near >= 0.7 * len(texts)
    assert next(translator.model.parameters()).dtype is torch.float32  # the model itself is as it was


def test_the_coverage_penalty_changes_scores_and_needs_a_single_model() -> None:
    translator = untrained()
    free = translator._pipeline.hypotheses(SENTENCES, TranslationOptions(beam_size=4))
    covered = translator._pipeline.hypotheses(
        SENTENCES, TranslationOptions(beam_size=4, coverage_penalty=5.0)
    )
    assert [each[0].score for each in free] != [each[0].score for each in covered]
    with pytest.raises(QkvError, match="a single model"):
        translator._together_with([translator])._pipeline.hypotheses(
            ["the cat"], TranslationOptions(coverage_penalty=1.0)
        )


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_hypotheses": 0}, {"batch_tokens": 0}, {"repetition_penalty": 0.0}, {"no_repeat_ngram_size": -1}, {"patience": 0.0},
        {"coverage_penalty": -1.0}, {"contain": ("",)}, {"contain": (" ",)}, {"avoid": ("",)},
    ],
    ids=str,
)  # fmt: skip
def test_invalid_options_raise_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(QkvError, match="must"):
        TranslationOptions(**wrong)


@pytest.mark.parametrize("wrong", [{"beam_size": 1_001}, {"num_hypotheses": 100_000}], ids=str)
def test_a_beam_that_would_take_all_memory_raises_an_error(wrong: dict[str, int]) -> None:
    with pytest.raises(QkvError, match="from 1 to 1,000"):
        TranslationOptions(**wrong)  # type: ignore[arg-type]


def test_the_smallest_context_of_an_ensemble_limits_segments() -> None:
    long, short = untrained(max_length=64, longest=500), untrained(max_length=16, longest=500)
    both = long._together_with([short])
    assert both._pipeline.limit == short._pipeline.limit < long._pipeline.limit
    assert both.translate("the cat danced. my friends like tomatoes. " * 3)
