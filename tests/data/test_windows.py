"""Windows over a stream: nothing is wasted, and nothing is said twice."""

import pytest

from qkv.data.windows import sliding_windows, stream_of, windows_of
from qkv.families.gpt.config import first_read

lengths = pytest.mark.parametrize("length", [2, 3, 5, 6, 7, 8, 9, 30, 31])


def test_documents_are_packed_with_an_end_before_and_after_each() -> None:
    assert stream_of([[5, 6], [7]], end=2).tolist() == [2, 5, 6, 2, 7, 2]


@lengths
@pytest.mark.parametrize("offset", [1, 2, 4])
def test_every_token_is_predicted_once_whatever_the_offset(length: int, offset: int) -> None:
    windows = windows_of(length, max_length=4, offset=offset)
    said = [place for first, last in windows for place in range(first + 1, last + 1)]
    assert said == list(range(1, length))
    assert all(0 < last - first <= 4 for first, last in windows)


@lengths
@pytest.mark.parametrize("context", [4, 5])
def test_a_text_is_scored_in_the_windows_in_which_it_would_be_generated(length: int, context: int) -> None:
    said = [
        (place, first)
        for (first, last), counted in sliding_windows(length, context)
        for place in range(last - counted + 1, last + 1)
    ]
    assert said == [(place, first_read(place, context)) for place in range(1, length)]
