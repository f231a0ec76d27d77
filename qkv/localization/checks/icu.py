"""ICU messages such as `{n, plural, one {# file} other {# files}}`."""

from collections.abc import Iterator

from qkv.documents.icu import Argument, Choice, Message, Number, is_message, parse_message
from qkv.localization.checks.unit import Check, Found, Unit


def names_in(message: Message) -> Iterator[str]:
    """Arguments, wherever they are, and the keys of each select: programs choose by them."""
    for part in message:
        if isinstance(part, Argument):
            yield part.name
        elif isinstance(part, Number):
            yield part.owner
        elif isinstance(part, Choice):
            yield part.name
            for key, option in part.options:
                if part.kind == "select":
                    yield f"{part.name}: {key}"
                yield from names_in(option)


def lacks_other(message: Message) -> bool:
    choices = [part for part in message if isinstance(part, Choice)]
    return any(
        "other" not in dict(each.options) or any(lacks_other(option) for _, option in each.options)
        for each in choices
    )


def wrong_message(unit: Unit) -> Found:
    if unit.dialect != "icu-format" and not is_message(unit.source):
        return
    try:
        wanted = set(names_in(parse_message(unit.source)))
    except ValueError:
        return  # the program cannot read it either
    try:
        message = parse_message(unit.target)
    except ValueError as error:
        yield f"it is not a valid ICU message: {error}"
        return
    if lacks_other(message):
        yield "a choice has no case 'other'"
    given = set(names_in(message))
    for what, names in (("lacks", wanted - given), ("adds", given - wanted)):
        if names:
            yield f"it {what} {', '.join(sorted(names))}"


ICU = Check(
    name="icu",
    severity="error",
    summary="An ICU message is not valid, or has other arguments or cases of select.",
    find=wrong_message,
)
