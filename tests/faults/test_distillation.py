"""A distillation that is killed at any point, or whose disk is full, ends as one that was never disturbed."""

import errno
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from commands import code_of
from disk import Disk, Operation
from distillation_runs import STUDENT
from forked import SERVER

from qkv.cli import DISK

KILLED = -signal.SIGKILL
EQUAL = ("model.safetensors", "tokenizer.json", "config.json", "shortlist.safetensors")
ARGUMENTS = [
    "one", "two", "--text", "text.txt", "--pairs", "few.tsv", "--valid-pairs", "valid.tsv", "--reverse", "reverse",
    "--target-text", "target.txt", "--num-hypotheses", "3", "--work", "work", "--output", "student", "--quiet",
]  # fmt: skip


@pytest.fixture(scope="module")
def workplace(distillation_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory, with models and data."""
    folder = tmp_path_factory.mktemp("killed")
    for name in ("one", "two", "reverse"):
        (folder / name).symlink_to(distillation_models / name)
    lines = (distillation_models / "pairs.tsv").read_text().splitlines()
    (folder / "few.tsv").write_text("".join(f"{line}\n" for line in lines[:20]))
    (folder / "valid.tsv").write_text("".join(f"{line}\n" for line in lines[-20:]))
    texts = [line.split("\t")[0] for line in lines[40:80]]
    (folder / "text.txt").write_text("".join(f"{text}\n" for text in texts))
    (folder / "target.txt").write_text("".join(f"{text}\n" for text in texts[:10]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


class KillingDisk(Disk):
    """Kills the process when a file whose name has `target` in it is about to get its name."""

    target = ""

    def note(self, operation: Operation) -> None:
        if self.target and operation.name == "rename" and self.target in operation.target:
            os.kill(os.getpid(), signal.SIGKILL)
        super().note(operation)


def run_all(folder: Path, targets: Sequence[str]) -> None:
    """Run the command once for each target, killed there, and once more. Each run is a fork of this process."""
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    codes = []
    for target in (*targets, ""):
        child = os.fork()
        if child == 0:
            disk = KillingDisk(folder)
            disk.target = target
            with disk.watching():
                code = code_of("distill", *ARGUMENTS, *STUDENT)
            os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    (folder / "codes.json").write_text(json.dumps(codes))


def run_in(folder: Path, *targets: str) -> list[int]:
    """The exit codes of all runs in a folder of their own."""
    linked(folder)
    process = SERVER.Process(target=run_all_in, args=(folder, targets))
    process.start()
    process.join(600)
    codes: list[int] = json.loads((folder / "codes.json").read_text())
    return codes


def run_all_in(folder: Path, targets: Sequence[str]) -> None:
    os.chdir(folder)
    run_all(folder, targets)


def linked(folder: Path) -> None:
    """A folder with links to the models and data next to it."""
    folder.mkdir()
    for name in ("one", "two", "reverse", "few.tsv", "valid.tsv", "text.txt", "target.txt"):
        (folder / name).symlink_to(folder.parent / name)


def results(folder: Path) -> dict[str, bytes]:
    found = {name: (folder / "student" / name).read_bytes() for name in EQUAL}
    stages = [path for path in (folder / "work").iterdir() if path.suffix in (".tsv", ".txt")]
    return found | {path.name: path.read_bytes() for path in stages}


@pytest.fixture(scope="module")
def undisturbed(workplace: Path) -> dict[str, bytes]:
    assert run_in(workplace / "undisturbed") == [0]
    return results(workplace / "undisturbed")


# Inside a stage, before its result has its name, or before its record is written.
KILLS = (
    "corpora-", "distillation.json", "/text-", "translated-pairs", ".job", "translated-text", "reverse-pairs", "reverse-text",
    "back-translated", "training-data", "run.json", "step-4", "step-8", "report.json",
)  # fmt: skip


@pytest.mark.slow
def test_a_distillation_that_is_killed_in_every_stage_ends_the_same(
    workplace: Path, undisturbed: dict[str, bytes]
) -> None:
    codes = run_in(workplace / "disturbed", *KILLS)
    assert codes[-1] == 0
    assert codes[:-1] == [KILLED] * len(KILLS)
    assert results(workplace / "disturbed") == undisturbed


def test_a_full_disk_is_a_message_and_the_same_command_resumes(
    workplace: Path,
    undisturbed: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = workplace / "full"
    linked(folder)
    monkeypatch.chdir(folder)
    with FullDisk(folder).watching():
        assert code_of("distill", *(each for each in ARGUMENTS if each != "--quiet"), *STUDENT) == DISK
    printed = capsys.readouterr().err
    assert "No space left on device" in printed
    assert "run the same command to resume" in printed
    assert code_of("distill", *ARGUMENTS, *STUDENT) == 0
    assert results(folder) == undisturbed


class FullDisk(Disk):
    """A disk that is full when the translation of the text is about to be complete."""

    def note(self, operation: Operation) -> None:
        if "translated-text" in operation.target and ".tsv" in operation.target:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), operation.path)
        super().note(operation)
