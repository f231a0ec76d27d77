"""A flipped bit or a missing end in any file that a resumed run reads is detected, and the file is named."""

import random
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT

import pytest
from digit_runs import Recorder, digit_corpus, send, tiny_settings, train

from qkv.checkpoint import state
from qkv.checkpoint.files import read_sealed
from qkv.checkpoint.state import damage
from qkv.checkpoint.tensors import read_tensors
from qkv.errors import QkvError
from qkv.training.run_file import check_same_run

FEW, MANY = 100, 1_000
SETTINGS = tiny_settings(precision="float32")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    train(out, SETTINGS, recorder=Recorder(at=15, action=send(SIGINT)))
    return out


def error_of(check: Callable[[], object]) -> str | None:
    try:
        check()
    except QkvError as error:
        return str(error)
    return None


def checked(out: Path) -> dict[Path, Callable[[], str | None]]:
    """Every file that a resumed run reads, and the check that reads it first."""
    folder = out / "training"
    newest = folder / "step-16"
    fingerprint = digit_corpus().fingerprint()
    same_run = lambda: error_of(lambda: check_same_run(folder, fingerprint, SETTINGS))  # noqa: E731
    checks: dict[Path, Callable[[], str | None]] = {path: lambda: damage(newest) for path in newest.iterdir()}
    checks |= {folder / "run.json": same_run, folder / "tokenizer.json": same_run}
    for path in [out / "model.safetensors", *(folder / "snapshots").iterdir()]:
        checks[path] = lambda path=path: error_of(lambda: read_tensors(path))  # type: ignore[misc]
    return checks


def test_every_file_has_a_check_that_accepts_it_undamaged(stopped: Path) -> None:
    names = [path.name for path in checked(stopped)]
    assert len(names) == 9
    assert {"MANIFEST.json", "state.json", "model.safetensors", "optimiser.safetensors", "run.json"} <= set(
        names
    )
    assert all(check() is None for check in checked(stopped).values())


def undetected(path: Path, check: Callable[[], str | None], flips: int) -> int:
    whole, chance, missed = path.read_bytes(), random.Random(1), 0
    for _ in range(flips):
        place = chance.randrange(8 * len(whole))
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        missed += check() is None
    path.write_bytes(whole)
    return missed


@pytest.mark.parametrize("flips", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_every_flipped_bit_of_every_file_is_detected(flips: int, stopped: Path) -> None:
    missed = {path: undetected(path, check, flips) for path, check in checked(stopped).items()}
    assert missed == dict.fromkeys(checked(stopped), 0)


def test_every_truncated_file_is_detected_and_named(stopped: Path) -> None:
    chance = random.Random(1)
    for path, check in checked(stopped).items():
        whole = path.read_bytes()
        for length in {
            0,
            1,
            len(whole) - 1,
            len(whole) // 2,
            *(chance.randrange(len(whole)) for _ in range(50)),
        }:
            path.write_bytes(whole[:length])
            assert path.name in (check() or ""), (path.name, length)
        path.write_bytes(whole)


def test_without_the_hashes_flipped_bits_are_not_detected(
    stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above fail if the check is removed."""
    weights = stopped / "training" / "step-16" / "model.safetensors"
    wanted = read_sealed(weights.with_name("MANIFEST.json"))["files"]
    monkeypatch.setattr(state, "file_hash", lambda path, **_: wanted[path.name])
    assert undetected(weights, checked(stopped)[weights], 50) == 50


def test_a_log_that_was_changed_is_named_on_resume(stopped: Path) -> None:
    log = stopped / "training" / "log.jsonl"
    content = bytearray(log.read_bytes())
    content[20] ^= 1
    log.write_bytes(content)
    _, recorder = train(stopped, SETTINGS, resume=True)
    assert any("log.jsonl changed since the checkpoint" in warning for warning in recorder.warnings)
