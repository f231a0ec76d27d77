"""Plural forms of languages as gettext writes them into headers."""

TWO = "nplurals=2; plural=(n != 1);"
SLAVIC = "n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2"
FORMS = {
    **dict.fromkeys(["ja", "zh", "ko", "vi", "th", "id", "ms", "lo"], "nplurals=1; plural=0;"),
    **dict.fromkeys(
        [
            "de",
            "en",
            "es",
            "it",
            "nl",
            "sv",
            "da",
            "nb",
            "nn",
            "no",
            "fi",
            "et",
            "el",
            "hu",
            "bg",
            "ca",
            "pt",
            "eu",
            "gl",
            "tr",
            "az",
            "hi",
            "bn",
            "ur",
            "ta",
            "te",
            "sw",
            "af",
            "eo",
            "sq",
            "he",
        ],
        TWO,
    ),
    **dict.fromkeys(["fr", "pt_BR"], "nplurals=2; plural=(n > 1);"),
    **dict.fromkeys(
        ["ru", "uk", "be", "sr", "hr", "bs"], f"nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : {SLAVIC});"
    ),
    "pl": f"nplurals=3; plural=(n==1 ? 0 : {SLAVIC});",
    **dict.fromkeys(["cs", "sk"], "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"),
    "lt": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);",
    "lv": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);",
    "sl": "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);",
    "ro": "nplurals=3; plural=(n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2);",
}


def plural_forms(language: str) -> str | None:
    """The header's Plural-Forms for a language; None if it is not known."""
    name = language.replace("-", "_")
    return FORMS.get(name) or FORMS.get(name.split("_")[0].lower())
