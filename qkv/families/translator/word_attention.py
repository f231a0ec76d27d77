"""The attention of every head between words, for a given translation. The explorer compares it with the truth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from qkv.core.pairs import recorded_attention
from qkv.core.tape import Tape
from qkv.families.translator.alignment import links_in, membership, rows_of, word_weights
from qkv.families.translator.product import Translator
from qkv.families.translator.trace import two_stacks
from qkv.families.translator.translations import Links
from qkv.text.words import WORDS_AND_MARKS, spans, words_of_tokens


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
def word_attention(translator: Translator, source: str, target: str) -> WordAttention:
    """The attention of every head between words. A punctuation mark counts as a word."""
    model, tokenizer, late = (
        two_stacks(translator.model),
        translator.tokenizer,
        translator._pipeline.aligner.late,
    )
    config, device, tape = model.config, model.tokens.weight.device, Tape()
    ids, places = tokenizer.encode_with_spans(source)
    output, output_places = tokenizer.target.encode_with_spans(target)
    read = torch.tensor([config.complete_source(ids)], device=device)
    model(read, torch.tensor([[config.start, *output]], device=device), tape)
    words = WORDS_AND_MARKS.findall(source), WORDS_AND_MARKS.findall(target)
    of_source, of_target = (
        words_of_tokens(each, spans(text, WORDS_AND_MARKS))
        for each, text in [(places, source), (output_places, target)]
    )
    cross, encoder, decoder = dict[tuple[int, int], Links](), {}, {}
    for block in range(config.decoder.depth):
        weights = tape[recorded_attention(block)][0]
        attention = rows_of(weights.cpu().numpy(), len(output), late)
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


def self_attention(tape: Tape, side: str, block: int) -> Sequence[np.ndarray]:
    """The self-attention of each head of a side, (T, T). LSTMs have none."""
    name = f"{side}.{block}.attention.weights"
    return list(tape[name][0].cpu().numpy()) if name in tape.tensors else []


def strongest(
    attention: np.ndarray, rows: Sequence[int | None], columns: Sequence[int | None], words: int
) -> list[int | None]:
    """For each word, the word that its first token attends to most, summed over tokens; None for no word."""
    table = membership([words if word is None else word for word in columns], words + 1)
    totals = attention @ table.T  # (T, words + 1)
    found: list[int | None] = [None] * words
    for token in reversed(range(len(rows))):
        word = rows[token]
        if word is not None:
            best = int(totals[token].argmax())
            found[word] = None if best == words else best
    return found
