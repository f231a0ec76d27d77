"""For mkdocstrings: functions have their options as keyword arguments, as when they are called.

qkv adds the fields of option classes to signatures and docstrings when it is imported (`qkv/signatures.py`). What is read from
the source files alone lacks them.
"""

import inspect
import re
from functools import reduce
from importlib import import_module
from typing import Any

from griffe import Docstring, Extension, Function, Object, Parameter, ParameterKind, Parameters

MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")  # qkv.text.glossary.Glossary is Glossary in an annotation


class RuntimeSignatures(Extension):
    def on_function(self, *, func: Function, **kwargs: Any) -> None:
        found = imported(func)
        if found is None:
            return
        text = inspect.getdoc(found)
        if text and func.docstring is not None:
            func.docstring = Docstring(with_example(text), parent=func)
        func.parameters = Parameters(*map(parameter_of, inspect.signature(found).parameters.values()))

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_example(obj.docstring.value)


def with_example(docstring: str) -> str:
    """The part "Example:" is code, as "Examples:" is."""
    return docstring.replace("\nExample:\n", "\nExamples:\n")


def imported(function: Function) -> Any:
    names = function.path.removeprefix(function.module.path).strip(".").split(".")
    try:
        found = reduce(getattr, names, import_module(function.module.path))
        return found if inspect.signature(found) else None
    except (ImportError, AttributeError, TypeError, ValueError):
        return None


def parameter_of(parameter: inspect.Parameter) -> Parameter:
    empty = inspect.Parameter.empty
    annotation = (
        None
        if parameter.annotation is empty
        else MODULE.sub("", inspect.formatannotation(parameter.annotation))
    )
    default = None if parameter.default is empty else short(parameter.default)
    return Parameter(
        parameter.name, annotation=annotation, kind=ParameterKind(parameter.kind.description), default=default
    )


def short(value: Any) -> str:
    """A default with many fields of its own is left out."""
    text = repr(value)
    return text if len(text) <= 40 else f"{type(value).__name__}(…)"
