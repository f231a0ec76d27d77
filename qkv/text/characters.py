"""A character tokenizer, for small language models."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Self

from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from qkv.errors import QkvError
from qkv.text.library import EACH_CHARACTER
from qkv.text.tokenizer import SPECIAL, Tokenizer

SHOWN = 5  # unknown characters named in an error message


class CharacterTokenizer(Tokenizer):
    """One token for every character of the training text."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        found = sorted(set().union(*map(set, texts)))
        vocab = {token: number for number, token in enumerate([*SPECIAL, *found])}
        library = LibraryTokenizer(models.WordLevel(vocab, unk_token=SPECIAL[0]))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(EACH_CHARACTER), "isolated")
        library.decoder = decoders.Fuse()
        return cls(library)

    def encode(self, text: str) -> list[int]:
        """Uses a dictionary, because the library would also compute offsets."""
        try:
            return [self.ids[character] for character in text]
        except KeyError:
            unknown = list(dict.fromkeys(each for each in text if each not in self.ids))
            shown = ", ".join(map(repr, unknown[:SHOWN])) + (" and more" if len(unknown) > SHOWN else "")
            raise QkvError(
                f"this model knows only the {len(self.ids)} characters of its training text, but not {shown}: remove "
                "them, or train a model with subwords, which reads any text."
            ) from None

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.letters(number) for number in ids)

    @cached_property
    def ids(self) -> dict[str, int]:
        vocab: dict[str, int] = self.library.get_vocab()
        return {token: number for token, number in vocab.items() if number >= len(SPECIAL)}

    @cached_property
    def token_bytes(self) -> list[bytes]:
        return [self.letters(number).encode() for number in range(len(self))]
