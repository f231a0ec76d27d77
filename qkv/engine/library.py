"""The compiled library: built once per processor with the user's compiler and kept in the cache folder."""

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = tuple(
    f"{name}.h"
    for name in (
        "model",
        "vectors",
        "products",
        "attention",
        "threads",
        "worker",
        "texts",
        "session",
        "search",
        "int16",
    )
)
MAIN = "kernel.cpp"
LOG = logging.getLogger(__name__)
OPTIONS = ("-std=c++17", "-O3", "-shared", "-fPIC", "-pthread", "-Wno-psabi")
FOR_THIS_PROCESSOR = ("-march=native", "-mcpu=native", None)  # the first that the compiler accepts
COMPILER, CACHE = "CXX", "QKV_CACHE"  # environment variables


class NoEngineError(Exception):
    """The compiled library is unavailable; the message says why."""


# The structures of kernel.cpp ----------------------------------------------------------------------------------

Pointer = ctypes.c_void_p
Integer = ctypes.c_int32
Long = ctypes.c_int64


class LinearStruct(ctypes.Structure):
    _fields_ = (
        *((name, Pointer) for name in ("weight", "scale", "sum", "bias")),
        ("inputs", Integer),
        ("outputs", Integer),
    )


class NormStruct(ctypes.Structure):
    _fields_ = (("weight", Pointer), ("bias", Pointer))


class AttentionStruct(ctypes.Structure):
    _fields_ = (
        ("norm", NormStruct),
        ("project", LinearStruct),
        ("memory", LinearStruct),
        ("output", LinearStruct),
    )


class BlockStruct(ctypes.Structure):
    _fields_ = (
        ("own", AttentionStruct),
        ("cross", AttentionStruct),
        ("norm", NormStruct),
        ("expand", LinearStruct),
        ("contract", LinearStruct),
    )


class StackStruct(ctypes.Structure):
    _fields_ = (
        ("blocks", ctypes.POINTER(BlockStruct)),
        ("last", NormStruct),
        ("positions", Pointer),
        ("rotation", Pointer),
        *(
            (name, Integer)
            for name in ("depth", "width", "heads", "head", "turned", "pre", "activation", "cross")
        ),
        ("epsilon", ctypes.c_float),
    )


class ModelStruct(ctypes.Structure):
    _fields_ = (
        ("encoder", StackStruct),
        ("decoder", StackStruct),
        ("tokens", Pointer),
        ("segments", Pointer),
        ("first", NormStruct),
        ("output", LinearStruct),
        ("vocab", Integer),
        ("rounded", Integer),
        ("token_scale", ctypes.c_float),
    )


class WishStruct(ctypes.Structure):
    _fields_ = (
        ("limits", Pointer),
        ("penalty", Pointer),
        *((name, Integer) for name in ("start", "end", "least", "never", "width", "best", "patience")),
    )


def declared(library: ctypes.CDLL) -> ctypes.CDLL:
    signatures: dict[str, tuple[list[Any], Any]] = {
        "qkv_begin": ([ctypes.POINTER(ModelStruct), Pointer, Pointer, Integer, Integer, Integer], Pointer),
        "qkv_end": ([Pointer], None),
        "qkv_step": ([Pointer, Pointer, Integer, Pointer], None),
        "qkv_select": ([Pointer, Pointer, Integer], None),
        "qkv_looked": ([Pointer], ctypes.POINTER(ctypes.c_float)),
        "qkv_encode": ([ctypes.POINTER(ModelStruct), *[Pointer] * 3, *[Integer] * 3, Pointer], None),
        "qkv_has_int16": ([], Integer),
        "qkv_multiply_int16": (
            [Pointer, Long, Integer, Pointer, Long, Integer, Pointer, Long, Long, Long, Long, Integer],
            None,
        ),
        "qkv_search": ([Pointer, ctypes.POINTER(WishStruct), Integer, *[Pointer] * 5], None),
    }
    for name, (arguments, result) in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    return library


# Building it -----------------------------------------------------------------------------------------------------


@cache
def library() -> ctypes.CDLL:
    """The library, loaded once per process, and built if the cache has no intact copy."""
    key = library_key()
    try:
        folder = cache_folder()
    except RuntimeError:  # the user has no home, as in some containers
        raise NoEngineError(f"there is no home folder for the compiled library: set {CACHE}") from None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(folder.glob(f"engine-{key}-*.so")) and compiler():
            LOG.info("compiling the engine for this processor: once, for some seconds")
        with alone(folder / f"engine-{key}.lock"):
            return declared(ctypes.CDLL(str(whole(folder, key) or build(folder, key))))
    except OSError as error:
        raise NoEngineError(
            f"the compiled library cannot be stored in {folder}: {error.strerror or error}"
        ) from None


def whole(folder: Path, key: str) -> Path | None:
    """A library from an earlier build, if it is intact: its name ends with the hash of its content."""
    for path in sorted(folder.glob(f"engine-{key}-*.so")):
        if path.stem.endswith(f"-{digest(path.read_bytes())}"):
            return path
        path.unlink(missing_ok=True)
    return None


def build(folder: Path, key: str) -> Path:
    source = Path(__file__).parent / MAIN
    with tempfile.TemporaryDirectory(prefix=".engine-", dir=folder) as temporary:
        made = Path(temporary) / "engine.so"
        for tuned in FOR_THIS_PROCESSOR:
            options = [*OPTIONS, *([] if tuned is None else [tuned])]
            command = [compiler(), *options, str(source), "-o", str(made)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode == 0 and made.exists():
                final = folder / f"engine-{key}-{digest(made.read_bytes())}.so"
                made.replace(final)
                return final
    raise NoEngineError(f"{compiler()} could not compile it: {first_error(result.stderr)}")


def first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if "error" in line] or output.splitlines()
    return lines[0] if lines else "it gave no reason"


def compiler() -> str:
    asked = os.environ.get(COMPILER)
    for name in (asked,) if asked else ("c++", "g++", "clang++"):
        if (found := shutil.which(name)) is not None:
            return found
    raise NoEngineError(f"there is no C++ compiler{f' {asked}' if asked else ''}")


def library_key() -> str:
    """A hash of everything that a library depends on: the code, the compiler flags and the processor."""
    code = b"".join((Path(__file__).parent / name).read_bytes() for name in (*SOURCES, MAIN))
    return digest(code + repr((OPTIONS, FOR_THIS_PROCESSOR, os.environ.get(COMPILER), processor())).encode())


def processor() -> str:
    """The processor and its features, if the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
        told = [line for line in lines if line.split(":")[0].strip() in ("model name", "flags", "Features")]
    except OSError:
        told = [platform.processor()]
    return repr((platform.system(), platform.machine(), told))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def cache_folder() -> Path:
    if asked := os.environ.get(CACHE):
        return Path(asked)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qkv"


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """A lock: one process builds, the others wait and then use the result."""
    try:
        import fcntl
    except ImportError as error:  # not on Windows
        raise NoEngineError("it supports only Linux and macOS") from error
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
