"""Write qkv/keywords.pyi: the keyword arguments of the public functions, for type checkers and editors.

    python tools/keywords.py

The functions take `**keywords`; `qkv/signatures.py` reads their options from dataclasses when the program runs. A type
checker does not run the program. So this tool writes the same options as TypedDicts. A test checks that the file is current.
"""

import collections.abc
import inspect
import json
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import qkv
from qkv.api.training import options_for
from qkv.families import own_families
from qkv.signatures import Option, options_of, unwrap
from qkv.training.trainable import Inputs, path_inputs

FILE = Path(__file__).parent.parent / "qkv" / "keywords.pyi"
HEADER = '''"""Keyword arguments of the public functions, for type checkers. `python tools/keywords.py` writes this file."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from qkv.families.translator.product import Translator
from qkv.training.callbacks import Callback'''
FINE_TUNED = {"Translator": "translator", "LanguageModel": "gpt", "Bert": "bert", "ImageClassifier": "vit"}
"""The training that fine-tunes a class."""


@dataclass(frozen=True)
class Keywords:
    """One TypedDict: what a function accepts apart from what its written signatures name."""

    name: str
    function: Callable[..., Any]
    named: tuple[str, ...] | None = None
    """Keywords that overloads name. By default, those of the definition itself."""

    def types(self) -> dict[str, str]:
        own = inspect.signature(inspect.unwrap(self.function)).parameters
        left_out = own.keys() if self.named is None else {*self.named}
        found = {
            each.name: accepted(evaluated(each.annotation, self.function))
            for each in own.values()
            if each.kind is each.KEYWORD_ONLY
        }
        options: dict[str, Option] = getattr(self.function, "keyword_options", {})
        found |= {name: option_type(each) for name, each in options.items()}
        return {name: kind for name, kind in found.items() if name not in left_out}


def typed_dicts() -> dict[str, dict[str, str]]:
    """The types of the keywords, by name of the TypedDict."""
    translator, model = qkv.Translator, qkv.LanguageModel
    functions = (
        Keywords("Load", qkv.load),
        Keywords("Translate", translator.translate, ("details", "num_hypotheses")),
        Keywords("TranslateFile", translator.translate_file),
        Keywords("Stream", translator.stream),
        Keywords("Alternatives", translator.alternatives),
        Keywords("Generate", model.generate, ()),
        Keywords("GenerateStream", model.stream),
        Keywords("Compose", model.compose),
        Keywords("Fill", qkv.Bert.fill, ()),
        Keywords("Embed", qkv.Bert.embed, ()),
        Keywords("Draw", qkv.ImageGenerator.draw, ("top_k",)),
        Keywords("ClassifyTexts", qkv.TextClassifier.classify, ()),
        Keywords("ClassifyImages", qkv.ImageClassifier.classify, ()),
        Keywords(
            "Evaluate", qkv.evaluate, ("source", "reference", "progress", "pairs", "text", "music", "labels")
        ),
        Keywords("Import", qkv.import_model),
        Keywords("Export", qkv.export),
        Keywords("Models", qkv.models),
        Keywords("Get", qkv.get),
        Keywords("Clean", qkv.clean),
        Keywords("Push", qkv.push),
        Keywords("Check", qkv.check),
        Keywords("Learn", qkv.learn),
        Keywords("Adapt", qkv.adapt),
        Keywords("Distill", qkv.distill),
        Keywords("Serve", qkv.serve),
        Keywords("Explore", qkv.explore, ("html", "png", "terminal")),
        Keywords("TrainTranslator", qkv.train_translator),
        Keywords("TrainGpt", qkv.train_gpt),
        Keywords("TrainBert", qkv.train_bert),
        Keywords("TrainVit", qkv.train_vit),
        Keywords("TrainCodebook", qkv.train_codebook),
        Keywords("TrainDalle", qkv.train_dalle),
        Keywords("FineTune", qkv.fine_tune, ("model", "data")),
    )
    found = {each.name: each.types() for each in functions}
    for name, training in FINE_TUNED.items():
        own = option_types(options_for(training, fine_tunes=True))
        found[f"FineTune{name}"] = shared_with_fine_tuning() | without(own, {"model", "data", "fine_tune"})
    names = [training.name for family in own_families() for training in family.trainings]
    every = [
        each for name in names for tunes in (False, True) for each in options_for(name, fine_tunes=tunes)
    ]
    found["Resume"] = without(
        option_types(every), inspect.signature(qkv.resume).parameters.keys() | {"resume"}
    )
    return {f"{name}Keywords": kinds for name, kinds in found.items()}


def shared_with_fine_tuning() -> dict[str, str]:
    """What `fine_tune` accepts for every family."""
    return Keywords("", inspect.unwrap(qkv.fine_tune), ("model", "data")).types()


def without(kinds: dict[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: kind for name, kind in kinds.items() if name not in names}


def option_types(sources: Iterable[Any]) -> dict[str, str]:
    """The options of several sources. Where their types differ, all are accepted."""
    found: dict[str, dict[str, None]] = {}
    for option in (each for source in sources for each in options_of(source)):
        for name in (option.name, *option.aliases):
            found.setdefault(name, {})[option_type(option)] = None
    return {name: " | ".join(kinds) for name, kinds in found.items()}


def option_type(option: Option) -> str:
    """Files of training may be given as data, and models as objects."""
    is_data = option.takes_data or (
        issubclass(option.owner, Inputs) and option.name in path_inputs(option.owner)
    )
    words = 'Literal["none"] | ' if option.name == "protect" else ""  # as on the command line
    return "Any" if is_data else words + accepted(option.hint)


def evaluated(hint: Any, function: Callable[..., Any]) -> Any:
    """A type that is written as a string, with names that the module imports for type checkers alone."""
    if not isinstance(hint, str):
        return hint
    public = {name: getattr(qkv, name) for name in qkv.__all__}
    return eval(hint, inspect.unwrap(function).__globals__, public)


def accepted(hint: Any) -> str:
    """The types that `qkv.signatures.converted` accepts for a field of this type, as source code."""
    hint, _ = unwrap(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Path:
        return "str | Path"
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(json.dumps, arguments))}]"
    if origin in (typing.Union, types.UnionType):
        return united(arguments)
    if origin is tuple:  # a list or an iterator too, and a single value for a tuple of any length
        inner = united(each for each in arguments if each is not Ellipsis)
        single = "" if Ellipsis not in arguments or inner == "str" else f"{inner} | "
        return f"{single}Iterable[{inner}]"
    if origin is collections.abc.Callable:
        return f"Callable[[{', '.join(map(accepted, arguments[0]))}], {accepted(arguments[1])}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(accepted, arguments))}]"
    return "None" if hint in (None, types.NoneType) else str(hint.__name__)


def united(hints: Iterable[Any]) -> str:
    """One type for several, each named once."""
    several = dict.fromkeys(part for each in hints for part in accepted(each).split(" | "))
    return " | ".join(several)


def content() -> str:
    blocks = [
        "\n".join(
            [f"class {name}(TypedDict, total=False):", *(f"    {key}: {kind}" for key, kind in kinds.items())]
        )
        for name, kinds in typed_dicts().items()
    ]
    source = "\n\n\n".join([HEADER, *blocks]) + "\n"
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(FILE), "-"]
    formatted = subprocess.run(
        command, input=source, capture_output=True, text=True, check=True, cwd=FILE.parent
    )
    return formatted.stdout


def main() -> None:
    FILE.write_text(content(), encoding="utf-8")


if __name__ == "__main__":
    main()
