"""Language codes of two letters, from the tags that people write."""

from qkv.data.language_tags import language_tag

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


def two_letters(language: str | None) -> str | None:
    """en for en, en-US and eng; an unknown code as it is."""
    if language is None:
        return None
    code = language_tag(language).split("-")[0]
    return SAME.get(code) or THREE_LETTERS.get(code, code)
