"""Whatever happens in whichever call of a save: a whole state is there, the old one or the new one."""

import os
import shutil
from pathlib import Path

import pytest
from crash import SimulatedDisk, crashes, lay_out
from disk import FAULTS, Disk, Killed, Operation
from saving import NEW, NEXT, OLD, Saving, wrong_with

from qkv.errors import QkvError


def begun(folder: Path) -> Saving:
    """Two saves have been made, so that the next one also removes an old state."""
    folder.mkdir()
    saving = Saving(folder)
    for step in (1, OLD):
        saving.save(step)
    return saving


def noted(folder: Path) -> tuple[SimulatedDisk, list[Operation]]:
    """The disk before a save, and what the save does to it."""
    saving = begun(folder)
    before = SimulatedDisk(folder)
    with Disk(folder).watching() as disk:
        saving.save(NEW)
    return before, disk.operations


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    return noted(tmp_path_factory.mktemp("noted") / "run")[1]


def test_a_save_makes_the_calls_of_the_protocol(operations: list[Operation]) -> None:
    names = [f"{each.name} {each.target or each.path}" for each in operations]
    files = ["model.safetensors", "optimiser.safetensors", "state.json", "MANIFEST.json"]
    written = [f"{name} .tmp-step-{NEW}/{file}" for file in files for name in ("create", "write", "fsync")]
    staged = [f"mkdir .tmp-step-{NEW}", *written, f"fsync .tmp-step-{NEW}"]
    placed = [f"rename step-{NEW}", "fsync ."]
    start = names.index(staged[0])
    assert names[start:][: len(staged) + 2] == [*staged, *placed]
    assert {"truncate log.jsonl", "write log.jsonl", "fsync log.jsonl"} == set(names[:start])
    removed = names[start + len(staged) + 2 :]
    assert sorted(removed) == sorted([*(f"unlink step-1/{file}" for file in files), "rmdir step-1"])


@pytest.mark.parametrize(("fault", "lasts"), [*((fault, False) for fault in FAULTS), ("no space", True)])
def test_every_call_of_a_save_may_fail(
    fault: str, lasts: bool, operations: list[Operation], tmp_path: Path
) -> None:
    struck = 0
    for at in range(len(operations)):
        folder = tmp_path / str(at)
        saving = begun(folder)
        disk = Disk(folder, fault=fault, at=at, lasts=lasts)
        ended = "well"
        try:
            with disk.watching():
                saving.save(NEW)
        except OSError:
            ended = "with an error"
        except Killed:
            ended = "killed"
        struck += disk.struck
        assert wrong_with(folder, {NEW} if ended == "well" else {OLD, NEW}) is None, operations[at]
        if fault == "short write":
            assert ended == "well", "what one call did not take the next one does"
        if fault == "killed":
            saving = Saving(folder)  # another process goes on
            saving.log.cut_back({"bytes": 0, "sha256": ""})
        saving.save(NEXT)
        assert wrong_with(folder, {NEXT}) is None, operations[at]
        assert not list(folder.glob(".tmp-*")), "what was left half written is gone"
        shutil.rmtree(folder)
    writes = sum(len(each.content) > 1 for each in operations)
    assert struck == (writes if fault == "short write" else len(operations))


def test_a_real_kill_in_every_call_of_a_save(operations: list[Operation], tmp_path: Path) -> None:
    for at in range(len(operations)):
        folder = tmp_path / str(at)
        saving = begun(folder)
        child = os.fork()
        if child == 0:
            try:
                with Disk(folder, fault="killed", at=at, kill=lambda: os._exit(9)).watching():
                    saving.save(NEW)
            finally:
                os._exit(1)  # it should not have come so far
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert wrong_with(folder, {OLD, NEW}) is None, operations[at]
        shutil.rmtree(folder)


def violations(before: SimulatedDisk, operations: list[Operation], folder: Path, tries: int) -> list[str]:
    """Calls after which a power cut leaves no complete checkpoint, or not the new one although its save had returned."""
    returned = max(
        number for number, each in enumerate(operations, 1) if each.name != "unlink" and each.name != "rmdir"
    )
    found, seen = [], set()
    for count, content in crashes(before, operations, tries):
        key = (
            count >= returned,
            tuple(sorted((path, data) for path, data in content.items() if data is not None)),
        )
        if key in seen:
            continue
        seen.add(key)
        lay_out(folder, content)
        try:
            wrong = wrong_with(folder, {NEW} if count >= returned else {OLD, NEW})
        except (QkvError, OSError) as error:
            wrong = str(error)
        if wrong:
            found.append(f"after {count} operations: {wrong}")
        shutil.rmtree(folder)
    return found


def test_a_power_cut_after_any_call_leaves_a_whole_state(tmp_path: Path) -> None:
    before, operations = noted(tmp_path / "run")
    assert violations(before, operations, tmp_path / "crashed", tries=6) == []


def test_without_any_one_flush_a_power_cut_would_cost_something(tmp_path: Path) -> None:
    """So that none of them is there for nothing, and the test above would notice if one were gone."""
    _, operations = noted(tmp_path / "run")
    flushes = [number for number, each in enumerate(operations) if each.name == "fsync"]
    assert len(flushes) == 7
    harmless = []
    for number in flushes:
        shutil.rmtree(tmp_path / "run")
        before, again = noted(tmp_path / "run")
        assert again[number] == operations[number]
        without = [each for place, each in enumerate(again) if place != number]
        if not violations(before, without, tmp_path / "crashed", tries=3):
            harmless.append(operations[number])
    assert harmless == []
