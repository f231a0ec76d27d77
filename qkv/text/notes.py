"""Music for four voices as tokens: at every sixteenth one for each voice, from the highest to the lowest.

S65 A60 T57 B53 is a sixteenth; S- is a soprano that rests. A note and the voice that sings it are one token, so that
nothing else has to tell whose turn it is.
"""

from collections.abc import Sequence
from typing import Self

from tokenizers import Tokenizer as Pieces
from tokenizers import models, pre_tokenizers

from qkv.errors import UserError
from qkv.text.tokenizer import SPECIAL, Tokenizer

VOICES = "SATB"
LOWEST, HIGHEST = 24, 96  # MIDI pitches: three octaves and more on both sides of middle C
REST = -1
Frame = tuple[int, ...]  # the pitch of each voice, or REST


class Notes(Tokenizer):
    """A fixed vocabulary."""

    @classmethod
    def all(cls) -> Self:
        names = [f"{voice}{sung}" for voice in VOICES for sung in ("-", *range(LOWEST, HIGHEST + 1))]
        vocab = {piece: number for number, piece in enumerate([*SPECIAL, *names])}
        pieces = Pieces(models.WordLevel(vocab, unk_token=SPECIAL[0]))
        pieces.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        return cls(pieces)

    def encode_frames(self, frames: Sequence[Frame]) -> list[int]:
        return [self.number(voice, pitch) for frame in frames for voice, pitch in enumerate(frame)]

    def number(self, voice: int, pitch: int) -> int:
        if pitch != REST and not LOWEST <= pitch <= HIGHEST:
            raise UserError(
                f"pitch {pitch} is outside the range from {LOWEST} to {HIGHEST}: transpose the music."
            )
        within = 0 if pitch == REST else pitch - LOWEST + 1
        return len(SPECIAL) + voice * (HIGHEST - LOWEST + 2) + within

    def decode_frames(self, ids: Sequence[int]) -> list[Frame]:
        """Whole frames; an incomplete last frame is dropped."""
        size = HIGHEST - LOWEST + 2
        sung = [(number - len(SPECIAL)) % size for number in ids if number >= len(SPECIAL)]
        pitches = [REST if each == 0 else each + LOWEST - 1 for each in sung]
        whole = len(pitches) - len(pitches) % len(VOICES)
        return [tuple(pitches[place : place + len(VOICES)]) for place in range(0, whole, len(VOICES))]

    def of_voice(self, voice: int) -> range:
        """The ids of this voice."""
        return range(self.number(voice, REST), self.number(voice, HIGHEST) + 1)
