"""Build an sdist and wheels that contain the compiled engine, and the wheel of the starter model.

    python tools/dist.py          # the wheel of this platform
    python tools/dist.py --all    # also the wheels of all other platforms, cross-compiled

The compiler is zig's: it links its own C++ library statically, and libc of a chosen age, so that one wheel runs on all
Linux distributions of the last decade. Needs the extra `dist`.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
STARTER = ROOT / "starter"
ZIG = (sys.executable, "-m", "ziglang", "c++")
PLATFORM = "QKV_WHEEL_PLATFORM"  # read by setup.py


@dataclass(frozen=True)
class Target:
    name: str
    """As zig calls it, with the oldest version of libc or of the system."""
    system: str
    family: str
    tag: str
    """As wheels call it."""


TARGETS = (
    Target("x86_64-linux-gnu.2.17", "linux", "x86_64", "manylinux_2_17_x86_64"),
    Target("aarch64-linux-gnu.2.17", "linux", "aarch64", "manylinux_2_17_aarch64"),
    Target("x86_64-macos.11.0", "darwin", "x86_64", "macosx_11_0_x86_64"),
    Target("aarch64-macos.11.0", "darwin", "aarch64", "macosx_11_0_arm64"),
    Target("x86_64-windows-gnu", "windows", "x86_64", "win_amd64"),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Build an sdist and wheels that contain the compiled engine."
    )
    parser.add_argument("--all", action="store_true", help="cross-compile the wheels of all platforms")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder for them")
    options = parser.parse_args()
    here = compiling(ROOT).this_platform()
    chosen = [
        each for each in TARGETS if options.all or (each.system, each.family) == (here.system, here.family)
    ]
    if not chosen:
        sys.exit(
            f"there is no target for {here.system} on {here.family}; --all builds the wheels of other platforms."
        )
    options.output.mkdir(parents=True, exist_ok=True)
    sdist = build_sdist(options.output)
    for target in chosen:
        print(f"building the wheel for {target.tag} …", flush=True)
        wheel = build_wheel(sdist, target, options.output)
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    if has_models(STARTER):
        wheel = build_data_wheel(STARTER, options.output)
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


def has_models(starter: Path) -> bool:
    """The package qkv-starter is nothing without its models, which starter/build.py puts there."""
    return any((starter / "qkv_starter").glob("*/model.safetensors"))


def build_data_wheel(project: Path, output: Path) -> Path:
    """From a copy, because setuptools writes into the folder."""
    with tempfile.TemporaryDirectory() as temporary:
        source, made = Path(temporary) / "source", Path(temporary) / "made"
        shutil.copytree(project, source)
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(made), str(source))
        [wheel] = made.iterdir()
        return Path(shutil.move(wheel, output / wheel.name))


def build_sdist(output: Path) -> Path:
    with tempfile.TemporaryDirectory() as made:
        run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", made, str(ROOT))
        [sdist] = Path(made).iterdir()
        return Path(shutil.move(sdist, output / sdist.name))


def build_wheel(sdist: Path, target: Target, output: Path) -> Path:
    """From the sdist, so that a file that is missing there is noticed."""
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(sdist) as archive:
            archive.extractall(temporary, filter="data")
        [source] = Path(temporary).iterdir()
        add_library(source, target)
        made = Path(temporary) / "made"
        command = [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(made),
            str(source),
        ]
        run(*command, **{PLATFORM: target.tag})
        [wheel] = made.iterdir()
        return Path(shutil.move(wheel, output / wheel.name))


def add_library(source: Path, target: Target) -> None:
    """Compile all levels of the engine and put the library where the package looks for it."""
    module = compiling(source)
    place = module.Platform(target.system, target.family)
    folder = source / "qkv" / "engine" / "prebuilt"
    folder.mkdir()
    with tempfile.TemporaryDirectory() as temporary:
        command = [*ZIG, "-target", target.name, "-s", "-Wno-unused-command-line-argument"]
        made = module.compile_library(command, place.levels, Path(temporary), place, jobs=os.cpu_count() or 1)
        content = module.digest(made.read_bytes())
        shutil.copy(made, folder / place.library_name(module.source_key(), content))


def compiling(root: Path) -> ModuleType:
    """qkv/engine/compiling.py of a source tree, without the package and what it imports."""
    path = root / "qkv" / "engine" / "compiling.py"
    spec = importlib.util.spec_from_file_location(f"compiling_{abs(hash(path))}", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    return module


def run(*command: str, **environment: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    main()
