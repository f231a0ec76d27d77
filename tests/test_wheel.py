"""Wheels: tagged for a platform and for every Python 3, with a library inside that needs no compiler."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from digits import digit_lines

from qkv.engine.compiling import source_key, this_platform
from qkv.engine.library import LEVEL

ROOT = Path(__file__).parent.parent
BUILD = "import setuptools.build_meta as b, sys; print(b.build_wheel(sys.argv[1]))"
WHERE = "from qkv.engine.library import library; print(library()._name, library().qkv_used_level().decode())"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of everything that a wheel is made of."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(ROOT / "qkv", folder / "qkv", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def wheel_of(sources: Path, output: Path, **environment: str) -> Path:
    command = [sys.executable, "-c", BUILD, str(output)]
    made = subprocess.run(
        command, cwd=sources, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return output / made.stdout.splitlines()[-1]


def metadata(wheel: Path, name: str) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [path] = [each for each in archive.namelist() if each.endswith(f".dist-info/{name}")]
        return Parser().parsestr(archive.read(path).decode())


def test_a_wheel_with_a_library_is_for_one_platform_and_every_python(sources: Path, tmp_path: Path) -> None:
    library = sources / "qkv" / "engine" / "prebuilt" / "engine-linux-x86_64-key-hash.so"
    library.parent.mkdir()
    library.write_text("compiled")
    wheel = wheel_of(sources, tmp_path, QKV_WHEEL_PLATFORM="manylinux_2_17_x86_64")
    shutil.rmtree(library.parent)
    assert wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.whl")
    assert metadata(wheel, "WHEEL")["Root-Is-Purelib"] == "false"
    names = zipfile.ZipFile(wheel).namelist()
    assert "qkv/engine/prebuilt/engine-linux-x86_64-key-hash.so" in names
    assert {"qkv/engine/kernel.cpp", "qkv/engine/dispatch.cpp", "qkv/py.typed"} <= set(names)
    about = metadata(wheel, "METADATA")
    for field in (
        "Name",
        "Version",
        "Summary",
        "License-Expression",
        "Requires-Python",
        "Keywords",
        "Requires-Dist",
    ):
        assert about[field], field
    assert about["Description-Content-Type"] == "text/markdown"


def test_without_a_library_the_wheel_is_for_any_platform(sources: Path, tmp_path: Path) -> None:
    assert wheel_of(sources, tmp_path).name.endswith("-py3-none-any.whl")


@pytest.fixture(scope="module")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("ziglang", "auditwheel", "twine", "build"):
        if importlib.util.find_spec(name) is None:
            pytest.skip("`make dist` installs the tools that build wheels")
    output = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, ROOT / "tools" / "dist.py", "--output", output], check=True)
    [wheel] = output.glob("*.whl")
    return wheel


@pytest.mark.slow
def test_the_wheel_passes_the_checks_of_package_indexes(built_wheel: Path) -> None:
    every = [*built_wheel.parent.glob("*.whl"), *built_wheel.parent.glob("*.tar.gz")]
    assert len(every) == 2
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *every], check=True)
    if this_platform().system != "linux":
        return
    command = [sys.executable, "-m", "auditwheel", "show", built_wheel]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace("\n", " ")
    [minor] = re.findall(r'consistent with the\s+following platform tag: "manylinux_2_(\d+)_', shown)
    assert int(minor) <= 28


@pytest.mark.slow
@pytest.mark.parametrize("level", ["baseline", ""])
def test_without_a_compiler_the_library_of_the_wheel_translates(
    level: str, built_wheel: Path, model: Path, tmp_path: Path
) -> None:
    """The other packages are those of this environment, so this needs no network."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "site"]
    subprocess.run([*pip, built_wheel], check=True)
    environment = {
        "PYTHONPATH": str(tmp_path / "site"),
        "PATH": "",
        "QKV_CACHE": str(tmp_path / "cache"),
        LEVEL: level,
    }

    def run(*command: str | Path) -> str:
        return subprocess.run(
            [sys.executable, *command],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    name, used = run("-c", WHERE).split()
    assert Path(name).is_relative_to(tmp_path / "site")
    assert source_key() in name
    assert used == (level or used)
    (tmp_path / "input").write_text("\n".join(digit_lines(20)) + "\n")
    run("-m", "qkv", "translate", model, "--input", "input", "--output", "output")
    assert (tmp_path / "output").read_text().count("\n") == 20
    assert not (tmp_path / "cache").exists()


def python_of(version: str) -> Path:
    """The interpreter of this version on the PATH or among those of pyenv."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for path in (shutil.which(f"python{version}"), *pyenv):
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return Path(path)
    pytest.skip(f"no Python {version} here")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_runs_in_a_fresh_environment(version: str, built_wheel: Path, tmp_path: Path) -> None:
    """This downloads the dependencies."""
    subprocess.run([python_of(version), "-m", "venv", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    installed = subprocess.run(
        [binaries / "python", "-m", "pip", "install", "--quiet", built_wheel], capture_output=True, text=True
    )
    if installed.returncode:
        pytest.skip(f"the dependencies cannot be installed: {installed.stderr[-300:]}")
    environment = {"PATH": "", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [binaries / "python", "-c", WHERE], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.split()[0]).is_relative_to(tmp_path / "venv")
