"""A model of the hub is imported once, kept in the cache by name and revision, and opened from there."""

import os
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
    for name in ("runs/mistyped", "./someone/tiny", "./mistyped", "/some/where", Path("tiny")):
        with pytest.raises(qkv.ModelError):
            qkv.load(name)
    assert downloads == []


def test_a_name_without_an_organization_is_looked_for_on_the_hub(
    downloads: list[tuple[str, str | None]],
) -> None:
    assert isinstance(qkv.load("tiny"), qkv.LanguageModel)
    assert downloads == [("tiny", None)]


def test_a_folder_in_hugging_face_format_is_imported_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_gpt2(tmp_path / "theirs")
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    first = qkv.LanguageModel.load(tmp_path / "theirs", threads=1)
    [cached] = (tmp_path / "cache" / "models").iterdir()
    made = (cached / "config.json").stat().st_mtime_ns
    again = qkv.load(str(tmp_path / "theirs"))
    assert (cached / "config.json").stat().st_mtime_ns == made
    assert first.generate("one", max_new_tokens=3) == again.generate("one", max_new_tokens=3)
    os.utime(tmp_path / "theirs" / "model.safetensors")
    qkv.load(tmp_path / "theirs")
    [other] = (tmp_path / "cache" / "models").iterdir()  # the old one is gone
    assert other != cached
    with pytest.raises(qkv.ModelError, match="holds a LanguageModel, not a Bert"):
        qkv.Bert.load(tmp_path / "theirs")


def test_an_unreachable_hub_is_the_same_error_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import errors

    def fail(*_: Any, **__: Any) -> None:
        raise errors.OfflineModeIsEnabled("offline")

    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    monkeypatch.chdir(tmp_path)
    for call in (lambda: qkv.load("gpt2"), lambda: qkv.import_model("gpt2", "out")):
        with pytest.raises(qkv.ModelError, match="the hub cannot be reached, and gpt2 is not in its cache"):
            call()


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
