"""How the engine is compiled: its sources, the instruction-set levels, and the commands.

Two callers: `library.py` compiles for the processor at hand, with the user's compiler; `tools/dist.py` compiles all levels of
a processor family for a wheel, with a cross-compiler. This module imports only the standard library, so that a build tool
can load it without the package.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
KERNEL, DISPATCH = "kernel.cpp", "dispatch.cpp"
OPTIONS = (
    "-std=c++17",
    "-O3",
    "-ffp-contract=fast",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    "-Wno-psabi",
)
BASELINE, NATIVE = "baseline", "native"

AVX2 = ("-mavx2", "-mfma")
AVX512 = (*AVX2, "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mprefer-vector-width=256")
LEVELS: dict[
    str, dict[str, tuple[str, ...]]
] = {  # of a processor family, from the lowest: name and compiler flags
    "x86_64": {
        BASELINE: (),
        "avx2": AVX2,
        "avxvnni": (*AVX2, "-mavxvnni"),
        "avx512": AVX512,
        "avx512vnni": (*AVX512, "-mavx512vnni"),
    },
    "aarch64": {BASELINE: (), "dotprod": ("-mcpu=generic+dotprod",)},
}
SUFFIXES = {"linux": "so", "darwin": "dylib", "windows": "dll"}
FAMILIES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


class CompileError(Exception):
    """The compiler failed; the message is its first error."""


@dataclass(frozen=True)
class Platform:
    """A system (`linux`, `darwin`, `windows`) and a processor family."""

    system: str
    family: str

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        return LEVELS.get(self.family, {BASELINE: ()})

    def library_name(self, key: str, content: str) -> str:
        """The file name contains everything that must fit: the platform, the code, and the hash of the file's content."""
        return f"engine-{self.system}-{self.family}-{key}-{content}.{SUFFIXES.get(self.system, 'so')}"


def this_platform() -> Platform:
    system, machine = system_and_machine()
    return Platform(system.lower(), FAMILIES.get(machine.lower(), machine.lower()))


def system_and_machine() -> tuple[str, str]:
    if hasattr(os, "uname"):  # the same as `platform`, which takes longer to import than this takes to answer
        return os.uname().sysname, os.uname().machine
    import platform

    return platform.system(), platform.machine()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def source_key() -> str:
    """A hash of the engine's code and of how it is compiled."""
    paths = sorted((*SOURCES.glob("*.h"), *SOURCES.glob("*.cpp")))
    code = b"".join(path.name.encode() + b"\0" + path.read_bytes() for path in paths)
    return digest(code + repr((OPTIONS, LEVELS)).encode())


def intact(folder: Path, place: Platform, key: str) -> Iterator[tuple[Path, bool]]:
    """The libraries in a folder with this key, and whether each has the content that its name promises.

    A damaged library must not be loaded: the system would end the process.
    """
    for path in sorted(folder.glob(place.library_name(key, "*"))):
        yield path, path.stem.endswith(f"-{digest(path.read_bytes())}")


def compile_library(
    compiler: Sequence[str], levels: dict[str, tuple[str, ...]], folder: Path, place: Platform, jobs: int = 1
) -> Path:
    """Compile the engine with these levels in a folder. Raises CompileError."""
    chosen = "".join(f"LEVEL({name})" for name in levels)
    units = [(DISPATCH, [f"-DQKV_LEVELS={chosen}"], folder / "dispatch.o")]
    for name, flags in levels.items():
        units.append((KERNEL, [*flags, f"-DQKV_LEVEL={name}"], folder / f"{name}.o"))

    def compile_unit(unit: tuple[str, list[str], Path]) -> None:
        source, flags, made = unit
        run([*compiler, *OPTIONS, *flags, "-c", str(SOURCES / source), "-o", str(made)])

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(compile_unit, units))
    made = folder / f"engine.{SUFFIXES.get(place.system, 'so')}"
    # From the lowest level to the highest: see dispatch.cpp.
    objects = [str(unit[2]) for unit in units]
    run([*compiler, "-shared", "-pthread", *only_ours(folder, place), *objects, "-o", str(made)])
    return made


def only_ours(folder: Path, place: Platform) -> list[str]:
    """Linker options that export the functions for Python alone.

    Otherwise functions of the standard library would be shared with other libraries in the process.
    """
    if place.system == "linux":
        script = folder / "exports.map"
        script.write_text("{ global: qkv_*; local: *; };\n", encoding="utf-8")
        return [f"-Wl,--version-script={script}"]
    return []


def run(command: Sequence[str]) -> None:
    import subprocess  # only to compile, and slow to import

    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise CompileError(first_error(result.stderr))


def first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if "error" in line] or output.splitlines()
    return lines[0] if lines else "it gave no reason"
