"""A file is the old one or the new one, whole; damage is seen when it is read."""

import os
from pathlib import Path

import pytest
import torch

from qkv.checkpoint import files
from qkv.checkpoint.files import read_json, write_file, write_json
from qkv.checkpoint.tensors import read_tensors, tensors_hash, write_tensors
from qkv.errors import QkvError

TENSORS = {
    "weight": torch.arange(6, dtype=torch.float32).view(2, 3),
    "step": torch.tensor(7.0),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "nothing": torch.empty(0),
}


def no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "model.safetensors"
    write_tensors(path, TENSORS)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, call, no_space)
        with pytest.raises(OSError, match="No space left"):
            write_tensors(path, {"weight": torch.zeros(2, 3)})
    assert path.read_bytes() == before
    write_tensors(path, {"weight": torch.zeros(2, 3)})  # what the failure left behind is in nobody's way
    assert torch.equal(read_tensors(path)["weight"], torch.zeros(2, 3))


def test_content_reaches_the_disk_before_the_rename_and_the_rename_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("fsync"), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda old, new: (calls.append("replace"), replace(old, new)))
    write_file(tmp_path / "file", b"content")
    assert calls == ["fsync", "replace", "fsync"]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_new_file_is_staged_beside_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename across file systems fails, so the temporary folder of the system will not do."""
    folders: list[Path] = []
    replace = os.replace
    monkeypatch.setattr(
        files.os, "replace", lambda old, new: (folders.append(Path(old).parent), replace(old, new))
    )
    write_file(tmp_path / "file", b"content")
    assert folders == [tmp_path]


def test_tensors_come_back_equal_with_their_types_and_shapes(tmp_path: Path) -> None:
    write_tensors(tmp_path / "tensors", TENSORS)
    read = read_tensors(tmp_path / "tensors")
    assert read.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)


def test_every_single_flipped_bit_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "tensors"
    write_tensors(path, {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[3]])})
    whole = path.read_bytes()
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(QkvError, match="is damaged"):
            read_tensors(path)


def test_every_truncation_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "tensors"
    write_tensors(path, {"a": torch.tensor([1.0, 2.0])})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(QkvError, match="is damaged"):
            read_tensors(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match=r"model\.safetensors is missing"):
        read_tensors(tmp_path / "model.safetensors")
    with pytest.raises(QkvError, match=r"config\.json is missing"):
        read_json(tmp_path / "config.json")


def test_the_hash_is_that_of_content_and_not_of_order_or_layout() -> None:
    weight = torch.arange(6.0).view(2, 3)
    same = {"b": torch.ones(1), "a": weight.T.contiguous().T}
    assert tensors_hash({"a": weight, "b": torch.ones(1)}) == tensors_hash(same)


@pytest.mark.parametrize(
    "other",
    [
        {"b": torch.zeros(4)},
        {"a": torch.zeros(2, 2)},
        {"a": torch.zeros(4, dtype=torch.int32)},
        {"a": torch.tensor([0.0, 0.0, 0.0, -0.0])},
        {"a": torch.zeros(4), "b": torch.empty(0)},
    ],
)
def test_name_shape_type_and_each_bit_change_the_hash(other: dict[str, torch.Tensor]) -> None:
    assert tensors_hash({"a": torch.zeros(4)}) != tensors_hash(other)


def test_json_comes_back_equal_and_stays_readable(tmp_path: Path) -> None:
    value = {"name": "Größe 猫", "list": [1, 2.5, None, True]}
    write_json(tmp_path / "file.json", value)
    assert read_json(tmp_path / "file.json") == value
    assert "Größe 猫" in (tmp_path / "file.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"a": 1} x'])
def test_the_error_for_broken_json_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(QkvError, match=r"config\.json cannot be read as JSON"):
        read_json(path)
