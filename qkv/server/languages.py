"""Language codes and names: what clients write, and what the models have."""

from collections.abc import Collection

from qkv.data.language_codes import two_letters

NAMES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ky": "Kyrgyz",
    "la": "Latin", "lb": "Luxembourgish", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian",
    "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian",
    "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese",
    "pt-BR": "Portuguese (Brazil)", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog",
    "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "zh": "Chinese",
    "zh-Hans": "Chinese", "zh-Hant": "Chinese (traditional)",
}  # fmt: skip
ALIASES = {"pb": "pt-BR", "zt": "zh-Hant", "zh-CN": "zh-Hans", "zh-TW": "zh-Hant", "nb": "no"}
FOLDS = {
    "zh-Hans": "zh",
    "zh": "zh-Hans",
    "pt": "pt-BR",
    "no": "nb",
}  # codes that mean each other where one is missing
LONGEST_CODE = 35  # characters: the longest tag that BCP 47 recommends to support


def canonical(code: str) -> str:
    """A tag as BCP 47 writes it: en, pt-BR, zh-Hant. Three-letter codes become two letters."""
    language, *rest = code.strip().replace("_", "-").split("-")
    language = two_letters(language.lower()) or ""
    written = "-".join([language, *(subtag(each) for each in rest)])
    return ALIASES.get(written, written)


def subtag(text: str) -> str:
    return text.title() if len(text) == 4 else text.upper()


def resolve_code(code: str, served: Collection[str]) -> str | None:
    """The served language that a client means: en-US is English, pt is Brazilian Portuguese if there is no other."""
    if len(code) > LONGEST_CODE:
        return None
    if code in served:
        return code
    wanted = canonical(code)
    base = wanted.split("-")[0]
    for candidate in (wanted, FOLDS.get(wanted), base, FOLDS.get(base)):
        if candidate is not None and candidate in served:
            return candidate
    return None


def language_name(code: str) -> str:
    return NAMES.get(code) or NAMES.get(code.split("-")[0]) or code
