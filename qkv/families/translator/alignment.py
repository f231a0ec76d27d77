"""Word alignments from the cross-attention of the decoder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from qkv.core.pairs import CrossHeads, TranslationModel
from qkv.core.tape import Tape
from qkv.errors import UserError
from qkv.families.translator.model import Translator as Transformer
from qkv.families.translator.recurrent import Recurrent
from qkv.families.translator.translations import Links
from qkv.text.vocabulary import Vocabulary
from qkv.text.words import spans, words_of_tokens


@dataclass(frozen=True, kw_only=True)
class Aligner:
    """The cross-attention heads that give alignments."""

    block: int
    heads: tuple[int, ...]
    late: bool
    """True: use the attention of the step that reads a token, not of the step that predicts it."""

    @classmethod
    def for_any(cls, model: TranslationModel) -> "Aligner":
        """The default: all heads of the last block but one, at the step that predicts a token."""
        blocks, heads = model.config.cross_attention_shape
        return cls(block=max(0, blocks - 2), heads=tuple(range(heads)), late=False)

    def fits(self, blocks: int, heads: int) -> bool:
        """Whether a model of this shape has these heads."""
        return 0 <= self.block < blocks and bool(self.heads) and all(0 <= head < heads for head in self.heads)

    def check(self, model: TranslationModel) -> None:
        """Raise an error if the model lacks these heads."""
        blocks, heads = model.config.cross_attention_shape
        if not self.fits(blocks, heads):
            raise UserError(
                f"the aligner in the model's config names heads {', '.join(map(str, self.heads)) or '(none)'} of block "
                f"{self.block}, but this model has {blocks} blocks of {heads} heads, counted from 0. "
                "It belongs to another model."
            )

    @property
    def cross_heads(self) -> CrossHeads:
        return CrossHeads(block=self.block, heads=self.heads)

    @torch.inference_mode()
    def attention(self, model: TranslationModel, source: Sequence[int], output: Sequence[int]) -> Tensor:
        """The attention of each output id on each source id, including the end token. (T, S)"""
        config, device = model.config, model.tokens.weight.device
        tape = Tape(only=self.cross_heads.recorded_as)
        read = torch.tensor([[*source, config.end]], device=device)
        shifted = torch.tensor([[config.start, *output][: config.max_length]], device=device)
        model.decode(shifted, *model.encode(read), tape=tape)
        weights = self.cross_heads.of(tape)[0]
        return rows_of(weights, len(output), self.late)


def rows_of(weights: Tensor, count: int, late: bool) -> Tensor:
    """The rows of the attention (…, T, S) that belong to the output tokens."""
    rows = weights[..., 1 : count + 1, :] if late else weights[..., :count, :]
    missing = count - rows.shape[-2]  # the model ran out of positions
    return torch.cat([rows, rows[..., -1:, :].expand(*rows.shape[:-2], missing, -1)], -2) if missing else rows


def word_weights(
    attention: Tensor, source: Sequence[int | None], target: Sequence[int | None], shape: tuple[int, int]
) -> Tensor:
    """Attention between tokens, (…, T, S), as attention between words, (…, target words, source words).

    `source` and `target` give the word of each token. The attention has one more column, for the end token.
    """
    of_target, of_source = (
        membership(target, shape[0]).to(attention),
        membership(source, shape[1]).to(attention),
    )
    counts = of_target.sum(1, keepdim=True).clamp(min=1)  # the mean over a word's tokens
    return (of_target / counts) @ attention[..., : len(source)] @ of_source.T


def membership(owned_by: Sequence[int | None], words: int) -> Tensor:
    """1 where a token belongs to a word. (words, tokens)"""
    table = torch.zeros(words, len(owned_by))
    for token, word in enumerate(owned_by):
        if word is not None:
            table[word, token] = 1
    return table


def links_in(words: Tensor) -> Links:
    """Link each target word (target words × source words) to the source word with the most attention."""
    if 0 in words.shape:
        return []
    best, which = words.max(-1)
    rest = 1 - words.sum(-1)  # attention on the end token and on spaces
    pairs = [
        (int(source), target)
        for target, (source, weight, other) in enumerate(
            zip(which.tolist(), best.tolist(), rest.tolist(), strict=True)
        )
        if weight >= other
    ]
    return sorted(pairs)


def align(
    aligner: Aligner,
    model: TranslationModel,
    tokenizer: Vocabulary,
    source: str,
    output: Sequence[int],
    pattern: re.Pattern[str],
    marker: str = "",
) -> Links:
    """Pairs of source and output words, as the pattern splits them.

    `marker` precedes the source to select a target language. It is not a word.
    """
    ids, marked = tokenizer.encode_with_spans(marker + source)
    before = len(marker.encode())
    places = [(start - before, end - before) for start, end in marked]
    source_words, target_words = spans(source, pattern), spans(tokenizer.decode(output), pattern)
    attention = aligner.attention(model, ids, output)
    weights = word_weights(
        attention,
        words_of_tokens(places, source_words),
        words_of_tokens(tokenizer.spans(output), target_words),
        (len(target_words), len(source_words)),
    )
    return links_in(weights)


@dataclass(frozen=True, kw_only=True)
class WordAttention:
    """The attention of every head between words, for a given translation. A head is (block, index).

    `encoder` and `decoder` give, for every word of that side, the word with the strongest weight, or None for the start
    and end tokens. A target word stands for the step that predicts it.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    cross: dict[tuple[int, int], Links]
    encoder: dict[tuple[int, int], list[int | None]]
    decoder: dict[tuple[int, int], list[int | None]]


@torch.inference_mode()
def attention_between_words(
    model: Transformer | Recurrent,
    tokenizer: Vocabulary,
    source: str,
    target: str,
    pattern: re.Pattern[str],
    late: bool,
) -> WordAttention:
    config, device, tape = model.config, model.tokens.weight.device, Tape()
    ids, places = tokenizer.encode_with_spans(source)
    output, output_places = tokenizer.target.encode_with_spans(target)
    read = torch.tensor([[*ids, config.end]], device=device)
    model(read, torch.tensor([[config.start, *output]], device=device), tape)
    words = pattern.findall(source), pattern.findall(target)
    of_source, of_target = (
        words_of_tokens(each, spans(text, pattern))
        for each, text in [(places, source), (output_places, target)]
    )
    cross, encoder, decoder = dict[tuple[int, int], Links](), {}, {}
    for block in range(config.decoder.depth):
        attention = rows_of(tape[f"decoder.{block}.cross_attention.weights"][0], len(output), late)
        tables = word_weights(attention, of_source, of_target, (len(words[1]), len(words[0])))
        for head in range(config.decoder.heads):
            cross[block, head] = links_in(tables[head])
        for head, own in enumerate(self_attention(tape, "decoder", block)):  # (T, T + 1), the start first
            decoder[block, head] = strongest(own[: len(output)], of_target, [None, *of_target], len(words[1]))
    for block in range(config.encoder.depth):
        for head, own in enumerate(self_attention(tape, "encoder", block)):
            encoder[block, head] = strongest(own[: len(ids)], of_source, [*of_source, None], len(words[0]))
    return WordAttention(
        source_words=tuple(words[0]),
        target_words=tuple(words[1]),
        cross=cross,
        encoder=encoder,
        decoder=decoder,
    )


def self_attention(tape: Tape, side: str, block: int) -> Sequence[Tensor]:
    """The self-attention of each head of a side, (T, T). LSTMs have none."""
    name = f"{side}.{block}.attention.weights"
    return list(tape[name][0]) if name in tape.tensors else []


def strongest(
    attention: Tensor, rows: Sequence[int | None], columns: Sequence[int | None], words: int
) -> list[int | None]:
    """For each word, the word that its first token attends to most, summed over tokens; None for no word."""
    table = membership([words if word is None else word for word in columns], words + 1).to(attention)
    totals = attention @ table.T  # (T, words + 1)
    found: list[int | None] = [None] * words
    for token in reversed(range(len(rows))):
        word = rows[token]
        if word is not None:
            best = int(totals[token].argmax())
            found[word] = None if best == words else best
    return found
