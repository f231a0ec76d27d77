"""A tiny model of every class, saved once, in a folder that tests of the Python API work in."""

import shutil
from pathlib import Path

import pytest
from public_models import save_models


@pytest.fixture(scope="session")
def saved_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("public")
    save_models(folder)
    return folder


@pytest.fixture
def folder(saved_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with `runs/en-de` and the other models, and the working directory of the test."""
    shutil.copytree(saved_models, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
