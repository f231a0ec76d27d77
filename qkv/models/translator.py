"""The encoder-decoder Transformer of the paper (T-ED in deck 003): source ids in, target logits out."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from qkv.core.block import Stack, StackConfig
from qkv.core.cache import Cache
from qkv.core.dropout import Dropout
from qkv.core.masks import causal_mask
from qkv.core.pairs import PairModel, joint_embedding, source_mask
from qkv.core.positions import LearnedPositions, NoPositions, RotaryPositions, SinusoidalPositions
from qkv.core.tape import Tape, inside


@dataclass(frozen=True, kw_only=True)
class TranslatorConfig:
    vocab: int
    context: int  # the most positions on either side
    pad: int
    start: int  # what the decoder reads before the first word
    end: int
    positions: Literal["interleaved", "halves", "learned", "rotary", "none"]
    encoder: StackConfig
    decoder: StackConfig
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if self.encoder.width != self.decoder.width:
            raise ValueError(f"encoder width {self.encoder.width} is not decoder width {self.decoder.width}")
        if self.positions == "rotary" and any(s.width // s.heads % 2 for s in (self.encoder, self.decoder)):
            raise ValueError("rotary positions turn pairs of columns: the width of a head must be even")
        if not 0 <= self.smoothing < 1:
            raise ValueError("label smoothing must be at least 0 and below 1")

    @property
    def looking(self) -> tuple[int, int]:
        return self.decoder.depth, self.decoder.heads

    def facts(self) -> dict[str, str]:
        return {
            "encoder": self.encoder.sentence(),
            "decoder": self.decoder.sentence(),
            "positions": self.positions,
        }


class Translator(PairModel):
    architecture = "transformer"
    config: TranslatorConfig

    def __init__(self, config: TranslatorConfig):
        super().__init__()
        self.config = config
        width = config.encoder.width
        self.tokens = joint_embedding(config.vocab, width)
        self.source_positions = added_positions(config)
        self.target_positions = added_positions(config)
        self.source_rotation = rotations(config, config.encoder)
        self.target_rotation = rotations(config, config.decoder)
        self.dropout = Dropout(config.encoder.dropout)
        self.encoder = Stack(config.encoder)
        self.decoder = Stack(config.decoder, cross=True)

    def embed(self, ids: Tensor, positions: Tensor | None, tape: Tape | None = None) -> Tensor:
        tokens = self.tokens(ids) * self.config.encoder.width**0.5  # (B, T, D)
        total = tokens if positions is None else tokens + positions
        if tape is not None:
            for name, tensor in [("tokens", tokens), ("positions", positions), ("embedded", total)]:
                if tensor is not None:
                    tape.record(name, tensor)
        embedded: Tensor = self.dropout(total)
        return embedded

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """The memory that the decoder looks at, (B, S, D), and its mask, (B, 1, 1, S)."""
        mask = source_mask(source, self.config.pad)
        tape = inside(tape, "encoder")
        length = source.shape[1]
        x = self.embed(source, between(self.source_positions, 0, length), tape)
        rotation = between(self.source_rotation, 0, length)
        return self.encoder(x, mask=mask, rotation=rotation, tape=tape), mask

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Cache | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """What the decoder makes of the ids that follow those in the cache, before the output layer. (B, T, D)

        Padding stands at the end of a target, behind everything that could look at it: the causal mask is enough.
        """
        start, length = (0 if cache is None else cache.length), ids.shape[1]
        tape = inside(tape, "decoder")
        x = self.embed(ids, between(self.target_positions, start, length), tape)
        y: Tensor = self.decoder(
            x,
            mask=causal_mask(length, start + length, ids.device),
            rotation=between(self.target_rotation, start, length),
            memory=memory,
            memory_mask=memory_mask,
            cache=cache,
            tape=tape,
        )
        return y

    def new_cache(self) -> Cache:
        return Cache(self.config.decoder.depth)


def added_positions(config: TranslatorConfig) -> nn.Module | None:
    """What is added to the embeddings of one side; rotary positions add nothing."""
    width = config.encoder.width
    match config.positions:
        case "learned":
            return LearnedPositions(config.context, width)
        case "interleaved" | "halves":
            return SinusoidalPositions(config.context, width, config.positions)
        case "none":
            return NoPositions(config.context, width)
        case "rotary":
            return None


def rotations(config: TranslatorConfig, stack: StackConfig) -> nn.Module | None:
    """What turns the queries and keys of one side's self-attention."""
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.context, stack.width // stack.heads)


def between(positions: nn.Module | None, start: int, length: int) -> Tensor | None:
    found: Tensor | None = None if positions is None else positions(start, length)
    return found
