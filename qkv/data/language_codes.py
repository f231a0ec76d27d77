"""Language codes of two letters, from the tags and names that people write."""

import re
from collections.abc import Sequence

from qkv.data.language_tags import language_tag, matching_tag

SAME = {"nb": "no", "nn": "no", "nob": "no", "nno": "no", "iw": "he", "in": "id"}
THREE_LETTERS = {
    "afr": "af", "ara": "ar", "bel": "be", "ben": "bn", "bul": "bg", "cat": "ca", "ces": "cs", "cmn": "zh", "cze": "cs",
    "dan": "da", "deu": "de", "dut": "nl", "ell": "el", "eng": "en", "est": "et", "eus": "eu", "fas": "fa", "fin": "fi",
    "fra": "fr", "fre": "fr", "ger": "de", "gle": "ga", "gre": "el", "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu",
    "hye": "hy", "ind": "id", "isl": "is", "ita": "it", "jpn": "ja", "kat": "ka", "kor": "ko", "lat": "la", "lav": "lv",
    "lit": "lt", "mkd": "mk", "mlt": "mt", "nld": "nl", "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slk": "sk",
    "slv": "sl", "spa": "es", "sqi": "sq", "swa": "sw", "swe": "sv", "tam": "ta", "tha": "th", "tur": "tr", "ukr": "uk",
    "urd": "ur", "vie": "vi", "zho": "zh",
}  # fmt: skip
NAMES = {
    "afrikaans": "af", "albanian": "sq", "arabic": "ar", "armenian": "hy", "basque": "eu", "belarusian": "be",
    "bengali": "bn", "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da",
    "dutch": "nl", "english": "en", "estonian": "et", "finnish": "fi", "french": "fr", "georgian": "ka", "german": "de",
    "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "icelandic": "is", "indonesian": "id", "irish": "ga",
    "italian": "it", "japanese": "ja", "korean": "ko", "latin": "la", "latvian": "lv", "lithuanian": "lt",
    "macedonian": "mk", "maltese": "mt", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "slovak": "sk", "slovene": "sl", "slovenian": "sl", "spanish": "es", "swahili": "sw",
    "swedish": "sv", "tamil": "ta", "thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
    "deutsch": "de", "español": "es", "français": "fr", "italiano": "it", "português": "pt",
}  # fmt: skip


def two_letters(language: str | None) -> str | None:
    """en for en, en-US, eng and English; an unknown code as it is."""
    if language is None:
        return None
    code = language_tag(language).split("-")[0]
    return SAME.get(code) or THREE_LETTERS.get(code) or NAMES.get(code, code)


def language_name(name: str) -> str | None:
    """The code of a name that is a language and nothing else: en, pt_BR, eng, German."""
    tag = language_tag(name)
    first, *rest = tag.split("-")
    if first in NAMES:
        return NAMES[first] if not rest else None
    is_code = 2 <= len(first) <= 3 and first.isascii() and first.isalpha()
    return tag if is_code and all(len(each) <= 4 for each in rest) else None


def column_of_language(language: str | None, names: Sequence[str]) -> str | None:
    """The column of a language: en, en-US, eng, English, or a name with such a word in it, such as en_text.

    None if there is none, or if several have such a word.
    """
    if language is None:
        return None
    code, tags = two_letters(language), {name: language_tag(name) for name in names}
    words = {name: [two_letters(word) for word in re.split(r"[\W\d_]+", name) if word] for name in names}
    for found in (
        [name for name in names if tags[name] == language_tag(language)],
        [name for name in names if words[name] == [code]],
        [name for name in names if matching_tag(language, [tags[name]])],
        [name for name in names if code in words[name]],
    ):
        if found:
            return found[0] if len(found) == 1 else None
    return None
