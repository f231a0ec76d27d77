"""Several processes that share a run do what one process does."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from training_commands import alive, children_of, command, log_of, number_pairs, wait_for

from qkv.checkpoint.tensors import read_tensors
from qkv.training.distributed import processes_for


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return number_pairs(tmp_path_factory.mktemp("pairs") / "pairs.tsv")


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_two_processes_with_half_a_batch_each_learn_what_one_learns(
    pairs: Path, tmp_path: Path, optimiser: str
) -> None:
    for processes in ("1", "2"):
        options = ["--processes", processes, "--optimizer", optimiser]
        run = command(pairs, tmp_path / processes, "--steps", "50", *options)
        subprocess.run(run, check=True, capture_output=True)
    for key in ("loss", "validation_loss"):
        one, two = log_of(tmp_path / "1", key), log_of(tmp_path / "2", key)
        assert len(one) >= 2
        assert one == pytest.approx(two, abs=2e-5)
    weights = [read_tensors(tmp_path / processes / "model.safetensors") for processes in ("1", "2")]
    for name, tensor in weights[0].items():
        if name.endswith(
            "key.bias"
        ):  # it moves every score of a row alike: its gradient is rounding, and Adam scales it up
            continue
        # Adam divides by the size of gradients: where these are rounding, steps of 3e-4 may go either way.
        torch.testing.assert_close(tensor, weights[1][name], atol=5e-4, rtol=0)


def test_a_killed_helper_ends_the_run_with_a_sentence_and_the_run_can_be_resumed(
    pairs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = command(pairs, out, "--steps", "4000", "--processes", "2")
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (out / "training" / "step-10").exists())
        helper = children_of(process.pid)[0]
        os.kill(helper, signal.SIGKILL)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "another process of this training run has ended" in message
    assert "Traceback" not in message
    resumed = [sys.executable, "-m", "qkv", "train", "translator", "--resume", "--out", str(out)]
    before = max(log_of(out, "step"))
    with subprocess.Popen(resumed, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: max(log_of(out, "step")) > before)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_killing_the_command_ends_its_helpers(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = command(pairs, out, "--steps", "100000", "--processes", "2")
    with subprocess.Popen(run, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: (out / "training" / "step-10").exists())
        helper = children_of(process.pid)[0]
        process.kill()
    wait_for(lambda: not alive(helper))
    assert not alive(helper)


def test_a_process_for_every_core_as_far_as_the_batch_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qkv.training.distributed.cores", lambda: 8)
    assert processes_for(0, 100) == 1
    assert processes_for(0, 2048) == 4
    assert processes_for(0, 100_000) == 8
    assert processes_for(3, 100) == 3


def test_a_helper_that_cannot_start_ends_the_command_with_a_sentence(pairs: Path, tmp_path: Path) -> None:
    """Such as one that the system kills while it reads the files."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text('import os\nif "QKV_HELPER" in os.environ:\n    os._exit(9)\n')
    run = command(pairs, tmp_path / "run", "--steps", "20", "--processes", "2")
    environment = {**os.environ, "PYTHONPATH": str(broken)}
    ended = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "another process of this training run has ended" in ended.stderr


def test_what_only_one_process_can_read_is_trained_on_by_one(pairs: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pairs.tsv"
    os.mkfifo(pipe)
    run = command(pipe, tmp_path / "run", "--steps", "5")
    with subprocess.Popen(run, stderr=subprocess.DEVNULL) as process:
        pipe.write_text(pairs.read_text())
        assert process.wait(timeout=60) == 0
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["made_with"]["processes"] == 1


def test_a_second_run_is_kept_out_of_a_folder_that_is_in_use(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with subprocess.Popen(command(pairs, out, "--steps", "100000"), stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: (out / "training" / "step-10").exists())
        resumed = [sys.executable, "-m", "qkv", "train", "translator", "--resume", "--out", str(out)]
        second = subprocess.run(resumed, capture_output=True, text=True)
        process.kill()
    assert second.returncode == 2
    assert "another process is training" in second.stderr
