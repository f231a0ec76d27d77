"""How long a translation is."""

from functools import partial

from qkv.localization.checks.unit import Check, Found, Unit

SHORT = 20  # characters: a word may be three times as long in another language


def wrong_length(unit: Unit, *, ratio: float) -> Found:
    shorter, longer = sorted((len(unit.source), len(unit.target)))
    if longer > SHORT and longer > ratio * shorter:
        yield f"{len(unit.target)} characters for {len(unit.source)}"


def length_check(ratio: float) -> Check:
    return Check(
        name="length",
        severity="warning",
        summary="One side is far longer than the other.",
        find=partial(wrong_length, ratio=ratio),
    )
