"""Four voices as tokens."""

import pytest

from qkv.errors import QkvError
from qkv.text.notes import Notes

FRAMES = [(65, 60, 57, 53), (-1, 60, 24, 96)]


def test_frames_come_back_as_they_went_in() -> None:
    notes = Notes.all()
    ids = notes.encode_frames(FRAMES)
    assert notes.decode_frames(ids) == FRAMES
    assert notes.decode(ids) == "S65 A60 T57 B53 S- A60 T24 B96"
    assert notes.encode(notes.decode(ids)) == ids


def test_a_frame_that_is_not_complete_is_left_out() -> None:
    notes = Notes.all()
    assert notes.decode_frames(notes.encode_frames(FRAMES)[:7]) == FRAMES[:1]


def test_every_token_belongs_to_one_voice() -> None:
    notes = Notes.all()
    voices = [number for voice in range(4) for number in notes.of_voice(voice)]
    assert voices == list(range(3, len(notes)))


def test_a_pitch_out_of_range_raises_an_error() -> None:
    with pytest.raises(QkvError, match="pitch 97 is outside"):
        Notes.all().encode_frames([(97, 60, 57, 53)])
