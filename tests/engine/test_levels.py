"""The library of a wheel has a level for every kind of processor, and all of them give the same translations."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import code_of
from digits import digit_lines
from engine_levels import folder_of_all_levels

from qkv.engine import library as built
from qkv.engine.compiling import this_platform
from qkv.engine.library import LEVEL, library

LEVELS = """
import pathlib, sys
from qkv.engine import library as built
built.PREBUILT = pathlib.Path(sys.argv[1])
print(built.library().qkv_used_level().decode(), *built.levels_of(built.library()))
"""
WIDE = re.compile(r"%[yz]mm|\tv[a-z]+")  # registers and instructions beyond SSE


@pytest.fixture(scope="module")
def all_levels() -> Path:
    return folder_of_all_levels()


@pytest.fixture
def as_in_a_wheel(all_levels: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No compiler, and the library where a wheel has it."""
    monkeypatch.setattr(built, "PREBUILT", all_levels)
    monkeypatch.setenv("CXX", "no-such-compiler")
    library.cache_clear()
    yield
    library.cache_clear()


def supported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.delenv(LEVEL, raising=False)
    library.cache_clear()
    return built.levels_of(library())


@pytest.mark.parametrize("compute", ["float32", "int8"])
def test_every_level_gives_the_same_translations(
    compute: str, as_in_a_wheel: None, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_text("\n".join(digit_lines(40)) + "\n")
    found = {}
    for level in supported(monkeypatch):
        monkeypatch.setenv(LEVEL, level)
        library.cache_clear()
        output = tmp_path / level
        options = ["--compute-type", compute, "--beam-size", "3"]
        assert code_of("translate", model, "--input", source, "--output", output, *options) == 0
        assert library().qkv_used_level().decode() == level
        found[level] = output.read_text()
    assert "baseline" in found
    assert len(set(found.values())) == 1


def test_the_highest_supported_level_is_the_default(as_in_a_wheel: None, all_levels: Path) -> None:
    fresh = subprocess.run([sys.executable, "-c", LEVELS, all_levels], capture_output=True, text=True)
    used, *names = fresh.stdout.split()
    assert used == names[-1]
    assert names == [name for name in this_platform().levels if name in names]


def test_an_unknown_level_is_an_error_that_lists_the_levels(
    as_in_a_wheel: None, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LEVEL, "sse9")
    library.cache_clear()
    assert code_of("translate", model, "1 2") == 2
    assert "QKV_ENGINE_ISA: 'sse9' is not one of baseline" in capsys.readouterr().err


@pytest.mark.skipif(this_platform().family != "x86_64", reason="this is about x86-64")
def test_code_that_levels_share_runs_on_every_processor(all_levels: Path) -> None:
    """The linker keeps one copy of a function of the standard library that several levels use: the lowest."""
    objdump, nm = shutil.which("objdump"), shutil.which("nm")
    if objdump is None or nm is None:
        pytest.skip("no binutils")
    lowest = [all_levels / "dispatch.o", all_levels / "baseline.o"]
    text = subprocess.run([nm, *lowest], capture_output=True, text=True, check=True).stdout
    shared = set(re.findall(r" W (\S+)", text))
    assert shared
    [linked] = all_levels.glob("engine-*")
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", linked], capture_output=True, text=True)
    parts = re.split(r"\n[0-9a-f]+ <([^>]+)>:\n", listing.stdout)
    bodies = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert shared & bodies.keys()
    assert not [name for name in shared & bodies.keys() if WIDE.search(bodies[name])]
    assert any(WIDE.search(body) for body in bodies.values())


@pytest.mark.skipif(this_platform().family != "x86_64", reason="this is about x86-64")
def test_a_processor_without_avx_uses_the_baseline(all_levels: Path) -> None:
    """An emulated one. It finds the same ids as this processor."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("needs qemu-user")
    [linked] = all_levels.glob("engine-*")
    command = [sys.executable, Path(__file__).parent / "random_search.py", linked]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    old, own = (
        [json.loads(line) for line in subprocess.check_output(each, env=environment, text=True).splitlines()]
        for each in ([emulator, "-cpu", "Nehalem", *command], command)
    )
    assert {each["level"] for each in old} == {"baseline"}
    assert [each["ids"] for each in old] == [each["ids"] for each in own]
