"""WordPiece, the tokenizer of BERT: "##" marks a token that continues a word.

Learned from the user's own text with Hugging Face's `tokenizers`, or taken from a published tokenizer.json or
vocab.txt. A character that no piece has makes its whole word [UNK].
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as Pieces
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from qkv.errors import UserError

PAD, UNKNOWN, BEGIN, SEPARATOR, MASK = SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CONTINUES = "##"
ALPHABET = 1_000  # characters with their own token


class WordPieces:
    def __init__(self, pieces: Pieces, where: str = "the tokenizer"):
        self.pieces = pieces
        # Text that happens to contain "[SEP]" is plain text; the library must not truncate or pad.
        self.pieces.encode_special_tokens = True
        self.pieces.no_truncation()
        self.pieces.no_padding()
        ids = {token: pieces.token_to_id(token) for token in SPECIAL}
        missing = [token for token, number in ids.items() if number is None]
        if missing:
            raise UserError(f"{where} lacks {', '.join(missing)}: it is not one of BERT's.")
        self.pad, self.unknown, self.begin, self.separator, self.mask = (
            number or 0 for number in ids.values()
        )

    @classmethod
    def learn(cls, texts: Iterable[str], size: int, *, lowercase: bool = True) -> Self:
        """Learn a vocabulary of at most `size` tokens; it is smaller if there is nothing more to merge."""
        if size <= len(SPECIAL):
            raise UserError(f"a vocabulary of {size} is too small: there are {len(SPECIAL)} special tokens.")
        empty = untrained({token: number for number, token in enumerate(SPECIAL)}, lowercase)
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
        learner = untrained({token: number for number, token in enumerate(SPECIAL)}, lowercase)
        learner.train_from_iterator(words.elements(), trainer)
        learned = sorted(learner.get_vocab().items(), key=lambda item: item[1])
        return cls(untrained({piece: number for number, (piece, _) in enumerate(learned[:size])}, lowercase))

    @classmethod
    def load(cls, path: Path) -> Self:
        """From tokenizer.json, or from vocab.txt, which has a token on each line and no setting for case."""
        if path.suffix == ".txt":
            return cls.from_vocabulary(path, lowercase=True)
        try:
            pieces = Pieces.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for everything
            raise UserError(f"{path} is not a tokenizer file ({error}).") from None
        kind = json.loads(pieces.to_str())["model"]["type"]
        if kind != "WordPiece":
            raise UserError(f"{path} is a {kind} tokenizer, but BERT uses WordPiece.")
        return cls(pieces, str(path))

    @classmethod
    def from_vocabulary(cls, path: Path, *, lowercase: bool) -> Self:
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path} cannot be read ({error}).") from None
        words = [line.rstrip("\r") for line in lines]
        while words and not words[-1]:
            words.pop()
        if len(set(words)) < len(words):
            raise UserError(f"{path} has a token twice, so its line numbers are not the ids.")
        if UNKNOWN not in words:
            raise UserError(f"{path} lacks {UNKNOWN}: it is not one of BERT's.")
        return cls(untrained({word: number for number, word in enumerate(words)}, lowercase), str(path))

    def text(self) -> str:
        """The content of tokenizer.json, which the tokenizers library can read, with tokens sorted by id."""
        content = json.loads(self.pieces.to_str(pretty=False))
        vocabulary = content["model"]["vocab"]
        content["model"]["vocab"] = dict(sorted(vocabulary.items(), key=lambda item: item[1]))
        return json.dumps(content, ensure_ascii=False)

    def text_with_marks(self) -> str:
        """The same for other programs, with the template that adds [CLS] and [SEP]."""
        pieces = Pieces.from_str(self.text())
        pieces.post_processor = processors.TemplateProcessing(
            single=f"{BEGIN} $A {SEPARATOR}",
            pair=f"{BEGIN} $A {SEPARATOR} $B:1 {SEPARATOR}:1",
            special_tokens=[(BEGIN, self.begin), (SEPARATOR, self.separator)],
        )
        return str(pieces.to_str(pretty=False))

    def __len__(self) -> int:
        return int(self.pieces.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        return list(self.pieces.encode(text, add_special_tokens=False).ids)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(encoding.ids) for encoding in self.pieces.encode_batch(texts, add_special_tokens=False)]

    def encode_with_masks(self, text: str) -> list[int]:
        """The same, but [MASK] in the text is the mask token."""
        first, *rest = self.encode_all(text.split(MASK))
        return [*first, *(number for part in rest for number in (self.mask, *part))]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.pieces.decode(list(ids), skip_special_tokens=True))

    def show(self, ids: Sequence[int]) -> list[str]:
        """Readable tokens."""
        return [str(self.pieces.id_to_token(number)) for number in ids]

    @cached_property
    def special(self) -> frozenset[int]:
        """The ids that decode to nothing."""
        return frozenset((self.pad, self.unknown, self.begin, self.separator, self.mask))

    @cached_property
    def continues(self) -> list[bool]:
        """For every id, whether the token continues a word."""
        return [token.startswith(CONTINUES) for token in self.show(range(len(self)))]

    def joined(self, texts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
        """[CLS] text [SEP], or [CLS] text [SEP] text [SEP], and the index of the text at each position."""
        ids, segments = [self.begin], [0]
        for number, text in enumerate(texts):
            ids += [*text, self.separator]
            segments += [number] * (len(text) + 1)
        return ids, segments


def word_counts(pieces: Pieces, texts: Iterable[str]) -> Counter[str]:
    normalise, cut = pieces.normalizer.normalize_str, pieces.pre_tokenizer.pre_tokenize_str
    return Counter(word for text in texts for word, _ in cut(normalise(text)))


def alphabet(words: Counter[str], most: int) -> tuple[list[str], list[str]]:
    """The most frequent letters at the start of words, and those of them that also continue words."""
    letters: Counter[str] = Counter()
    later: set[str] = set()
    for word, count in words.items():
        for letter in word:
            letters[letter] += count
        later.update(word[1:])
    kept = sorted(sorted(letters), key=lambda letter: -letters[letter])[:most]
    return sorted(kept), [f"{CONTINUES}{letter}" for letter in sorted(kept) if letter in later]


def untrained(vocabulary: dict[str, int], lowercase: bool) -> Pieces:
    pieces = Pieces(models.WordPiece(vocabulary, unk_token=UNKNOWN, continuing_subword_prefix=CONTINUES))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece(CONTINUES)
    pieces.add_special_tokens([token for token in SPECIAL if token in vocabulary])
    return pieces
