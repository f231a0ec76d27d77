"""Arguments become the values of a command's dataclass."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest

from qkv.cli.options import read_options
from qkv.flags import Flag, Positional, Repeated


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 0.5
    betas: tuple[float, float] = (0.9, 0.98)


@dataclass(frozen=True, kw_only=True)
class Command:
    model: Positional[Path]
    texts: Positional[tuple[str, ...]] = ()
    inner: Annotated[Inner, Flag(name="")] = Inner()
    steps: int | None = 3
    norm: Literal["pre", "post"] = "pre"
    files: tuple[Path, ...] = ()
    avoid: Repeated[tuple[str, ...]] = ()
    loud: bool = False
    """Print more."""
    checks: bool = True
    """Check the files."""
    output: Annotated[str, Flag(aliases=["-o"])] = ""


def read(*arguments: str) -> Command:
    return read_options(Command, list(arguments), prog="test", description="")


def test_every_type_of_option_is_read() -> None:
    found = read(
        *("m", "--rate", "1e-3", "--betas", "0.1", "0.2", "--norm=post", "--files", "a", "b", "--avoid", "x"),
        *("--avoid=-y", "--loud", "--no-checks", "-o", "out", "--steps", "-4", "one", "two"),
    )
    assert found == Command(
        model=Path("m"),
        texts=("one", "two"),
        inner=Inner(rate=1e-3, betas=(0.1, 0.2)),
        steps=-4,
        norm="post",
        files=(Path("a"), Path("b")),
        avoid=("x", "-y"),
        loud=True,
        checks=False,
        output="out",
    )


def test_the_help_shows_both_flags_of_a_switch_that_is_on_by_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its text says what the switch does when it is on: `--no-checks  Check the files.` would read as its opposite."""
    with pytest.raises(SystemExit):
        read("--help-all")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "--checks / --no-checks Check the files. [default: on]" in lines
    assert "--loud Print more." in lines


def test_what_is_not_given_keeps_its_default() -> None:
    assert read("m") == Command(model=Path("m"))


@pytest.mark.parametrize(
    ("arguments", "steps", "texts"),
    [
        (("--steps", "1", "--steps", "2"), 2, ()),
        (("--steps", "None"), None, ()),
        (("--", "--loud", "-"), 3, ("--loud", "-")),
    ],
)
def test_the_last_value_counts_and_everything_after_two_dashes_is_text(
    arguments: tuple[str, ...], steps: int | None, texts: tuple[str, ...]
) -> None:
    found = read("m", *arguments)
    assert (found.steps, found.texts, found.loud) == (steps, texts, False)
