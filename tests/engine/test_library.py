"""The compiled part is built once, whoever else builds it, and anew when its file is damaged."""

import os
import subprocess
import sys
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


def test_waiting_for_the_compiler_is_logged_once(
    empty_cache: Path, unloaded: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiling, "OPTIONS", QUICK_OPTIONS)
    caplog.set_level("INFO", logger="qkv")
    for _ in range(2):
        built.library()
    assert [record.getMessage() for record in caplog.records] == [
        "compiling the engine for this processor: once, for some seconds"
    ]
