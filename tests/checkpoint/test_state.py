"""A training state is complete and verified, or not there at all."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import qkv
from qkv.checkpoint.state import KEPT, MANIFEST, State, load_latest, save_state, set_aside_after
from qkv.errors import QkvError

RUN = {"settings": "a1", "training data": "b2"}


def state(step: int) -> State:
    tensors = {"model": {"weight": torch.full((2, 3), float(step))}, "optimiser": {"0.step": torch.ones(())}}
    return State(step=step, run=RUN, facts={"position": {"step": step}}, tensors=tensors)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_state_comes_back_equal(tmp_path: Path) -> None:
    for step in (9, 10):  # by number, not by name
        save_state(tmp_path, state(step))
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert (latest.step, latest.facts, warnings) == (10, {"position": {"step": 10}}, [])
    assert torch.equal(latest.tensors["model"]["weight"], torch.full((2, 3), 10.0))
    assert torch.equal(latest.tensors["optimiser"]["0.step"], torch.ones(()))


def test_a_folder_without_states_has_none(tmp_path: Path) -> None:
    assert load_latest(tmp_path, RUN) == (None, [])
    assert load_latest(tmp_path / "nowhere", RUN) == (None, [])


def test_only_the_last_two_are_kept(tmp_path: Path) -> None:
    for step in (5, 10, 15, 100):
        save_state(tmp_path, state(step))
    assert KEPT == 2
    assert names(tmp_path) == ["step-100", "step-15"]


def test_a_state_outlives_damaged_ones_of_later_steps(tmp_path: Path) -> None:
    """A run whose newest states were damaged resumes from an earlier step, and keeps its new checkpoints."""
    for step in (600, 800):
        save_state(tmp_path, state(step))
        (tmp_path / f"step-{step}" / "state.json").write_text("{}")
    for step in (200, 400):
        save_state(tmp_path, state(step))
    latest, _ = load_latest(tmp_path, RUN)
    assert latest is not None
    assert latest.step == 400
    assert {"step-200", "step-400"} <= set(names(tmp_path))


def test_a_skipped_checkpoint_is_set_aside_and_not_counted(tmp_path: Path) -> None:
    for step in (10, 12, 15):
        save_state(tmp_path, state(step))
    (tmp_path / "step-15" / "state.json").write_text("{}")
    latest, _ = load_latest(tmp_path, RUN)
    assert latest is not None
    set_aside_after(tmp_path, latest.step)
    save_state(tmp_path, state(16))
    assert names(tmp_path) == ["damaged-step-15", "step-12", "step-16"]
    assert load_latest(tmp_path, RUN)[1] == []


def test_silent_disk_corruption_is_noticed_before_older_checkpoints_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (10, 20):
        save_state(tmp_path, state(step))
    with monkeypatch.context() as patch:
        patch.setattr("qkv.checkpoint.files.os.write", write_with_a_flipped_bit)
        with pytest.raises(OSError, match="the disk does not hold what was written"):
            save_state(tmp_path, state(30))
    assert names(tmp_path) == ["step-10", "step-20"]
    assert load_latest(tmp_path, RUN)[1] == []


def write_with_a_flipped_bit(handle: int, content: memoryview) -> int:
    damaged = bytearray(content)
    damaged[len(damaged) // 2] ^= 1
    return os.writev(handle, [damaged])


def test_a_second_try_flushes_what_the_first_could_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rename was made, and its flush was refused."""
    save_state(tmp_path, state(10))
    flushed: list[Path] = []

    def refused(folder: Path) -> None:
        if folder == tmp_path:
            raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("qkv.checkpoint.state.sync_folder", refused)
        with pytest.raises(OSError, match="Input/output"):
            save_state(tmp_path, state(20))
    monkeypatch.setattr("qkv.checkpoint.state.sync_folder", flushed.append)
    save_state(tmp_path, state(20))
    assert tmp_path in flushed


def test_a_persons_own_copy_is_neither_pruned_nor_loaded(tmp_path: Path) -> None:
    save_state(tmp_path, state(1))
    (tmp_path / "step-1").rename(tmp_path / "step-1-mine")
    for step in (2, 3, 4):
        save_state(tmp_path, state(step))
    assert names(tmp_path) == ["step-1-mine", "step-3", "step-4"]


@pytest.mark.parametrize("name", [".DS_Store", "mine.safetensors"])
def test_a_file_that_somebody_left_in_a_state_is_neither_damage_nor_read(tmp_path: Path, name: str) -> None:
    save_state(tmp_path, state(10))
    (tmp_path / "step-10" / name).write_bytes(b"something")
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert (latest.step, warnings, latest.tensors.keys()) == (10, [], {"model", "optimiser"})


def test_every_file_of_a_new_state_is_read_again_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set()

    def forget(handle: int, *_: object) -> None:
        asked.add(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))

    monkeypatch.setattr(os, "posix_fadvise", forget)
    save_state(tmp_path, state(10))
    assert asked == {"model.safetensors", "optimiser.safetensors", "state.json", MANIFEST}


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json", MANIFEST])
@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "remove"])
def test_a_damaged_newest_state_is_passed_over_with_a_warning(tmp_path: Path, name: str, harm: str) -> None:
    for step in (10, 20):
        save_state(tmp_path, state(step))
    victim = tmp_path / "step-20" / name
    content = bytearray(victim.read_bytes())
    if harm == "flip":
        content[len(content) // 2] ^= 1
    if harm == "remove":
        victim.unlink()
    else:
        victim.write_bytes({"flip": content, "cut": content[:-4], "empty": b""}[harm])
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert latest.step == 10
    assert len(warnings) == 1
    assert "skipped a checkpoint" in warnings[0]
    assert "step-20" in warnings[0]


@pytest.mark.parametrize("manifest", ["[]", "null", "7", '"text"'])
def test_a_manifest_that_is_not_a_list_of_files_counts_as_damage(tmp_path: Path, manifest: str) -> None:
    for step in (10, 20):
        save_state(tmp_path, state(step))
    (tmp_path / "step-20" / MANIFEST).write_text(manifest)
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert (latest.step, len(warnings)) == (10, 1)


def test_where_all_are_damaged_they_are_named_and_none_is_used(tmp_path: Path) -> None:
    for step in (10, 20):
        save_state(tmp_path, state(step))
        (tmp_path / f"step-{step}" / "state.json").write_text("{}")
    with pytest.raises(QkvError, match=r"none of the checkpoints .*step-20.*step-10.*Restore one"):
        load_latest(tmp_path, RUN)


def test_a_state_of_another_run_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    for step in (10, 20):
        save_state(tmp_path, state(step))
    other = replace(state(30), run={**RUN, "training data": "c3"})
    save_state(tmp_path, other)
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert latest.step == 20
    assert "step-30 belongs to a run with different training data" in warnings[0]


def test_a_damaged_state_is_written_anew_when_its_step_comes_again(tmp_path: Path) -> None:
    for step in (10, 20):
        save_state(tmp_path, state(step))
    (tmp_path / "step-20" / "state.json").write_text("{}")
    save_state(tmp_path, state(20))
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert (latest.step, warnings) == (20, [])


def test_what_a_kill_left_half_written_is_ignored_and_overwritten(tmp_path: Path) -> None:
    save_state(tmp_path, state(10))
    half = tmp_path / ".tmp-step-20"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    (half / "leftover.safetensors").write_bytes(b"half")
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert (latest.step, warnings) == (10, [])
    save_state(tmp_path, state(20))
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert (latest.step, warnings, latest.tensors.keys()) == (20, [], {"model", "optimiser"})
    assert names(tmp_path) == ["step-10", "step-20"]


@pytest.mark.parametrize("call", ["write_through", "sync_folder"])
def test_a_disk_that_fills_up_costs_no_earlier_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    save_state(tmp_path, state(10))

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"qkv.checkpoint.state.{call}", no_space)
        with pytest.raises(OSError, match="No space"):
            save_state(tmp_path, state(20))
    latest, warnings = load_latest(tmp_path, RUN)
    assert latest is not None
    assert (latest.step, warnings) == (10, [])
    assert names(tmp_path) == ["step-10"], "and nothing that takes room is left"


def test_no_pickle_is_read_or_written_anywhere_in_the_package() -> None:
    """But for published weights that exist as nothing else, when somebody asks for that, by torch's restricted loader."""
    package = Path(qkv.__file__).parent
    sources = list(package.rglob("*.py"))
    assert len(sources) > 30
    pattern = re.compile(
        r"\bimport (shelve|marshal|joblib|dill)|\bfrom (pickle|shelve)|\bpickle\.(?!UnpicklingError)|(?<!\.)torch\.save\b"
        r"|(?<!\.)torch\.load\((?!path, map_location=\"cpu\", weights_only=True\))"
        r"|np\.(load|save)\((?!.*allow_pickle=False)|allow_pickle=True"
    )
    guilty = [
        f"{path.relative_to(package)}: {match[0]}"
        for path in sources
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    assert guilty == []
    readers = [path.name for path in sources if "torch.load(" in path.read_text(encoding="utf-8")]
    assert readers == ["folder.py"]  # of qkv import --allow-pickle
