"""Several processes that train one model. Each computes a share of every batch, and gradients are added up.

On one machine the first process starts helpers itself: on small matrices two processes with one thread each are faster than
one process with two threads. They share memory for weights, gradients and optimizer state, and synchronize over
sockets. This is several times as fast as torch.distributed, and a process that has ended is noticed at once.
Across machines, torchrun creates the group (RANK and WORLD_SIZE in the environment).
"""

import ctypes
import json
import math
import mmap
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from qkv.environment import HELPER, path_of_children, under_torchrun
from qkv.errors import ProcessEndedError, QkvError

FEWEST_TOKENS = 512  # with a smaller share, synchronizing costs more than the processes gain
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of mallopt, in GNU's malloc.h
USUAL_TRIM_THRESHOLD, USUAL_MMAP_MAX = 128 * 1024, 65_536
LOST = (
    "gloo",
    "Connection closed",
    "Connection reset",
    "NCCL",
)  # in torch's messages about a process that has ended
ENDED = "another process of this training run has ended. The last checkpoint is intact: resume the run."


class Group(Protocol):
    rank: int
    size: int

    def share(self, rows: Sequence[int]) -> list[int]:
        """This process's rows of a batch."""

    def agree(self, *numbers: float) -> list[float]:
        """The sum of each number over all processes. The numbers are on the CPU."""

    def wait(self) -> None:
        """Wait until every process has called this."""


class SingleProcess:
    """A run of one process, and the interface of processes that share memory."""

    rank, size = 0, 1

    def share(self, rows: Sequence[int]) -> list[int]:
        return list(rows)

    def agree(self, *numbers: float) -> list[float]:
        return list(numbers)

    def total(self, number: Tensor) -> Tensor:
        """The sum of a number over all processes, on its device. This also waits for all of them."""
        return number

    def wait(self) -> None:
        pass

    def shared_zeros(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Zeros that all processes share. All must call this with the same shapes in the same order."""
        return torch.zeros(shape, device=device)


class TorchrunGroup:
    """The processes that torchrun started, on one machine or several."""

    def __init__(self) -> None:
        if torch.cuda.is_available():
            own, devices = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
            if own >= devices:
                raise QkvError(
                    f"there are more processes than GPUs ({devices}). Start torchrun with one process per GPU."
                )
            torch.cuda.set_device(own)
        # Both backends: gradients are on the device, the numbers of `agree` on the CPU.
        try:
            dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        except (RuntimeError, ValueError) as error:
            raise ProcessEndedError(
                "the processes of torchrun cannot reach each other. Check the addresses, and GLOO_SOCKET_IFNAME or "
                f"NCCL_SOCKET_IFNAME if they are set. torch reports: {first_line(error)}"
            ) from None
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def share(self, rows: Sequence[int]) -> list[int]:
        return every_nth(rows, self.rank, self.size)

    def agree(self, *numbers: float) -> list[float]:
        values = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(values)
        return values.tolist()

    def wait(self) -> None:
        dist.barrier()


class LocalGroup(SingleProcess):
    """Processes on one machine. The first has a socket to each of the others."""

    def __init__(self, rank: int, size: int, memory: int, sockets: list[socket.socket]):
        self.rank, self.size, self.memory, self.sockets = rank, size, memory, sockets
        self.used = 0  # bytes of the shared memory

    def share(self, rows: Sequence[int]) -> list[int]:
        return every_nth(rows, self.rank, self.size)

    def shared_zeros(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        if device.type != "cpu":
            raise QkvError(f"several processes on a {device.type} device need torchrun. Set processes to 1.")
        start, count = self.used, math.prod(shape)
        self.used += -(-4 * count // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        if self.rank == 0:
            try:
                # Writing to memory that cannot be allocated would kill the process.
                os.posix_fallocate(self.memory, 0, self.used)
            except OSError:
                raise QkvError(
                    f"{self.size} processes need {-(-self.used // 2**20)} MB of shared memory, more than the system "
                    "provides (a limit on file sizes also counts). Set processes to 1."
                ) from None
        self.wait()
        block = mmap.mmap(self.memory, self.used - start, offset=start)
        return torch.from_numpy(np.frombuffer(block, dtype=np.float32, count=count)).view(shape)

    def agree(self, *numbers: float) -> list[float]:
        values = np.array(numbers, dtype=np.float64)
        if self.rank == 0:
            for each in self.sockets:
                values += np.frombuffer(receive(each, values.nbytes))
            for each in self.sockets:
                send(each, values.tobytes())
        else:
            send(self.sockets[0], values.tobytes())
            values = np.frombuffer(receive(self.sockets[0], values.nbytes))
        found: list[float] = values.tolist()
        return found

    def total(self, number: Tensor) -> Tensor:
        return torch.tensor(self.agree(number.item()), dtype=number.dtype).view(())

    def wait(self) -> None:
        if self.rank == 0:
            for each in self.sockets:
                receive(each, 1)
        for each in self.sockets:
            send(each, b".")
        if self.rank > 0:
            receive(self.sockets[0], 1)


def every_nth(rows: Sequence[int], rank: int, size: int) -> list[int]:
    """Every size-th row. The rows of a batch are ordered by length, so the shares have about the same size."""
    return list(rows[rank::size])


def send(to: socket.socket, content: bytes) -> None:
    try:
        to.sendall(content)
    except OSError:
        raise ProcessEndedError(ENDED) from None


def receive(source: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        try:
            block = source.recv(size - len(content))
        except OSError:
            block = b""
        if not block:
            raise ProcessEndedError(ENDED)
        content += block
    return content


def processes_for(wanted: int, batch_tokens: int) -> int:
    """How many processes to start on this machine. By default, one per core if the batches are large enough."""
    if wanted > 0:
        return wanted
    if os.name != "posix" or torch.cuda.is_available() or torch.backends.mps.is_available():
        return 1
    return max(1, min(cores(), batch_tokens // FEWEST_TOKENS))


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class HelperJob:
    """What a helper does. It prints nothing and writes no file."""

    run: str
    """Reference to a function "module:name" that trains in the group of `shared_run` and returns an exit code."""
    facts: Mapping[str, Any]
    """The argument of this function, as JSON."""

    def text(self) -> str:
        folders = [str(Path(folder).absolute()) for folder in sys.path if folder]
        return json.dumps({"run": self.run, "facts": self.facts, "path": folders})


@contextmanager
def shared_run(job: HelperJob, processes: int) -> Iterator[Group]:
    """The group that trains: torchrun's, that of the process which started this one, or one with helpers started here."""
    with keep_freed_memory(), group_for(job, processes) as group:
        yield group


@contextmanager
def group_for(job: HelperJob, processes: int) -> Iterator[Group]:
    if HELPER in os.environ:
        # rank, size, file descriptor of the shared memory, socket to the first process
        rank, size, memory, own_socket = map(int, os.environ[HELPER].split())
        torch.set_num_threads(threads_each(size))
        yield LocalGroup(rank, size, memory, [socket.socket(fileno=own_socket)])
    elif under_torchrun():
        together = TorchrunGroup()
        with lost_connections_reported():
            yield together
        dist.destroy_process_group()
    elif processes == 1:
        yield SingleProcess()
    else:
        with helpers(job, processes) as group:
            yield group


@contextmanager
def lost_connections_reported() -> Iterator[None]:
    """torch has no exception class for a lost connection."""
    try:
        yield
    except (RuntimeError, dist.DistError) as error:
        if isinstance(error, dist.DistError) or any(sign in str(error) for sign in LOST):
            raise ProcessEndedError(f"{ENDED} torch reports: {first_line(error)}") from None
        raise


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def helpers(job: HelperJob, processes: int) -> Iterator[Group]:
    threads = torch.get_num_threads()
    torch.set_num_threads(threads_each(processes))
    with tempfile.TemporaryFile(dir=memory_folder()) as memory:
        ends, started = [], []
        for rank in range(1, processes):
            own, others = socket.socketpair()
            description = f"{rank} {processes} {memory.fileno()} {others.fileno()}"
            helper = subprocess.Popen(
                # -P keeps the current folder off the path: it may hold files of any name.
                [sys.executable, "-P", "-m", "qkv.training.helper"],
                env={
                    **os.environ,
                    HELPER: description,
                    "OMP_NUM_THREADS": str(threads_each(processes)),
                    "PYTHONPATH": path_of_children(),
                },
                stdin=subprocess.PIPE,
                text=True,
                pass_fds=[memory.fileno(), others.fileno()],
            )
            others.close()
            ends.append(own)
            started.append(helper)
            assign(job, helper)
        try:
            yield LocalGroup(0, processes, memory.fileno(), ends)
        finally:
            for end in ends:
                end.close()
            for helper in started:
                helper.terminate()
                helper.wait()
            torch.set_num_threads(threads)


def assign(job: HelperJob, helper: "subprocess.Popen[str]") -> None:
    """Send the job to a helper. One that has ended already is noticed when it is missing in the group."""
    assert helper.stdin is not None
    with suppress(OSError):
        helper.stdin.write(job.text())
    with suppress(OSError):
        helper.stdin.close()


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Let the C library keep the memory that a step frees, because the next step needs as much.

    Otherwise it returns large blocks at once, and the system clears thousands of pages for every step.
    """
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if library is None or not hasattr(library, "mallopt"):  # only GNU's C library has this call
        yield
        return
    library.mallopt(M_MMAP_MAX, 0)  # no blocks outside the heap
    library.mallopt(M_TRIM_THRESHOLD, -1)  # never shrink the heap
    try:
        yield
    finally:  # the program may go on for days
        library.mallopt(M_MMAP_MAX, USUAL_MMAP_MAX)
        library.mallopt(M_TRIM_THRESHOLD, USUAL_TRIM_THRESHOLD)
        library.malloc_trim(0)


def threads_each(processes: int) -> int:
    return max(1, cores() // processes)


def memory_folder() -> str | None:
    """A folder in memory, or None for the usual temporary folder if memory is short."""
    folder = "/dev/shm"
    roomy = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 2**30
    return folder if roomy else None
