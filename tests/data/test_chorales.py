"""Chorales as JSON and as MIDI: what is read, what comes back, and what is refused."""

import json
from contextlib import suppress
from pathlib import Path

import mido
import pytest

from qkv.data.chorales import (
    HIGHEST,
    LOWEST,
    REST,
    VOICES,
    Chorale,
    read_midi,
    read_music,
    transpose,
    transposition_range,
    write_midi,
)
from qkv.errors import QkvError
from qkv.text import notes

CHORALE = [(65, 60, 57, 53), (65, 60, 57, 53), (67, 60, -1, 52), (-1, -1, -1, -1), (67, 62, 55, 50)]
REAL = Path(__file__).parents[2] / ".." / "shared" / "data" / "jsb" / "jsb-chorales-16th.json"


@pytest.mark.parametrize(
    "chorale",
    [
        CHORALE,
        [(67, REST, 57, 53), (67, REST, 57, 53)],
        [(REST, REST, REST, 48), *CHORALE],
        [*CHORALE, (REST, REST, REST, REST), (REST, REST, REST, REST)],
        [(REST, REST, REST, REST)] * 3,
    ],
    ids=["all sing", "the alto rests", "the bass begins", "silence at the end", "nobody sings"],
)
def test_what_is_written_as_midi_is_read_back(chorale: Chorale, tmp_path: Path) -> None:
    write_midi(tmp_path / "a.mid", chorale)
    assert read_midi(tmp_path / "a.mid") == chorale


def test_tokens_and_midi_files_have_the_same_range() -> None:
    assert (notes.LOWEST, notes.HIGHEST, notes.REST, len(notes.VOICES)) == (LOWEST, HIGHEST, REST, VOICES)


def test_a_held_pitch_is_one_note(tmp_path: Path) -> None:
    write_midi(tmp_path / "a.mid", CHORALE)
    soprano = [message for message in mido.MidiFile(tmp_path / "a.mid").tracks[0] if not message.is_meta]
    assert [(message.type, message.note, message.time) for message in soprano] == [
        ("note_on", 65, 0),
        ("note_off", 65, 240),
        ("note_on", 67, 0),
        ("note_off", 67, 120),
        ("note_on", 67, 120),
        ("note_off", 67, 120),
    ]


def test_of_one_track_the_highest_four_notes_are_the_voices(tmp_path: Path) -> None:
    file, track = mido.MidiFile(ticks_per_beat=4), mido.MidiTrack()
    for pitch in (60, 64, 67, 72, 76):
        track.append(mido.Message("note_on", note=pitch, velocity=64, time=0))
    for pitch in (60, 64, 67, 72, 76):
        track.append(mido.Message("note_on", note=pitch, velocity=0, time=2 if pitch == 60 else 0))
    file.tracks.append(track)
    file.save(tmp_path / "a.mid")
    assert read_midi(tmp_path / "a.mid") == [(76, 72, 67, 64)] * 2


def one_track(path: Path, *messages: mido.Message | mido.MetaMessage) -> Path:
    file, track = mido.MidiFile(ticks_per_beat=4), mido.MidiTrack(messages)
    file.tracks.append(track)
    file.save(path)
    return path


def test_four_tracks_are_the_voices_from_the_highest_down_in_whatever_order_they_come(tmp_path: Path) -> None:
    write_midi(tmp_path / "a.mid", CHORALE[:2])
    file = mido.MidiFile(tmp_path / "a.mid")
    for track in file.tracks:
        track.name = "someone else's"
    file.tracks.reverse()
    file.save(tmp_path / "b.mid")
    assert read_midi(tmp_path / "b.mid") == CHORALE[:2]


def test_a_unison_of_two_channels_lasts_as_long_as_the_longer(tmp_path: Path) -> None:
    path = one_track(
        tmp_path / "a.mid",
        mido.Message("note_on", channel=0, note=60, time=0),
        mido.Message("note_on", channel=1, note=60, time=0),
        mido.Message("note_off", channel=0, note=60, time=1),
        mido.Message("note_off", channel=1, note=60, time=3),
    )
    assert read_midi(path) == [(60, REST, REST, REST)] * 4


def test_a_note_that_is_never_let_go_lasts_until_the_track_ends(tmp_path: Path) -> None:
    path = one_track(
        tmp_path / "a.mid",
        mido.Message("note_on", note=60, time=0),
        mido.MetaMessage("end_of_track", time=3),
    )
    assert read_midi(path) == [(60, REST, REST, REST)] * 3


def test_notes_out_of_range_are_moved_by_octaves_and_counted(tmp_path: Path) -> None:
    held = [
        mido.Message("note_on", note=pitch, time=0) for pitch in (21, 108, 60)
    ]  # a piano's lowest and highest
    path = one_track(tmp_path / "a.mid", *held, mido.MetaMessage("end_of_track", time=1))
    told: list[str] = []
    assert read_midi(path, told.append) == [(96, 60, 33, REST)]
    assert told == [f"{path}: 2 notes outside the range 24 to 96 moved by octaves"]


def test_a_truncated_or_changed_midi_file_raises_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.mid"
    write_midi(path, CHORALE)
    whole = path.read_bytes()
    for cut in range(0, len(whole) - 1, 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(QkvError):
            read_midi(path)
    for place in range(0, len(whole), 2):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        with suppress(QkvError):  # whatever else it raises is a traceback for a person
            assert all(len(frame) == 4 for frame in read_midi(path))


def test_a_midi_file_that_lasts_for_ages_is_rejected(tmp_path: Path) -> None:
    file, track = mido.MidiFile(ticks_per_beat=4), mido.MidiTrack()
    track.append(mido.Message("note_on", note=60, velocity=64, time=2**27))
    track.append(mido.Message("note_off", note=60, velocity=0, time=2**27))
    file.tracks.append(track)
    file.save(tmp_path / "a.mid")
    with pytest.raises(QkvError, match="at most 100,000"):
        read_midi(tmp_path / "a.mid")


def test_midi_without_notes_raises_an_error(tmp_path: Path) -> None:
    mido.MidiFile().save(tmp_path / "a.mid")
    with pytest.raises(QkvError, match="no notes"):
        read_midi(tmp_path / "a.mid")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"train": [[[60, 55', "not valid JSON"),
        ('{"training": []}', "not a file of chorales"),
        ("7", "not a file of chorales"),
        ('{"train": []}', "train has no chorales"),
        ('{"train": [7]}', "not a list of frames"),
        ('{"train": [[]]}', "not a list of frames"),
        ('{"train": [[[60, 55, 52, 48, 40]]]}', "chorale 1: .* is not a frame"),
        ('{"train": [[[60]], [[60, "C"]]]}', "chorale 2: .* is not a frame"),
        ('{"train": [[[60]]], "test": [[[60]], [[97]]]}', "a.json: test, chorale 2: .* from 24 to 96"),
        ("[" * 100_000, "not valid JSON"),
        ('{"train": [[[true]]]}', "is not a frame"),
        ('{"train": [[60]]}', "is not a frame"),
        ('{"train": [[[60]]]}', "too few to train on"),
    ],
)
def test_a_corrupt_chorale_file_raises_an_error(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(QkvError, match=sentence):
        read_music([tmp_path / "a.json"])


def test_voices_at_the_bottom_rest_where_notes_are_missing(tmp_path: Path) -> None:
    content = {"train": [[[65, 60], []]], "valid": [[[60]]], "test": [[[61]]]}
    (tmp_path / "a.json").write_text(json.dumps(content))
    music = read_music([tmp_path / "a.json"])
    assert music.train == [[(65, 60, -1, -1), (-1, -1, -1, -1)]]
    assert (music.valid, music.test) == ([[(60, -1, -1, -1)]], [[(61, -1, -1, -1)]])


def test_without_a_validation_part_a_tenth_is_held_out(tmp_path: Path) -> None:
    chorales = [[[60 + number]] for number in range(20)]
    (tmp_path / "a.json").write_text(json.dumps(chorales))
    music = read_music([tmp_path / "a.json"], seed=3)
    assert (len(music.train), len(music.valid)) == (18, 2)
    assert music.valid != read_music([tmp_path / "a.json"], seed=4).valid


def test_transposing_leaves_rests_alone() -> None:
    assert transpose(CHORALE[2:4], 2) == [(69, 62, -1, 54), (-1, -1, -1, -1)]


def test_a_piece_is_transposed_no_further_than_can_be_sung() -> None:
    assert transposition_range(CHORALE, 5) == (-5, 5)
    assert transposition_range([(94, 60, 57, 25)], 5) == (-1, 2)
    assert transposition_range([(REST, REST, REST, REST)], 5) == (-5, 5)


@pytest.mark.skipif(not REAL.exists(), reason="the JSB chorales are not there")
def test_the_jsb_chorales_are_read_whole() -> None:
    music = read_music([REAL])
    assert [len(part) for part in (music.train, music.valid, music.test)] == [229, 76, 77]
