"""Fill in masked words, embed texts, and measure how similar two texts are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.errors import InputError, UserError
from qkv.families.bert.config import BertConfig, EncoderConfig
from qkv.families.bert.encoding import Encoding, Row, normalize
from qkv.families.bert.model import Bert as BertModel
from qkv.families.bert.options import EmbeddingOptions, FillOptions, Pooling
from qkv.runtime.compute import Compute, silent
from qkv.runtime.weights import build_model
from qkv.text.segment import split_to_fit
from qkv.text.wordpiece import MASK, WordPieceTokenizer

Vectors = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class BertDefaults:
    """What a BERT needs besides its weights."""

    OLD_NAMES: ClassVar = {"longest": "max_length", "normalised": "normalized"}

    max_length: int  # most tokens of a text, including [CLS] and [SEP]
    pooling: Pooling = "mean"  # how embeddings are pooled
    normalized: bool = True  # scale embeddings to length 1


@dataclass(frozen=True, kw_only=True)
class Guess:
    word: str
    probability: float


class Bert:
    def __init__(
        self,
        model: BertModel,
        pieces: WordPieceTokenizer,
        defaults: BertDefaults,
        encoding: Encoding | None = None,
    ):
        self.model, self.pieces, self.defaults = model, pieces, defaults
        self.encoding = encoding  # created from the current weights at first use

    def __repr__(self) -> str:
        return f"Bert({self.model.config.encoder.stack.sentence()}, {len(self.pieces):,} tokens)"

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(BertConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(BertDefaults, config, f"{where}/config.json")
        pieces = pieces_of(where, architecture.encoder)
        check_longest(defaults.max_length, architecture.encoder, where)
        model = build_model(BertModel, architecture, bundle)
        return cls(model, pieces, defaults)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.model.config), **to_dict(self.defaults)}
        save_bundle(folder, "bert", config, self.model.state_dict(), {TOKENIZER_FILE: self.pieces.text()})

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config = self.model.config
        heads = {
            "masked words": config.words,
            "next sentence": config.next_sentence,
        }
        return {
            "kind": "bert",
            **facts_of(self.model, config.encoder),
            "heads": ", ".join(name for name, there in heads.items() if there) or "none (embeddings only)",
            "longest text": f"{self.defaults.max_length:,} tokens",
            "embeddings": f"{'mean of all tokens' if self.defaults.pooling == 'mean' else 'first token'}"
            + (", normalized" if self.defaults.normalized else ""),
        }

    def computing_in(self, compute: Compute, warn: Callable[[str], None] = silent) -> "Bert":
        """The same model in another number format. `warn` is called if there is no engine."""
        return Bert(self.model, self.pieces, self.defaults, Encoding(self.model.encoder, compute, warn))

    # Masked words --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def fill(self, text: str, *, top_k: int = FillOptions.top_k) -> list[list[Guess]]:
        """The likeliest tokens for each [MASK] in the text, each mask by itself."""
        options = FillOptions(top_k=top_k)
        if self.model.words is None:
            raise UserError("this model has no head for masked words: it is for embeddings only.")
        if MASK not in text:
            raise UserError(f"the text has no {MASK}. Write it where a word should be filled in.")
        [row] = rows_of(self.pieces, [[self.pieces.encode_with_masks(text)]], self.defaults.max_length)
        self.model.eval()
        device = self.model.encoder.tokens.weight.device
        ids = torch.tensor([row.ids], device=device)
        states = self.model.encoder(ids, torch.tensor([row.segments], device=device))[0]
        logits = self.model.word_logits(states[ids[0] == self.pieces.mask])  # (masks, V)
        logits[:, list(self.pieces.special)] = float("-inf")  # never predict special tokens
        found = logits.softmax(-1).topk(min(options.top_k, logits.shape[1] - len(self.pieces.special)))
        return [
            [
                Guess(word=word, probability=probability)
                for word, probability in zip(self.pieces.show(places), probabilities, strict=True)
            ]
            for places, probabilities in zip(found.indices.tolist(), found.values.tolist(), strict=True)
        ]

    @torch.inference_mode()
    def follows(self, first: str, second: str) -> float:
        """The probability that the second text directly follows the first in a document."""
        if self.model.next_sentence is None:
            raise UserError("this model has no head for the next sentence.")
        texts = [self.pieces.encode_all([first, second])]
        [row] = rows_of(self.pieces, texts, self.defaults.max_length)
        self.model.eval()
        states = self.model.encoder(torch.tensor([row.ids]), torch.tensor([row.segments]))
        return float(self.model.next_logits(states).softmax(-1)[0, 0])

    # Vectors -------------------------------------------------------------------------------------------------

    def embed(
        self,
        texts: Sequence[str],
        *,
        pooling: Pooling | None = EmbeddingOptions.pooling,
        raw: bool = EmbeddingOptions.raw,
        done: Callable[[int], None] = lambda count: None,
    ) -> Vectors:
        """A vector for each text, (texts, width).

        A text that is too long is read in parts, and its vector is the mean over all of them. With "first" pooling
        it is an error.
        """
        if isinstance(texts, str):
            raise UserError("embed takes a list of texts: [text].")
        pooling = pooling or self.defaults.pooling
        parts, owners = self.parts_of(texts, pooling)
        if self.encoding is None:
            self.encoding = Encoding(self.model.encoder)
        vectors = self.encoding.pooled(parts, pooling, done)
        if len(parts) > len(texts):
            weights = torch.tensor([float(len(row.ids)) for row in parts])
            total = torch.zeros(len(texts), vectors.shape[1])
            total.index_add_(0, torch.tensor(owners), vectors * weights[:, None])
            vectors = total / torch.zeros(len(texts)).index_add_(0, torch.tensor(owners), weights)[:, None]
        found: Vectors = vectors.numpy()
        return found if raw or not self.defaults.normalized else normalize(found)

    def parts_of(self, texts: Sequence[str], pooling: Pooling) -> tuple[list[Row], list[int]]:
        """Rows that fit the model, and the number of the text that each belongs to."""
        limit = self.defaults.max_length
        found, owners = [], []
        for number, ids in enumerate(self.pieces.encode_all(list(texts))):
            parts = [ids]
            if len(ids) > limit - 2 and pooling == "mean":
                pieces = split_to_fit(texts[number], lambda part: len(self.pieces.encode(part)), limit - 2)
                parts = [part for part in self.pieces.encode_all(pieces) if part]
            found += [row_of(self.pieces, [part], limit, number) for part in parts]
            owners += [number] * len(parts)
        return found, owners

    def similar(self, first: str, second: str) -> float:
        """The cosine similarity of two texts' vectors: 1 for the same text, about 0 for unrelated texts."""
        a, b = normalize(self.embed([first, second], raw=True))
        return float(a @ b)


def rows_of(pieces: WordPieceTokenizer, inputs: Sequence[Sequence[Sequence[int]]], longest: int) -> list[Row]:
    """Texts, or pairs of texts, as model inputs."""
    return [row_of(pieces, texts, longest, number) for number, texts in enumerate(inputs)]


def row_of(pieces: WordPieceTokenizer, texts: Sequence[Sequence[int]], longest: int, number: int) -> Row:
    """One input. Too many tokens, or none, are an error; nothing is cut off."""
    kind = "text" if len(texts) == 1 else "pair"
    if not all(texts):
        what = "is empty" if len(texts) == 1 else "has an empty text"
        raise InputError(number, f"{what}.", kind)
    ids, segments = pieces.join_texts(texts)
    if len(ids) > longest:
        fault = f"has {len(ids)} tokens, and this model reads at most {longest}. Shorten it or leave it out."
        raise InputError(number, fault, kind)
    return Row(ids, segments)


def pieces_of(folder: Path, encoder: EncoderConfig) -> WordPieceTokenizer:
    """The tokenizer of a bundle, if it fits the model."""
    pieces = WordPieceTokenizer.load(folder / TOKENIZER_FILE)
    if len(pieces) != encoder.vocab_size:
        raise UserError(
            f"{folder}: the tokenizer has {len(pieces)} tokens and the model {encoder.vocab_size}: "
            f"these files do not belong together."
        )
    return pieces


def check_longest(longest: int, encoder: EncoderConfig, folder: Path) -> None:
    """A text has at least [CLS], [SEP] and one token."""
    if not 3 <= longest <= encoder.max_length:
        raise UserError(
            f"{folder}/config.json: max_length should be from 3 to the encoder's {encoder.max_length}, not {longest}."
        )


def facts_of(model: torch.nn.Module, encoder: EncoderConfig) -> dict[str, str]:
    return {
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "vocabulary": f"{encoder.vocab_size:,} tokens",
        "encoder": encoder.stack.sentence(),
        "context": f"{encoder.max_length:,} positions",
    }
