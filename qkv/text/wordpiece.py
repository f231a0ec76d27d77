"""WordPiece, the tokenizer of BERT: "##" marks a token that continues a word.

It is learned with Hugging Face's `tokenizers`, or read from a published tokenizer.json or vocab.txt. A word with an unknown
character is [UNK] as a whole.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from qkv.errors import ModelError, QkvError
from qkv.text.library import open_library

PAD, UNKNOWN, BEGIN, SEPARATOR, MASK = SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CONTINUES = "##"
ALPHABET = 1_000  # characters with their own token


class WordPieceTokenizer:
    def __init__(self, library: LibraryTokenizer, where: str = "the tokenizer"):
        self.library = library
        # Text that happens to contain "[SEP]" is plain text.
        self.library.encode_special_tokens = True
        ids = {token: library.token_to_id(token) for token in SPECIAL}
        missing = [token for token, number in ids.items() if number is None]
        if missing:
            raise ModelError(f"{where} lacks {', '.join(missing)}: it is not a tokenizer of BERT.")
        self.pad, self.unknown, self.begin, self.separator, self.mask = (
            number or 0 for number in ids.values()
        )

    @classmethod
    def learn(cls, texts: Iterable[str], size: int, *, lowercase: bool = True) -> Self:
        """Learn a vocabulary of at most `size` tokens; it is smaller if there is nothing more to merge."""
        if size <= len(SPECIAL):
            raise QkvError(f"a vocabulary of {size} is too small: there are {len(SPECIAL)} special tokens.")
        empty = empty_tokenizer({token: number for number, token in enumerate(SPECIAL)}, lowercase)
        words = word_counts(empty, texts)
        first, later = alphabet(words, min(ALPHABET, size // 4))
        trainer = trainers.WordPieceTrainer(
            vocab_size=size,
            min_frequency=2,  # a pair seen once is not worth a merge
            # Sorted, so that the same text gives the same vocabulary: the library would number letters in random order,
            # and these numbers break ties between merges.
            special_tokens=[*SPECIAL, *first, *later],
            initial_alphabet=first,
            limit_alphabet=len(first),
            continuing_subword_prefix=CONTINUES,
            show_progress=False,
        )
        learner = empty_tokenizer({token: number for number, token in enumerate(SPECIAL)}, lowercase)
        learner.train_from_iterator(words.elements(), trainer)
        learned = sorted(learner.get_vocab().items(), key=lambda item: item[1])
        return cls(
            empty_tokenizer({token: number for number, (token, _) in enumerate(learned[:size])}, lowercase)
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Load tokenizer.json, or vocab.txt, which has one token per line and is read as lower-case."""
        if path.suffix == ".txt":
            return cls.from_vocabulary(path, lowercase=True)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{path} is not a tokenizer file ({error}).") from None
        library = open_library(text, str(path))
        kind = type(library.model).__name__
        if kind != "WordPiece":
            raise ModelError(f"{path} is a {kind} tokenizer, but BERT uses WordPiece.")
        return cls(library, str(path))

    @classmethod
    def from_vocabulary(cls, path: Path, *, lowercase: bool) -> Self:
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{path} cannot be read ({error}).") from None
        words = [line.rstrip("\r") for line in lines]
        while words and not words[-1]:
            words.pop()
        if len(set(words)) < len(words):
            raise ModelError(f"{path} has a token twice, so its line numbers are not the ids.")
        if UNKNOWN not in words:
            raise ModelError(f"{path} lacks {UNKNOWN}: it is not a vocabulary of BERT.")
        return cls(empty_tokenizer({word: number for number, word in enumerate(words)}, lowercase), str(path))

    def text(self) -> str:
        """The content of tokenizer.json, which the tokenizers library can read, with tokens sorted by id."""
        content = json.loads(self.library.to_str(pretty=False))
        vocabulary = content["model"]["vocab"]
        content["model"]["vocab"] = dict(sorted(vocabulary.items(), key=lambda item: item[1]))
        return json.dumps(content, ensure_ascii=False)

    def text_with_template(self) -> str:
        """The content of tokenizer.json for other programs, with the template that adds [CLS] and [SEP]."""
        library = LibraryTokenizer.from_str(self.text())
        library.post_processor = processors.TemplateProcessing(
            single=f"{BEGIN} $A {SEPARATOR}",
            pair=f"{BEGIN} $A {SEPARATOR} $B:1 {SEPARATOR}:1",
            special_tokens=[(BEGIN, self.begin), (SEPARATOR, self.separator)],
        )
        return str(library.to_str(pretty=False))

    def __len__(self) -> int:
        return int(self.library.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        return list(self.library.encode(text, add_special_tokens=False).ids)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(encoding.ids) for encoding in self.library.encode_batch(texts, add_special_tokens=False)]

    def encode_with_masks(self, text: str) -> list[int]:
        """Like `encode`, but [MASK] in the text is the mask token."""
        first, *rest = self.encode_all(text.split(MASK))
        return [*first, *(number for part in rest for number in (self.mask, *part))]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.library.decode(list(ids), skip_special_tokens=True))

    def show(self, ids: Sequence[int]) -> list[str]:
        """Readable tokens."""
        return [str(self.library.id_to_token(number)) for number in ids]

    @cached_property
    def special(self) -> frozenset[int]:
        """The ids that decode to nothing."""
        return frozenset((self.pad, self.unknown, self.begin, self.separator, self.mask))

    @cached_property
    def continues(self) -> list[bool]:
        """For every id, whether the token continues a word."""
        return [token.startswith(CONTINUES) for token in self.show(range(len(self)))]

    def join_texts(self, texts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
        """[CLS] text [SEP], or [CLS] text [SEP] text [SEP], and the index of the text at each position."""
        ids, segments = [self.begin], [0]
        for number, text in enumerate(texts):
            ids += [*text, self.separator]
            segments += [number] * (len(text) + 1)
        return ids, segments


def word_counts(library: LibraryTokenizer, texts: Iterable[str]) -> Counter[str]:
    normalise, cut = library.normalizer.normalize_str, library.pre_tokenizer.pre_tokenize_str
    return Counter(word for text in texts for word, _ in cut(normalise(text)))


def alphabet(words: Counter[str], most: int) -> tuple[list[str], list[str]]:
    """The most frequent letters, and the continuation tokens of those that occur inside words."""
    letters: Counter[str] = Counter()
    later: set[str] = set()
    for word, count in words.items():
        for letter in word:
            letters[letter] += count
        later.update(word[1:])
    kept = sorted(sorted(letters), key=lambda letter: -letters[letter])[:most]
    return sorted(kept), [f"{CONTINUES}{letter}" for letter in sorted(kept) if letter in later]


def empty_tokenizer(vocabulary: dict[str, int], lowercase: bool) -> LibraryTokenizer:
    library = LibraryTokenizer(
        models.WordPiece(vocabulary, unk_token=UNKNOWN, continuing_subword_prefix=CONTINUES)
    )
    library.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece(CONTINUES)
    library.add_special_tokens([token for token in SPECIAL if token in vocabulary])
    return library
