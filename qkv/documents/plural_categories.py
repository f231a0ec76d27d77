"""Plural categories of languages for whole numbers, by Unicode's CLDR.

Spanish, French, Italian and Portuguese also have "many", for millions alone. Programs use "other" instead if it is missing.
"""

from typing import Literal

Category = Literal["zero", "one", "two", "few", "many", "other"]
ORDER: tuple[Category, ...] = ("zero", "one", "two", "few", "many", "other")
CATEGORIES: dict[str, tuple[Category, ...]] = {
    **dict.fromkeys(["ja", "zh", "ko", "vi", "th", "id", "ms", "lo", "my", "km", "jv", "su"], ("other",)),
    **dict.fromkeys(["ru", "uk", "be", "pl", "lt"], ("one", "few", "many", "other")),
    **dict.fromkeys(["cs", "sk", "hr", "sr", "bs", "ro"], ("one", "few", "other")),
    "lv": ("zero", "one", "other"),
    "sl": ("one", "two", "few", "other"),
    **dict.fromkeys(["he", "iw"], ("one", "two", "other")),
    "mt": ("one", "two", "few", "many", "other"),
    "ga": ("one", "two", "few", "many", "other"),
    "gd": ("one", "two", "few", "other"),
    **dict.fromkeys(["ar", "cy"], ORDER),
}
"""Languages that differ from one and other."""


def plural_categories(language: str) -> tuple[Category, ...]:
    return CATEGORIES.get(language.replace("_", "-").split("-")[0].lower(), ("one", "other"))
