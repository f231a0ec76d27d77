"""Tokenizers of translators: Marian's two SentencePiece models with one vocabulary, or byte-level BPE of qkv."""

import json

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import processors

from qkv.checkpoint.files import json_bytes
from qkv.errors import DataError
from qkv.families.translator.config import TranslatorConfig
from qkv.hub.folder import LARGEST_JSON, Published, added_tokens, read_object
from qkv.hub.mapping import NOTES
from qkv.hub.tokenizer_settings import check_added_tokens, check_numbers, name_of, tokenizer_settings
from qkv.text.marian_tokenizer import MarianTokenizer, reject_half_characters
from qkv.text.tokenizer import SPECIAL, Tokenizer
from qkv.text.unigram import UnigramModel
from qkv.text.vocabulary import Vocabulary

SOURCE, TARGET, VOCABULARY, SETTINGS = "source.spm", "target.spm", "vocab.json", "tokenizer_config.json"
FAST = "tokenizer.json"


def read_tokenizer(published: Published, config: TranslatorConfig, language: str | None) -> Vocabulary:
    tokenizer: Vocabulary
    if published.has(SOURCE) and published.has(VOCABULARY):
        tokenizer = read_marian(published, config, language)
    elif published.has(FAST):
        tokenizer = read_byte_level(published, config)
        if language is not None:
            raise DataError(
                f"{published.where} translates into one language: a target language is only for models with several."
            )
    else:
        raise DataError(
            f"{published.where} has no tokenizer that qkv can read: neither {SOURCE}, {TARGET} and {VOCABULARY} nor {FAST}."
        )
    if len(tokenizer) != config.vocab_size:
        raise DataError(
            f"{published.where}: the tokenizer has {len(tokenizer):,} tokens, but the model has embeddings for "
            f"{config.vocab_size:,}. These files do not belong together."
        )
    return tokenizer


def read_marian(published: Published, config: TranslatorConfig, language: str | None) -> MarianTokenizer:
    where, settings = published.where, tokenizer_settings(published, ("MarianTokenizer",))
    if settings.get("separate_vocabs"):
        raise DataError(
            f"{where} has a vocabulary for each language (separate_vocabs), but qkv supports only a shared one."
        )
    if settings.get("sp_model_kwargs"):
        raise DataError(f"{where} uses SentencePiece options (sp_model_kwargs) that qkv does not support.")
    vocabulary = vocabulary_of(published)
    check_added_tokens(published, set(vocabulary))
    unknown = name_of(settings.get("unk_token"), "<unk>")
    if unknown not in vocabulary:
        raise DataError(f"{where}/{VOCABULARY} lacks {unknown}, the unknown token.")
    models = []
    for name in (SOURCE, TARGET):
        path = published.folder / name
        if not path.is_file() or path.stat().st_size > LARGEST_JSON:
            raise DataError(f"{path} is missing or too large.")
        models.append(UnigramModel(path.read_bytes(), str(path)))
    return MarianTokenizer(
        vocabulary,
        (models[0], models[1]),
        pad=config.pad,
        start=config.start,
        end=config.end,
        unknown=vocabulary.index(unknown),
        language=noted_language(published) if language is None else language,
    )


def noted_language(published: Published) -> str | None:
    """The default target language that an export by qkv has noted."""
    language = published.json(NOTES).get("language")
    if language is not None and not isinstance(language, str):
        raise DataError(f"{published.where}/{NOTES}: language should be a language code, not {language!r}.")
    return language


def vocabulary_of(published: Published) -> list[str]:
    """The tokens in the order of their ids, each id once."""
    path = published.folder / VOCABULARY
    numbers = read_object(path)
    tokens: list[str] = [""] * len(numbers)
    seen = set()
    for token, number in numbers.items():
        if not isinstance(number, int) or not 0 <= number < len(tokens) or number in seen:
            raise DataError(f"{path}: ids must run from 0 without gaps or repeats ('{token}' has {number}).")
        seen.add(number)
        tokens[number] = token
    reject_half_characters(tokens, str(path))
    return tokens


def read_byte_level(published: Published, config: TranslatorConfig) -> Tokenizer:
    path = published.folder / FAST
    stored = read_object(path)
    ids = (config.pad, config.start, config.end)
    if added_tokens(path)[: len(SPECIAL)] != SPECIAL or ids != (
        Tokenizer.pad,
        Tokenizer.start,
        Tokenizer.end,
    ):
        raise DataError(
            f"{path} is not a tokenizer that qkv can use for a translator. It supports byte-level BPE made by qkv, "
            f"and Marian's {SOURCE}, {TARGET} and {VOCABULARY}."
        )
    stored["post_processor"] = None  # we add the end token ourselves
    tokenizer = Tokenizer.from_text(json.dumps(stored), str(path))
    check_numbers(published, tokenizer.library.get_vocab().values(), config.vocab_size)
    return tokenizer


# Out -----------------------------------------------------------------------------------------------------------


def tokenizer_files(tokenizer: Vocabulary, context: int) -> dict[str, bytes]:
    """Files for transformers' AutoTokenizer, which adds the end token itself."""
    if isinstance(tokenizer, MarianTokenizer):
        source, target = (model.content for model in tokenizer.models)
        settings = {
            "tokenizer_class": "MarianTokenizer",
            "pad_token": tokenizer.vocabulary[tokenizer.pad],
            "eos_token": tokenizer.vocabulary[tokenizer.end],
            "unk_token": tokenizer.vocabulary[tokenizer.unknown],
            "model_max_length": context,
            "separate_vocabs": False,
        }
        return {
            SOURCE: source,
            TARGET: target,
            VOCABULARY: json_bytes(tokenizer.ids),
            SETTINGS: json_bytes(settings),
        }
    pad, _, end = SPECIAL
    library = LibraryTokenizer.from_str(tokenizer.text())
    library.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, tokenizer.end)]
    )
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": pad,
        "eos_token": end,
        "model_max_length": context,
        "clean_up_tokenization_spaces": False,
    }
    return {FAST: str(library.to_str()).encode(), SETTINGS: json_bytes(settings)}
