"""Music in four voices as tokens: for every sixteenth, one token per voice, from the highest voice to the lowest.

S65 A60 T57 B53 is one sixteenth; S- is a rest of the soprano. A token is a note together with its voice, so that the voice
needs no token of its own.
"""

from collections.abc import Sequence
from typing import Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, pre_tokenizers

from qkv.errors import QkvError
from qkv.text.tokenizer import SPECIAL, Tokenizer

VOICES = "SATB"
LOWEST, HIGHEST = 24, 96  # MIDI pitches, three octaves around middle C
REST = -1
Frame = tuple[int, ...]  # the pitch of each voice, or REST


class Notes(Tokenizer):
    """A fixed vocabulary."""

    @classmethod
    def all(cls) -> Self:
        names = [f"{voice}{note}" for voice in VOICES for note in ("-", *range(LOWEST, HIGHEST + 1))]
        vocab = {token: number for number, token in enumerate([*SPECIAL, *names])}
        library = LibraryTokenizer(models.WordLevel(vocab, unk_token=SPECIAL[0]))
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        return cls(library)

    def encode_frames(self, frames: Sequence[Frame]) -> list[int]:
        return [self.number(voice, pitch) for frame in frames for voice, pitch in enumerate(frame)]

    def number(self, voice: int, pitch: int) -> int:
        if pitch != REST and not LOWEST <= pitch <= HIGHEST:
            raise QkvError(
                f"pitch {pitch} is outside the range from {LOWEST} to {HIGHEST}: transpose the music."
            )
        offset = 0 if pitch == REST else pitch - LOWEST + 1
        return len(SPECIAL) + voice * (HIGHEST - LOWEST + 2) + offset

    def decode_frames(self, ids: Sequence[int]) -> list[Frame]:
        """Decode complete frames; an incomplete last frame is dropped."""
        size = HIGHEST - LOWEST + 2
        notes = [(number - len(SPECIAL)) % size for number in ids if number >= len(SPECIAL)]
        pitches = [REST if each == 0 else each + LOWEST - 1 for each in notes]
        whole = len(pitches) - len(pitches) % len(VOICES)
        return [tuple(pitches[place : place + len(VOICES)]) for place in range(0, whole, len(VOICES))]

    def of_voice(self, voice: int) -> range:
        """The ids of this voice."""
        return range(self.number(voice, REST), self.number(voice, HIGHEST) + 1)
