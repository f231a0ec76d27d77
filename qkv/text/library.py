"""Opens tokenizer.json with Hugging Face's `tokenizers`, if it has only parts that qkv knows.

The library runs regular expressions from the file. A hostile one takes exponential time on some texts, and then ends in a
panic that no `except Exception` catches. So parts that run expressions of the file are an error, except for qkv's own.
"""

import json
from collections.abc import Iterator
from typing import Any

from tokenizers import Tokenizer

from qkv.errors import ModelError

KNOWN_PARTS: dict[str, set[str]] = {
    "model": {"BPE", "WordPiece", "WordLevel"},
    "normalizer": {
        "BertNormalizer", "Prepend", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip"
    },
    "pre_tokenizer": {"ByteLevel", "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits"},
    "decoder": {"ByteLevel", "BPEDecoder", "WordPiece", "Fuse", "Strip"},
}  # fmt: skip
EACH_CHARACTER = r"[\s\S]"  # the expression of our tokenizer of characters


def open_library(text: str, where: str) -> Tokenizer:
    """A tokenizer that neither truncates nor pads."""
    try:
        library = Tokenizer.from_str(text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a bare Exception for everything, or a panic
        raise ModelError(f"{where} is not a tokenizer file ({error}).") from None
    unknown = [name for place in KNOWN_PARTS for name in unknown_parts(library, place)]
    if unknown:
        raise ModelError(
            f"{where} has parts that qkv does not run: {', '.join(unknown)}. Use the tokenizer of a GPT-2, GPT or BERT."
        )
    library.no_truncation()
    library.no_padding()
    return library


def unknown_parts(library: Tokenizer, place: str) -> Iterator[str]:
    part = getattr(library, place)
    if place == "model":
        names = [type(part).__name__]
    else:
        names = [] if part is None else list(names_in(json.loads(part.__getstate__())))
    return (f"the {place} {name}" for name in names if name not in KNOWN_PARTS[place])


def names_in(part: dict[str, Any]) -> Iterator[str]:
    """The types of a part, or of the parts of a sequence. The library limits how deep sequences are nested."""
    if part["type"] == "Sequence":
        for each in part.get("normalizers") or part.get("pretokenizers") or part.get("decoders") or []:
            yield from names_in(each)
    elif part != {**part, "type": "Split", "pattern": {"Regex": EACH_CHARACTER}}:
        yield str(part["type"])
