"""A model of the hub is imported once, kept in the cache by name and revision, and opened from there."""

from pathlib import Path
from typing import Any

import pytest
from published import write_gpt2

import qkv
from qkv.engine.library import CACHE


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """The downloads that were made: each gives a published model in a folder."""
    write_gpt2(tmp_path / "published")
    made: list[tuple[str, str | None]] = []

    def download(name: str, *, revision: str | None = None, **_: Any) -> Path:
        made.append((name, revision))
        return tmp_path / "published"

    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr("qkv.hub.download.folder_of", download)
    monkeypatch.chdir(tmp_path)
    return made


def test_a_name_of_the_hub_is_imported_once(downloads: list[tuple[str, str | None]]) -> None:
    first = qkv.LanguageModel.load("someone/tiny", threads=1)
    again = qkv.load("someone/tiny")
    assert downloads == [("someone/tiny", None)]
    assert first.generate("one", max_new_tokens=3) == again.generate("one", max_new_tokens=3)
    assert qkv.load("someone/tiny", revision="v2").info() == first.info()
    assert downloads == [("someone/tiny", None), ("someone/tiny", "v2")]
    assert first.report["imported"]["from"] == "someone/tiny"
    with pytest.raises(qkv.ModelError, match=r"someone/tiny holds a LanguageModel, not a Bert\."):
        qkv.Bert.load("someone/tiny")


def test_a_revision_never_leads_out_of_the_cache(
    downloads: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    for revision in ("../../../outside", "refs/pr/1"):
        qkv.load("someone/tiny", revision=revision)
    assert not (tmp_path / "outside").exists()
    kept = sorted(each.name for each in (tmp_path / "cache" / "models").iterdir())
    assert kept == ["someone--tiny@..%2F..%2F..%2Foutside", "someone--tiny@refs%2Fpr%2F1"]


def test_a_folder_is_never_looked_for_on_the_hub(
    downloads: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("runs/mistyped", "./someone/tiny", "mistyped", "/some/where"):
        with pytest.raises(qkv.ModelError):
            qkv.load(name)
    assert downloads == []


def test_without_torch_the_missing_extra_is_named(
    downloads: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.api.loading.has_torch", lambda: False)
    with pytest.raises(qkv.MissingExtraError, match="its extra `train`") as caught:
        qkv.load("someone/tiny")
    assert caught.value.extra == "train"
    assert downloads == []


def test_without_the_hub_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(qkv.MissingExtraError, match="huggingface_hub, which is not installed"):
        qkv.load("someone/tiny")
