"""Run commands in processes that start quickly: a server process has imported torch and forks.

Use this where a command needs a process of its own, for instance for its environment, but where starting Python is not
what the test is about.
"""

import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import torch.distributed

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch"])


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Command:
    """A command that has been started."""

    process: multiprocessing.process.BaseProcess
    output: Path

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def wait(self, timeout: float = 300) -> Ended:
        self.process.join(timeout)
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"still running after {timeout} seconds")
        stdout, stderr = ((self.output / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        rmtree(self.output)
        return Ended(self.process.exitcode, stdout, stderr)


def run(
    *arguments: str | Path, environment: Mapping[str, str | None] | None = None, folder: Path | None = None
) -> Ended:
    """Run `qkv ARGUMENTS` in this folder. A variable of the environment that is None is removed."""
    return start(*arguments, environment=environment, folder=folder).wait()


def start(
    *arguments: str | Path, environment: Mapping[str, str | None] | None = None, folder: Path | None = None
) -> Command:
    output = Path(mkdtemp())
    changes = {**os.environ, **(environment or {})}
    process = SERVER.Process(
        target=run_in_child, args=(list(map(str, arguments)), changes, folder or Path.cwd(), output)
    )
    process.start()
    return Command(process, output)


@contextmanager
def ranks(
    *arguments: str | Path, processes: int = 2, environment: Mapping[str, str | None] | None = None
) -> Iterator[list[Command]]:
    """The command in several processes, with the variables that torchrun sets for each of them."""
    # torchrun keeps the store in the launcher, too. The system chooses a free port.
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    common = {
        **(environment or {}),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
    }
    own = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]
    yield [start(*arguments, environment={**common, **each}) for each in own]


def run_in_child(
    arguments: Sequence[str], environment: Mapping[str, str | None], folder: Path, output: Path
) -> None:
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.chdir(folder)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(output / name, os.O_WRONLY | os.O_CREAT), number)
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.argv = ["qkv", *arguments]
    torch.set_num_threads(1)
    from qkv.cli import main

    main()
