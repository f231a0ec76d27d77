"""`qkv evaluate`: find the evaluator of a model. Each kind has its own scores and options."""

from pathlib import Path
from typing import NoReturn

from qkv.cli.fields import names_in
from qkv.cli.help import HELP_ALL, wants_help
from qkv.errors import QkvError
from qkv.families import bundle_kinds
from qkv.families.family import BundleKind, resolve

OF_FILES = "translator"  # the kind that also scores a file of translations, without a model


def main(arguments: list[str]) -> None:
    model, names = find_model(arguments), names_in(arguments)
    if wants_help(arguments):
        show_help(model, names, HELP_ALL if HELP_ALL in arguments else "--help")
    kind = kind_without_model(names) if model is None else kind_to_evaluate(model, names)
    assert kind.evaluate is not None
    resolve(kind.evaluate)(arguments)


def find_model(arguments: list[str]) -> Path | None:
    """The bundle among the arguments. It may follow options whose values are folders too."""
    paths = [Path(argument) for argument in arguments if not argument.startswith("-")]
    for path in paths:
        if (path / "config.json").is_file():
            return path
    first = paths[0] if arguments and not arguments[0].startswith("-") else None
    return first if first is not None and kinds_with(names_in(arguments)) else None


def kind_without_model(names: set[str]) -> BundleKind:
    """A file of translations needs no model. The evaluators of other kinds report that the model is missing."""
    return next(iter(kinds_with(names)), bundle_kinds()[OF_FILES])


def kind_to_evaluate(model: Path, names: set[str]) -> BundleKind:
    """The kind of this bundle, if it can be evaluated with these options."""
    from qkv.families.loading import kind_of, wrong_kind

    kind = kind_of(model)
    if kind.evaluate is None:
        raise QkvError(wrong_kind(model, kind, "evaluate"))
    own, others = kind.evaluate_options, kinds_with(names)
    if names & set(own) or (not own and not others):
        return kind
    if own:
        advice = f"To evaluate it, give {' or '.join(own)}."
    else:
        [option, *_] = names & set(others[0].evaluate_options)
        advice = f"Leave out {option}, which is for {', '.join(each.name for each in others)}."
    raise QkvError(f"{model} holds a model of kind '{kind.name}'. {advice}")


def kinds_with(names: set[str]) -> list[BundleKind]:
    """The kinds that one of these options belongs to."""
    return [kind for kind in bundle_kinds().values() if kind.evaluate and names & set(kind.evaluate_options)]


def show_help(model: Path | None, names: set[str], option: str) -> NoReturn:
    """The help of the model's kind, or of the kinds that the options belong to."""
    wanted = kinds_with(names)
    if model is not None and model.is_dir():
        from qkv.families.loading import kind_of

        wanted = [kind_of(model)]
    references = dict.fromkeys(kind.evaluate for kind in wanted if kind.evaluate is not None)
    for reference in references or [bundle_kinds()[OF_FILES].evaluate]:
        try:
            resolve(str(reference))([option])
        except SystemExit:  # raised after each help text
            print()
    if not references:
        print(other_helps())
    raise SystemExit(0)


def other_helps() -> str:
    """The commands that show the options of other kinds."""
    rows: dict[str, list[str]] = {}
    for kind in bundle_kinds().values():
        if kind.evaluate_options:
            rows.setdefault(kind.evaluate_options[0], []).append(kind.name)
    lines = [f"  qkv evaluate {option} --help   {', '.join(names)}" for option, names in rows.items()]
    return "Other kinds of models have other options:\n" + "\n".join(lines)
