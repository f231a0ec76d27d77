"""Read the options of a command. A mistake becomes one short error message."""

import sys
from collections.abc import Collection
from typing import TypeVar

from qkv.cli.fields import OptionField, names_in, option_fields
from qkv.cli.help import HELP_ALL, help_text, wants_help
from qkv.cli.mistakes import find_mistake
from qkv.cli.parsing import parse
from qkv.cli.renamed import new_name
from qkv.errors import QkvError

Command = TypeVar("Command")
LIST_OPTIONS = "--list-options"  # not for users


class ListedOptions(Exception):  # noqa: N818  (no error)
    """Ends a command that was called for its options alone: with LIST_OPTIONS instead of arguments."""

    def __init__(self, fields: list[OptionField]):
        super().__init__()
        self.fields = fields


def read_options(
    kind: type[Command],
    arguments: list[str],
    *,
    prog: str,
    description: str,
    default: Command | None = None,
    common: Collection[str] | None = None,
    needs: str = "",
    hidden: Collection[str] = (),
) -> Command:
    """Parse the arguments of a command, or print its help and exit.

    Args:
        kind: A dataclass. Its fields are the options, their docstrings the help.
        arguments: What follows the command's name.
        prog: The command, as the user types it.
        description: The beginning of the help.
        default: An instance with the defaults, if they differ from the class's.
        common: Names of the options that `--help` shows; `--help-all` shows the rest. None for all.
        needs: Options that choose this command among others of the same name.
        hidden: Flags that neither help nor completion shows, because the command rejects them with a better message.
    """
    fields = option_fields(kind, default)
    shown = [field for field in fields if not {*hidden} & {*field.names}]
    if arguments == [LIST_OPTIONS]:
        raise ListedOptions(shown)
    if wants_help(arguments):
        everything = HELP_ALL in arguments
        sys.stdout.write(help_text(prog, description, shown, common, everything=everything, needs=needs))
        sys.exit(0)
    check_renamed(prog, fields, arguments)
    mistake = find_mistake(prog, fields, arguments)
    if mistake:
        raise QkvError(mistake)
    return parse(kind, default, fields, arguments)


def check_renamed(prog: str, fields: list[OptionField], arguments: list[str]) -> None:
    """Name the new flag for a flag of version 0.1."""
    known = {name for field in fields for name in field.names}
    for name in sorted(names_in(arguments) - known):
        renamed = new_name(prog, name)
        if renamed in known:
            raise QkvError(f"{name} is now {renamed}.")
