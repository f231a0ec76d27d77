"""A failed allocation in the compiled engine is an error, not the end of the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qkv.engine.library import NoEngineError, compiler

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD and RLIMIT_AS")

FAULTS = """
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> left{-1};  // allocations until they fail; negative: never
extern "C" void fail_after(long count) { left = count; }

static void* allocate(std::size_t size, std::size_t alignment) {
    if (left >= 0 && left-- <= 0) { left = 0; throw std::bad_alloc(); }
    void* made = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + alignment);
    if (!made) throw std::bad_alloc();
    return made;
}

void* operator new(std::size_t size) { return allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) { return allocate(size, std::size_t(alignment)); }
void operator delete(void* made) noexcept { std::free(made); }
void operator delete(void* made, std::size_t) noexcept { std::free(made); }
void operator delete(void* made, std::align_val_t) noexcept { std::free(made); }
"""

# Every command is run with memory for ever more allocations in each call of the engine, until it succeeds.
SCRIPT = """
import ctypes, sys
from commands import code_of
from qkv.engine.library import library

faults, loaded, left = ctypes.CDLL(None), library(), 0

def short_of_memory(function):
    def call(*arguments):
        faults.fail_after(ctypes.c_long(left))
        try:
            return function(*arguments)
        finally:
            faults.fail_after(ctypes.c_long(-1))
    return call

for name in ("qkv_begin", "qkv_search", "qkv_step"):
    setattr(loaded, name, short_of_memory(getattr(loaded, name)))
failures = 0
while (code := code_of(*sys.argv[1:])) == 5:  # out of memory
    failures += 1
    left = max(left + 1, left * 5 // 4)
print(code, failures, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("faults") / "faults.so"
    try:
        command = [compiler(), "-std=c++17", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(made)]
    except NoEngineError as reason:
        pytest.skip(str(reason))
    subprocess.run(command, input=FAULTS, text=True, check=True)
    return made


@pytest.mark.parametrize("threads", ["1", "2"])
def test_wherever_memory_runs_out_the_command_says_so(threads: str, faults: Path, model: Path) -> None:
    command = ["translate", model, "one two three", "--threads", threads, "--beam-size", "2"]
    environment = {
        **os.environ,
        "LD_PRELOAD": str(faults),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command], capture_output=True, text=True, env=environment, timeout=200
    )
    *errors, summary = ended.stderr.splitlines()
    assert ended.returncode == 0, ended.stderr
    code, failures = map(int, summary.split())
    assert (code, failures > 10) == (0, True)
    assert sum("out of memory" in error for error in errors) == failures
