"""Several processes that train one model: each takes a share of every batch, and gradients are added up.

The processes are those that torchrun starts (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the
environment), or helpers that `qkv train` starts on this machine by itself: on small matrices two processes
of one thread are much faster than one process of two.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from qkv.errors import UserError

FEWEST_TOKENS = 256  # a share smaller than this is not worth a process


class Group(Protocol):
    rank: int
    size: int

    def share(self, rows: Sequence[int]) -> list[int]: ...

    def add_up(self, tensor: Tensor) -> None:
        """Replace the tensor, on every process, by its sum over the processes."""

    def wait(self) -> None:
        """Go on when every process has come here."""


class Alone:
    rank, size = 0, 1

    def share(self, rows: Sequence[int]) -> list[int]:
        return list(rows)

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

    def add_up(self, tensor: Tensor) -> None:
        with peers_alive():
            dist.all_reduce(tensor)

    def wait(self) -> None:
        with peers_alive():
            dist.barrier()


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
    return Together()


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
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(processes)}
    group |= {"GLOO_SOCKET_IFNAME": loopback(), "OMP_NUM_THREADS": str(max(1, cores() // processes))}
    command = [sys.executable, "-m", "qkv", *arguments]
    before = dict(os.environ)
    threads = torch.get_num_threads()
    started = [
        subprocess.Popen(command, env={**before, **group, "RANK": str(rank)}, stdin=subprocess.DEVNULL)
        for rank in range(1, processes)
    ]
    os.environ.update({**group, "RANK": "0"})
    torch.set_num_threads(max(1, cores() // processes))
    try:
        yield
    finally:
        leave_group()
        for helper in started:
            helper.terminate()
            helper.wait()
        os.environ.clear()
        os.environ.update(before)
        torch.set_num_threads(threads)


def loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), names[0])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
