"""Music in four voices: chorales as JSON or MIDI files to frames, one for each sixteenth, and frames to a MIDI file.

The JSON file is that of the JSB chorales: {"train": [[[65, 60, 57, 53], …], …], "valid": …, "test": …}, chorales of
frames of at most four MIDI pitches, the highest voice first. Frames, rests and the pitches that are sung are those of
qkv.text.notes.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean

from qkv.data.lines import opened
from qkv.errors import UserError

VOICES, REST = 4, -1
PER_BEAT = 4  # sixteenths
LOWEST, HIGHEST = 24, 96
OCTAVE = 12
VOICE_NAMES = ("soprano", "alto", "tenor", "bass")  # of the tracks that are written
PARTS = ("train", "valid", "test")
LONGEST = 100_000  # frames of a MIDI file: nearly five hours
SHORTEST_HELD_OUT = 10  # chorales, of which a tenth can be held out

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
        """Frames to train on."""
        return sum(map(len, self.train))

    def fingerprint(self) -> dict[str, str]:
        return {
            f"{name} music": sha256(json.dumps(part).encode()).hexdigest()
            for name, part in (("training", self.train), ("validation", self.valid), ("test", self.test))
        }


def read_music(
    paths: Sequence[Path], seed: int = 1, tell: Callable[[str], None] = lambda line: None
) -> Music:
    """Chorales of all files; where none are marked as validation part, some are held out by the seed."""
    parts: dict[str, list[Chorale]] = {name: [] for name in PARTS}
    for path in paths:
        found = {"train": [read_midi(path, tell)]} if is_midi(path) else read_chorales(path)
        for name, chorales in found.items():
            parts[name] += chorales
    if not parts["valid"]:
        if len(parts["train"]) < SHORTEST_HELD_OUT:
            raise UserError(
                f"{len(parts['train'])} pieces of music are too few to train on: give at least {SHORTEST_HELD_OUT}."
            )
        random.Random(seed).shuffle(parts["train"])
        count = len(parts["train"]) // SHORTEST_HELD_OUT
        parts["valid"], parts["train"] = parts["train"][:count], parts["train"][count:]
    return Music(**parts, origin=", ".join(path.name for path in paths[:3]))


def is_midi(path: Path) -> bool:
    return path.suffix.lower() in (".mid", ".midi")


# JSON -------------------------------------------------------------------------------------------------------


def read_chorales(path: Path) -> dict[str, list[Chorale]]:
    """The parts of the file; a list without parts is for training."""
    with opened(path) as stream:
        raw = stream.read()
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON ({error}). Download it again.") from None
    if isinstance(content, list):
        content = {"train": content}
    if not isinstance(content, dict) or "train" not in content or not set(content) <= set(PARTS):
        raise UserError(f"{path} is not a file of chorales: it must have train, valid and test.")
    found = {}
    for name, chorales in content.items():
        if not isinstance(chorales, list) or not chorales:
            raise UserError(f"{path}: {name} has no chorales.")
        found[name] = [
            [frame_of(frame, f"{path}: {name}, chorale {number}") for frame in listed(chorale, path, name)]
            for number, chorale in enumerate(chorales, 1)
        ]
    return found


def listed(chorale: object, path: Path, name: str) -> list[object]:
    if not isinstance(chorale, list) or not chorale:
        raise UserError(f"{path}: a chorale of {name} is not a list of frames.")
    return chorale


def frame_of(pitches: object, where: str) -> Frame:
    """With fewer than four notes, the voices at the bottom rest."""
    if not isinstance(pitches, list) or len(pitches) > VOICES or not all(map(is_pitch, pitches)):
        raise UserError(
            f"{where}: {str(pitches)[:40]} is not a frame of at most four pitches from {LOWEST} to {HIGHEST}: correct it, or "
            "transpose the chorale."
        )
    return (*map(int, pitches), *[REST] * (VOICES - len(pitches)))


def is_pitch(value: object) -> bool:
    """Some of the JSB chorales are written with a decimal point."""
    return type(value) in (int, float) and value in range(LOWEST, HIGHEST + 1)


def transposed(chorale: Chorale, semitones: int) -> Chorale:
    return [tuple(pitch if pitch == REST else pitch + semitones for pitch in frame) for frame in chorale]


def room_to_transpose(chorale: Chorale, most: int) -> tuple[int, int]:
    """How far down and up it can be moved, by at most so many semitones, so that every note can still be sung."""
    pitches = [pitch for frame in chorale for pitch in frame if pitch != REST]
    if not pitches:
        return -most, most
    return max(-most, min(0, LOWEST - min(pitches))), min(most, max(0, HIGHEST - max(pitches)))


# MIDI -------------------------------------------------------------------------------------------------------


def write_midi(path: Path, chorale: Chorale, beats_per_minute: int = 80) -> None:
    """A track for each voice; the same pitch in frames one after another is one long note."""
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
        for pitch, frames in held([frame[voice] for frame in chorale]):
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


def held(pitches: Sequence[int]) -> list[tuple[int, int]]:
    """Each pitch with the number of frames that it lasts."""
    found: list[tuple[int, int]] = []
    for pitch in pitches:
        if found and found[-1][0] == pitch:
            found[-1] = pitch, found[-1][1] + 1
        else:
            found.append((pitch, 1))
    return found


def read_midi(path: Path, tell: Callable[[str], None] = lambda line: None) -> Chorale:
    """Four tracks with notes are the four voices, the highest first; of anything else, the highest four notes that sound
    together.

    What `write_midi` has written comes back as it was, voices that rest and silence at the end included. Notes that
    nobody sings are moved by octaves, for a piano has some, and `tell` is told how many.
    """
    import mido

    with opened(path) as stream:
        try:
            file = mido.MidiFile(file=stream)
            if file.ticks_per_beat < 1:
                raise ValueError("its time is not counted in beats")
            sixteenth = file.ticks_per_beat / PER_BEAT
            tracks = [notes_of(track, sixteenth) for track in file.tracks]
            ours = tuple(track.name for track in file.tracks) == VOICE_NAMES
            silence = max((round(ticks_of(track) / sixteenth) for track in file.tracks if ours), default=0)
        except (OSError, EOFError, ValueError, IndexError, KeyError, mido.KeySignatureError) as error:
            reason = str(error) or "it ends too early"
            raise UserError(f"{path} is not a valid MIDI file ({reason}). Download it again.") from None
    tracks = [track for track in tracks if track or ours]
    if not ours:
        tracks.sort(key=mean_pitch, reverse=True)
    length = max((end for track in tracks for _, _, end in track), default=0)
    length = max(length, silence)
    if not length:
        raise UserError(f"{path} has no notes.")
    if length > LONGEST:
        raise UserError(f"{path} lasts {length:,} sixteenths; the most is {LONGEST:,}.")
    moved = sum(pitch != within_reach(pitch) for track in tracks for pitch, _, _ in track)
    if moved:
        notes = "1 note" if moved == 1 else f"{moved:,} notes"
        tell(f"{path}: {notes} outside the range {LOWEST} to {HIGHEST} moved by octaves")
    tracks = [[(within_reach(pitch), first, end) for pitch, first, end in track] for track in tracks]
    if len(tracks) == VOICES:
        voices = [sounding(track, length) for track in tracks]
        return [tuple(max(frame, default=REST) for frame in frames) for frames in zip(*voices, strict=True)]
    together = sounding([note for track in tracks for note in track], length)
    highest = [sorted(frame, reverse=True)[:VOICES] for frame in together]
    return [(*frame, *[REST] * (VOICES - len(frame))) for frame in highest]


def notes_of(track: object, sixteenth: float) -> list[tuple[int, int, int]]:
    """Pitch, first frame, and the frame after the last; a note lasts a frame at least.

    Two channels may hold the same pitch; one that is never let go lasts until the track ends.
    """
    now, begun, found = 0, dict[tuple[int, int], int](), []

    def let_go(key: tuple[int, int]) -> None:
        first = round(begun.pop(key) / sixteenth)
        found.append((key[1], first, max(first + 1, round(now / sixteenth))))

    for message in track:  # type: ignore[attr-defined]
        now += message.time
        if message.type not in ("note_on", "note_off") or message.channel == 9:  # percussion has no pitch
            continue
        key = message.channel, message.note
        if key in begun:
            let_go(key)
        if message.type == "note_on" and message.velocity:
            begun[key] = now
    for key in list(begun):
        let_go(key)
    return found


def mean_pitch(notes: Sequence[tuple[int, int, int]]) -> float:
    """Of notes as they are heard: a long one counts for more."""
    return fmean((pitch for pitch, _, _ in notes), (end - first for _, first, end in notes))


def ticks_of(track: object) -> int:
    return sum(message.time for message in track)  # type: ignore[attr-defined]


def within_reach(pitch: int) -> int:
    """The same note in the nearest octave in which it is sung."""
    if pitch < LOWEST:
        return LOWEST + (pitch - LOWEST) % OCTAVE
    return HIGHEST - (HIGHEST - pitch) % OCTAVE if pitch > HIGHEST else pitch


def sounding(notes: Sequence[tuple[int, int, int]], length: int) -> list[set[int]]:
    frames: list[set[int]] = [set() for _ in range(length)]
    for pitch, first, end in notes:
        for place in range(first, end):
            frames[place].add(pitch)
    return frames
