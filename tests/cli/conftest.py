"""A model and files that the tests of several commands use."""

from pathlib import Path

import pytest
from commands import save_untrained
from digits import digit_lines


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "untrained"
    save_untrained(folder, digit_lines(50), beam=1, length_penalty=1.0)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with good files and bad ones."""
    lines = "\n".join(digit_lines(60)) + "\n"
    (tmp_path / "a.en").write_text(lines)
    (tmp_path / "a.xx").write_text(lines)
    (tmp_path / "shorter.xx").write_text("one\ntwo\n")
    (tmp_path / "empty.xx").write_text("")
    (tmp_path / "latin1.xx").write_bytes("Größe\n".encode("latin1"))
    return tmp_path
