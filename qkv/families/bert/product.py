"""Fill in masked words, embed texts, and measure how similar two texts are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.decoding.arrays import NUMPY
from qkv.engine.reference.functions import softmax
from qkv.errors import DataError, InputError, QkvError
from qkv.families.bert.config import BertConfig, EncoderConfig
from qkv.families.bert.encoding import Row, Vectors, encode_rows, normalize
from qkv.families.bert.options import EmbeddingOptions, FillOptions, Pooling
from qkv.families.bert.runner import BertRunner, build_bert, open_bert
from qkv.runtime.network import Network, network_of
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.text.segment import split_to_fit
from qkv.text.wordpiece import MASK, WordPieceTokenizer


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
    """A BERT with its vocabulary.

    Args:
        runner: What computes the model: the compiled engine, NumPy, or a torch model.
        pieces: Its vocabulary.
        defaults: Whatever else the model was saved with.
        network: Config and weights of the model; not needed if the runner is a torch model.
    """

    def __init__(
        self,
        runner: BertRunner,
        pieces: WordPieceTokenizer,
        defaults: BertDefaults,
        network: Network[BertConfig, Any] | None = None,
    ):
        self.runner, self.pieces, self.defaults = runner, pieces, defaults
        self.network = Network.of(runner) if network is None else network

    def __repr__(self) -> str:
        return f"Bert({self.config.encoder.stack.sentence()}, {len(self.pieces):,} tokens)"

    @property
    def config(self) -> BertConfig:
        return self.network.config

    @property
    def model(self) -> Any:
        """The same model in torch, for training, tracing and exporting."""
        return self.network.model

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(BertConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(BertDefaults, config, f"{where}/config.json")
        pieces = pieces_of(where, architecture.encoder)
        check_longest(defaults.max_length, architecture.encoder, where)
        network = network_of(bundle, architecture, build_bert)
        return cls(open_bert(network, running, warn), pieces, defaults, network)

    def running(self, running: Running, warn: Warn = silent) -> "Bert":
        """The same model with its current weights on another engine, device or number format."""
        return Bert(open_bert(self.network, running, warn), self.pieces, self.defaults, self.network)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.config), **to_dict(self.defaults)}
        save_bundle(folder, "bert", config, self.network.weights, {TOKENIZER_FILE: self.pieces.text()})

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config = self.config
        heads = {
            "masked words": config.words,
            "next sentence": config.next_sentence,
        }
        return {
            "kind": "bert",
            "parameters": f"{self.network.parameters:,}",
            **facts_of(config.encoder),
            "heads": ", ".join(name for name, there in heads.items() if there) or "none (embeddings only)",
            "longest text": f"{self.defaults.max_length:,} tokens",
            "embeddings": f"{'mean of all tokens' if self.defaults.pooling == 'mean' else 'first token'}"
            + (", normalized" if self.defaults.normalized else ""),
        }

    # Masked words --------------------------------------------------------------------------------------------

    def fill(self, text: str, *, top_k: int = FillOptions.top_k) -> list[list[Guess]]:
        """The likeliest tokens for each [MASK] in the text, each mask by itself."""
        options = FillOptions(top_k=top_k)
        if not self.config.words:
            raise QkvError("this model has no head for masked words: it is for embeddings only.")
        if MASK not in text:
            raise QkvError(f"the text has no {MASK}. Write it where a word should be filled in.")
        [row] = rows_of(self.pieces, [[self.pieces.encode_with_masks(text)]], self.defaults.max_length)
        states = self.runner.texts(row.ids, row.segments, [len(row.ids)])  # (T, D)
        scores = self.runner.word_scores(states[np.array(row.ids) == self.pieces.mask])  # (masks, V)
        scores[:, list(self.pieces.special)] = -np.inf  # never predict special tokens
        words = min(options.top_k, scores.shape[1] - len(self.pieces.special))
        probabilities, ids = NUMPY.top_k(softmax(scores), words)
        return [
            [
                Guess(word=word, probability=probability)
                for word, probability in zip(self.pieces.show(places), each, strict=True)
            ]
            for places, each in zip(ids.tolist(), probabilities.tolist(), strict=True)
        ]

    def follows(self, first: str, second: str) -> float:
        """The probability that the second text directly follows the first in a document."""
        if not self.config.next_sentence:
            raise QkvError("this model has no head for the next sentence.")
        texts = [self.pieces.encode_all([first, second])]
        [row] = rows_of(self.pieces, texts, self.defaults.max_length)
        states = self.runner.texts(row.ids, row.segments, [len(row.ids)], "first")  # (1, D)
        return float(softmax(self.runner.next_scores(states))[0, 0])

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
            raise QkvError("embed takes a list of texts: [text].")
        pooling = pooling or self.defaults.pooling
        parts, owners = self.parts_of(texts, pooling)
        found = encode_rows(self.runner.texts, parts, pooling, done)
        if len(parts) > len(texts):
            weights = np.array([len(row.ids) for row in parts], np.float32)
            total = np.zeros((len(texts), found.shape[1]), np.float32)
            np.add.at(total, owners, found * weights[:, None])
            found = total / np.bincount(owners, weights, len(texts)).astype(np.float32)[:, None]
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
        raise DataError(
            f"{folder}: the tokenizer has {len(pieces)} tokens and the model {encoder.vocab_size}: "
            f"these files do not belong together."
        )
    return pieces


def check_longest(longest: int, encoder: EncoderConfig, folder: Path) -> None:
    """A text has at least [CLS], [SEP] and one token."""
    if not 3 <= longest <= encoder.max_length:
        raise QkvError(
            f"{folder}/config.json: max_length should be from 3 to the encoder's {encoder.max_length}, not {longest}."
        )


def facts_of(encoder: EncoderConfig) -> dict[str, str]:
    return {
        "vocabulary": f"{encoder.vocab_size:,} tokens",
        "encoder": encoder.stack.sentence(),
        "context": f"{encoder.max_length:,} positions",
    }
