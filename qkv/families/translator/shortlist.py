"""A vocabulary shortlist: the few target tokens that a translation of one source may use.

The output layer of a small model with a large vocabulary takes half of its time. A shortlist leaves most of it out: for
every source token it names the target tokens that translate it, and it names tokens that every translation may use. The
list of a sentence depends on that sentence alone, so a translation does not depend on its neighbours.

`shortlist.safetensors` in a bundle holds these arrays; `config.json` holds the hash of the file:

    offsets   int32, source vocabulary + 1: the targets of source token s are tokens[offsets[s]:offsets[s + 1]]
    tokens    int32: ids of target tokens
    always    int32: ids that are on every list
    loss      float64, one number or none: BLEU that translations lose by the list, where that was measured
    published int32, one number, if the list was published with the model

Opening one needs no NumPy.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.arrays import StoredArrays, arrays_content, damaged
from qkv.checkpoint.bundle import bind_file

SHORTLIST_FILE = "shortlist.safetensors"
TRANSLATIONS = 50  # target tokens of a source token
FREQUENT = 100  # target tokens that are on every list
MOST_TOKENS = 100_000_000  # in one file: a damaged header must not use up all memory
FORMATS = {"offsets": "I32", "tokens": "I32", "always": "I32", "loss": "F64"}

Pair = tuple[Sequence[int], Sequence[int]]
"""The token ids of a source and of its translation."""


@dataclass(frozen=True, kw_only=True)
class Shortlist:
    """The target tokens that a translation of a source may use.

    Example:
        >>> pairs = [([5, 6], [7, 8]), ([5], [7]), ([6], [8])]
        >>> shortlist = fit_shortlist(pairs, 10, end=2, translations=1, frequent=0)
        >>> shortlist.ids([5])
        [2, 5, 7]
    """

    offsets: "array[int]"
    tokens: "array[int]"
    always: "array[int]"
    loss: float | None = None
    """BLEU that translations lose by it; None if nobody has measured it."""
    published: bool = False
    """The model was published with it."""

    @property
    def is_trusted(self) -> bool:
        """Only a list that was measured, or that the model's publisher uses, is used by default."""
        return self.loss is not None or self.published

    def ids(self, source: Sequence[int]) -> list[int]:
        """The target tokens of a source, sorted. They include the source's own tokens, which a translation may copy."""
        found = {*self.always, *source}
        for token in set(source):
            found.update(self.tokens[self.offsets[token] : self.offsets[token + 1]])
        return sorted(found)

    def with_loss(self, loss: float) -> "Shortlist":
        return replace(self, loss=loss)

    def coverage(self, pairs: Iterable[Pair]) -> float:
        """The share of the target tokens of these pairs that are on the lists of their sources."""
        covered = total = 0
        for source, target in pairs:
            listed = set(self.ids(source))
            covered += sum(token in listed for token in target)
            total += len(target)
        return covered / total if total else 1.0

    def mean_size(self, sources: Iterable[Sequence[int]]) -> float:
        sizes = [len(self.ids(source)) for source in sources]
        return sum(sizes) / len(sizes) if sizes else 0.0

    def sentence(self) -> str:
        size = f"{len(self.tokens):,} translations of tokens, {len(self.always):,} tokens on every list"
        unknown = "published with the model" if self.published else "not measured"
        return f"{size}, {unknown if self.loss is None else f'{self.loss:.2f} BLEU lost'}"

    def content(self) -> bytes:
        """The file."""
        import numpy as np

        loss = [] if self.loss is None else [self.loss]
        arrays: dict[str, Any] = {
            name: np.array(getattr(self, name), np.int32) for name in ("offsets", "tokens", "always")
        }
        if self.published:
            arrays["published"] = np.array([1], np.int32)
        return arrays_content({**arrays, "loss": np.array(loss, np.float64)})

    def save(self, folder: Path) -> None:
        """Add the list to a bundle, or replace the one that it has."""
        bind_file(folder, SHORTLIST_FILE, self.content())

    @classmethod
    def load(cls, folder: Path, vocab_size: int) -> "Shortlist | None":
        """The list of a bundle; None if it has none. Raises DataError if it is damaged or for another vocabulary."""
        path = folder / SHORTLIST_FILE
        if not path.is_file():
            return None
        stored = StoredArrays(path)
        found = {name: entry.dtype for name, entry in stored.header.entries.items()}
        shapes = stored.shapes
        published = found.pop("published", None) == "I32"
        if found != FORMATS or any(len(shape) != 1 or shape[0] > MOST_TOKENS for shape in shapes.values()):
            raise damaged(path, "its arrays are not those of a shortlist")
        stored.verify()
        offsets, tokens, always = (stored.numbers(name, "i") for name in ("offsets", "tokens", "always"))
        loss = stored.numbers("loss", "d")
        if len(offsets) != vocab_size + 1 or not fits(offsets, tokens, always, vocab_size) or len(loss) > 1:
            raise damaged(path, f"it does not fit a vocabulary of {vocab_size:,} tokens")
        measured = loss[0] if loss else None
        return cls(offsets=offsets, tokens=tokens, always=always, loss=measured, published=published)


def fits(offsets: "array[int]", tokens: "array[int]", always: "array[int]", vocab_size: int) -> bool:
    """Whether offsets rise from 0 to the number of tokens, and every id is in the vocabulary."""
    rising = all(map(int.__le__, offsets, offsets[1:]))
    ids = [each for each in (tokens, always) if each]
    inside = all(min(each) >= 0 and max(each) < vocab_size for each in ids)
    return rising and offsets[0] == 0 and offsets[-1] == len(tokens) and inside and bool(always)


def fit_shortlist(
    pairs: Iterable[Pair],
    vocab_size: int,
    *,
    end: int,
    always: Sequence[int] = (),
    translations: int = TRANSLATIONS,
    frequent: int = FREQUENT,
) -> Shortlist:
    """Learn a shortlist from aligned pairs, with a dictionary of tokens (IBM model 1).

    Args:
        pairs: Token ids of sources and their translations, without end tokens. For a student, what its teachers wrote.
        vocab_size: Tokens in the joint vocabulary.
        end: The end token, which is on every list.
        always: Other tokens that every translation may use, such as single bytes.
        translations: Target tokens of each source token: the likeliest ones.
        frequent: The most frequent target tokens, which are on every list.

    Returns:
        A shortlist whose loss is not known yet.
    """
    from qkv.families.translator.lexical import learn_translations, most_frequent

    corpus = [(list(source), list(target)) for source, target in pairs]
    common = {*most_frequent((target for _, target in corpus), vocab_size, frequent), *always, end}
    offsets, tokens = learn_translations(corpus, vocab_size, translations, known=common)
    return Shortlist(
        offsets=array("i", offsets), tokens=array("i", tokens), always=array("i", sorted(common))
    )
