"""What a written file lacks is found in short ranges, and nothing is found only if it lacks nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qkv.documents.comparing import differences


@pytest.mark.parametrize(
    ("wanted", "made", "found"),
    [
        ("abcdefg", "abcxxefg", [range(3, 4)]),
        ("abcdefg", "axbcdeg", [range(1, 1), range(5, 6)]),
        ("aabaa", "aabxaa", [range(3, 3)]),
        ("abc", "", [range(3)]),
        ("", "a", [range(0)]),
    ],
)
def test_each_difference_is_one_short_range(wanted: str, made: str, found: list[range]) -> None:
    assert differences(wanted, made) == found


@given(st.text("abcdef", max_size=12), st.text("abcdef", max_size=12))
def test_what_is_outside_the_ranges_is_in_both(wanted: str, made: str) -> None:
    found = differences(wanted, made)
    assert bool(found) == (wanted != made)
    assert [*found] == sorted(found, key=lambda each: each.start)
    rest = iter(made)
    assert all(text in rest for place, text in enumerate(wanted) if not any(place in each for each in found))
