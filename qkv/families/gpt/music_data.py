"""Chorales as training data of a language model."""

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qkv.data.chorales import Chorale, Music, transpose, transposition_range
from qkv.data.windows import stream_of
from qkv.families.gpt.product import LanguageModel, TokenType
from qkv.families.gpt.settings import FineTuneMusicSettings, MusicSettings
from qkv.families.gpt.stream import Stream
from qkv.text.notes import Notes
from qkv.text.tokenizer import Tokenizer
from qkv.training.task import Example


@dataclass(frozen=True)
class MusicParts:
    music: Music
    settings: MusicSettings | FineTuneMusicSettings

    @property
    def origin(self) -> str:
        return self.music.origin

    @property
    def token_type(self) -> TokenType:
        return "notes"

    def fingerprint(self) -> dict[str, str]:
        return self.music.fingerprint()

    def learn(self) -> Tokenizer:
        return Notes.all()

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        notes, most = Notes(tokenizer.library), self.settings.transpose
        valid = stream_of(map(notes.encode_frames, self.music.valid), notes.end)

        def train(seed: int) -> NDArray[np.int64]:
            """Shuffle and transpose the chorales differently in every epoch."""
            generator = random.Random(seed)
            order: list[Chorale] = generator.sample(self.music.train, len(self.music.train))
            moved = [
                transpose(chorale, generator.randint(*transposition_range(chorale, most)))
                for chorale in order
            ]
            return stream_of(map(notes.encode_frames, moved), notes.end)

        return train, lambda seed: valid

    def results(self, product: LanguageModel, loss: float, tokens: int) -> dict[str, str]:
        found = {"validation loss": f"{loss:.4f} per note"}
        parts = {"validation": self.music.valid, "test": self.music.test}
        for name, chorales in parts.items():
            if chorales:
                nats, frames = product._nats_of_music(chorales), sum(map(len, chorales))
                found[f"{name}, negative log-likelihood"] = (
                    f"{nats / frames:.4f} per frame, {nats / frames / 4:.4f} per note, {frames:,} frames"
                )
        return found

    def example(self) -> Example[LanguageModel] | None:
        return None
