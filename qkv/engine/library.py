"""The compiled library: the one in the package if it fits, or one built with the user's compiler and kept in a cache folder."""

import ctypes
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from qkv.engine.compiling import (
    LEVELS,
    NATIVE,
    CompileError,
    compile_library,
    digest,
    intact,
    source_key,
    system_and_machine,
    this_platform,
)
from qkv.errors import InputError

LOG = logging.getLogger(__name__)
FOR_THIS_PROCESSOR = ("-march=native", "-mcpu=native", None)  # the first that the compiler accepts
COMPILER, CACHE, LEVEL = "CXX", "QKV_CACHE", "QKV_ENGINE_ISA"  # environment variables
PREBUILT = Path(__file__).parent / "prebuilt"  # filled in wheels


class NoEngineError(Exception):
    """The compiled library is unavailable; the message says why."""


# The structures of kernel.cpp ----------------------------------------------------------------------------------

Pointer = ctypes.c_void_p
Integer = ctypes.c_int32
Long = ctypes.c_int64
Float = ctypes.c_float


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
        ("tokens", Pointer),
        ("last", NormStruct),
        ("positions", Pointer),
        ("rotation", Pointer),
        *(
            (name, Integer)
            for name in ("depth", "width", "heads", "head", "turned", "pre", "activation", "cross", "cell")
        ),
        ("epsilon", ctypes.c_float),
    )


class ModelStruct(ctypes.Structure):
    _fields_ = (
        ("encoder", StackStruct),
        ("decoder", StackStruct),
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
        *(
            (name, Integer)
            for name in ("start", "end", "least", "never", "width", "best", "patience", "no_repeat")
        ),
        ("automaton", Pointer),
        ("shortlist", Pointer),
        ("scored", Integer),
        ("automata", Pointer),
        ("states", Integer),
        ("own", Pointer),
        ("starts", Pointer),
    )


class TrainingAttentionStruct(ctypes.Structure):
    _fields_ = (
        *((name, Long) for name in ("sentences", "queries", "keys", "heads", "width")),
        *((name, Long) for name in ("q_stride", "k_stride", "v_stride", "mask_sentence", "mask_query")),
        ("rotation", Pointer),
    )


CHECKED = (  # functions that return a status
    *("step", "read", "select", "encode", "multiply_int16", "search", "watch", "attention_of"),
    *("output_loss", "orthogonalise", "attend", "attend_backward", "join", "draft"),
)


def declared(library: ctypes.CDLL) -> ctypes.CDLL:
    text = ctypes.c_char_p
    signatures: dict[str, tuple[list[Any], Any]] = {
        "qkv_level": ([Integer], text),
        "qkv_used_level": ([], text),
        "qkv_use_level": ([text], Integer),
        "qkv_begin": ([ctypes.POINTER(ModelStruct), Pointer, Pointer, Integer, Integer, Integer], Pointer),
        "qkv_end": ([Pointer], None),
        "qkv_step": ([Pointer, Pointer, Integer, Pointer], Integer),
        "qkv_read": ([Pointer, Pointer, Integer, Pointer, Pointer], Integer),
        "qkv_watch": ([Pointer, Pointer, Integer], Integer),
        "qkv_attention_of": ([Pointer, Integer, Integer, Pointer], Integer),
        "qkv_join": ([Pointer, Pointer], Integer),
        "qkv_draft": ([Pointer, Pointer], Integer),
        "qkv_select": ([Pointer, Pointer, Integer], Integer),
        "qkv_looked": ([Pointer], ctypes.POINTER(ctypes.c_float)),
        "qkv_encode": ([ctypes.POINTER(ModelStruct), *[Pointer] * 3, *[Integer] * 3, Pointer], Integer),
        "qkv_has_int16": ([], Integer),
        "qkv_multiply_int16": (
            [*[Pointer, Long, Integer] * 2, Pointer, *[Long] * 4, Integer, Pointer],
            Integer,
        ),
        "qkv_output_loss": ([*[Pointer] * 3, *[Long] * 3, Float, Float, *[Pointer] * 3], Integer),
        "qkv_orthogonalise": ([Pointer, *[Long] * 3, *[Float] * 3, Integer], Integer),
        "qkv_attend": ([ctypes.POINTER(TrainingAttentionStruct), *[Pointer] * 6], Integer),
        "qkv_attend_backward": ([ctypes.POINTER(TrainingAttentionStruct), *[Pointer] * 8], Integer),
        "qkv_add_dropped": ([*[Pointer] * 3, Integer, Float, Long, Pointer], None),
        "qkv_normalise_rows": ([*[Pointer] * 3, Float, Long, Integer, Pointer, Pointer], None),
        "qkv_normalise_rows_backward": ([*[Pointer] * 4, Long, Integer, *[Pointer] * 3], None),
        "qkv_open_shortlist": ([ctypes.POINTER(ModelStruct), *[Pointer] * 3, Integer], Pointer),
        "qkv_close_shortlist": ([Pointer], None),
        "qkv_search": ([Pointer, ctypes.POINTER(WishStruct), Integer, *[Pointer] * 5], Integer),
    }
    for name, (arguments, result) in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    for name in CHECKED:
        getattr(library, f"qkv_{name}").errcheck = check_status
    library.qkv_begin.errcheck = library.qkv_open_shortlist.errcheck = check_session
    return library


def check_status(status: int, function: Any, arguments: tuple[Any, ...]) -> None:
    """Raise the error that a compiled function reports (`Status` in functions.h)."""
    if status == 1:
        raise MemoryError("the engine could not allocate memory")
    if status:
        raise RuntimeError(f"the engine failed in {function.__name__}")


def check_session(session: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
    if session is None:
        raise MemoryError("the engine could not allocate memory")
    return session


# Finding it or building it ---------------------------------------------------------------------------------------


@cache
def library() -> ctypes.CDLL:
    """The library, loaded once per process. Raises NoEngineError if there is none and none can be built.

    The variable `QKV_ENGINE_ISA` forces an instruction-set level.
    """
    level = os.environ.get(LEVEL) or None
    return prebuilt(level) or compiled(level)


def prebuilt(level: str | None) -> ctypes.CDLL | None:
    """The library of this package, if it has one for this platform and this code."""
    for path, whole in intact(PREBUILT, this_platform(), source_key()):
        if not whole:
            LOG.warning(f"{path} is damaged: reinstall qkv. The engine is compiled here instead.")
            continue
        try:
            loaded = declared(ctypes.CDLL(str(path)))
        except (OSError, AttributeError) as error:  # made for another C library
            LOG.info(f"{path.name} does not fit this system: {error}")
            continue
        use_level(loaded, level)
        LOG.debug(f"engine: {path}")
        return loaded
    return None


def use_level(loaded: ctypes.CDLL, level: str | None) -> None:
    if level is not None and not loaded.qkv_use_level(level.encode()):
        raise InputError(f"{LEVEL}: '{level}' is not one of {', '.join(levels_of(loaded))}.")


def levels_of(loaded: ctypes.CDLL) -> list[str]:
    """The instruction-set levels that are in a library and supported by this processor, the lowest first."""
    names: list[str] = []
    while (name := loaded.qkv_level(len(names))) is not None:
        names.append(name.decode())
    return names


def compiled(level: str | None) -> ctypes.CDLL:
    """A library for this processor alone, from the cache or built now."""
    known = LEVELS.get(this_platform().family, {})
    if level is not None and level not in known:
        raise InputError(f"{LEVEL}: '{level}' is not one of {', '.join(known)}.")
    try:
        folder = cache_folder()
    except RuntimeError:  # the user has no home, as in some containers
        raise NoEngineError(f"there is no home folder for the compiled library: set {CACHE}") from None
    try:
        path = kept(folder) or build(folder)
        loaded = declared(ctypes.CDLL(str(path)))
    except OSError as error:
        raise NoEngineError(
            f"the compiled library cannot be stored in {folder}: {error.strerror or error}"
        ) from None
    use_level(loaded, level)
    LOG.debug(f"engine: {path}")
    return loaded


def kept(folder: Path) -> Path | None:
    """An intact library from an earlier build. The folder may be read-only."""
    for path, whole in intact(folder, this_platform(), library_key()):
        if whole:
            return path
        LOG.warning(f"{path} is damaged: building it again.")
        with suppress(OSError):
            path.unlink(missing_ok=True)
    return None


def build(folder: Path) -> Path:
    """Build a library in the cache folder, unless another process has just done so."""
    compiler()  # fail before anything is written
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    LOG.info("compiling the engine for this processor: once, for some seconds")
    with alone(folder / f"engine-{library_key()}.lock"):
        return kept(folder) or build_now(folder)


def build_now(folder: Path) -> Path:
    import tempfile

    place = this_platform()
    reason = ""
    with tempfile.TemporaryDirectory(prefix=".engine-", dir=folder) as temporary:
        for levels in local_levels():
            try:
                made = compile_library([compiler()], levels, Path(temporary), place)
            except CompileError as error:
                reason = str(error)
                continue
            final = folder / place.library_name(library_key(), digest(made.read_bytes()))
            made.replace(final)
            return final
    raise NoEngineError(f"{compiler()} could not compile it: {reason}")


def local_levels() -> list[dict[str, tuple[str, ...]]]:
    """What to try in turn: the forced level, or everything that this processor has, as the compiler knows it."""
    if level := os.environ.get(LEVEL):
        return [{level: this_platform().levels[level]}]
    return [{NATIVE: (flag,) if flag else ()} for flag in FOR_THIS_PROCESSOR]


def compiler() -> str:
    import shutil

    asked = os.environ.get(COMPILER)
    for name in (asked,) if asked else ("c++", "g++", "clang++"):
        if (found := shutil.which(name)) is not None:
            return found
    raise NoEngineError(f"there is no C++ compiler{f' {asked}' if asked else ''}")


def library_key() -> str:
    """A hash of everything that a library built here depends on: the code, the compiler flags and the processor."""
    given = (FOR_THIS_PROCESSOR, os.environ.get(COMPILER), os.environ.get(LEVEL), processor())
    return digest((source_key() + repr(given)).encode())


def processor() -> str:
    """The processor and its features, if the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
        reported = [
            line for line in lines if line.split(":")[0].strip() in ("model name", "flags", "Features")
        ]
    except OSError:
        import platform

        reported = [platform.processor()]
    return repr((*system_and_machine(), reported))


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
        raise NoEngineError("outside a wheel it supports only Linux and macOS") from error
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
