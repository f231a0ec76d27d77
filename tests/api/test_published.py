"""Published translators by language pair, in commands and in Python. Nothing here uses a network."""

import json
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from commands import code_of

import qkv
from qkv.engine import NoEngineError
from qkv.engine.library import library
from qkv.published.listing import models_for
from qkv.published.store import Place


@pytest.fixture
def installed(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with models for zh-en and en-de, and no way to others."""
    with suppress(NoEngineError):
        library()  # not compiled again for the new cache
    monkeypatch.setenv("QKV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QKV_MODELS", str(tmp_path / "no-such-folder"))
    monkeypatch.chdir(tmp_path)
    for pair in (("zh", "en"), ("en", "de")):
        [listed] = models_for(pair, "argos")
        shutil.copytree(model, Place(listed=listed).bundle)
    return tmp_path


def test_a_pair_is_a_model(installed: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = qkv.load(model).translate("one two")
    for name in ("en-de", "eng-deu"):
        assert code_of("translate", name, "one two") == 0
        assert capsys.readouterr().out == f"{expected}\n"
        assert qkv.load(name).translate("one two") == expected
    assert code_of("info", "en-de") == 0
    assert code_of("get", "en-de", "--from", "argos") == 0
    [*_, last] = capsys.readouterr().out.splitlines()
    assert Path(last) == qkv.get("en-de")


def test_a_folder_comes_first(installed: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder may be called en-de. A name that is no pair of languages is a folder, as before."""
    (installed / "en-de").mkdir()
    assert code_of("translate", "en-de", "one") == 3
    assert "en-de is not a qkv model" in capsys.readouterr().err
    assert code_of("translate", "de-model", "one") == 3
    assert "there is no folder de-model" in capsys.readouterr().err


def test_a_pair_that_is_not_installed_goes_through_a_pivot(
    installed: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translator = qkv.load(model)
    assert code_of("translate", "zh-de", "--pivot", "en", "one two", "three") == 0
    twice = translator.translate(translator.translate(["one two", "three"]))
    assert capsys.readouterr().out.splitlines() == twice
    assert code_of("translate", "en-de", "--pivot", "fr", "one") == 0  # it is installed
    assert capsys.readouterr().out == f"{translator.translate('one')}\n"
    assert code_of("translate", "zh-de", "--pivot", "en", "one", "--json") == 2
    assert "--pivot translates texts and lines to text" in capsys.readouterr().err
    assert code_of("translate", "zh-xh", "one") == 3
    assert "Two models can be combined through a third language" in capsys.readouterr().err


def test_what_is_published_can_be_filtered(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {each.pair for each in qkv.models(publisher="argos", installed=True)} == {"zh-en", "en-de"}
    assert code_of("models", "en-de", "--from", "firefox", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found] == ["base-memory/ende", "tiny/ende"]
    assert found[1]["scores"] == {"flores": {"bleu": 38.8}}
    assert found[1]["size"] == 15_292_412
    assert found[1]["verified"]
    assert "mozilla/firefox-translations-models at e7957fc4" in found[1]["listed_in"]
    assert [each.publisher for each in qkv.models("zh_Hans-en")] == ["firefox"]
    assert all("pt" in each.pair.split("-") for each in qkv.models(language="por", publisher="argos"))
    assert code_of("models", "en-fr", "--from", "argos") == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "en-fr",
        "argos",
        "translate-en_fr-1_9",
        "unknown",
        "unverified",
    ]
    assert code_of("models", "english") == 2
    assert "'english' is not a language pair" in capsys.readouterr().err


def test_the_starter_package_is_found(
    installed: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It gives way to a model that the user has installed."""
    for pair in ("de-en", "en-de"):
        shutil.copytree(model, installed / "site" / "qkv_starter" / pair)
    monkeypatch.setattr(sys, "path", [str(installed / "site"), *sys.path])
    assert qkv.get("de-en") == installed / "site" / "qkv_starter" / "de-en"
    assert "cache" in qkv.get("en-de").parts
    assert code_of("translate", "de-en", "one") == 0
    assert capsys.readouterr().out == f"{qkv.load(model).translate('one')}\n"
    assert [each.pair for each in qkv.models(installed=True) if each.publisher == "qkv-starter"] == [
        "de-en",
        "en-de",
    ]


def test_without_a_network_the_error_says_what_to_copy(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        qkv.ModelError, match=r"no-such-folder/argos/translate-en_fr-1_9\.argosmodel, and QKV_MODELS"
    ):
        qkv.get("en-fr", publisher="argos")
    assert code_of("translate", "en-xx", "one") == 3
    assert "there is no folder en-xx" in capsys.readouterr().err
