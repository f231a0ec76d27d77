"""Characters that nobody sees, or that show a damaged encoding."""

import re

from qkv.localization.checks.unit import Check, Found, Unit

# Joiners are letters of some scripts, so they count only in others.
INVISIBLE = re.compile("[\u00ad\u200b\u2060-\u2064\ufeff\u180e]")
DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
JOINER = re.compile("[\u200c\u200d]")
JOINING = re.compile(
    "[\u0590-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\u2600-\u27bf\U0001f000-\U0001faff]"
)
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
DAMAGED = re.compile("\ufffd|Ã[\u0080-\u00bf¤¶¼]|â€[\u0080-\u2122]")


def hidden_in(text: str) -> set[str]:
    found = set(INVISIBLE.findall(text))
    if not RIGHT_TO_LEFT.search(text):
        found |= set(DIRECTION.findall(text))
    return found if JOINING.search(text) else found | set(JOINER.findall(text))


def invisible(unit: Unit) -> Found:
    for character in sorted(hidden_in(unit.target) - set(unit.source)):
        yield f"has the invisible character U+{ord(character):04X}"


def without_invisible(unit: Unit) -> str:
    """A soft hyphen may be meant."""
    hidden = hidden_in(unit.target) - set(unit.source) - {"\u00ad"}
    return "".join(each for each in unit.target if each not in hidden)


def controls(unit: Unit) -> Found:
    for character in sorted(set(CONTROL.findall(unit.target)) - set(unit.source)):
        yield f"has the control character U+{ord(character):04X}"


def damaged(unit: Unit) -> Found:
    found = DAMAGED.search(unit.target)
    if found and not DAMAGED.search(unit.source):
        yield f"looks damaged by a wrong encoding: {found[0]}"


INVISIBLE_CHECK = Check(
    name="invisible",
    severity="warning",
    summary="Invisible characters, such as a zero-width space.",
    find=invisible,
    fix=without_invisible,
)
CONTROLS = Check(name="control-characters", severity="error", summary="Control characters.", find=controls)
ENCODING = Check(
    name="encoding",
    severity="error",
    summary="Text that was read in a wrong encoding, such as Ã¼ for ü.",
    find=damaged,
)
