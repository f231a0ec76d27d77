"""Several processes that share a run learn what one process learns."""

import os
import signal
import threading
from pathlib import Path

import forked
import pytest
import torch
from commands import code_of
from training_commands import alive, arguments, children_of, log_of, number_pairs, resume_arguments, wait_for

from qkv.checkpoint.files import read_json
from qkv.checkpoint.tensors import read_tensors
from qkv.cli import DATA
from qkv.training.distributed import processes_for


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return number_pairs(tmp_path_factory.mktemp("pairs") / "pairs.tsv")


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_two_processes_with_half_a_batch_each_learn_what_one_learns(
    pairs: Path, tmp_path: Path, optimizer: str
) -> None:
    for processes in ("1", "2"):
        options = ["--steps", "30", "--log-every", "10", "--processes", processes, "--optimizer", optimizer]
        assert code_of(*arguments(pairs, tmp_path / processes, *options)) == 0
    for key in ("loss", "validation_loss"):
        one, two = log_of(tmp_path / "1", key), log_of(tmp_path / "2", key)
        assert len(one) >= 3
        assert one == pytest.approx(two, abs=2e-5)
    weights = [read_tensors(tmp_path / processes / "model.safetensors") for processes in ("1", "2")]
    for name, tensor in weights[0].items():
        if name.endswith(
            "key.bias"
        ):  # shifts all scores of a row: its gradient is rounding, scaled up by Adam
            continue
        # Adam divides by the size of gradients: where these are rounding, steps of 3e-4 may go either way.
        torch.testing.assert_close(tensor, weights[1][name], atol=5e-4, rtol=0)


def test_a_killed_helper_ends_the_run_with_an_error_message_and_the_run_can_be_resumed(
    pairs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    running = forked.start(*arguments(pairs, out, "--steps", "4000", "--processes", "2"))
    wait_for(lambda: (out / "training" / "step-10").exists())
    os.kill(children_of(running.pid)[0], signal.SIGKILL)
    ended = running.wait(timeout=60)
    assert ended.returncode == 2
    assert "another process of this training run has ended" in ended.stderr
    assert "Traceback" not in ended.stderr
    before = max(log_of(out, "step"))
    resumed = forked.start(*resume_arguments(out))
    wait_for(lambda: max(log_of(out, "step")) > before)
    os.kill(resumed.pid, signal.SIGINT)
    assert resumed.wait(timeout=60).returncode == 130


def test_killing_the_command_ends_its_helpers(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    running = forked.start(*arguments(pairs, out, "--steps", "100000", "--processes", "2"))
    wait_for(lambda: (out / "training" / "step-10").exists())
    helper = children_of(running.pid)[0]
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    wait_for(lambda: not alive(helper))
    assert not alive(helper)


def test_there_is_a_process_per_core_if_the_batch_is_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qkv.training.distributed.cores", lambda: 8)
    assert processes_for(0, 100) == 1
    assert processes_for(0, 2048) == 4
    assert processes_for(0, 100_000) == 8
    assert processes_for(3, 100) == 3


def test_a_helper_that_cannot_start_ends_the_command_with_an_error_message(
    pairs: Path, tmp_path: Path
) -> None:
    """For example, one that the system kills while it reads the files."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text('import os\nif "QKV_HELPER" in os.environ:\n    os._exit(9)\n')
    options = ["--steps", "20", "--processes", "2"]
    ended = forked.run(*arguments(pairs, tmp_path / "run", *options), environment={"PYTHONPATH": str(broken)})
    assert ended.returncode == 2
    assert "another process of this training run has ended" in ended.stderr


def test_data_from_a_pipe_are_trained_on_by_one_process(pairs: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pairs.tsv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(pairs.read_text(),))
    writer.start()
    assert code_of(*arguments(pipe, tmp_path / "run", "--steps", "5", "--processes", "2")) == 0
    writer.join()
    assert read_json(tmp_path / "run" / "report.json")["made_with"]["processes"] == 1


def test_a_second_run_cannot_use_the_folder_of_a_running_one(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    running = forked.start(*arguments(pairs, out, "--steps", "100000"))
    wait_for(lambda: (out / "training" / "step-10").exists())
    code = code_of(*resume_arguments(out))
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert code == DATA
    assert "another run uses" in capsys.readouterr().err
