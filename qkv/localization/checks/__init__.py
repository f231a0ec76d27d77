"""Checks of translations: each is a function from a unit to messages. `checks_for` is the only list."""

from qkv.localization.checks.accelerators import ACCELERATORS
from qkv.localization.checks.addresses import EMAILS, FUNCTIONS, OPTIONS, PATHS, URLS
from qkv.localization.checks.characters import CONTROLS, ENCODING, INVISIBLE_CHECK
from qkv.localization.checks.consistency import INCONSISTENT, REUSED
from qkv.localization.checks.icu import ICU
from qkv.localization.checks.length import length_check
from qkv.localization.checks.numbers import NUMBERS
from qkv.localization.checks.placeholders import FORMAT, PLACEHOLDERS
from qkv.localization.checks.punctuation import ELLIPSIS, END_PUNCTUATION
from qkv.localization.checks.states import BLANK, DOUBTFUL, EXTRA_KEY, PLURAL_FORMS, UNTRANSLATED
from qkv.localization.checks.symbols import BRACKETS_CHECK, ESCAPES, QUOTES
from qkv.localization.checks.tags import MARKUP, TAGS
from qkv.localization.checks.terms import glossary_check
from qkv.localization.checks.unit import Check, FileCheck
from qkv.localization.checks.white_space import (
    DOUBLE_SPACE,
    END_SPACE,
    LINE_BREAKS,
    LINE_ENDS,
    START_SPACE,
    TABS,
)
from qkv.localization.checks.words import DOUBLE_WORDS, START_CASE, UNCHANGED
from qkv.text.glossary import Glossary


def checks_for(glossary: Glossary, max_length_ratio: float) -> tuple[Check | FileCheck, ...]:
    """All checks, those of errors first."""
    return (
        FORMAT,
        ICU,
        PLURAL_FORMS,
        LINE_ENDS,
        TAGS,
        MARKUP,
        CONTROLS,
        ENCODING,
        PLACEHOLDERS,
        NUMBERS,
        URLS,
        EMAILS,
        OPTIONS,
        FUNCTIONS,
        PATHS,
        ESCAPES,
        LINE_BREAKS,
        TABS,
        START_SPACE,
        END_SPACE,
        END_PUNCTUATION,
        BRACKETS_CHECK,
        ACCELERATORS,
        INVISIBLE_CHECK,
        DOUBLE_WORDS,
        BLANK,
        EXTRA_KEY,
        length_check(max_length_ratio),
        glossary_check(glossary),
        INCONSISTENT,
        DOUBTFUL,
        UNTRANSLATED,
        DOUBLE_SPACE,
        ELLIPSIS,
        QUOTES,
        START_CASE,
        UNCHANGED,
        REUSED,
    )
