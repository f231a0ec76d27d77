"""Where things go that stood at a place of the source."""

from qkv.pipeline.places import Edit, Mark, Places, applied, marked, outside, spaced


def test_marks_find_their_place_also_without_links() -> None:
    places = Places("a b c d", "w x y z", [])
    assert marked([Mark("<b>", 0), Mark("<i/>", 4), Mark("<u/>", 7)], places) == [0, 4, 7]


def test_edits_are_made_in_order_and_what_is_not_replaced_is_written() -> None:
    edits = [Edit(4, 5, "<b>"), Edit(0, 0, "<i>"), Edit(0, 0, "<u>")]
    assert applied("a & b", edits, lambda text: text.replace("&", "&amp;")) == "<i><u>a &amp; <b>"


def test_nothing_is_put_into_the_midst_of_a_span() -> None:
    assert outside(Edit(3, 3, "x"), [(1, 5)]) == Edit(5, 5, "x")
    assert outside(Edit(1, 1, "x"), [(1, 5)]) == Edit(1, 1, "x")


def test_what_is_put_in_has_spaces_where_words_need_them() -> None:
    assert spaced("{x}", "die Katze", 3) == " {x}"
    assert spaced("{x}", "die Katze.", 9) == " {x}"
    assert spaced("{x}", "die Katze", 0) == "{x} "
