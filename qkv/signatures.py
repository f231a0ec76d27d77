"""Keyword arguments from dataclasses: an option of a command is a keyword of the Python function, stated once.

    @with_options(TranslationOptions, aliases={"langue": "target_language"})
    def translate(text: str, *, options: TranslationOptions = DEFAULTS, **keywords: Any) -> str:
        '''Translate a text.

        Args:
            text: What to translate.
        '''
        options = replace_options(options, keywords)

`inspect.signature(translate)` then shows `(text, *, options=…, beam_size: int | None = None, …)`, and the docstring lists
every option under `Args:` with the docstring of its field. A nested dataclass is flattened if it is annotated with
`Flag(name="")`, as on the command line. An instance instead of a class gives other defaults: `with_options(EXACT)`.

The function gets only the keywords that the caller gave, under the names of the fields: aliases are replaced. Aliases
come from `aliases` and from the long flags of `Flag(aliases=["-o", "--out"])`. An unknown keyword is a TypeError that names
the nearest option. `replace_options(default, keywords)` puts the keywords into an instance, also into nested ones.
"""

import ast
import dataclasses
import difflib
import functools
import inspect
import linecache
import numbers
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from qkv.errors import InputTypeError, OptionError, type_name
from qkv.flags import DATA, Flag

Function = TypeVar("Function", bound=Callable[..., Any])
Options = TypeVar("Options")
KEYWORD, REST = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD


@dataclass(frozen=True, kw_only=True, eq=False)
class Option:
    """A field of a dataclass as a keyword argument."""

    name: str
    path: tuple[str, ...]
    """From the outermost dataclass to the field: ("settings", "training", "learning_rate")."""
    hint: Any
    default: Any
    """dataclasses.MISSING if it must be given."""
    owner: Any
    """The dataclass that states it."""
    aliases: tuple[str, ...] = ()
    takes_data: bool = False
    """Also takes data of a Python program, which is not converted."""

    @property
    def doc(self) -> str:
        found = docstrings(self.owner).get(self.name, "")
        return f"{found} {ALSO_DATA}" if found and self.takes_data else found

    @property
    def parameter(self) -> inspect.Parameter:
        missing = self.default is dataclasses.MISSING
        default = inspect.Parameter.empty if missing else self.default
        hint = Any if self.takes_data else self.hint
        return inspect.Parameter(self.name, KEYWORD, default=default, annotation=hint)


class Varies:
    """The default of an option that several sources have, each with its own."""

    def __repr__(self) -> str:
        return "<by family>"


VARIES = Varies()
ALSO_DATA = "In Python also as data: a dictionary, a list, an iterator or a table."


def with_options(
    *sources: Any,
    aliases: Mapping[str, str] | None = None,
    without: Iterable[str] = (),
    varying: bool = False,
) -> Callable[[Function], Function]:
    """Give a function with `**keywords` the signature and the docstring of its options.

    Args:
        sources: Dataclasses whose fields are the options, or instances with other defaults. The first source that has a
            name wins. Parameters of the function itself win over all.
        aliases: More names for options: `{"valid": "valid_pairs"}`.
        without: Fields that are no keywords of this function.
        varying: Show that a default varies, if the sources have different ones.
    """
    left_out = set(without)

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        named = [each for each in own.parameters.values() if each.kind is not REST]
        taken = {each.name for each in named}
        options: dict[str, Option] = {}
        for each in (each for source in sources for each in options_in(source)):
            if each.name in left_out | taken:
                continue
            known = options.setdefault(each.name, each)
            if varying and known.default != each.default:
                options[each.name] = dataclasses.replace(known, default=VARIES)
        ordered = list(options.values())
        renamed = {name: each.name for each in ordered for name in each.aliases} | dict(aliases or {})

        place = next((place for place, each in enumerate(named) if each.name == "options"), None)
        kind = sources[0] if isinstance(sources[0], type) else type(sources[0])

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if place is not None:
                check_options_object(
                    arguments[place] if place < len(arguments) else keywords.get("options", kind), kind
                )
            if not keywords.keys() <= taken:
                keywords = with_real_names(function.__name__, keywords, [*taken, *options], renamed)
            return function(*arguments, **keywords)

        parameters = [*named, *(each.parameter for each in ordered)]
        by_name = {each.name: each for each in ordered}
        other_names = {alias: by_name[name] for alias, name in renamed.items() if name in by_name}
        call.keyword_options = by_name | other_names  # type: ignore[attr-defined]
        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__doc__ = documented(function.__doc__, ordered, aliases or {})
        return typing.cast(Function, call)

    return decorate


def check_options_object(given: Any, kind: type) -> None:
    if given is not kind and not isinstance(given, kind):
        raise InputTypeError(f"options must be {kind.__name__}, not {type_name(given)}.")


def with_real_names(
    function: str, keywords: Mapping[str, Any], known: Iterable[str], aliases: Mapping[str, str]
) -> dict[str, Any]:
    """Replace aliases. Unknown names and an option that is given twice are TypeErrors, as for any function."""
    known = set(known)
    found: dict[str, Any] = {}
    for name, value in keywords.items():
        real = name if name in known else aliases.get(name, name)
        if real not in known:
            raise TypeError(unknown_option(function, name, [*known, *aliases]))
        if real in found:
            twice = sorted(each for each in keywords if real in (each, aliases.get(each)))
            raise TypeError(f"{function}() got {' and '.join(twice)}, which are the same option.")
        found[real] = value
    return found


def unknown_option(function: str, name: str, known: Iterable[str]) -> str:
    known = sorted(each for each in known if each != "self")
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"It accepts {', '.join(known)}."
    return f"{function}() has no option '{name}'. {hint}"


def options_of(source: Any) -> list[Option]:
    """The fields of a dataclass, or of an instance, with those of its flattened parts."""
    is_kind = isinstance(source, type) or typing.get_origin(source) is not None
    return list(walk(source, None, ()) if is_kind else walk(type(source), source, ()))


def options_in(source: Any) -> Iterable[Option]:
    """The same, read once if the source is a class."""
    return options_of_class(source).values() if isinstance(source, type) else options_of(source)


def options_by_name(source: Any) -> dict[str, Option]:
    """The options of an instance. They are read once for each class, unless parameters of the class decide."""
    kind: Any = type(source)
    if getattr(kind, "__parameters__", ()):
        return {each.name: each for each in options_of(source)}
    return options_of_class(kind)


@cache
def options_of_class(kind: Any) -> dict[str, Option]:
    return {each.name: each for each in options_of(kind)}


def walk(kind: Any, default: Any, path: tuple[str, ...]) -> Iterator[Option]:
    kind, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    types_of_parameters = dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=False))
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint, extras = unwrap(hints[field.name])
        hint = types_of_parameters.get(hint, hint)
        flag = next((each for each in extras if isinstance(each, Flag)), Flag())
        value = default_of(field, default)
        here = (*path, field.name)
        if flag.name == "":
            hint = (
                type(value) if isinstance(hint, TypeVar) else hint
            )  # an instance does not know its parameters
            yield from walk(hint, None if value is dataclasses.MISSING else value, here)
            continue
        longer = (each.removeprefix("--").replace("-", "_") for each in flag.aliases if each.startswith("--"))
        yield Option(
            name=field.name,
            path=here,
            hint=hint,
            default=value,
            owner=kind,
            aliases=tuple(longer),
            takes_data=DATA in extras,
        )


def unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split an Annotated type into the type and its annotations."""
    extras: tuple[Any, ...] = ()
    while hasattr(hint, "__metadata__"):
        extras += hint.__metadata__
        hint = hint.__origin__
    return hint, extras


def default_of(field: dataclasses.Field[Any], default: Any) -> Any:
    if default is not None:
        return getattr(default, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def replace_options(default: Options, keywords: Mapping[str, Any]) -> Options:
    """A copy of an instance with some options replaced, in its flattened parts too. All at once: checks see them together."""
    if not keywords:
        return default
    known = options_by_name(default)
    given = {known[name]: value for name, value in keywords.items()}
    return replace_at(default, {each.path: converted(each, value) for each, value in given.items()})


def replace_at(default: Options, values: Mapping[tuple[str, ...], Any]) -> Options:
    changes: dict[str, Any] = {}
    for first in dict.fromkeys(path[0] for path in values):
        inner = {path[1:]: value for path, value in values.items() if path[0] == first}
        changes[first] = inner[()] if () in inner else replace_at(getattr(default, first), inner)
    changed: Options = dataclasses.replace(default, **changes)  # type: ignore[type-var]
    return changed


def split_options(keywords: Mapping[str, Any], *defaults: Any) -> tuple[Any, ...]:
    """Each instance with its own options among the keywords. An option that several have goes to the first."""
    if not keywords:
        return defaults
    left, found = dict(keywords), []
    for default in defaults:
        own = options_by_name(default).keys() & left.keys()
        found.append(replace_options(default, {name: left.pop(name) for name in own}))
    return tuple(found)


def converted(option: Option, value: Any) -> Any:
    """A value in the type of its field: a list becomes a tuple, and a string a path. Other types are an OptionError."""
    if option.takes_data:
        return value
    hint, several = option.hint, typing.get_args(option.hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        if value is None and type(None) in several:
            return None
        hint = next(each for each in several if each is not type(None))
    if typing.get_origin(hint) is tuple:
        return tuple_of(option, typing.get_args(hint), value)
    return one_of(option, hint, value)


def tuple_of(option: Option, hints: tuple[Any, ...], value: Any) -> Any:
    if isinstance(value, str | os.PathLike) or not isinstance(value, Iterable):
        value = (value,)
    values = tuple(value)
    kinds = [hints[0]] * len(values) if hints[-1] is Ellipsis else list(hints)
    if len(kinds) != len(values):
        raise OptionError((option.name, f"needs {len(kinds)} values, not {len(values)}"))
    return tuple(one_of(option, kind, each) for kind, each in zip(kinds, values, strict=True))


def one_of(option: Option, hint: Any, value: Any) -> Any:
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise OptionError((option.name, f"must be one of {', '.join(map(str, choices))}, not {value!r}"))
        return value
    if hint not in KINDS:
        return value
    kind, name = KINDS[hint]
    if not isinstance(value, kind) or (isinstance(value, bool) and hint is not bool):
        raise OptionError((option.name, f"must be {name}, not {type_name(value)}"))
    return hint(value)


KINDS: dict[Any, tuple[Any, str]] = {
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    str: (str, "a text"),
    bool: (bool, "True or False"),
    Path: (str | os.PathLike, "a path"),
}


# Docstrings ------------------------------------------------------------------------------------------


def documented(
    doc: str | None, options: Iterable[Option], aliases: Mapping[str, str] = types.MappingProxyType({})
) -> str | None:
    """A docstring with the options at the end of its section `Args:`."""
    if doc is None:
        return None
    lines = inspect.cleandoc(doc).split("\n")
    short = {name: f" `{alias}` is another name for it." for alias, name in aliases.items()}
    described = [f"    {each.name}: {each.doc}{short.get(each.name, '')}" for each in options if each.doc]
    if "Args:" not in lines:
        sections = ("Returns:", "Yields:", "Raises:", "Example:")
        first = next((place for place, line in enumerate(lines) if line in sections), len(lines))
        lines[first:first] = ["Args:", ""] if first < len(lines) else ["", "Args:"]
    place = lines.index("Args:") + 1
    while place < len(lines) and lines[place].startswith(" "):
        place += 1
    return "\n".join([*lines[:place], *described, *lines[place:]])


@cache
def docstrings(kind: Any) -> dict[str, str]:
    """The docstring of each field of a dataclass and its bases; none if there is no source."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if dataclasses.is_dataclass(base) and isinstance(base, type):
            found |= class_docs(base.__module__).get(base.__qualname__, {})
    return found


@cache
def class_docs(module: str) -> dict[str, dict[str, str]]:
    """The docstrings of the fields of every class of a module, by the class's name."""
    path = getattr(sys.modules.get(module), "__file__", None)
    source = "".join(linecache.getlines(path)) if path else ""
    found: dict[str, dict[str, str]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                found[prefix + node.name] = texts_in(node)
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                visit(node.body, f"{prefix}{node.name}.<locals>.")

    visit(ast.parse(source).body, "")
    return found


def texts_in(body: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(text.value.value).split())
    return found
