"""Keyword arguments that come from dataclasses."""

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

import qkv
from qkv.errors import OptionError, check_rules
from qkv.flags import Flag
from qkv.signatures import replace_options, with_options


@dataclass(frozen=True, kw_only=True)
class Inner:
    width: int = 3
    """How wide."""
    height: int = 2

    def __post_init__(self) -> None:
        check_rules([("width, height", "must differ", self.width != self.height)])


@dataclass(frozen=True, kw_only=True)
class Outer:
    output: Annotated[str, Flag(aliases=["-o", "--out"])]
    """Where to."""
    inner: Annotated[Inner, Flag(name="")] = field(default_factory=Inner)


@dataclass(frozen=True, kw_only=True)
class Typed:
    width: int = 1
    output: Path | None = None
    files: tuple[Path, ...] = ()
    ways: tuple[Literal["up", "down"], ...] = ()


DEFAULT = Outer(output="here", inner=Inner(width=7))


@with_options(Outer, aliases={"breadth": "width"})
def draw(text: str, *, loud: bool = False, **keywords: Any) -> tuple[str, bool, Outer]:
    """Draw something.

    Args:
        text: What to draw.

    Returns:
        A drawing.
    """
    return text, loud, replace_options(DEFAULT, keywords)


def test_the_signature_has_every_field_with_its_default() -> None:
    assert (
        str(inspect.signature(draw))
        == "(text: str, *, loud: bool = False, output: str, width: int = 3, height: int = 2) -> tuple[str, bool, "
        f"{Outer.__module__}.Outer]"
    )


def test_an_instance_gives_the_defaults() -> None:
    @with_options(DEFAULT, without=["height"])
    def other(**keywords: Any) -> None: ...

    assert str(inspect.signature(other)) == "(*, output: str = 'here', width: int = 7) -> None"


def test_the_docstring_describes_the_options_after_the_arguments() -> None:
    assert draw.__doc__ == (
        "Draw something.\n\nArgs:\n    text: What to draw.\n    output: Where to.\n    width: How wide. `breadth` is another name for it.\n\n"
        "Returns:\n    A drawing."
    )


def test_options_and_aliases_reach_nested_fields() -> None:
    wanted = Outer(output="there", inner=Inner(width=2, height=3))
    # Both at once: 2 and 2 in between would be an error.
    assert draw("a", out="there", breadth=2, height=3, loud=True) == ("a", True, wanted)
    assert draw("a")[2] is DEFAULT


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"widht": 1}, r"draw\(\) has no option 'widht'\. Did you mean 'width'\?"),
        ({"xyz": 1}, r"draw\(\) has no option 'xyz'\. It accepts breadth, height, loud, out, output, text, width\."),
        ({"out": "a", "output": "b"}, r"draw\(\) got out and output, which are the same option\."),
    ],
)  # fmt: skip
def test_a_wrong_name_is_a_type_error_with_a_hint(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        draw("a", **keywords)


def test_a_wrong_value_is_an_option_error_and_a_value_error() -> None:
    with pytest.raises(OptionError, match=r"^width, height must differ\.$") as caught:
        draw("a", width=2)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"width": "wide"}, "width must be a whole number, not str."),
        ({"width": True}, "width must be a whole number, not bool."),
        ({"width": None}, "width must be a whole number, not None."),
        ({"ways": "sideways"}, "ways must be one of up, down, not 'sideways'."),
        ({"output": 3}, "output must be a path, not int."),
    ],
)
def test_a_value_of_another_type_is_an_option_error(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        replace_options(Typed(), keywords)
    assert str(caught.value) == message


def test_values_become_what_the_field_is() -> None:
    given = {"width": np.int64(4), "output": "here", "files": ["a", Path("b")], "ways": "up"}
    typed = replace_options(Typed(), given)
    assert typed == Typed(width=4, output=Path("here"), files=(Path("a"), Path("b")), ways=("up",))
    assert type(typed.width) is int


def test_fine_tuning_shows_no_default_that_holds_for_one_family_only() -> None:
    parameters = inspect.signature(qkv.fine_tune).parameters
    assert repr(parameters["learning_rate"].default) == "<by family>"
    assert parameters["seed"].default == 1


def test_options_that_take_data_say_so() -> None:
    for function, name in ((qkv.Translator.translate, "glossary"), (qkv.evaluate, "pairs")):
        assert f"{name}: Any" in str(inspect.signature(function))
        [line] = [line for line in (function.__doc__ or "").split("\n") if line.startswith(f"    {name}:")]
        assert line.endswith("In Python also as data: a dictionary, a list, an iterator or a table.")
    options = qkv.TranslationOptions(glossary={"cat": "Kater"})  # type: ignore[arg-type]
    assert options.glossary.terms == (("cat", "Kater"),)
    assert "`valid` is another name for it." in (qkv.train_translator.__doc__ or "")
