"""Options that every command accepts, before or after its name. Importing this is cheap: every command does."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from qkv.errors import QkvError
from qkv.flags import Flag, Repeated

PREFIX = "QKV_"
RESERVED = frozenset({"QKV_CACHE", "QKV_ENGINE_ISA", "QKV_HELPER", "QKV_MODELS"})
"""Variables that name no option: the folder of the cache, the engine's instruction set, a helper of training, and where
published models are."""
WORDS_FOR = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Conventions:
    config: Annotated[Repeated[tuple[Path, ...]], Flag(metavar="FILE")] = ()
    """Read options from a file: TOML, YAML, JSON, or the run.json of a training run. Can be given several times; the last
    file wins. Options of the command line and of the environment (QKV_BEAM_SIZE) come first."""
    print_config: bool = False
    """Print all options with their origin as TOML, for --config, and do nothing else."""
    quiet: bool = False
    """Print errors and results only."""
    verbose: bool = False
    """Also print what is loaded, what computes and how long it takes. Errors come with a traceback."""


def split_conventions(
    arguments: list[str], environment: Mapping[str, str] = os.environ
) -> tuple[Conventions, list[str]]:
    """The options of every command, and the other arguments. What follows `--` is text."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given: dict[str, bool] = {}
    files: list[str] = []
    others: list[str] = []
    rest = list(reversed(arguments[:end]))
    while rest:
        argument = rest.pop()
        name, equals, value = argument.partition("=")
        name = name.replace("_", "-")
        if name == "--config":
            if not equals and (not rest or rest[-1].startswith("-")):
                raise QkvError("--config needs a file.")
            files.append(value if equals else rest.pop())
        elif argument.replace("_", "-") in ("--print-config", "--quiet", "--verbose"):
            given[name] = True
        else:
            others.append(argument)
    if {"--quiet", "--verbose"} <= given.keys():
        raise QkvError("--quiet and --verbose cannot be combined.")
    talk = "--quiet" in given or "--verbose" in given
    conventions = Conventions(
        config=tuple(map(Path, files or filter(None, [environment.get("QKV_CONFIG")]))),
        print_config="--print-config" in given,
        quiet="--quiet" in given or (not talk and switch_in(environment, "QKV_QUIET")),
        verbose="--verbose" in given or (not talk and switch_in(environment, "QKV_VERBOSE")),
    )
    return conventions, after_command(others) + arguments[end:]


def switch_in(environment: Mapping[str, str], name: str) -> bool:
    """The value of a variable that is on or off."""
    value = environment.get(name, "").strip().lower()
    if value and value not in WORDS_FOR:
        raise QkvError(f"{name} must be 1 or 0, not '{value[:60]}'.")
    return WORDS_FOR.get(value, False)


def after_command(arguments: list[str]) -> list[str]:
    """`qkv --json info M` is `qkv info M --json`."""
    if arguments[:1] != ["--json"] or len(arguments) == 1:
        return arguments
    return [*arguments[1:], "--json"]


def names_options(environment: Mapping[str, str] = os.environ) -> bool:
    """Does a variable name an option? Most environments have none, and need not know the options of the command."""
    own = {*RESERVED, "QKV_CONFIG", "QKV_QUIET", "QKV_VERBOSE"}
    return any(name.startswith(PREFIX) and name not in own for name in environment)
