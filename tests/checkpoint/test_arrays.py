"""Weights as NumPy arrays: the same files and hashes as torch's, mapped, and checked before they are used."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from qkv.checkpoint.arrays import StoredArrays, arrays_hash, as_array, write_arrays
from qkv.checkpoint.tensors import read_tensors, tensors_hash, write_tensors
from qkv.errors import QkvError

TENSORS = {
    "weight": torch.arange(6, dtype=torch.float32).view(2, 3),
    "turned": torch.arange(6, dtype=torch.float16).view(2, 3).T,
    "step": torch.tensor(7, dtype=torch.int64),
    "nothing": torch.empty(0),
}


def test_arrays_and_tensors_have_the_same_hash_and_read_each_others_files(tmp_path: Path) -> None:
    assert arrays_hash({name: as_array(each) for name, each in TENSORS.items()}) == tensors_hash(TENSORS)
    write_tensors(tmp_path / "by torch", TENSORS)
    write_arrays(tmp_path / "by numpy", TENSORS)
    assert (tmp_path / "by torch").read_bytes() == (tmp_path / "by numpy").read_bytes()
    found = StoredArrays(tmp_path / "by torch")
    assert found.shapes == {name: tuple(each.shape) for name, each in TENSORS.items()}
    for name, tensor in read_tensors(tmp_path / "by numpy").items():
        assert found[name].shape == tensor.shape
        assert torch.equal(torch.from_numpy(found[name]), tensor)


def test_bfloat16_is_widened_without_loss(tmp_path: Path) -> None:
    half = torch.randn(5, 3).to(torch.bfloat16)
    write_tensors(tmp_path / "half", {"half": half})
    found = StoredArrays(tmp_path / "half")["half"]
    assert found.dtype == np.float32
    assert np.array_equal(found, half.float())


def test_changed_arrays_leave_the_file_as_it_was(tmp_path: Path) -> None:
    write_tensors(tmp_path / "file", TENSORS)
    before = (tmp_path / "file").read_bytes()
    StoredArrays(tmp_path / "file")["weight"][:] = 9
    assert (tmp_path / "file").read_bytes() == before


def test_every_single_flipped_bit_is_detected_before_an_array_is_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_arrays(path, {"a": np.array([1.0, 2.0], np.float32), "b": np.array([[3]])})
    whole = path.read_bytes()
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(QkvError, match="is damaged"):
            StoredArrays(path)["a"]


def test_the_content_is_hashed_once_and_only_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tensors(tmp_path / "file", TENSORS)
    calls = []
    sha256 = StoredArrays.verify.__globals__["hashlib"].sha256
    monkeypatch.setattr("qkv.checkpoint.arrays.hashlib.sha256", lambda: (calls.append(1), sha256())[1])
    found = StoredArrays(tmp_path / "file")
    assert found.shapes["weight"] == (2, 3)
    assert not calls
    dict(found)
    assert calls == [1]


def test_released_arrays_are_read_again(tmp_path: Path) -> None:
    write_tensors(tmp_path / "file", TENSORS)
    found = StoredArrays(tmp_path / "file")
    weight = found["weight"]
    assert weight.sum() == 15
    found.release()
    assert weight.sum() == 15


def test_a_bundle_opens_without_torch(model: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from qkv.checkpoint.bundle import load_bundle; "
        f"print(load_bundle(Path({str(model)!r})).weights['tokens.weight'].mean()); "
        "assert 'torch' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
