"""The commands in docs/bert.md exist, with the options that the page uses."""

import re
import shlex
from pathlib import Path

import pytest
from commands import code_of

PAGE = (Path(__file__).parents[1] / "docs" / "bert.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"```\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("qkv ")
]


def split_command(line: str) -> tuple[list[str], list[str]]:
    """The words that name the command, and its arguments."""
    words = shlex.split(line)[1:]
    count = 2 if words[0] == "train" else 1
    return words[:count], words[count:]


def test_the_page_shows_every_command_of_a_bert() -> None:
    shown = {" ".join(split_command(line)[0]) for line in LINES}
    assert shown == {"train bert", "fill", "embed", "similar", "import", "info", "classify"}


@pytest.mark.parametrize("line", LINES)
def test_the_options_of_a_command_exist(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, arguments = split_command(line)
    given = {word for word in arguments if re.fullmatch(r"-{1,2}[a-z][a-z-]*", word)}
    which = ["--fine-tune"] if "--fine-tune" in given else []
    assert code_of(*command, *which, "--help-all") == 0
    options = set(re.findall(r"(?<![\w-])-{1,2}[a-z][a-z-]*", capsys.readouterr().out))
    assert given <= options
