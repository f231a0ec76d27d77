"""The engine is compiled once, also if several processes start it, and again if its file is damaged."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from qkv.engine import compiling
from qkv.engine import library as built
from qkv.engine.library import CACHE, COMPILER, NoEngineError, library

QUICK_OPTIONS = ("-std=c++17", "-O0", "-fPIC", "-pthread", "-Wno-psabi")
BUILD = """
from qkv.engine import compiling, library as built
compiling.OPTIONS = {options!r}
print(built.library()._name)
"""


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def builder() -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BUILD.format(options=QUICK_OPTIONS)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def test_two_processes_build_one_library_and_a_damaged_one_is_built_again(empty_cache: Path) -> None:
    both = [builder(), builder()]
    names = {process.communicate(timeout=300)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(names) == 1
    made = Path(names.pop())
    assert list(empty_cache.glob("*.so")) == [made]
    content = made.read_bytes()
    made.write_bytes(content[: len(content) // 2])
    again = builder()
    assert again.communicate(timeout=300)[0].strip() == str(made)
    assert made.read_bytes() == content


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built, "library", library.__wrapped__)  # as in a process that has none yet


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_the_error_names_a_missing_compiler(
    compiler: str, empty_cache: Path, unloaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COMPILER, compiler)
    with pytest.raises(NoEngineError, match="compile"):
        built.library()


def test_the_error_names_a_cache_that_cannot_be_written(
    unloaded: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE, str(tmp_path / "file" / "cache"))
    with pytest.raises(NoEngineError, match="cannot be stored"):
        built.library()


@pytest.fixture
def quick_build(unloaded: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a compiler that takes no time."""
    made = library()._name

    def copy(compiler: list[str], levels: object, folder: Path, place: object) -> Path:
        return Path(shutil.copy(made, folder / "engine.so"))

    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr(built, "compile_library", copy)
    return tmp_path / "cache"


def test_waiting_for_the_compiler_is_logged_once(quick_build: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="qkv")
    for _ in range(2):
        built.library()
    assert [record.getMessage() for record in caplog.records] == [
        "compiling the engine for this processor: once, for some seconds"
    ]


def test_a_library_in_a_read_only_cache_is_used(quick_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = built.library()._name

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for owner, name in (
        (built, "alone"),
        (Path, "mkdir"),
        (Path, "unlink"),
        (tempfile, "TemporaryDirectory"),
    ):
        monkeypatch.setattr(owner, name, read_only)
    assert built.library()._name == first


def test_a_full_disk_is_the_reason_for_no_engine(quick_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with pytest.raises(NoEngineError, match=r"cannot be stored in .*: No space left on device"):
        built.library()


def in_package(folder: Path, content: bytes, claimed: str) -> None:
    folder.mkdir()
    (folder / compiling.this_platform().library_name(compiling.source_key(), claimed)).write_bytes(content)


def test_a_damaged_library_in_the_package_is_replaced_with_one_warning(
    quick_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    in_package(tmp_path / "prebuilt", b"\x7fELF half a lib", "0123456789abcdef")
    monkeypatch.setattr(built, "PREBUILT", tmp_path / "prebuilt")
    assert Path(built.library()._name).parent == quick_build
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "is damaged: reinstall qkv" in warning


def test_a_library_of_the_package_that_does_not_load_is_replaced(
    quick_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"for another C library"
    in_package(tmp_path / "prebuilt", content, compiling.digest(content))
    monkeypatch.setattr(built, "PREBUILT", tmp_path / "prebuilt")
    assert Path(built.library()._name).parent == quick_build
