"""Where things go that stood at a place of the source."""

from qkv.families.translator.guarantees.places import Edit, Mark, Places, applied, marked, outside


def test_marks_find_their_place_also_without_links() -> None:
    places = Places("a b c d", "w x y z", [])
    edits = marked([Mark("<b>", 0), Mark("<i/>", 4), Mark("<u/>", 7)], places)
    assert applied("w x y z", edits) == "<b>w x <i/>y z<u/>"


def test_edits_are_made_in_order_and_what_is_not_replaced_is_written() -> None:
    edits = [Edit(4, 5, "<b>"), Edit(0, 0, "<i>"), Edit(0, 0, "<u>")]
    assert applied("a & b", edits, lambda text: text.replace("&", "&amp;")) == "<i><u>a &amp; <b>"


def test_nothing_is_put_into_the_midst_of_a_span() -> None:
    assert outside(Edit(3, 3, "x"), [(1, 5)]) == Edit(5, 5, "x")
    assert outside(Edit(1, 1, "x"), [(1, 5)]) == Edit(1, 1, "x")


def test_what_is_put_in_has_spaces_where_words_need_them() -> None:
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
