"""Where things go that stood at a place of the source."""

import random
import re
from collections import Counter

from qkv.families.translator.guarantees.job import Job, Reading, completed
from qkv.families.translator.guarantees.places import Edit, Mark, Places, applied, marked, outside
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Translation, together
from qkv.text.words import WORDS_AND_MARKS

TAG = re.compile(r"<(/?)(\w+)( n='\d+')?(/?)>")


def test_marks_find_their_place_also_without_links() -> None:
    places = Places("a b c d", "w x y z", [])
    edits = marked([Mark("<b>", 0), Mark("<i/>", 4), Mark("<u/>", 7)], places)
    assert applied("w x y z", edits) == "<b>w x <i/>y z<u/>"


def test_edits_are_applied_in_order_and_other_text_is_converted() -> None:
    edits = [Edit(4, 5, "<b>"), Edit(0, 0, "<i>"), Edit(0, 0, "<u>")]
    assert applied("a & b", edits, lambda text: text.replace("&", "&amp;")) == "<i><u>a &amp; <b>"


def test_nothing_is_inserted_inside_a_span() -> None:
    assert outside(Edit(3, 3, "x"), [(1, 5)]) == Edit(5, 5, "x")
    assert outside(Edit(1, 1, "x"), [(1, 5)]) == Edit(1, 1, "x")


def test_inserted_spans_get_spaces_next_to_words() -> None:
    def put(text: str, *places: int) -> str:
        return applied(text, [Edit(place, place, f"{{{place}}}", apart=True) for place in places])

    assert put("die Katze", 3) == "die {3} Katze"
    assert put("die Katze.", 9) == "die Katze {9}."
    assert put("die Katze", 0) == "{0} die Katze"
    assert put("die Katze", 9, 9) == "die Katze {9} {9}"
    assert put("", 0, 0) == "{0} {0}"


def test_a_tag_between_two_things_that_stand_apart_takes_no_space_from_them() -> None:
    edits = [Edit(3, 3, "www.a.de", apart=True), Edit(3, 3, "<br>"), Edit(3, 3, "{b}", apart=True)]
    assert applied("wo?", edits) == "wo? www.a.de<br> {b}"


# Tags ------------------------------------------------------------------------------------------------------


def is_well_formed(text: str) -> bool:
    opened: list[str] = []
    for close, name, _, empty in TAG.findall(text):
        if close and (not opened or opened.pop() != name):
            return False
        if not close and not empty:
            opened.append(name)
    return not opened


def well_formed(chance: random.Random, depth: int = 0) -> list[str]:
    """Words, spans and empty elements, some of them in elements, some of these in others."""
    parts: list[str] = []
    for _ in range(chance.randrange(1 + (depth == 0), 4)):
        kind = chance.random()
        if kind < 0.4 and depth < 3:
            name = chance.choice("biuq")
            parts += [f"<{name} n='{chance.randrange(9)}'>", *well_formed(chance, depth + 1), f"</{name}>"]
        elif kind < 0.5:
            parts.append("<x/>")
        else:
            parts.append(chance.choice(["the", "cat", "danced.", "{a}", "%s", "it's", "?"]))
        parts += chance.choice([[" "], [" "], []])
    return parts


def placed_anyhow(source: str, chance: random.Random) -> str:
    """A random translation with random links to the source, and its tags and spans inserted."""
    reading = Reading.plain(Job.of(source, TranslationOptions()))
    known = ["die", "Katze", "tanzte", ".", "?", *reading.job.kept_texts]
    said = chance.choice([" ", " ", ""]).join(chance.choice(known) for _ in range(chance.randrange(9)))
    sizes = [len(WORDS_AND_MARKS.findall(text)) for text in (reading.text, said)]
    count = chance.randrange(12) if all(sizes) else 0
    links = [(chance.randrange(sizes[0]), chance.randrange(sizes[1])) for _ in range(count)]
    return completed(reading, said, links)


def tags_of(text: str) -> Counter[str]:
    return Counter(match.group() for match in TAG.finditer(text))


def test_well_formed_markup_stays_well_formed_for_any_alignment() -> None:
    chance = random.Random(1)
    for _ in range(10_000):
        source = "".join(well_formed(chance))
        answer = placed_anyhow(source, chance)
        assert is_well_formed(source)
        assert is_well_formed(answer), (source, answer)
        assert tags_of(answer) == tags_of(source), (source, answer)


def test_tags_that_are_never_closed_or_opened_are_not_lost() -> None:
    chance = random.Random(2)
    for _ in range(2_000):
        parts = well_formed(chance)
        chance.shuffle(parts)
        source = "".join(parts)
        assert tags_of(placed_anyhow(source, chance)) == tags_of(source), source


def test_sibling_tags_stay_disjoint_and_nested_tags_stay_nested() -> None:
    source, target = "a b c d", "w x y z"
    text = "<p>a <i>b</i></p> <u>c d</u>"
    job = Job.of(text, TranslationOptions())
    assert job.text == source
    crossing = [(0, 0), (1, 2), (2, 1), (3, 3)]
    answer = completed(Reading.plain(job), target, crossing)
    assert is_well_formed(answer)
    assert answer in ("<p>w</p> <u>x</u> y z", "<p>w<i></i></p> <u>x</u> y z")


def test_tags_nested_a_thousand_times_are_placed() -> None:
    text = f"the {'<b>' * 2_000}cat{'</b>' * 2_000} danced"
    links = [(0, 0), (1, 1), (2, 2)]
    answer = completed(Reading.plain(Job.of(text, TranslationOptions())), "die Katze tanzte", links)
    assert answer == f"die {'<b>' * 2_000}Katze{'</b>' * 2_000} tanzte"


def test_a_span_that_is_put_in_stays_inside_its_tags() -> None:
    job = Job.of("the <b>{x}</b> cat", TranslationOptions())
    links = [(0, 0), (4, 1)]
    assert completed(Reading.plain(job), "die Katze", links) == "die <b>{x}</b> Katze"


def test_space_between_tags_and_text_is_kept() -> None:
    job = Job.of("<b> the cat <i></i> </b>", TranslationOptions())
    assert job.text == "the cat"
    answer = completed(Reading.plain(job), "die Katze", [(0, 0), (1, 1)])
    assert answer == "<b> die Katze <i></i></b>"


# Placeholders ----------------------------------------------------------------------------------------------


def test_placeholders_that_take_the_next_argument_keep_their_order() -> None:
    job = Job.of("Row %d, invoice %s/%u: account %s, {} {:d}", TranslationOptions())
    said = "Konto %s, %s, Zeile %u {:d} von %d {}"
    assert Reading.plain(job).written(said) == "Konto %d, %s, Zeile %u {} von %s {:d}"
    assert completed(Reading.plain(job), said, []) == "Konto %d, %s, Zeile %u {} von %s {:d}"
    lacking = completed(Reading.plain(job), "Konto %s, Zeile %u von", [])
    assert re.findall(r"%\w", lacking) == ["%d", "%s", "%u", "%s"]


def test_placeholders_with_a_number_or_a_name_may_move() -> None:
    job = Job.of("%1$s of %2$d and %(a)s of {b}", TranslationOptions())
    said = "{b} %(a)s %2$d %1$s"
    assert Reading.plain(job).written(said) == said


def test_links_count_words_even_if_a_segment_ends_inside_one() -> None:
    parts = ["<li>", "a b", "</li><li>", "c", "</li>"]
    answers = [
        Translation(text=part, score=0.0, alignment=[(0, 0)] if part[0] != "<" else None) for part in parts
    ]
    whole = together([(part, [answer]) for part, answer in zip(parts, answers, strict=True)], 1)[0]
    assert (whole.text, whole.pharaoh()) == ("<li>a b</li><li>c</li>", "0-0 1-1")
