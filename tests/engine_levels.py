"""The engine with every instruction-set level, as in a wheel, built with the local compiler."""

import os
import tempfile
from pathlib import Path

import pytest

from qkv.engine.compiling import compile_library, digest, source_key, this_platform
from qkv.engine.library import NoEngineError, alone, cache_folder, compiler


def folder_of_all_levels() -> Path:
    """A folder with the library and its object files. It is kept in the cache, because compiling takes half a minute."""
    try:
        command = [compiler()]
    except NoEngineError as reason:
        pytest.skip(str(reason))
    place, key = this_platform(), source_key()
    folder = cache_folder() / f"levels-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.with_suffix(".lock")):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as temporary:
                made = compile_library(
                    command, place.levels, Path(temporary), place, jobs=os.cpu_count() or 1
                )
                made.rename(made.parent / place.library_name(key, digest(made.read_bytes())))
                made.parent.rename(folder)
    return folder
