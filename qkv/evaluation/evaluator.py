"""Evaluator: how models of one kind are evaluated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from qkv.evaluation.report import Report

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    options: type
    """A dataclass: the options of `qkv evaluate` for this kind, and the keyword arguments of `qkv.evaluate`."""
    evaluate: Callable[..., Report]
    """`evaluate(model, options, running, display, given)`. The model is a product, or the folder of one, which is then
    opened as `running` says. `given` are the keywords that the caller named, also those of `more`."""
    positional: tuple[str, ...] = ()
    """The names of the second and the third argument of `qkv.evaluate`, after the model: the data of this kind."""
    more: tuple[str, ...] = ()
    """Keywords of Python alone, such as the labels of a list of images."""
