"""Results on standard output: with `--json` as JSON, and nothing else there."""

import json
import sys
from typing import Any


def print_json(document: Any) -> None:
    """One document, in lines that people can read too."""
    print_text(json.dumps(document, indent=2, ensure_ascii=False))


def print_json_line(document: Any) -> None:
    """One of several documents, a line each."""
    print_text(json.dumps(document, ensure_ascii=False))


def print_text(text: str) -> None:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    print(text, flush=True)


def printable(text: str) -> str:
    """A file may come from anywhere: its texts must not control the terminal."""
    return "".join(each if each.isprintable() else "·" for each in text)
