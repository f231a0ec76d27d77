"""docs/bert.md shows every command of a BERT. tests/test_docs_flags.py checks its flags."""

import re
import shlex
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "bert.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"```\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("qkv ")
]


def test_the_page_shows_every_command_of_a_bert() -> None:
    words = [shlex.split(line)[1:] for line in LINES]
    shown = {" ".join(each[:2]) if each[0] == "train" else each[0] for each in words}
    assert shown == {"train bert", "fill", "embed", "similar", "import", "info", "classify", "evaluate"}
