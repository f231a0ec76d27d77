"""Settings survive JSON unchanged, and a wrong one is named."""

import json
from dataclasses import dataclass
from typing import Literal

import pytest

from qkv.configs import from_dict, to_dict, to_saved
from qkv.errors import QkvError
from qkv.families.translator.recipes import RECIPES
from qkv.families.translator.settings import TranslatorSettings


@dataclass(frozen=True, kw_only=True)
class Inner:
    width: int
    norm: Literal["pre", "post"] = "pre"

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError("the width must be at least 1")


@dataclass(frozen=True, kw_only=True)
class Outer:
    inner: Inner
    rate: float
    betas: tuple[float, float] = (0.9, 0.98)
    steps: int | None = None
    name: str = "run"
    quiet: bool = False


def built(**values: object) -> Outer:
    return from_dict(Outer, {"inner": {"width": 8}, "rate": 0.1, **values}, "config.json")


def test_missing_settings_have_their_defaults() -> None:
    assert built() == Outer(inner=Inner(width=8), rate=0.1)


def test_a_saved_config_leaves_out_what_has_its_default_so_that_older_versions_read_it() -> None:
    saved = to_saved(Outer(inner=Inner(width=8, norm="post"), rate=0.1, quiet=True))
    assert saved == {"inner": {"width": 8, "norm": "post"}, "rate": 0.1, "quiet": True}
    assert from_dict(Outer, saved, "config.json") == Outer(
        inner=Inner(width=8, norm="post"), rate=0.1, quiet=True
    )
    assert to_saved(built()) == {"inner": {"width": 8}, "rate": 0.1}


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_survives_the_round_trip_through_json(recipe: str) -> None:
    settings = RECIPES[recipe](10_000)
    stored = json.loads(json.dumps(to_dict(settings)))
    assert from_dict(TranslatorSettings, stored, "run.json") == settings


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"stepps": 3}, "config.json: Outer has no setting 'stepps'; did you mean steps?"),
        ({"zzz": 3}, "Outer has no setting 'zzz'; known settings: inner, rate, betas, steps, name, quiet."),
        ({"inner": {"width": 8, "nrom": "pre"}}, "config.json: inner: Inner has no setting 'nrom'; did you mean norm"),
        ({"inner": {}}, "config.json: inner: Inner lacks width."),
        ({"inner": 3}, "config.json: inner: expected an object with the settings of Inner."),
        ({"inner": {"width": 0}}, "config.json: inner: the width must be at least 1."),
        ({"inner": {"width": 8.0}}, "config.json: inner: width should be int, not 8.0."),
        ({"inner": {"width": True}}, "config.json: inner: width should be int, not True."),
        ({"inner": {"width": 8, "norm": "both"}}, "config.json: inner: norm should be pre, post, not 'both'."),
        ({"rate": "fast"}, "config.json: rate should be float, not 'fast'."),
        ({"rate": None}, "config.json: rate should be float, not None."),
        ({"rate": True}, "config.json: rate should be float, not True."),
        ({"betas": 0.9}, "config.json: betas should be a list, not 0.9."),
        ({"steps": "many"}, "config.json: steps should be int, not 'many'."),
        ({"name": 3}, "config.json: name should be str, not 3."),
        ({"quiet": 1}, "config.json: quiet should be bool, not 1."),
    ],
)  # fmt: skip
def test_the_error_about_a_wrong_setting_names_its_place(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(QkvError) as caught:
        built(**values)
    assert sentence in str(caught.value)


def test_every_missing_setting_is_named_at_once() -> None:
    with pytest.raises(QkvError, match=r"config\.json: Outer lacks inner, rate\."):
        from_dict(Outer, {}, "config.json")


@pytest.mark.parametrize("values", [None, [], "text", 3])
def test_only_an_object_is_accepted(values: object) -> None:
    with pytest.raises(QkvError, match="expected an object with the settings of Outer"):
        from_dict(Outer, values, "config.json")


def test_an_integer_is_accepted_as_a_float_and_null_as_an_optional() -> None:
    assert built(rate=1, steps=None) == Outer(inner=Inner(width=8), rate=1.0)
    assert built(steps=5).steps == 5


def test_lists_become_tuples_again() -> None:
    assert built(betas=[0.5, 0.6]).betas == (0.5, 0.6)
