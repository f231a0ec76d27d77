"""Which word comes from which, read off the attention of the decoder on the source."""

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
from qkv.text.words import owners, spans


@dataclass(frozen=True, kw_only=True)
class Aligner:
    """Heads whose attention tells it, and whether a word is where its own look goes or where the next one's does."""

    block: int
    heads: tuple[int, ...]
    late: bool
    """True: the look after a word was said, when the decoder has read it, tells where it came from."""

    @classmethod
    def for_any(cls, model: TranslationModel) -> "Aligner":
        """Where nobody has chosen: all heads of the last block but one, the look before a word is said."""
        blocks, heads = model.config.cross_attention_shape
        return cls(block=max(0, blocks - 2), heads=tuple(range(heads)), late=False)

    def fits(self, blocks: int, heads: int) -> bool:
        """Has a model of so many blocks and heads those that are looked with?"""
        return 0 <= self.block < blocks and bool(self.heads) and all(0 <= head < heads for head in self.heads)

    def check(self, model: TranslationModel) -> None:
        """That the model has these heads."""
        blocks, heads = model.config.cross_attention_shape
        if not self.fits(blocks, heads):
            raise UserError(
                f"alignments are read off heads {', '.join(map(str, self.heads)) or 'that are not named'} of block "
                f"{self.block}, and this model has {blocks} blocks of {heads} heads, counted from 0: "
                "the aligner in its config belongs to another model."
            )

    @property
    def cross_heads(self) -> CrossHeads:
        return CrossHeads(block=self.block, heads=self.heads)

    @torch.inference_mode()
    def looks(self, model: TranslationModel, source: Sequence[int], said: Sequence[int]) -> Tensor:
        """How much each id said looked at each id of the source, its end mark included. (T, S)"""
        config, device = model.config, model.tokens.weight.device
        tape = Tape(only=self.cross_heads.recorded_as)
        read = torch.tensor([[*source, config.end]], device=device)
        shifted = torch.tensor([[config.start, *said][: config.max_length]], device=device)
        model.decode(shifted, *model.encode(read), tape=tape)
        weights = self.cross_heads.of(tape)[0]
        return rows_of(weights, len(said), self.late)


def rows_of(weights: Tensor, count: int, late: bool) -> Tensor:
    """The looks (…, T, S) that belong to the words said, of those before each word and one after the last."""
    rows = weights[..., 1 : count + 1, :] if late else weights[..., :count, :]
    missing = count - rows.shape[-2]  # where there was no position left to look from
    return torch.cat([rows, rows[..., -1:, :].expand(*rows.shape[:-2], missing, -1)], -2) if missing else rows


def word_weights(
    looks: Tensor, source: Sequence[int | None], target: Sequence[int | None], shape: tuple[int, int]
) -> Tensor:
    """Looks of pieces at pieces, (…, T, S), as those of words at words, (…, target words, source words).

    `source` and `target` tell to which word each piece belongs; the source has one piece more, its end mark.
    """
    of_target, of_source = membership(target, shape[0]).to(looks), membership(source, shape[1]).to(looks)
    counts = of_target.sum(1, keepdim=True).clamp(min=1)  # the mean of a word's pieces
    return (of_target / counts) @ looks[..., : len(source)] @ of_source.T


def membership(owned_by: Sequence[int | None], words: int) -> Tensor:
    """1 where a piece belongs to a word. (words, pieces)"""
    table = torch.zeros(words, len(owned_by))
    for piece, word in enumerate(owned_by):
        if word is not None:
            table[word, piece] = 1
    return table


def links_in(words: Tensor) -> Links:
    """Each target word (of target words × source words) with the source word that it looks at most."""
    if 0 in words.shape:
        return []
    best, which = words.max(-1)
    rest = 1 - words.sum(-1)  # what went to the end mark and to spaces
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
    said: Sequence[int],
    pattern: re.Pattern[str],
    asking: str = "",
) -> Links:
    """Pairs of words of a source and of what was said, words as the pattern finds them.

    `asking` stands before the source where a model has to be told its target language, and is no word.
    """
    ids, marked = tokenizer.encode_with_spans(asking + source)
    before = len(asking.encode())
    places = [(start - before, end - before) for start, end in marked]
    source_words, target_words = spans(source, pattern), spans(tokenizer.decode(said), pattern)
    looks = aligner.looks(model, ids, said)
    weights = word_weights(
        looks,
        owners(places, source_words),
        owners(tokenizer.spans(said), target_words),
        (len(target_words), len(source_words)),
    )
    return links_in(weights)


@dataclass(frozen=True, kw_only=True)
class WordAttention:
    """Where the heads look while a given translation is read, in words; a head is (block, number).

    `encoder` and `decoder` tell for every word of that side the word with the strongest weight, or None where that is
    the end or the start. A word of the target is the look that leads to it, when it has not been said yet.
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
    said, said_places = tokenizer.target.encode_with_spans(target)
    read = torch.tensor([[*ids, config.end]], device=device)
    model(read, torch.tensor([[config.start, *said]], device=device), tape)
    words = pattern.findall(source), pattern.findall(target)
    of_source, of_target = (
        owners(each, spans(text, pattern)) for each, text in [(places, source), (said_places, target)]
    )
    cross, encoder, decoder = dict[tuple[int, int], Links](), {}, {}
    for block in range(config.decoder.depth):
        looks = rows_of(tape[f"decoder.{block}.cross_attention.weights"][0], len(said), late)
        tables = word_weights(looks, of_source, of_target, (len(words[1]), len(words[0])))
        for head in range(config.decoder.heads):
            cross[block, head] = links_in(tables[head])
        for head, own in enumerate(own_looks(tape, "decoder", block)):  # (T, T + 1), the start first
            decoder[block, head] = strongest(own[: len(said)], of_target, [None, *of_target], len(words[1]))
    for block in range(config.encoder.depth):
        for head, own in enumerate(own_looks(tape, "encoder", block)):
            encoder[block, head] = strongest(own[: len(ids)], of_source, [*of_source, None], len(words[0]))
    return WordAttention(
        source_words=tuple(words[0]),
        target_words=tuple(words[1]),
        cross=cross,
        encoder=encoder,
        decoder=decoder,
    )


def own_looks(tape: Tape, side: str, block: int) -> Sequence[Tensor]:
    """How each head of a side looks at that side, (T, T); LSTMs do not."""
    name = f"{side}.{block}.attention.weights"
    return list(tape[name][0]) if name in tape.tensors else []


def strongest(
    looks: Tensor, rows: Sequence[int | None], columns: Sequence[int | None], words: int
) -> list[int | None]:
    """For each word the one that its first piece looks at most, the pieces of a word added up; None for no word."""
    table = membership([words if word is None else word for word in columns], words + 1).to(looks)
    totals = looks @ table.T  # (T, words + 1)
    found: list[int | None] = [None] * words
    for piece in reversed(range(len(rows))):
        word = rows[piece]
        if word is not None:
            best = int(totals[piece].argmax())
            found[word] = None if best == words else best
    return found
