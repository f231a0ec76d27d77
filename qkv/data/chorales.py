"""Music in four voices: reads chorales from JSON or MIDI files, and writes MIDI files.

A chorale is a list of frames, one for each sixteenth: the pitches of the four voices, the highest first. JSON files are in
the format of the JSB chorales: {"train": [[[65, 60, 57, 53], …], …], "valid": …, "test": …}.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean

from qkv.data.lines import open_file
from qkv.data.origins import origin_of
from qkv.errors import DataError

VOICES, REST = 4, -1
PER_BEAT = 4  # sixteenths
LOWEST, HIGHEST = 24, 96
OCTAVE = 12
VOICE_NAMES = ("soprano", "alto", "tenor", "bass")  # names of the tracks
PARTS = ("train", "valid", "test")
LONGEST = 100_000  # frames of a MIDI file: about five hours
MIN_TO_SPLIT = 10  # chorales; a tenth is held out

Frame = tuple[int, ...]
Chorale = list[Frame]


@dataclass(frozen=True, kw_only=True)
class Music:
    train: list[Chorale]
    valid: list[Chorale]
    test: list[Chorale]
    origin: str

    @property
    def amount(self) -> int:
        """The number of frames to train on."""
        return sum(map(len, self.train))

    def fingerprint(self) -> dict[str, str]:
        return {
            f"{name} music": sha256(json.dumps(part).encode()).hexdigest()
            for name, part in (("training", self.train), ("validation", self.valid), ("test", self.test))
        }


def read_music(paths: Sequence[Path], seed: int = 1, say: Callable[[str], None] = lambda line: None) -> Music:
    """Read the chorales of all files. If there is no validation part, some chorales are held out."""
    parts: dict[str, list[Chorale]] = {name: [] for name in PARTS}
    for path in paths:
        found = {"train": [read_midi(path, say)]} if is_midi(path) else read_chorales(path)
        for name, chorales in found.items():
            parts[name] += chorales
    if not parts["valid"]:
        if len(parts["train"]) < MIN_TO_SPLIT:
            raise DataError(
                f"{len(parts['train'])} chorales are too few to train on: give at least {MIN_TO_SPLIT}."
            )
        random.Random(seed).shuffle(parts["train"])
        count = len(parts["train"]) // MIN_TO_SPLIT
        parts["valid"], parts["train"] = parts["train"][:count], parts["train"][count:]
    return Music(**parts, origin=origin_of(paths))


def is_midi(path: Path) -> bool:
    return path.suffix.lower() in (".mid", ".midi")


# JSON -------------------------------------------------------------------------------------------------------


def read_chorales(path: Path) -> dict[str, list[Chorale]]:
    """The parts of a file. A list without parts is for training."""
    with open_file(path) as stream:
        raw = stream.read()
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON ({error}). Download it again.") from None
    if isinstance(content, list):
        content = {"train": content}
    if not isinstance(content, dict) or "train" not in content or not set(content) <= set(PARTS):
        raise DataError(f"{path} is not a file of chorales: it must have train, valid and test.")
    found = {}
    for name, chorales in content.items():
        if not isinstance(chorales, list) or not chorales:
            raise DataError(f"{path}: {name} has no chorales.")
        found[name] = [
            [
                frame_of(frame, f"{path}: {name}, chorale {number}")
                for frame in check_frames(chorale, path, name)
            ]
            for number, chorale in enumerate(chorales, 1)
        ]
    return found


def check_frames(chorale: object, path: Path, name: str) -> list[object]:
    if not isinstance(chorale, list) or not chorale:
        raise DataError(f"{path}: a chorale of {name} is not a list of frames.")
    return chorale


def frame_of(pitches: object, where: str) -> Frame:
    """A frame. If it has fewer than four notes, the lowest voices rest."""
    if not isinstance(pitches, list) or len(pitches) > VOICES or not all(map(is_pitch, pitches)):
        raise DataError(
            f"{where}: {str(pitches)[:40]} is not a frame of at most four pitches from {LOWEST} to {HIGHEST}: correct it, or "
            "transpose the chorale."
        )
    return (*map(int, pitches), *[REST] * (VOICES - len(pitches)))


def is_pitch(value: object) -> bool:
    """Whether this is a valid pitch. Some JSB chorales have pitches with a decimal point."""
    return type(value) in (int, float) and value in range(LOWEST, HIGHEST + 1)


def transpose(chorale: Chorale, semitones: int) -> Chorale:
    return [tuple(pitch if pitch == REST else pitch + semitones for pitch in frame) for frame in chorale]


def transposition_range(chorale: Chorale, most: int) -> tuple[int, int]:
    """How far down and up a chorale can be transposed within the range of pitches, at most `most` semitones."""
    pitches = [pitch for frame in chorale for pitch in frame if pitch != REST]
    if not pitches:
        return -most, most
    return max(-most, min(0, LOWEST - min(pitches))), min(most, max(0, HIGHEST - max(pitches)))


# MIDI -------------------------------------------------------------------------------------------------------


def write_midi(path: Path, chorale: Chorale, beats_per_minute: int = 80) -> None:
    """Write one track per voice. The same pitch in consecutive frames is one long note."""
    import mido

    file = mido.MidiFile(type=1, ticks_per_beat=480)
    sixteenth = file.ticks_per_beat // PER_BEAT
    for voice in range(VOICES):
        track = mido.MidiTrack()
        track.append(mido.MetaMessage("track_name", name=VOICE_NAMES[voice], time=0))
        if voice == 0:
            tempo = mido.bpm2tempo(beats_per_minute)
            track.append(mido.MetaMessage("set_tempo", tempo=tempo, time=0))
        waited = 0
        for pitch, frames in merge_repeats([frame[voice] for frame in chorale]):
            if pitch == REST:
                waited += frames
                continue
            on = {"channel": voice, "note": pitch}
            track.append(mido.Message("note_on", **on, velocity=72, time=waited * sixteenth))
            track.append(mido.Message("note_off", **on, velocity=0, time=frames * sixteenth))
            waited = 0
        track.append(mido.MetaMessage("end_of_track", time=waited * sixteenth))
        file.tracks.append(track)
    file.save(path)


def merge_repeats(pitches: Sequence[int]) -> list[tuple[int, int]]:
    """Each pitch with its duration in frames."""
    found: list[tuple[int, int]] = []
    for pitch in pitches:
        if found and found[-1][0] == pitch:
            found[-1] = pitch, found[-1][1] + 1
        else:
            found.append((pitch, 1))
    return found


def read_midi(path: Path, say: Callable[[str], None] = lambda line: None) -> Chorale:
    """Read a MIDI file. Four tracks with notes are the voices; otherwise the highest four notes at a time are.

    Files from `write_midi` are read back exactly, including rests and silence at the end. Notes outside the range of
    pitches are moved by octaves, and `say` reports how many.
    """
    import mido

    with open_file(path) as stream:
        try:
            file = mido.MidiFile(file=stream)
            if file.ticks_per_beat < 1:
                raise ValueError("its time is not in ticks per beat")
            sixteenth = file.ticks_per_beat / PER_BEAT
            tracks = [notes_of(track, sixteenth) for track in file.tracks]
            written_by_us = tuple(track.name for track in file.tracks) == VOICE_NAMES
            silence = max(
                (round(ticks_of(track) / sixteenth) for track in file.tracks if written_by_us), default=0
            )
        except (OSError, EOFError, ValueError, IndexError, KeyError, mido.KeySignatureError) as error:
            reason = str(error) or "it ends too early"
            raise DataError(f"{path} is not a valid MIDI file ({reason}). Download it again.") from None
    tracks = [track for track in tracks if track or written_by_us]
    if not written_by_us:
        tracks.sort(key=mean_pitch, reverse=True)
    length = max((end for track in tracks for _, _, end in track), default=0)
    length = max(length, silence)
    if not length:
        raise DataError(f"{path} has no notes.")
    if length > LONGEST:
        raise DataError(f"{path} lasts {length:,} sixteenths; at most {LONGEST:,} are supported.")
    moved = sum(pitch != move_into_range(pitch) for track in tracks for pitch, _, _ in track)
    if moved:
        notes = "1 note" if moved == 1 else f"{moved:,} notes"
        say(f"{path}: {notes} outside the range {LOWEST} to {HIGHEST} moved by octaves")
    tracks = [[(move_into_range(pitch), first, end) for pitch, first, end in track] for track in tracks]
    if len(tracks) == VOICES:
        voices = [pitches_per_frame(track, length) for track in tracks]
        return [tuple(max(frame, default=REST) for frame in frames) for frames in zip(*voices, strict=True)]
    all_notes = pitches_per_frame([note for track in tracks for note in track], length)
    highest = [sorted(frame, reverse=True)[:VOICES] for frame in all_notes]
    return [(*frame, *[REST] * (VOICES - len(frame))) for frame in highest]


def notes_of(track: object, sixteenth: float) -> list[tuple[int, int, int]]:
    """The pitch, first frame and end frame of each note. A note lasts at least one frame.

    Two channels may play the same pitch. A note without an end lasts until the end of the track.
    """
    now, started, found = 0, dict[tuple[int, int], int](), []

    def end_note(key: tuple[int, int]) -> None:
        first = round(started.pop(key) / sixteenth)
        found.append((key[1], first, max(first + 1, round(now / sixteenth))))

    for message in track:  # type: ignore[attr-defined]
        now += message.time
        if message.type not in ("note_on", "note_off") or message.channel == 9:  # percussion has no pitch
            continue
        key = message.channel, message.note
        if key in started:
            end_note(key)
        if message.type == "note_on" and message.velocity:
            started[key] = now
    for key in list(started):
        end_note(key)
    return found


def mean_pitch(notes: Sequence[tuple[int, int, int]]) -> float:
    """The mean pitch, weighted by duration."""
    return fmean((pitch for pitch, _, _ in notes), (end - first for _, first, end in notes))


def ticks_of(track: object) -> int:
    return sum(message.time for message in track)  # type: ignore[attr-defined]


def move_into_range(pitch: int) -> int:
    """The same note in the nearest octave within the range of pitches."""
    if pitch < LOWEST:
        return LOWEST + (pitch - LOWEST) % OCTAVE
    return HIGHEST - (HIGHEST - pitch) % OCTAVE if pitch > HIGHEST else pitch


def pitches_per_frame(notes: Sequence[tuple[int, int, int]], length: int) -> list[set[int]]:
    frames: list[set[int]] = [set() for _ in range(length)]
    for pitch, first, end in notes:
        for place in range(first, end):
            frames[place].add(pitch)
    return frames
