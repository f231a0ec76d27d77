"""Recurrent translation models: an LSTM encoder and decoder with attention (deck 002).

The decoder's first LSTM provides the queries; the LSTMs above it read the attention's output (as in GNMT). That output
is not fed back into the first LSTM, so in training each LSTM runs over the whole target in one call and attention is
computed for all tokens at once.
"""

import torch
from torch import Tensor, nn

from qkv.core.attention import Attention
from qkv.core.cache import Fixed
from qkv.core.dropout import Dropout
from qkv.core.masks import as_scores
from qkv.core.pairs import TranslationModel, joint_embedding, source_mask
from qkv.core.tape import Tape, inside
from qkv.families.translator.config import RecurrentConfig

States = list[tuple[Tensor, Tensor]]  # hidden and cell state of each LSTM, (1, B, F) each


class Recurrent(TranslationModel):
    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig):
        super().__init__()
        self.config = config
        width, hidden = config.width, config.hidden
        self.tokens = joint_embedding(config.vocab_size, width)
        self.bias = None
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(
            BothWays(hidden if depth else width, hidden) for depth in range(config.encoder_depth)
        )
        self.first_states = nn.Linear(hidden, config.decoder_depth * hidden)
        self.decoder = nn.ModuleList(
            lstm(hidden if depth else width, hidden) for depth in range(config.decoder_depth)
        )
        self.cross_attention = Attention(hidden, config.heads, dropout=0.0)
        self.combine = nn.Linear(2 * hidden, hidden)
        self.to_words = nn.Linear(hidden, width)

    def embed(self, ids: Tensor, tape: Tape | None) -> Tensor:
        tokens = self.tokens(ids) * self.config.width**0.5  # (B, T, D)
        if tape is not None:
            tape.record("tokens", tokens)
        embedded: Tensor = self.dropout(tokens)
        return embedded

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """The states of both directions, (B, S, F), and the source mask, (B, 1, 1, S)."""
        check_position(source.shape[1], self.config.max_length)
        mask = source_mask(source, self.config.pad)
        tape = inside(tape, "encoder")
        x, order = self.embed(source, tape), reversed_order(mask[:, 0, 0])
        for depth, both in enumerate(self.encoder):
            x = with_residual(x, self.dropout(both(x, order)), depth)
            if tape is not None:
                tape.inside(str(depth)).record("states", x)
        if tape is not None:
            tape.record("output", x)
        return x, mask

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: "RecurrentCache | None" = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """The inputs of the output layer, for the ids that follow those in the cache. (B, T, D)

        Target padding is at the end, so no real token depends on it.
        """
        cache = self.new_cache() if cache is None else cache
        cache.length += ids.shape[1]
        check_position(cache.length, self.config.max_length)
        states = self.initial_states(memory, memory_mask) if cache.states is None else cache.states
        tape = inside(tape, "decoder")
        x, kept = self.embed(ids, tape), States()
        for depth, (each, state) in enumerate(zip(self.decoder, states, strict=True)):
            y, newest = each(x, state)  # (B, T, F)
            kept.append(newest)
            x = with_residual(x, self.dropout(y), depth)
            block = inside(tape, str(depth))
            if block is not None:
                block.record("states", x)
            if depth == 0:
                x = self.attend(x, memory, memory_mask, cache.memory, inside(block, "cross_attention"))
        cache.states = kept
        words: Tensor = self.to_words(x)  # (B, T, D)
        if tape is not None:
            tape.record("output", words)
        return words

    def attend(
        self, x: Tensor, memory: Tensor, memory_mask: Tensor, projected: Fixed, tape: Tape | None
    ) -> Tensor:
        """tanh(W [c; h]) of the queries h and the attention's output c. (B, T, F)"""
        mask = as_scores(memory_mask, x.dtype) if tape is None else memory_mask
        found = self.cross_attention(x, memory, mask=mask, cache=projected, tape=tape)
        result: Tensor = self.dropout(torch.tanh(self.combine(torch.cat([found, x], dim=-1))))
        if tape is not None:
            tape.record("result", result)
        return result

    def initial_states(self, memory: Tensor, memory_mask: Tensor) -> States:
        """The decoder's initial states: hidden states from the mean of the memory, and zero cell states."""
        real = memory_mask[:, 0, 0, :, None].to(memory.dtype)  # (B, S, 1)
        mean = (memory * real).sum(1) / real.sum(1)  # (B, F)
        shown = torch.tanh(self.first_states(mean)).chunk(self.config.decoder_depth, dim=-1)
        return [(each[None].contiguous(), torch.zeros_like(each)[None]) for each in shown]

    def new_cache(self) -> "RecurrentCache":
        return RecurrentCache()


class BothWays(nn.Module):
    """A bidirectional LSTM layer.

    The backward LSTM reads the tokens in reverse and padding last. So neither direction reads padding before a token,
    and both run over whole batches without packed sequences.
    """

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.onward, self.back = lstm(width, hidden // 2), lstm(width, hidden // 2)

    def forward(self, x: Tensor, order: Tensor) -> Tensor:
        onward, _ = self.onward(x)
        back, _ = self.back(rows_in(x, order))
        return torch.cat([onward, rows_in(back, order)], dim=-1)  # (B, S, F)


class RecurrentCache:
    """The cache of one decoding: the states of the LSTMs, and the projected source."""

    def __init__(self) -> None:
        self.length = 0
        self.states: States | None = None
        self.memory = Fixed()

    def select(self, rows: Tensor) -> None:
        if self.states is not None:
            self.states = [(shown[:, rows], kept[:, rows]) for shown, kept in self.states]
        self.memory.select(rows)


@torch.no_grad()
def lstm(width: int, hidden: int) -> nn.LSTM:
    """One layer in one direction. Its forget gate is initialized open (bias 1)."""
    made = nn.LSTM(width, hidden, batch_first=True)
    from_below, from_before, bias, other_bias = made.all_weights[0]
    for gate in from_below.chunk(4):
        nn.init.xavier_uniform_(gate)
    for gate in from_before.chunk(4):
        nn.init.orthogonal_(gate)
    nn.init.zeros_(bias)
    nn.init.zeros_(other_bias)
    bias.chunk(4)[1].fill_(1.0)  # in torch's order: input, forget, cell, output
    return made


def with_residual(x: Tensor, y: Tensor, depth: int) -> Tensor:
    """A residual connection around every LSTM but the first."""
    return x + y if depth else y


def reversed_order(real: Tensor) -> Tensor:
    """For each row, the positions of its tokens in reverse, then those of its padding. (B, S) -> (B, S)"""
    places = torch.arange(real.shape[1], device=real.device)
    reverse = real.sum(dim=1, keepdim=True) - 1 - places
    return torch.where(reverse >= 0, reverse, places)


def rows_in(x: Tensor, order: Tensor) -> Tensor:
    return x.gather(1, order[:, :, None].expand_as(x))  # (B, S, D)


def check_position(length: int, context: int) -> None:
    if length > context:
        raise ValueError(f"position {length} is beyond the context of {context}")
