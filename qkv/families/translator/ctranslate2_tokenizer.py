"""The tokenizer of a translator in CTranslate2's format: SentencePiece models next to it, or a tokenizer.json of qkv."""

from qkv.errors import DataError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.ctranslate2 import names_of
from qkv.hub.ctranslate2_folder import Original
from qkv.hub.folder import check_size
from qkv.text.marian_tokenizer import MarianTokenizer, reject_half_characters
from qkv.text.unigram import UnigramModel
from qkv.text.vocabulary import Vocabulary, load_vocabulary

SOURCE, TARGET = "source.spm", "target.spm"
SHARED = ("sentencepiece.model", "spm.model", "sentencepiece.bpe.model")
OURS = "tokenizer.json"
OTHERS = ("bpe.model", "bpe.codes")  # of subword-nmt, which needs the tokenizer of Moses before it


def read_tokenizer(
    original: Original, names: list[str], config: TranslatorConfig, language: str | None
) -> Vocabulary:
    """`names` are the tokens in the order of the model's ids."""
    ours = original.file(OURS)
    if ours is not None:
        return read_ours(original, names, config, language)
    source = original.file(SOURCE, *SHARED)
    if source is None:
        other = original.file(*OTHERS)
        found = "" if other is None else f" It has {other.name}, which qkv cannot read."
        raise DataError(
            f"{original.where} has no tokenizer that qkv can read: neither {SOURCE} and {TARGET} nor {SHARED[0]} nor {OURS} of "
            f"qkv.{found} Copy these files into the folder."
        )
    target = original.file(TARGET) if source.name == SOURCE else source
    if target is None:
        raise DataError(f"{original.where} has {SOURCE}, but {TARGET} is missing. Copy it into the folder.")
    if original.tokens.unknown not in names:
        raise DataError(
            f"{original.where}: the vocabulary lacks {original.tokens.unknown}, the unknown token."
        )
    reject_half_characters(names, original.where)
    first = UnigramModel(check_size(source).read_bytes(), str(source))
    second = first if target == source else UnigramModel(check_size(target).read_bytes(), str(target))
    return MarianTokenizer(
        names,
        (first, second),
        pad=config.pad,
        start=config.start,
        end=config.end,
        unknown=names.index(original.tokens.unknown),
        language=language,
    )


def read_ours(
    original: Original, names: list[str], config: TranslatorConfig, language: str | None
) -> Vocabulary:
    """The tokenizer that an export by qkv has added. It must have the model's tokens, in the same order."""
    path = original.file(OURS)
    assert path is not None
    tokenizer = load_vocabulary(check_size(path))
    special = (tokenizer.pad, tokenizer.start, tokenizer.end)
    if names_of(tokenizer) != names or special != (config.pad, config.start, config.end):
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
