"""`qkv similar`: measure how similar two texts are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qkv.cli.inputs import OptionalFile
from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.errors import QkvError, name_inputs
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running

if TYPE_CHECKING:
    from qkv.families.bert.product import Bert


@dataclass(frozen=True, kw_only=True)
class Similar:
    model: Positional[Path]
    """Folder of the model."""
    text: Positional[tuple[str, ...]] = ()
    """Two texts."""
    pairs: OptionalFile = None
    """File of pairs of texts, separated by a tab: print one similarity per line."""
    labels: OptionalFile = None
    """File of pairs with human similarity ratings: print the correlation with the model, as one line of JSON."""
    columns: str = ""
    """Columns of --labels: text,second,label, by name or by number from 1. For STS-B: 6,7,5."""
    json: bool = False
    """Print one JSON object per pair."""
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        Similar,
        arguments,
        prog="qkv similar",
        description="Measure how similar two texts are: the cosine of their vectors, 1 for identical texts.",
    )
    given = [bool(command.text), command.pairs is not None, command.labels is not None]
    if sum(given) != 1:
        raise QkvError("give exactly one of two texts, --pairs and --labels.")
    if command.text and len(command.text) != 2:
        raise QkvError(f"give two texts to compare, not {len(command.text)}.")
    if command.columns and command.labels is None:
        raise QkvError("--columns needs --labels.")
    use_threads(command.running.threads)
    import json

    from qkv.cli.texts import check_text
    from qkv.families.bert.product import Bert
    from qkv.families.loading import load_for
    from qkv.progress.terminal import warn

    for text in command.text:
        check_text(text)
    model = load_for(command.model, "similar", Bert, command.running, warn)
    if command.labels is not None:
        print(json.dumps(correlation(model, command.labels, command.columns)))
        return
    if command.pairs is None:
        found = [model.similar(*command.text)]
    else:
        lines, firsts, seconds = read_text_pairs(command.pairs)
        with name_inputs(lambda number: f"{command.pairs}, line {lines[number]}"):
            found = cosines(model, firsts, seconds)
    for place, number in enumerate(found, 1):
        if command.json:
            print(json.dumps({"pair": place, "similarity": round(number, 6)}))
        else:
            print(f"{number:.6f}")


def read_text_pairs(path: Path) -> tuple[list[int], list[str], list[str]]:
    """Line numbers, first texts and second texts."""
    from qkv.data.lines import numbered_lines

    lines, firsts, seconds = [], [], []
    for number, line in numbered_lines(path):
        texts = line.split("\t")
        if len(texts) != 2:
            raise QkvError(f"{path}, line {number} is not a pair: it must hold two texts separated by a tab.")
        lines.append(number)
        firsts.append(texts[0])
        seconds.append(texts[1])
    return lines, firsts, seconds


def cosines(model: "Bert", firsts: Sequence[str], seconds: Sequence[str]) -> list[float]:
    """The cosine of each pair."""
    from qkv.progress.terminal import count_progress

    with count_progress("embedding", 2 * len(firsts)) as done:
        return model.similar(firsts, seconds, done=done)


def correlation(model: "Bert", path: Path, columns: str) -> dict[str, float | None]:
    from qkv.data.labels import read_labelled
    from qkv.evaluation.classification import pearson, round_or_none, spearman
    from qkv.progress.terminal import say

    examples = read_labelled(path, columns, say)
    if examples.seconds is None:
        raise QkvError(f"{path}: similarity needs two texts per row. Name the columns with --columns.")
    numbers = examples.numbers()
    lines = examples.lines
    with name_inputs(lambda number: f"{path}, line {lines[number]}"):
        found = cosines(model, examples.texts, examples.seconds)
    return {
        "pairs": len(examples),
        "pearson": round_or_none(pearson(found, numbers)),
        "spearman": round_or_none(spearman(found, numbers)),
    }
