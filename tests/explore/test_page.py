"""The page's files: small, of our own making, in three languages that say the same, and safe by construction."""

import json
import re
from importlib import resources
from pathlib import Path

import pytest

PAGE = Path(str(resources.files("qkv.explorer").joinpath("page")))
MODULES = sorted(path.name for path in PAGE.glob("*.js"))
LANGUAGES = ["en", "es", "ko"]
SIDES = ["encoder", "decoder", "stack", "cross"]


def code() -> str:
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in MODULES)


def words(language: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((PAGE / f"{language}.json").read_text(encoding="utf-8"))
    return found


def test_all_of_it_is_under_200_kilobytes() -> None:
    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 200_000


def test_nothing_in_it_names_another_machine() -> None:
    for path in PAGE.iterdir():
        for address in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", path.read_text(encoding="utf-8")):
            assert address.startswith("http://www.w3.org/"), (
                path.name,
                address,
            )  # names, which nobody fetches


@pytest.mark.parametrize(
    "forbidden", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"]
)
def test_text_never_becomes_html(forbidden: str) -> None:
    assert forbidden not in code()


def test_there_is_no_script_or_style_in_the_html() -> None:
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<script[^>]*>[^<]|<style|\son\w+=|\sstyle=", html)


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_all_languages_have_the_same_keys(language: str) -> None:
    english, other = words("en"), words(language)
    assert english.keys() == other.keys()
    for key, text in english.items():
        assert sorted(re.findall(r"\{\d\}", text)) == sorted(re.findall(r"\{\d\}", other[key])), key
        assert other[key].strip()


def test_the_page_uses_every_text_and_no_missing_one() -> None:
    source = code() + (PAGE / "index.html").read_text(encoding="utf-8")
    asked = set(re.findall(r'\bt\("([^"]+)"', source)) | set(
        re.findall(r'data-t(?:-label)?="([^"]+)"', source)
    )
    choices = re.findall(r'\? "([^"]+)" : "([^"]+)"\)', source)
    asked |= {each for pair in choices for each in pair} & set(words("en"))
    stations = [*re.findall(r'key: "([a-z_]+)"', source), "feed_forward", "decoder_feed_forward"]
    for prefix in re.findall(r"\bt\(`([\w ]+)\$\{", source):
        asked |= {key for key in words("en") if key.startswith(prefix)}
    for key in stations:
        asked |= {f"station {key}", f"purpose {key}"}
    assert asked == set(words("en"))
    assert len(set(stations)) == 21
    assert {f"side {side}" for side in SIDES} <= asked
