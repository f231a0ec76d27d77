"""The commands of docs/bert.md are there, with the options that the page gives them."""

import re
import shlex
from pathlib import Path

import pytest
from commands import code_of

from qkv.cli import find_command

PAGE = (Path(__file__).parents[1] / "docs" / "bert.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"```\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("qkv ")
]


def test_the_page_shows_every_command_of_a_bert() -> None:
    shown = {find_command(shlex.split(line)[1:])[0] for line in LINES}
    assert shown == {"train bert", "fill", "embed", "similar", "import", "info", "classify"}


@pytest.mark.parametrize("line", LINES)
def test_the_options_of_a_command_exist(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, rest = find_command(shlex.split(line)[1:])
    given = {word for word in rest if re.fullmatch(r"-{1,2}[a-z][a-z-]*", word)}
    which = ["--fine-tune"] if "--fine-tune" in given else []
    assert code_of(*name.split(), *which, "--help") == 0
    options = set(re.findall(r"(?<![\w-])-{1,2}[a-z][a-z-]*", capsys.readouterr().out))
    assert given <= options
