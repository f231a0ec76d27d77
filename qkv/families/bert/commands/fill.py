"""`qkv fill`: predict the words that [MASK] stands for."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.families.bert.options import FillOptions
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running


@dataclass(frozen=True, kw_only=True)
class Fill:
    model: Positional[Path]
    """Folder of the model."""
    text: Positional[str]
    """A text with [MASK] for each masked word."""
    options: Annotated[FillOptions, Flag(name="")] = field(default_factory=FillOptions)
    json: bool = False
    """Print one JSON object per [MASK]."""
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        Fill,
        arguments,
        prog="qkv fill",
        description='Predict masked words: qkv fill M "the cat [MASK] on the mat". Each line is a word, a tab and its '
        "probability. If the text has several [MASK], each line starts with the number of its [MASK].",
    )
    use_threads(command.running.threads)
    from qkv.cli.texts import check_text
    from qkv.families.bert.product import Bert
    from qkv.families.loading import load_for
    from qkv.progress.terminal import warn

    check_text(command.text)
    model = load_for(command.model, "fill", Bert, command.running, warn)
    places = model.fill(command.text, command.options)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    for number, guesses in enumerate(places, 1):
        if command.json:
            words = {guess.word: guess.probability for guess in guesses}
            print(json.dumps({"place": number, "words": words}, ensure_ascii=False))
            continue
        for guess in guesses:
            before = f"{number}\t" if len(places) > 1 else ""
            print(f"{before}{guess.word}\t{guess.probability:.4f}")
