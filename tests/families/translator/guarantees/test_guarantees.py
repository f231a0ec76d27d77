"""Promises hold even where the model knows nothing: every term, every span, no phrase that was to be avoided."""

import html
import math
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from untrained_translators import LINES, TOKENIZER, WITH, WITHOUT

from qkv.errors import QkvError
from qkv.families.translator.guarantees.attempts import Attempt, anchored, words_replaced
from qkv.families.translator.guarantees.job import Job, Reading, completed
from qkv.families.translator.guarantees.places import Mark
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.vocabulary_tables import VocabularyTables
from qkv.text.glossary import Glossary
from qkv.text.patterns import MARKED, mark_spans
from qkv.text.protect import BY_DEFAULT, KINDS, Kind, all_kept, occurrences, protected_spans
from qkv.text.tokenizer import Tokenizer
from qkv.text.words import WORDS_AND_MARKS

words = st.sampled_from(
    ["the", "cat", "danced", "my", "friends", "like", "tomatoes", "and", "are", "in", "a"]
)
spans = st.sampled_from(
    [
        "{name}",
        "%s",
        "%d",
        "{0}",
        "https://example.org/a?b=c",
        "a.b@example.org",
        "{{ user }}",
        "%(count)s",
        "${x}",
    ]
)
tags = st.sampled_from(["<b>", "</b>", "<br/>", '<a href="x">', "</a>", "<i>", "</i>"])


@st.composite
def texts(draw: st.DrawFn, parts: st.SearchStrategy[str]) -> str:
    """Parts with and without spaces between them, but for addresses: nobody could tell where one of these ends."""
    found = draw(st.lists(st.one_of(words, parts), min_size=1, max_size=9))
    gaps = [[" ", ", "] if "example.org" in part else [" ", " ", ", ", ""] for part in found]
    return "".join(part + draw(st.sampled_from(gap)) for part, gap in zip(found, gaps, strict=True))


@settings(max_examples=40, deadline=None)
@given(texts(st.one_of(spans, tags)), st.booleans())
def test_every_protected_span_occurs_as_often_as_in_the_source(text: str, stand_ins: bool) -> None:
    answer = (WITH if stand_ins else WITHOUT).translate(text)
    wanted = [span.text for span in protected_spans(text, BY_DEFAULT)]
    assert sorted(span.text for span in protected_spans(answer, BY_DEFAULT) if span.text in wanted) == sorted(
        wanted
    ), answer
    for span in set(wanted):
        assert answer.count(span) == sum(other.count(span) for other in wanted), (span, answer)


@settings(max_examples=25, deadline=None)
@given(
    texts(words),
    st.dictionaries(
        words, st.sampled_from(["Katze", "der Hund", "Ü-Wagen", "C++", "x", "die Katze tanzte"]), max_size=4
    ),
)
def test_every_term_of_a_glossary_comes_out_in_its_form(text: str, terms: dict[str, str]) -> None:
    glossary = Glossary.of(terms.items())
    answer = WITHOUT.translate(text, TranslationOptions(glossary=glossary))
    for term in glossary.required_phrases(text):
        assert occurrences(answer, term), (term, answer)


@settings(max_examples=20, deadline=None)
@given(
    texts(words),
    st.lists(st.text("aeintcd ", min_size=1, max_size=3), min_size=1, max_size=3),
    st.integers(1, 3),
)
def test_avoided_phrases_do_not_occur(text: str, avoided: list[str], beam: int) -> None:
    answer = WITHOUT.translate(text.strip(), TranslationOptions(avoid=tuple(avoided), beam_size=beam))
    if any(character.isalpha() for character in text):
        assert not any(phrase in f" {answer}" for phrase in avoided if phrase.strip()), (avoided, answer)


@settings(max_examples=20, deadline=None)
@given(texts(words), st.sampled_from(["die", "die Katze", "Kat", "Ü", "42 "]))
def test_every_translation_begins_with_the_prefix(text: str, prefix: str) -> None:
    if len(WITHOUT._pipeline.segments(text)) == 1:
        for answer in WITHOUT._pipeline.hypotheses(
            [text.strip()], TranslationOptions(prefix=prefix, beam_size=3, num_hypotheses=3)
        )[0]:
            assert answer.text.startswith(prefix)


def test_required_phrases_occur_and_contradictions_raise_an_error() -> None:
    for answer in WITHOUT._pipeline.hypotheses(
        LINES, TranslationOptions(contain=("Katze", "Boston"), beam_size=4, num_hypotheses=2)
    ):
        assert all(occurrences(each.text, "Katze") and occurrences(each.text, "Boston") for each in answer)
    with pytest.raises(QkvError, match="cannot contain 'Katze' and avoid 'atz'"):
        WITHOUT.translate("the cat", TranslationOptions(contain=("Katze",), avoid=("atz",)))
    with pytest.raises(QkvError, match="shorten them"):
        WITHOUT.translate("the cat", TranslationOptions(contain=tuple(f"Ü{number}" for number in range(60))))


def test_a_text_without_terms_is_translated_as_without_a_glossary() -> None:
    glossary = Glossary.of([("dog", "Hund")])
    assert WITHOUT.translate(LINES, TranslationOptions(glossary=glossary)) == WITHOUT.translate(LINES)


def test_a_span_in_a_longer_span_is_another_one() -> None:
    for text in ("the {x} sees ${x} .", "the {x} sees {{x}} and {x}", "{{x}} the cat"):
        answer = WITHOUT.translate(text)
        wanted = sorted(span.text for span in protected_spans(text, BY_DEFAULT))
        assert sorted(span.text for span in protected_spans(answer, BY_DEFAULT)) == wanted, answer
    answer = WITHOUT.translate("3 cats and 3.5 tomatoes", TranslationOptions(protect=("numbers",)))
    assert (len(occurrences(answer, "3")), len(occurrences(answer, "3.5"))) == (1, 1)


def test_a_tab_is_read_as_a_space_but_in_a_span_it_stays() -> None:
    assert (
        Job.of("the\tcat {{ a\tb }}\u2028danced\x00", TranslationOptions()).text
        == "the cat {{ a\tb }} danced "
    )


def test_a_tag_between_two_words_does_not_join_them() -> None:
    assert Job.of("dogs<br/>play", TranslationOptions()).text == "dogs play"
    assert Job.of("dogs <br/> play", TranslationOptions()).text == "dogs play"
    assert Job.of("<b>dogs</b> play", TranslationOptions()).text == "dogs play"


def test_a_term_inside_a_protected_span_does_not_count() -> None:
    glossary = Glossary.of([("name", "Namen")])
    assert Job.of("the {name} and https://name.org", TranslationOptions(glossary=glossary)).wanted == ()
    assert [
        each.text for each in Job.of("the name {name}", TranslationOptions(glossary=glossary)).wanted
    ] == ["Namen"]


def test_a_segmented_text_has_its_prefix_and_its_phrase_once() -> None:
    text = "the cat danced. my friends like tomatoes. " * 8
    answer = WITHOUT.translate(text, TranslationOptions(prefix="Boston", contain=("Katze",)))
    assert len(WITHOUT._pipeline.segments(text)) > 2
    assert answer.startswith("Boston")
    assert "Katze" in answer


def test_the_best_hypotheses_of_a_segmented_text_have_the_best_sums() -> None:
    text = "the cat danced. my friends like tomatoes. " * 4
    answers = WITHOUT._pipeline.hypotheses(
        [text], TranslationOptions(beam_size=4, num_hypotheses=3, no_repeat_ngram_size=2)
    )[0]
    assert [each.score for each in answers] == sorted((each.score for each in answers), reverse=True)
    parts = [
        WITHOUT._pipeline.hypotheses(
            [piece], TranslationOptions(beam_size=4, num_hypotheses=3, no_repeat_ngram_size=2)
        )[0]
        for piece in WITHOUT._pipeline.segments(text)
    ]
    assert len(answers) == min(3, math.prod(len(part) for part in parts)) > 1
    best = sum(part[0].score for part in parts)
    least = min(part[0].score - part[1].score for part in parts if len(part) > 1)
    assert answers[0].score == pytest.approx(best, abs=1e-3)
    assert answers[1].score == pytest.approx(best - least, abs=1e-3)


def test_a_phrase_that_is_a_prefix_of_another_does_not_block_it() -> None:
    answer = WITHOUT.translate("the cat", TranslationOptions(contain=("Tom", "Tomatoes")))
    assert occurrences(answer, "Tom")
    assert occurrences(answer, "Tomatoes")
    with pytest.raises(QkvError, match="cannot begin with 'die Katze' and avoid 'Katze'"):
        TranslationOptions(prefix="die Katze", avoid=("Katze",))


entities = st.sampled_from(
    ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#x3C;", "&eacute;", "&Uuml;", "&frac12;"]
)


@settings(max_examples=25, deadline=None)
@given(texts(st.one_of(entities, st.sampled_from(["{name}", "%s"]))))
def test_a_text_with_entities_is_translated_as_the_text_that_it_stands_for(text: str) -> None:
    """With other tags than these there would be markup in it that the text does not stand for."""
    others: tuple[Kind, ...] = ("placeholders", "urls", "emails")
    assume(len(WITH._pipeline.segments(text)) == 1)
    plain = html.unescape(text)
    spans_of = [[span.text for span in protected_spans(each, others)] for each in (text, plain)]
    assume(spans_of[0] == spans_of[1])  # %s&eacute; has a placeholder, and %sé has none
    answer = WITH.translate(text)
    assert html.unescape(answer) == WITH.translate(html.unescape(text), TranslationOptions(protect=others))
    assert "&" not in text or not {"<", ">"} & set(answer)


def test_entities_are_read_as_characters_and_spelled_as_they_were() -> None:
    job = Job.of(
        "<b>Tom</b> &amp; Mary&#39;s &lt;b&gt; {a&amp;b} 10&nbsp;km &nosuch; &amp;lt;", TranslationOptions()
    )
    assert job.text == "Tom & Mary's <b> {a&amp;b} 10 km &lt;"
    assert [mark.text for mark in job.marks] == ["<b>", "</b>", "&nbsp;", "&nosuch;"]
    said = "Tom's & <i> {a&amp;b}"
    assert Reading.plain(job).written(said) == "Tom&#39;s &amp; &lt;i&gt; {a&amp;b}"
    links = [(0, 0), (1, 2), (3, 3)]
    assert completed(Reading.plain(job), said, links).startswith("<b>Tom&#39;s</b> &amp; &lt;i&gt; {a&amp;b}")


def test_a_model_that_has_learned_entities_as_words_reads_them_as_they_are() -> None:
    ordinary, moses = TOKENIZER, Tokenizer.learn(["the man &apos;s dog &quot; cat &quot;"] * 9, 320)
    found = [VocabularyTables().knows_entities(each.encode) for each in (ordinary, moses)]
    assert found == [False, True]
    job = Job.of("the man &apos;s <b>cat</b> &nbsp;", TranslationOptions(), entities_are_words=True)
    assert job.text == "the man &apos;s cat"
    assert not job.spellings
    assert Reading.plain(job).written("der &quot; < Mann") == "der &quot; < Mann"


def test_a_text_without_entities_is_not_escaped() -> None:
    job = Job.of("<b>a</b> & b", TranslationOptions())
    assert Reading.plain(job).written("a & b < c") == "a & b < c"
    assert Job.of("a &amp; b", TranslationOptions(protect=())).text == "a &amp; b"


def test_a_term_of_a_glossary_is_found_and_written_in_a_text_with_entities() -> None:
    glossary = Glossary.of([("R&D", "F&E")])
    assert "F&amp;E" in WITHOUT.translate("the cat of R&amp;D", TranslationOptions(glossary=glossary))
    assert "F&E" in WITHOUT.translate("the cat of R&D", TranslationOptions(glossary=glossary))


def test_a_duplicate_stand_in_becomes_one_span() -> None:
    reading = Reading.with_stand_ins(Job.of("the cat {a}", TranslationOptions()), ["Tom"])
    assert reading is not None
    assert completed(reading, "Tom Katze Tom", []).count("{a}") == 1


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Katze Tom))tanzte", "Katze https://example.org/a ))tanzte"),
        ("Katze .Tom).", "Katze . https://example.org/a)."),
        ("Katze /Tom;x", "Katze / https://example.org/a ;x"),
        ("Katze Tom).", "Katze https://example.org/a)."),
    ],
)
def test_an_address_does_not_merge_with_the_neighbour_of_its_stand_in(said: str, expected: str) -> None:
    reading = Reading.with_stand_ins(Job.of("the cat https://example.org/a", TranslationOptions()), ["Tom"])
    assert reading is not None
    assert completed(reading, said, []) == expected


def test_an_address_does_not_merge_with_an_entity_next_to_it() -> None:
    reading = Reading.with_stand_ins(
        Job.of("see https://example.org/a &amp; b", TranslationOptions()), ["Tom"]
    )
    assert reading is not None
    assert completed(reading, "siehe Tom& b", []) == "siehe https://example.org/a &amp; b"


@pytest.mark.parametrize("translator", [WITH, WITHOUT])
def test_what_a_pattern_or_a_mark_protects_occurs_as_often_as_in_the_source(translator: Translator) -> None:
    text = mark_spans("the cat ABC-7 danced and ls -l in tomatoes", [(25, 30)])
    found = translator.translate(text, protect_pattern=["[A-Z]+-[0-9]+", MARKED.pattern])
    assert all_kept(found, ["ABC-7", "ls -l"])


def test_a_text_of_only_spans_is_returned_unchanged() -> None:
    for text in ("{name}", "<b>%s</b>", "https://example.org/a", " <br/> {x}, 42 "):
        assert WITHOUT.translate(text) == text


def test_no_span_of_a_long_text_is_cut() -> None:
    address = f"https://example.org/{'x' * 150}"
    text = f"the cat danced. my friends <a href='a b. c d'>like tomatoes</a> {address} and {{name}}. " * 6
    answer = WITHOUT.translate(text)
    assert answer.count(address) == 6
    assert answer.count("{name}") == 6
    assert answer.count("<a href='a b. c d'>") == answer.count("</a>") == 6


def test_every_tag_of_a_heavily_tagged_line_survives() -> None:
    chance = random.Random(4)
    parts = [
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        '<a title="x > y">',
        "</a>",
        "<br>",
        "<p>",
        "<!-- a -->",
        "the",
        "cat",
        " ",
    ]
    lines = ["".join(chance.choices(parts, k=chance.randrange(2, 120))) for _ in range(40)]
    lines.append("the cat " + "<b>" * 9 + "danced" + "</b>" * 9)
    for line, answer in zip(lines, WITHOUT.translate(lines), strict=True):
        tags = [span.text for span in protected_spans(line, ("tags",))]
        assert sorted(span.text for span in protected_spans(answer, ("tags",))) == sorted(tags), answer


def test_each_block_is_translated_by_itself_and_scripts_are_copied() -> None:
    sentences = ["the cat danced", "my friends like tomatoes"]
    first, second = WITHOUT.translate(sentences)
    head = '<?xml version="1.0"?><!DOCTYPE html><style>the cat {}</style><script>the < "cat"</script>'
    text = f"{head}<ul><li>{sentences[0]}</li><li>{sentences[1]}</li></ul><![CDATA[the cat]]>"
    assert WITHOUT.translate(text) == f"{head}<ul><li>{first}</li><li>{second}</li></ul><![CDATA[the cat]]>"


def test_numbers_survive_on_request() -> None:
    text = "my 3 friends like 1,250.00 tomatoes"
    answer = WITHOUT.translate(text, TranslationOptions(protect=("numbers",)))
    assert answer.count("1,250.00") == 1
    assert len(occurrences(answer, "3")) == 1


# Where things go ------------------------------------------------------------------------------------------


def test_tags_enclose_the_translations_of_their_words() -> None:
    job = Job.of("the <b>black cat</b> danced<br/>", TranslationOptions())
    assert job.text == "the black cat danced"
    assert job.marks == (Mark("<b>", 4), Mark("</b>", 13), Mark("<br/>", 20))
    links = [(0, 1), (1, 3), (2, 2), (3, 0)]  # danced the cat black
    said = "tanzte die Katze schwarze"
    assert completed(Reading.plain(job), said, links) == "tanzte die <b>Katze schwarze</b><br/>"


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("the <img src=x> cat", "die <img src=x> Katze"),
        ("the <img src=x>cat", "die <img src=x>Katze"),
        ("the<img src=x> cat", "die<img src=x> Katze"),
        ("the <img src=x> <img src=y> cat", "die <img src=x> <img src=y> Katze"),
        ("the <b>cat", "die <b>Katze"),
        ("the cat <img src=x>", "die Katze <img src=x>"),
        ("<img src=x> the cat", "<img src=x> die Katze"),
        ("<p>the <img src=x> cat</p>", "<p>die <img src=x> Katze</p>"),
    ],
)
def test_a_single_tag_keeps_the_white_space_around_it(source: str, translation: str) -> None:
    job = Job.of(source, TranslationOptions())
    assert job.text == "the cat"
    assert completed(Reading.plain(job), "die Katze", [(0, 0), (1, 1)]) == translation


def test_nested_tags_and_tags_without_words_stay_in_order() -> None:
    job = Job.of("<p>the <i>cat</i></p><br/>", TranslationOptions())
    assert completed(Reading.plain(job), "die Katze", [(0, 0), (1, 1)]) == "<p>die <i>Katze</i></p><br/>"
    empty = Job.of("the <b></b> cat", TranslationOptions())
    assert completed(Reading.plain(empty), "die Katze", [(0, 0), (1, 1)]) == "die<b></b> Katze"


def test_a_missing_span_is_inserted_and_an_extra_one_removed() -> None:
    job = Job.of("the cat {name} danced", TranslationOptions())
    links = [(0, 0), (1, 1), (5, 2)]
    assert completed(Reading.plain(job), "die Katze tanzte", links) == "die Katze {name} tanzte"
    assert completed(Reading.plain(job), "die {name} Katze {name}", []).count("{name}") == 1


def test_a_term_replaces_the_words_aligned_with_its_source() -> None:
    job = Job.of(
        "the cat on a ladder",
        TranslationOptions(glossary=Glossary.of([("ladder", "Tritt"), ("cat", "Mieze")])),
    )
    links = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    reading = Reading.plain(job)
    assert anchored(reading, "die Katze auf einer Leiter .", links) == "die Mieze auf einer Tritt ."
    assert anchored(reading, "die Mieze auf einer Leiter .", links) == "die Mieze auf einer Tritt ."
    assert (
        anchored(reading, "die Katze auf einer Leiter .", links[:4]) is None
    )  # nobody knows where one belongs
    twice = Job.of("a cat and a cat", TranslationOptions(glossary=Glossary.of([("cat", "Mieze")])))
    words = [(number, number) for number in range(5)]
    anchor = anchored(Reading.plain(twice), "eine Katze und eine Katze", words)
    assert anchor == "eine Mieze und eine Mieze"
    free = Job.of("the cat", TranslationOptions(contain=("Mieze",)))
    assert anchored(Reading.plain(free), "die Katze", [(0, 0), (1, 1)]) is None


def test_a_missing_span_is_inserted_by_alignment_and_terms_keep_their_place() -> None:
    glossary = Glossary.of([("park", "Grünanlage")])
    job = Job.of("the {x} cat in the park", TranslationOptions(glossary=glossary))
    reading = Reading.with_stand_ins(job, ["rodeo"])
    assert reading is not None
    assert reading.text == "the rodeo cat in the park"
    links = [(0, 0), (2, 1), (3, 2), (5, 3)]
    assert anchored(reading, "die Katze im Park .", links) == "die rodeo Katze im Grünanlage ."
    assert anchored(reading, "die rodeo rodeo", links) is None
    assert anchored(reading, "die rodeo-Katze im Park", links) is None


def test_a_stand_in_that_became_a_part_of_a_longer_word_does_not_hold() -> None:
    reading = Reading.with_stand_ins(Job.of("the {x} cat", TranslationOptions()), ["rodeo"])
    assert reading is not None
    way = Attempt(reading=reading)
    assert way.holds("die rodeo Katze")
    assert way.holds("die Katze, rodeo.")
    assert not way.holds("die rodeo-Katze")
    assert not way.holds("die Katze")


def test_stand_ins_are_words_that_the_text_does_not_have() -> None:
    job = Job.of("Tom saw {a} and {b}", TranslationOptions())
    reading = Reading.with_stand_ins(job, ["Tom", "Mary", "Boston", "John"])
    assert reading is not None
    assert reading.text == "Tom saw Mary and Boston"
    assert reading.back("Boston sah Tom und Mary") == "{b} sah Tom und {a}"
    assert Reading.with_stand_ins(job, ["Tom", "Mary"]) is None
    assert Reading.with_stand_ins(job, ["T", "Mary", "Boston"]) is not None
    assert "T" not in Reading.with_stand_ins(job, ["T", "Mary", "Boston"]).stand_ins  # type: ignore[union-attr]


def test_every_kind_that_can_be_protected_is_known() -> None:
    assert set(BY_DEFAULT) < set(KINDS)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_all_spans_are_kept_for_any_output_and_alignment(data: st.DataObject) -> None:
    source = " ".join(data.draw(st.lists(st.one_of(words, spans), min_size=1, max_size=9)))
    reading = Reading.plain(Job.of(source, TranslationOptions()))
    parts = st.one_of(words, st.sampled_from([*reading.job.kept_texts, ".", ","]))
    said = " ".join(data.draw(st.lists(parts, max_size=8)))
    sizes = [len(WORDS_AND_MARKS.findall(text)) for text in (reading.text, said)]
    anywhere = st.tuples(*(st.integers(0, max(0, size - 1)) for size in sizes))
    links = data.draw(st.lists(anywhere, max_size=6)) if all(sizes) else []
    assert all_kept(completed(reading, said, links), reading.job.kept_texts)


def test_the_words_that_a_term_replaces_are_known() -> None:
    assert words_replaced("die Katze schläft auf der Straße .", "die Mieze schläft auf der Gasse .") == {
        "Katze",
        "Straße",
    }
    assert words_replaced("die Katze und die Katze", "die Mieze und die Katze") == frozenset()
