"""Write qkv/documents/plural_table.py from Babel: `pip install babel && python tools/plural_table.py`."""

from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import babel
from babel import Locale, localedata
from babel.messages.plurals import PLURALS
from babel.plural import PluralRule

OUTPUT = Path(__file__).parent.parent / "qkv" / "documents" / "plural_table.py"
INTEGERS = [*map(Decimal, range(200)), Decimal(1_000_000), Decimal(2_000_000)]
FRACTIONS = [Decimal(each) for each in ("1.5", "2.5", "0.5")]
ORDER = ("zero", "one", "two", "few", "many", "other")
NO_PLURALS = {
    (): "nplurals=1; plural=0;",
    ("1",): "nplurals=2; plural=(n != 1);",
    ("0", "1"): "nplurals=2; plural=(n > 1);",
}


def has_rule(name: str, kind: str = "plural_form") -> bool:
    """Whether CLDR has a rule for the language. Others inherit that of languages without plurals."""
    return kind in localedata.load(name, merge_inherited=False)


def samples(rule: PluralRule) -> dict[str, list[str]]:
    """Numbers of each category: the smallest ones, then larger ones. Fractions only if there is no integer."""
    found = {}
    for category in ORDER:
        whole = [str(each) for each in INTEGERS if rule(each) == category]
        large = [each for each in whole[3:] if int(each) >= 20][:3]
        chosen = [*whole[:3], *large] or [str(each) for each in FRACTIONS if rule(each) == category]
        if chosen:
            found[category] = chosen
    return found


def gettext_forms(languages: dict[str, dict[str, list[str]]]) -> dict[str, str]:
    """As Babel knows them from gettext. Languages with two forms in CLDR have two, and others with one or two follow CLDR."""
    found = {
        language: f"nplurals={count}; plural={expression};"
        for language, (count, expression) in PLURALS.items()
        if count > 1 or set(languages.get(language, ())) <= {"other"}
    }
    for language, categories in languages.items():
        small = {name: numbers for name, numbers in categories.items() if int(float(numbers[0])) < 1_000_000}
        if set(small) <= {"one", "other"}:
            simple = NO_PLURALS.get(tuple(small.get("one", ())))
            if simple and language.split("_")[0] not in found:
                found[language] = simple
    return found


def written(languages: dict[str, dict[str, list[str]]]) -> dict[str, str]:
    return {
        name: " ".join(f"{category}={','.join(numbers)}" for category, numbers in each.items())
        for name, each in languages.items()
    }


def grouped(table: dict[str, str]) -> list[tuple[str, str]]:
    languages = defaultdict(list)
    for language, value in sorted(table.items()):
        languages[value].append(language)
    return sorted((" ".join(names), value) for value, names in languages.items())


def main() -> None:
    names = [name for name in localedata.locale_identifiers() if "_" not in name and has_rule(name)] + [
        "pt_PT"
    ]
    languages = {name: samples(Locale.parse(name).plural_form) for name in names}
    ordinals = {
        name: samples(Locale.parse(name).ordinal_form) for name in names if has_rule(name, "ordinal_form")
    }
    lines = [
        f'"""Plural forms of languages. Written by tools/plural_table.py from Babel {babel.__version__}."""',
        "",
        "CLDR: tuple[tuple[str, str], ...] = (",
        *(f"    ({key!r}, {value!r})," for key, value in grouped(written(languages))),
        ")",
        '"""Languages, and their categories with numbers that belong to them."""',
        "ORDINALS: tuple[tuple[str, str], ...] = (",
        *(f"    ({key!r}, {value!r})," for key, value in grouped(written(ordinals))),
        ")",
        '"""The same for ordinal numbers."""',
        "GETTEXT: tuple[tuple[str, str], ...] = (",
        *(f"    ({key!r}, {value!r})," for key, value in grouped(gettext_forms(languages))),
        ")",
        '"""Languages, and the Plural-Forms of their catalogs."""',
    ]
    OUTPUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
