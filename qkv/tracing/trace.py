"""One output of a model with every intermediate: tokens, recorded arrays, and the candidates at every step."""

import difflib
from collections.abc import Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qkv.core.tape import Tape
from qkv.decoding.hypothesis import Hypothesis
from qkv.errors import QkvError
from qkv.tracing.experiments import Experiment
from qkv.tracing.watching import Pruned

Arrays = dict[str, np.ndarray[Any, np.dtype[np.float32]]]
CANDIDATES = 12  # next tokens reported per step


@dataclass(frozen=True, kw_only=True)
class Side:
    """A stack of blocks or LSTMs, and its input."""

    name: str  # prefix of its recorded arrays
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    stack: dict[
        str, Any
    ]  # its config; for LSTMs, the depth is the number of them that attend to the other side
    weights: str  # prefix of its weights
    causal: bool  # whether self-attention is causal
    embedding: str | None = None  # name of the embedding matrix
    embedding_scale: float = 1.0  # factor of the embeddings
    sum_is_normed: bool = False  # is the sum of embeddings and positions normed before the blocks?
    output: tuple[str, ...] = ()  # the output token of each row, if it has one
    attention: str | None = None  # prefix of its attention weights, if they are outside the blocks


@dataclass(frozen=True)
class Candidate:
    id: int
    text: str
    logit: float
    log_probability: float


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Candidates after one row, likeliest first, including the chosen one."""

    row: int
    chosen: int
    total: float  # log-sum-exp of the logits: logit − total is the log-probability
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, kw_only=True)
class Beams:
    """The beam search that found the output."""

    width: int
    length_penalty: float
    hypotheses: tuple[tuple[str, Hypothesis, float], ...]
    """Finished hypotheses, best first: text, hypothesis, and divisor of its score."""
    pruned: tuple[tuple[str, Pruned], ...]
    rounds: tuple[
        tuple[tuple[str, float], ...], ...
    ]  # prefixes that were alive at each step, with their log-probabilities


@dataclass(frozen=True, kw_only=True, repr=False)
class Trace:
    """Every intermediate value of one output, from `qkv.trace`. Arrays are found by name, as in a dictionary.

    Example:
        >>> trace = qkv.trace("runs/en-de", "the cat danced")
        >>> trace.side("encoder").tokens[-1]
        '<end>'
        >>> heads, rows, columns = trace["encoder.0.attention.weights"].shape
        >>> rows == columns == len(trace.side("encoder").tokens)
        True
        >>> "decoder.0.cross_attention.weights" in trace
        True
        >>> trace.names[0]
        'encoder.tokens'
    """

    kind: str
    """Of the bundle: translator, gpt, bert or vit."""
    text: str
    """The input."""
    output: str
    """What the model made of it: the text of the traced tokens."""
    config: dict[str, Any]
    """Of the model."""
    sides: tuple[Side, ...]
    """The stacks of the model, each with its tokens: encoder and decoder, or one."""
    arrays: Arrays
    """Recorded arrays by name, without the batch dimension."""
    weights: Mapping[str, Tensor]
    """The weights of the model."""
    choices: tuple[Choice, ...]
    beams: Beams | None = None
    picture: Any = None
    """The input image: channels, rows, columns; black is −1, white is 1."""
    output_weight: str | None = None
    """The weight whose rows give the logits, if it is a single matrix."""
    output_bias: str | None = None
    """The bias of the logits, if there is one."""
    experiment: Experiment = field(default=Experiment())
    translation: str | None = None
    """For a translator, what `translate` gives. It differs from `output` if the output repeats itself or loses a
    placeholder: then `translate` tries again under stricter rules, but the trace shows the first attempt."""

    def __repr__(self) -> str:
        return f"Trace({self.kind}, {self.text!r} → {self.output!r}, {len(self.arrays)} arrays)"

    def __getitem__(self, name: str) -> Any:
        if name not in self.arrays:
            near = difflib.get_close_matches(name, self.arrays, n=3, cutoff=0.3) or self.names[:3]
            raise KeyError(
                f"no array named '{name}' was recorded. Near it: {', '.join(near)}; all: trace.names"
            )
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def keys(self) -> KeysView[str]:
        """The names of all arrays, so that `dict(trace)` works."""
        return self.arrays.keys()

    @property
    def names(self) -> list[str]:
        """The names of all arrays, in the order of the computation."""
        return list(self.arrays)

    def side(self, name: str) -> Side:
        """A stack by its name, such as "encoder"."""
        for each in self.sides:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.sides)
        raise KeyError(f"there is no side named '{name}'; choose from {known}")

    def _repr_html_(self) -> str:
        from qkv.tracing.heat_map import trace_html

        return trace_html(self)

    def bertviz(self) -> dict[str, Any]:
        """Tokens and attention as BertViz takes them: `model_view(**trace.bertviz())`."""
        all_tokens = [list(side.tokens) for side in self.sides]
        each = [self.layers(side.name, "attention") for side in self.sides]
        if len(self.sides) == 1:
            return {"attention": each[0], "tokens": all_tokens[0]}
        names = [side.name for side in self.sides]
        found: dict[str, Any] = {"cross_attention": self.layers(names[-1], "cross_attention")}
        for name, tokens, layers in zip(names, all_tokens, each, strict=True):
            found[f"{name}_tokens"] = tokens
            if layers:  # LSTMs have no self-attention
                found[f"{name}_attention"] = layers
        return found

    def layers(self, side: str, sublayer: str) -> list[Tensor]:
        """Attention weights of every block, (1, H, T, S) each."""
        found: list[Tensor] = []
        while (name := f"{side}.{len(found)}.{sublayer}.weights") in self.arrays:
            found.append(torch.from_numpy(self.arrays[name])[None])
        return found


def without_batch(tape: Tape) -> Arrays:
    """The recorded arrays of one sentence. Positions are the same for all sentences and have no batch dimension."""
    return {
        name: (tensor if name.endswith("positions") else tensor[0]).float().cpu().numpy()
        for name, tensor in tape.tensors.items()
    }


def choices_of(logits: Tensor, target: Sequence[int], show: Any) -> tuple[Choice, ...]:
    """The candidates after every row of the logits (T, V), of which `target` was chosen."""
    found = []
    for row, (scores, chosen) in enumerate(zip(logits.double(), target, strict=True)):
        total = float(scores.logsumexp(-1))
        best = scores.topk(min(CANDIDATES, len(scores))).indices.tolist()
        wanted = best if chosen in best else [*best[:-1], chosen]
        texts = show(wanted)
        candidates = [
            Candidate(each, name, float(scores[each]), float(scores[each]) - total)
            for each, name in zip(wanted, texts, strict=True)
        ]
        found.append(Choice(row=row, chosen=chosen, total=total, candidates=tuple(candidates)))
    return tuple(found)


def at_rows(choices: Sequence[Choice], rows: Sequence[int]) -> tuple[Choice, ...]:
    """The same choices with other row numbers."""
    return tuple(
        Choice(row=row, chosen=each.chosen, total=each.total, candidates=each.candidates)
        for each, row in zip(choices, rows, strict=True)
    )


def check_length(tokens: int, longest: int) -> None:
    if tokens < 1:
        raise QkvError("the prompt is empty: write at least one word.")
    if tokens > longest:
        raise QkvError(f"this text has {tokens:,} tokens, but at most {longest} can be traced: shorten it.")
