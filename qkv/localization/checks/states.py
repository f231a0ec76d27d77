"""Whether there is a translation at all, in all the forms that it needs."""

from qkv.localization.checks.unit import Check, Found, Unit


def untranslated(unit: Unit) -> Found:
    if not unit.target and unit.source.strip():
        yield "is not translated"


def blank(unit: Unit) -> Found:
    if unit.target and not unit.target.strip() and unit.source.strip():
        yield "the translation is white space only"


def fuzzy(unit: Unit) -> Found:
    if unit.state == "fuzzy":
        yield "is marked as doubtful"


def wrong_forms(unit: Unit) -> Found:
    if unit.problem:
        yield unit.problem


def extra_key(unit: Unit) -> Found:
    if unit.is_extra:
        yield "the file with the source texts has no such key"


UNTRANSLATED = Check(
    name="untranslated",
    severity="info",
    summary="There is no translation.",
    find=untranslated,
    also_untranslated=True,
)
BLANK = Check(
    name="blank",
    severity="warning",
    summary="The translation is white space only.",
    find=blank,
    also_untranslated=True,
)
DOUBTFUL = Check(
    name="doubtful", severity="info", summary="Marked as doubtful: fuzzy, or to be reviewed.", find=fuzzy
)
PLURAL_FORMS = Check(
    name="plural-forms",
    severity="error",
    summary="A message has too few or too many plural forms, or some are empty.",
    find=wrong_forms,
    also_untranslated=True,
)
EXTRA_KEY = Check(
    name="extra-key",
    severity="warning",
    summary="A text of a file with one language has no source text.",
    find=extra_key,
    also_untranslated=True,
)
