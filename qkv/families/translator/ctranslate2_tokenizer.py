"""The tokenizer of a translator in CTranslate2's format: SentencePiece models next to it, or a tokenizer.json of qkv."""

from dataclasses import dataclass
from typing import Any

from qkv.errors import DataError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.ctranslate2 import names_of, source_names_of
from qkv.hub.ctranslate2_folder import Original
from qkv.hub.folder import check_size, read_text
from qkv.text.marian_tokenizer import MarianTokenizer, reject_half_characters
from qkv.text.plain_tokens import PlainTokenizer
from qkv.text.unigram import SPACE, UnigramModel
from qkv.text.vocabulary import Vocabulary, load_vocabulary

SOURCE, TARGET = "source.spm", "target.spm"
SHARED = ("sentencepiece.model", "spm.model", "sentencepiece.bpe.model")
OURS = "tokenizer.json"
CODES = ("bpe.model", "bpe.codes")  # of subword-nmt


@dataclass(frozen=True, kw_only=True)
class Names:
    """The tokens in the order of the model's ids."""

    target: list[str]
    source: list[str] | None
    """Only if they differ from those of the target."""


def read_tokenizer(
    original: Original, names: Names, config: TranslatorConfig, language: str | None
) -> Vocabulary:
    if original.file(OURS) is not None:
        return read_ours(original, names, config, language)
    if original.tokens.unknown not in names.target:
        raise DataError(
            f"{original.where}: the vocabulary lacks {original.tokens.unknown}, the unknown token."
        )
    reject_half_characters([*names.target, *(names.source or ())], original.where)
    ids: dict[str, Any] = {
        "pad": config.pad, "start": config.start, "end": config.end,
        "unknown": names.target.index(original.tokens.unknown), "source_vocabulary": names.source,
    }  # fmt: skip
    source = original.file(SOURCE, *SHARED)
    if source is None:
        return plain_tokens(original, names, ids, language)
    target = original.file(TARGET) if source.name == SOURCE else source
    if target is None:
        raise DataError(f"{original.where} has {SOURCE}, but {TARGET} is missing. Copy it into the folder.")
    first = UnigramModel(check_size(source).read_bytes(), str(source))
    second = first if target == source else UnigramModel(check_size(target).read_bytes(), str(target))
    return MarianTokenizer(names.target, (first, second), language=language, **ids)


def plain_tokens(
    original: Original, names: Names, ids: dict[str, Any], language: str | None
) -> PlainTokenizer:
    """Without a SentencePiece model, tokens are separated by spaces. With codes of subword-nmt, words are split by BPE."""
    if any(token.startswith(SPACE) for token in names.target):
        raise DataError(
            f"{original.where} has the tokens of a SentencePiece model, but neither {SOURCE} and {TARGET} nor {SHARED[0]}. Copy "
            "them into the folder."
        )
    if language is not None:
        raise DataError(
            f"{original.where} translates into one language: a target language is only for models with several."
        )
    codes = original.file(*CODES)
    text = None if codes is None else read_text(codes)
    return PlainTokenizer(names.target, codes=text, where=str(codes), **ids)


def read_ours(original: Original, names: Names, config: TranslatorConfig, language: str | None) -> Vocabulary:
    """The tokenizer that an export by qkv has added. It must have the model's tokens, in the same order."""
    path = original.file(OURS)
    assert path is not None
    tokenizer = load_vocabulary(check_size(path))
    special = (tokenizer.pad, tokenizer.start, tokenizer.end)
    both = names_of(tokenizer), source_names_of(tokenizer)
    if both != (names.target, names.source or names.target) or special != (
        config.pad,
        config.start,
        config.end,
    ):
        raise DataError(
            f"{original.where}: {OURS} has other tokens than the vocabulary. The files do not belong together."
        )
    if language is None:
        return tokenizer
    if not isinstance(tokenizer, MarianTokenizer):
        raise DataError(
            f"{original.where} translates into one language: a target language is only for models with several."
        )
    return tokenizer.other(language=language)
