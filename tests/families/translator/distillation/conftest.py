"""The folder that tests of distillation work in."""

from pathlib import Path

import pytest
from training_commands import NUMBERS


@pytest.fixture
def models(distillation_models: Path) -> Path:
    return distillation_models


@pytest.fixture
def data(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a test, with links to the models, pairs.tsv, text.txt and target.txt."""
    for name in ("one", "two", "other", "reverse"):
        (tmp_path / name).symlink_to(models / name)
    lines = (models / "pairs.tsv").read_text().splitlines()
    (tmp_path / "pairs.tsv").write_text("".join(f"{line}\n" for line in lines[:60]))
    (tmp_path / "valid.tsv").write_text("".join(f"{line}\n" for line in lines[-30:]))
    pairs = [f"{a} {b}" for a in NUMBERS for b in NUMBERS]
    (tmp_path / "text.txt").write_text("\n".join([*pairs, "", pairs[0]]) + "\n")
    (tmp_path / "target.txt").write_text("\n".join(f"{each} one" for each in pairs[:9]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
