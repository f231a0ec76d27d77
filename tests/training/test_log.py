"""A log has each line once, whole, in order: also after a refusal, and after a part of it is taken back."""

import os
from pathlib import Path

import pytest

from qkv.checkpoint.files import bytes_hash
from qkv.training.log import Log

LINES = b'{"step": 1}\n{"step": 2}\n{"step": 3}\n'


def test_the_state_of_the_log_matches_the_file(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    assert log.sync()["bytes"] == 0
    for step in (1, 2, 3):
        log.add({"step": step})
    assert log.path.read_bytes() == LINES
    assert log.sync() == {"bytes": len(LINES), "sha256": bytes_hash(LINES)}


@pytest.mark.parametrize("taken", [0, 5])
def test_a_line_that_cannot_be_written_is_kept_for_later_without_a_partial_write(
    taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, write = Log(tmp_path / "log.jsonl"), os.write
    log.add({"step": 1})

    def full(handle: int, content: bytes) -> int:
        write(handle, content[:taken])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for step in (2, 3):
            with pytest.raises(OSError, match="No space"):
                log.add({"step": step})
        with pytest.raises(OSError, match="No space"):
            log.sync()
    assert log.sync() == {"bytes": len(LINES), "sha256": bytes_hash(LINES)}
    assert log.path.read_bytes() == LINES


def test_lines_whose_flush_failed_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may have dropped them, and say of the next flush that all is well."""
    log = Log(tmp_path / "log.jsonl")
    log.add({"step": 1})
    safe = log.sync()["bytes"]
    log.add({"step": 2})

    def refused(_handle: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refused)
        with pytest.raises(OSError, match="Input/output"):
            log.sync()
    written = log.path.read_bytes()
    log.path.write_bytes(written[:safe] + bytes(len(written) - safe))
    log.add({"step": 3})
    assert log.sync() == {"bytes": len(LINES), "sha256": bytes_hash(LINES)}
    assert log.path.read_bytes() == LINES


def test_a_truncated_log_continues_from_that_point(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.add({"step": 1})
    at_one = log.sync()
    log.add({"step": 7})
    again = Log(log.path)
    assert again.cut_back(at_one) is None
    for step in (2, 3):
        again.add({"step": step})
    assert log.path.read_bytes() == LINES
    assert again.sync()["sha256"] == bytes_hash(LINES)


@pytest.mark.parametrize("harm", ["shorter", "changed", "gone"])
def test_a_changed_log_is_named(harm: str, tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    for step in (1, 2, 3):
        log.add({"step": step})
    facts = log.sync()
    if harm == "gone":
        log.path.unlink()
    else:
        log.path.write_bytes(LINES[:-4] if harm == "shorter" else LINES.replace(b"2", b"3"))
    assert "log.jsonl changed since the checkpoint" in (Log(log.path).cut_back(facts) or "")
