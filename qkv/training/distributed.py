"""Several processes that train one model: each takes a share of every batch, and gradients are added up.

The processes are those that torchrun starts (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the
environment), or helpers that `qkv train` starts on this machine by itself: on small matrices two processes
of one thread are much faster than one process of two.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from qkv.errors import UserError

SHARED_FILE = "QKV_SHARED_FILE"  # in the environment of processes that `helpers` started
FEWEST_TOKENS = 256  # a share smaller than this is not worth a process


class Group(Protocol):
    rank: int
    size: int

    def share(self, rows: Sequence[int]) -> list[int]: ...

    def buffer(self, length: int, device: torch.device) -> Tensor:
        """Zeros that `add_up` will often be asked for."""

    def add_up(self, tensor: Tensor) -> None:
        """Replace the tensor, on every process, by its sum over the processes."""

    def wait(self) -> None:
        """Go on when every process has come here."""


class Alone:
    rank, size = 0, 1

    def share(self, rows: Sequence[int]) -> list[int]:
        return list(rows)

    def buffer(self, length: int, device: torch.device) -> Tensor:
        return torch.zeros(length, device=device)

    def add_up(self, tensor: Tensor) -> None:
        pass

    def wait(self) -> None:
        pass


class Together:
    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def share(self, rows: Sequence[int]) -> list[int]:
        """Every size-th row: the rows of a batch are ordered by length, so the shares weigh the same."""
        return list(rows[self.rank :: self.size])

    def buffer(self, length: int, device: torch.device) -> Tensor:
        return torch.zeros(length, device=device)

    def add_up(self, tensor: Tensor) -> None:
        with peers_alive():
            dist.all_reduce(tensor)

    def wait(self) -> None:
        with peers_alive():
            dist.barrier()


class Neighbours(Together):
    """Processes of one machine: the buffer lies in memory that they share, faster than any socket."""

    def __init__(self, shared_file: str) -> None:
        super().__init__()
        self.shared_file = shared_file
        self.buffers: Tensor | None = None  # (processes, length)

    def buffer(self, length: int, device: torch.device) -> Tensor:
        reserved = torch.zeros(1)
        if self.rank == 0:
            reserved += self.reserve(4 * length * self.size)
        super().add_up(reserved)
        if not reserved.item():
            return super().buffer(length, device)
        self.buffers = torch.from_file(self.shared_file, shared=True, size=length * self.size).view(
            self.size, -1
        )
        return self.buffers[self.rank]

    def reserve(self, size: int) -> bool:
        """Is there so much shared memory? Containers often have little, and writing past it is deadly."""
        try:
            with open(self.shared_file, "r+b") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        except (OSError, AttributeError):
            return False
        return True

    def add_up(self, tensor: Tensor) -> None:
        if self.buffers is None or tensor.data_ptr() != self.buffers[self.rank].data_ptr():
            return super().add_up(tensor)
        # Each process adds up its own part of all buffers and writes the sum into all of them.
        part = self.buffers.tensor_split(self.size, dim=1)[self.rank]
        self.wait()
        part.copy_(part.sum(dim=0).expand_as(part))
        self.wait()


@contextmanager
def peers_alive() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise UserError(
            f"another process of this training run has ended ({str(error).splitlines()[0][:120]}); "
            "what was saved is whole: go on with --resume."
        ) from None


def join_group() -> Group:
    """The group that the environment describes, or none."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return Alone()
    if not dist.is_initialized():
        with peers_alive():
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    shared_file = os.environ.get(SHARED_FILE)
    return Neighbours(shared_file) if shared_file else Together()


def leave_group() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def processes_for(wanted: int, batch_tokens: int) -> int:
    """How many processes to start on this machine: as asked, or one for each core as far as batches reach."""
    if wanted > 0:
        return wanted
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        return 1
    return max(1, min(cores(), batch_tokens // FEWEST_TOKENS))


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def helpers(arguments: Sequence[str], processes: int) -> Iterator[None]:
    """Run the same command in other processes of this machine, as long as this one is inside.

    Where a launcher such as torchrun has made a group already, or one process is enough, nothing is started.
    """
    if "WORLD_SIZE" in os.environ or processes < 2:
        yield
        return
    threads = max(1, cores() // processes)
    before, threads_before = dict(os.environ), torch.get_num_threads()
    with tempfile.NamedTemporaryFile(prefix="qkv-", dir=memory_folder()) as shared:
        group = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "GLOO_SOCKET_IFNAME": loopback(),
            "WORLD_SIZE": str(processes),
            "OMP_NUM_THREADS": str(threads),
            SHARED_FILE: shared.name,
        }
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "qkv", *arguments],
                env={**before, **group, "RANK": str(rank)},
                stdin=subprocess.DEVNULL,
            )
            for rank in range(1, processes)
        ]
        os.environ.update({**group, "RANK": "0"})
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            leave_group()
            for helper in started:
                helper.terminate()
                helper.wait()
            os.environ.clear()
            os.environ.update(before)
            torch.set_num_threads(threads_before)


def memory_folder() -> str | None:
    """Where files live in memory, or else the usual place for temporary ones."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), names[0])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
