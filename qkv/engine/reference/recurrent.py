"""Recurrent translation models: an LSTM encoder and decoder with attention."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qkv.engine.reference.attention import Attention, Watch, padding_mask
from qkv.engine.reference.cache import Fixed
from qkv.engine.reference.functions import Ints, Mask, sigmoid
from qkv.engine.reference.layers import Weights, look_up
from qkv.engine.reference.positions import check_position
from qkv.engine.reference.translation import NumpyTranslationModel
from qkv.engine.rounding import Floats
from qkv.families.translator.config import RecurrentConfig

State = tuple[Floats, Floats]  # hidden and cell state of an LSTM, (B, F) each


class LSTM:
    """One layer in one direction. Gates are in torch's order: input, forget, cell, output."""

    def __init__(self, weights: Weights):
        self.from_below = weights.layer(weights["weight_ih_l0"], weights["bias_ih_l0"])
        self.from_before = weights.layer(weights["weight_hh_l0"], weights["bias_hh_l0"])
        self.hidden = weights["weight_hh_l0"].shape[1]

    def zeros(self, batch: int) -> State:
        empty = np.zeros((batch, self.hidden), dtype=np.float32)
        return empty, empty

    def __call__(self, x: Floats, state: State) -> tuple[Floats, State]:
        """(B, T, D) to (B, T, F), and the last state."""
        below, states = self.from_below(x), []
        shown, kept = state
        for place in range(x.shape[1]):
            gates = below[:, place] + self.from_before(shown)
            enter, forget, cell, leave = np.split(gates, 4, axis=-1)
            kept = sigmoid(forget) * kept + sigmoid(enter) * np.tanh(cell)
            shown = sigmoid(leave) * np.tanh(kept)
            states.append(shown)
        return np.stack(states, axis=1), (shown, kept)


class BothWays:
    """A bidirectional LSTM layer. The backward LSTM reads the tokens in reverse and padding last."""

    def __init__(self, weights: Weights):
        self.onward, self.back = LSTM(weights.inside("onward")), LSTM(weights.inside("back"))

    def __call__(self, x: Floats, order: Ints) -> Floats:
        zeros = self.onward.zeros(len(x))
        onward, _ = self.onward(x, zeros)
        back, _ = self.back(np.take_along_axis(x, order, axis=1), zeros)
        return np.concatenate([onward, np.take_along_axis(back, order, axis=1)], axis=-1)  # (B, S, F)


class RecurrentCache:
    """The states of the LSTMs, and the projected source."""

    def __init__(self) -> None:
        self.length = 0
        self.states: list[State] | None = None
        self.memory = Fixed()

    def select(self, rows: Any) -> None:
        if self.states is not None:
            self.states = [(shown[rows], kept[rows]) for shown, kept in self.states]
        self.memory.select(rows)


class NumpyRecurrent(NumpyTranslationModel):
    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig, weights: Mapping[str, Any], *, int8: bool):
        own = Weights(weights, int8=int8)
        self.config = config
        self.tokens = own["tokens.weight"]
        self.output_layer = own.layer(self.tokens, None)
        self.encoder = [BothWays(own.inside(f"encoder.{depth}")) for depth in range(config.encoder_depth)]
        self.decoder = [LSTM(own.inside(f"decoder.{depth}")) for depth in range(config.decoder_depth)]
        self.first_states, self.combine, self.to_words = (
            own.linear(name) for name in ("first_states", "combine", "to_words")
        )
        self.cross_attention = Attention(own.inside("cross_attention"), config.heads)

    def embed(self, ids: Ints) -> Floats:
        return look_up(self.tokens, ids) * self.config.width**0.5  # (B, T, D)

    def encode(self, source: Ints, real: Mask) -> Floats:
        check_position(source.shape[1], self.config.max_length)
        x, order = self.embed(source), reversed_order(real)[:, :, None]
        for depth, both in enumerate(self.encoder):
            x = with_residual(x, both(x, order), depth)
        return x

    def decode(
        self, ids: Ints, memory: Floats, real: Mask, cache: RecurrentCache, watch: Watch | None
    ) -> Floats:
        cache.length += ids.shape[1]
        check_position(cache.length, self.config.max_length)
        states = self.initial_states(memory, real) if cache.states is None else cache.states
        x, cache.states = self.embed(ids), []
        for depth, (each, state) in enumerate(zip(self.decoder, states, strict=True)):
            y, newest = each(x, state)  # (B, T, F)
            cache.states.append(newest)
            x = with_residual(x, y, depth)
            if depth == 0:
                mask = padding_mask(real)
                found = self.cross_attention(x, memory, mask=mask, cache=cache.memory, watch=watch)
                x = np.tanh(self.combine(np.concatenate([found, x], axis=-1)))
        return self.to_words(x)  # (B, T, D)

    def initial_states(self, memory: Floats, real: Mask) -> list[State]:
        """Hidden states from the mean of the memory, and zero cell states."""
        counted = real[:, :, None].astype(np.float32)  # (B, S, 1)
        mean = (memory * counted).sum(1) / counted.sum(1)  # (B, F)
        shown = np.split(np.tanh(self.first_states(mean)), self.config.decoder_depth, axis=-1)
        return [(each, np.zeros_like(each)) for each in shown]

    def new_cache(self) -> RecurrentCache:
        return RecurrentCache()

    def output(self, x: Floats) -> Floats:
        return self.output_layer(x)


def with_residual(x: Floats, y: Floats, depth: int) -> Floats:
    """A residual connection around every LSTM but the first."""
    return x + y if depth else y


def reversed_order(real: Mask) -> Ints:
    """For each row, the positions of its tokens in reverse, then those of its padding. (B, S) -> (B, S)"""
    places = np.arange(real.shape[1])
    reverse = real.sum(axis=1, keepdims=True) - 1 - places
    return np.where(reverse >= 0, reverse, places)
