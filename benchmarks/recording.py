"""What recording costs: nothing when it is off.

The same forward pass three times, in turns: the model without a tape; the same model from the same sources out of which
every mention of a tape was cut, with the same weights; and the model with a tape. The first two must take the same time, and
all three give the same numbers.

    python benchmarks/recording.py [--seconds 12] [--threads 1]

It takes less than a minute, says on its last line what it found, and ends with 1 where recording costs something while off.
"""

import argparse
import ast
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

CUT = [
    "qkv.core.attention",
    "qkv.core.block",
    "qkv.core.pairs",
    "qkv.families.translator.model",
]  # in the order in which they import each other
NOISE = 1.03  # a ratio that two runs of the same code have now and then
SIZES = {"demo": (2, 128, 4, 256), "base": (6, 512, 8, 2048)}  # depth, width, heads, hidden


def translator(size: str) -> Translator:
    depth, width, heads, hidden = SIZES[size]
    stack = StackConfig(
        depth=depth, width=width, heads=heads, ffn_width=hidden, norm="pre", activation="relu", dropout=0.0
    )
    torch.manual_seed(1)
    config = TranslatorConfig(
        vocab_size=3_000,
        max_length=128,
        pad=0,
        start=1,
        end=2,
        positions="interleaved",
        encoder=stack,
        decoder=stack,
    )
    return Translator(config).eval()


class WithoutTape(ast.NodeTransformer):
    """The same code with no place for a tape: no parameter, no argument, no question whether there is one."""

    def visit_If(self, node: ast.If) -> Any:
        asked = ast.unparse(node.test)
        self.generic_visit(node)
        if asked == "tape is not None":
            return node.orelse
        return node.body if asked == "tape is None" else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        found = {"tape is None": True, "tape is not None": False}.get(ast.unparse(node))
        return node if found is None else ast.Constant(found)

    def visit_Assign(self, node: ast.Assign) -> Any:
        if ast.unparse(node.value).startswith("inside(tape"):
            return None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        node.args = [each for each in node.args if ast.unparse(each) != "tape"]
        node.keywords = [each for each in node.keywords if each.arg != "tape"]
        return node

    def visit_arguments(self, node: ast.arguments) -> Any:
        padded = [None] * (len(node.args) - len(node.defaults)) + list(node.defaults)
        kept = [
            (each, default) for each, default in zip(node.args, padded, strict=True) if each.arg != "tape"
        ]
        node.args, node.defaults = (
            [each for each, _ in kept],
            [default for _, default in kept if default is not None],
        )
        named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        only = [(each, default) for each, default in named if each.arg != "tape"]
        node.kwonlyargs, node.kw_defaults = [each for each, _ in only], [default for _, default in only]
        return node


def without_tape() -> ModuleType:
    """The module of the translator, made of sources without tapes."""
    for name in CUT:
        source = Path(str(importlib.import_module(name).__file__)).read_text(encoding="utf-8")
        for other in CUT:
            source = source.replace(f"from {other} import", f"from bare.{other} import")
        tree = ast.fix_missing_locations(WithoutTape().visit(ast.parse(source)))
        module = ModuleType(f"bare.{name}")
        sys.modules[f"bare.{name}"] = module
        exec(compile(tree, f"bare.{name}", "exec"), module.__dict__)
    return sys.modules["bare.qkv.families.translator.model"]


@torch.inference_mode()
def measured(size: str, batch: int, length: int, seconds: float) -> dict[str, float]:
    """The shortest milliseconds of each way, taken in turns: what other programs add is never negative."""
    model = translator(size)
    cut = without_tape().Translator(model.config).eval()
    cut.load_state_dict(model.state_dict())
    source, shifted = (torch.randint(3, 3_000, (batch, length)) for _ in range(2))
    ways: dict[str, Callable[[], Tensor]] = {
        "no tape": lambda: model(source, shifted),
        "no place for one": lambda: cut(source, shifted),
        "recording": lambda: model(source, shifted, Tape()),
    }
    answers = {name: way() for name, way in ways.items()}
    torch.testing.assert_close(answers["no tape"], answers["no place for one"], atol=0, rtol=0)
    torch.testing.assert_close(answers["no tape"], answers["recording"], atol=1e-5, rtol=1e-5)
    times: dict[str, list[float]] = {name: [] for name in ways}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["no tape"]) < 5:
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            times[name].append(1000 * (time.perf_counter() - began))
    return {name: min(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=12.0, help="for each row of the table")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("model  batch  length   no tape  no place for one  ratio  recording", flush=True)
    ratios = []
    for size, batch, length in [("demo", 1, 10), ("demo", 32, 20), ("base", 1, 20)]:
        found = measured(size, batch, length, options.seconds)
        off, none, on = found["no tape"], found["no place for one"], found["recording"]
        ratios.append(off / none)
        print(
            f"{size:<6} {batch:>5}  {length:>6}  {off:>7.2f}  {none:>16.2f}  {off / none:>5.3f}  {on:>9.2f}   ms",
            flush=True,
        )
    print(verdict(ratios))
    sys.exit(max(ratios) > NOISE)


def verdict(ratios: list[float]) -> str:
    found = (
        f"without a tape the model takes {min(ratios):.3f} to {max(ratios):.3f} times as long as with no place for one, "
        f"where {1 / NOISE:.2f} to {NOISE:.2f} is noise"
    )
    if max(ratios) > NOISE:
        return f"Recording costs something while it is off, or the machine was busy: {found}."
    return f"Recording costs nothing while it is off: {found}."


if __name__ == "__main__":
    main()
