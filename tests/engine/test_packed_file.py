"""Packed weights in the cache: opened instead of packed again, checked completely, and done without if they must be."""

import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qkv.checkpoint.arrays import StoredArrays, write_arrays
from qkv.core.stack_config import StackConfig
from qkv.engine import Engine, NoEngineError, packed_file
from qkv.engine.library import CACHE, cache_folder, library
from qkv.engine.rounding import Floats
from qkv.engine.verified import ENDING, MOST
from qkv.errors import QkvError
from qkv.families.translator.config import TranslatorConfig

STACK = StackConfig(depth=1, width=32, heads=2, ffn_width=40, norm="pre", activation="relu", dropout=0.0)
CONFIG = TranslatorConfig(
    vocab_size=50, max_length=20, pad=0, start=1, end=2, positions="learned", encoder=STACK, decoder=STACK
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, with small files in small parts."""
    try:
        library()  # from the usual cache
    except NoEngineError as reason:
        pytest.skip(f"the engine cannot be built here: {reason}")
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr(packed_file, "LEAST", 1)
    monkeypatch.setattr(packed_file, "PART", 1_000)
    packed_file.warn_once.cache_clear()
    return cache_folder()


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    random = np.random.default_rng(1)
    weights = {name: random.standard_normal(shape, np.float32) for name, shape in CONFIG.shapes()}
    write_arrays(tmp_path / "model.safetensors", weights)
    return tmp_path / "model.safetensors"


def logits_of(path: Path) -> Floats:
    engine = Engine(CONFIG, StoredArrays(path), int8=True, threads=1)
    return engine.begin([[5, 9, 2], [7, 2]])(np.array([[1, 4], [1, 6]]))


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix != ENDING)


def test_a_model_is_packed_once_and_then_opened_from_the_cache(
    bundle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = logits_of(bundle)
    [file] = files_in(folder)
    with monkeypatch.context() as patch:
        for name in ("packing.pack_int8", "packing.copy_to"):
            patch.delattr(f"qkv.engine.{name}")
        patch.delattr("qkv.checkpoint.arrays.StoredArrays.verify")
        assert np.array_equal(logits_of(bundle), first)
    assert files_in(folder) == [file]
    assert not caplog.records


def test_a_bundle_that_was_copied_or_touched_has_the_same_file(bundle: Path, folder: Path) -> None:
    first = logits_of(bundle)
    copied = bundle.with_name("copy.safetensors")
    copied.write_bytes(bundle.read_bytes())
    os.utime(copied, (1, 1))
    assert np.array_equal(logits_of(copied), first)
    assert len(files_in(folder)) == 1


def test_other_weights_and_other_configs_have_other_files(
    bundle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = logits_of(bundle)
    weights = {name: array * np.float32(1.5) for name, array in StoredArrays(bundle).items()}
    write_arrays(bundle, weights)
    assert not np.array_equal(logits_of(bundle), first)
    monkeypatch.setattr(packed_file, "VERSION", 0)
    logits_of(bundle)
    assert len(files_in(folder)) == 3


def test_every_damage_is_noticed_and_the_file_is_written_again(
    bundle: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = logits_of(bundle)
    [file] = files_in(folder)
    whole = file.read_bytes()
    start = -(-(48 + int.from_bytes(whole[8:16], "little")) // 4096) * 4096
    flipped = [3, 9, 20, 60, start, start + 999, start + 1_000, len(whole) - 70]
    damaged = [bytes(whole[:place]) + bytes([whole[place] ^ 4]) + whole[place + 1 :] for place in flipped]
    for content in [*damaged, whole[:-64], whole[:2_000], whole[:20], b"", whole + b"more"]:
        packed_file.warn_once.cache_clear()
        caplog.clear()
        file.write_bytes(content)
        assert np.array_equal(logits_of(bundle), first)
        if content != whole + b"more":  # which changes nothing
            assert [record.levelno for record in caplog.records] == [logging.WARNING]
            assert "packing the weights again" in caplog.text
            assert file.read_bytes() == whole


def test_a_changed_bit_in_embeddings_that_stay_in_the_bundle_is_noticed(bundle: Path) -> None:
    logits_of(bundle)
    stored = StoredArrays(bundle)
    place = stored.header.size + stored.header.entries["tokens.weight"].begin + 5
    del stored
    content = bytearray(bundle.read_bytes())
    content[place] ^= 1
    bundle.write_bytes(content)
    with pytest.raises(QkvError, match="is damaged"):
        logits_of(bundle)


def test_a_changed_bit_in_a_packed_weight_is_noticed_when_the_file_changed(bundle: Path) -> None:
    logits_of(bundle)
    stored = StoredArrays(bundle)
    packed = stored.header.entries["encoder.blocks.0.feed_forward.sublayer.expand.weight"]
    place = stored.header.size + packed.begin + 5
    del stored
    content = bytearray(bundle.read_bytes())
    content[place] ^= 1
    bundle.write_bytes(content)
    with pytest.raises(QkvError, match="is damaged"):
        logits_of(bundle)
    content[place] ^= 1
    bundle.write_bytes(content)
    logits_of(bundle)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, null]", b"[" * 70_000, b"\xff"])
def test_weights_are_verified_again_if_the_note_is_damaged(
    content: bytes, bundle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, verified, real = logits_of(bundle), [], StoredArrays.verify
    monkeypatch.setattr(StoredArrays, "verify", lambda self: verified.append(self.path) or real(self))  # type: ignore[func-returns-value]
    [note] = folder.glob(f"*{ENDING}")
    note.write_bytes(content)
    assert np.array_equal(logits_of(bundle), first)
    assert verified == [bundle]
    assert np.array_equal(logits_of(bundle), first)
    assert verified == [bundle]


def test_a_note_remembers_the_last_copies(bundle: Path, folder: Path) -> None:
    for number in range(MOST + 2):
        os.utime(bundle, (number, number))
        logits_of(bundle)
    [note] = folder.glob(f"*{ENDING}")
    assert len(json.loads(note.read_bytes())) == MOST


def fail(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_on_a_full_disk_the_model_runs_and_one_warning_says_so(
    bundle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, call: str
) -> None:
    monkeypatch.setattr(os, call, fail)
    assert np.array_equal(logits_of(bundle), logits_of(bundle))
    assert files_in(folder) == []
    assert [record.getMessage().count("No space left") for record in caplog.records] == [1]


def test_without_a_folder_that_can_be_written_the_model_runs(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv(CACHE, str(tmp_path / "file" / "cache"))
    assert np.isfinite(logits_of(bundle)).all()
    assert "cannot be stored" in caplog.text


def test_non_finite_weights_are_rejected_and_never_stored(bundle: Path, folder: Path) -> None:
    weights = dict(StoredArrays(bundle))
    weights["decoder.blocks.0.attention.sublayer.query.weight"][3, 3] = np.nan
    write_arrays(bundle, weights)
    with pytest.raises(QkvError, match="NaN or infinite"):
        logits_of(bundle)
    assert not folder.exists() or files_in(folder) == []


def test_files_that_were_not_used_for_longest_are_deleted(
    bundle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number in range(3):
        monkeypatch.setattr(packed_file, "VERSION", number)
        logits_of(bundle)
        [new] = set(files_in(folder)) - set(found)
        os.utime(new, (number + 1, number + 1))
        found.append(new)
    monkeypatch.setattr(packed_file, "VERSION", 0)
    logits_of(bundle)  # now it was used last
    monkeypatch.setattr(packed_file, "LIMIT", 3 * found[0].stat().st_size)
    monkeypatch.setattr(packed_file, "VERSION", 3)
    logits_of(bundle)
    assert found[1] not in files_in(folder)
    assert {found[0], found[2]} < set(files_in(folder))


def test_threads_that_pack_at_the_same_time_leave_one_whole_file(bundle: Path, folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(logits_of, [bundle] * 8))
    assert all(np.array_equal(each, found[0]) for each in found)
    assert len(files_in(folder)) == 1
    assert np.array_equal(logits_of(bundle), found[0])


def test_small_models_and_float32_need_no_file(
    bundle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Engine(CONFIG, StoredArrays(bundle), int8=False, threads=1)
    monkeypatch.setattr(packed_file, "LEAST", 10**9)
    logits_of(bundle)
    assert not folder.exists()
