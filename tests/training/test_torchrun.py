"""Under torchrun the same command trains the same model, with copies of it or divided, on one host or two."""

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from training_commands import children_of, command, log_of, number_pairs, wait_for

from qkv.checkpoint.tensors import read_tensors
from qkv.families.loading import load

STEPS = ["--steps", "30", "--log-every", "1"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return number_pairs(tmp_path_factory.mktemp("pairs") / "pairs.tsv")


def torchrun(run: Sequence[str], *options: str) -> list[str]:
    """The command, started by torchrun as two processes."""
    assert run[:3] == [sys.executable, "-m", "qkv"]
    launcher = [sys.executable, "-m", "torch.distributed.run"]
    return [*launcher, *(options or ["--standalone", "--nproc-per-node", "2"]), "-m", *run[2:]]


def trained(run: list[str]) -> str:
    ended = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


@pytest.fixture(scope="module", params=["adamw", "muon"])
def alone(
    request: pytest.FixtureRequest, pairs: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """What one process makes of it."""
    out = tmp_path_factory.mktemp(request.param) / "alone"
    options = ["--optimizer", request.param, "--weight-decay", "0.1"]
    trained(command(pairs, out, *STEPS, *options, "--processes", "1"))
    return request.param, out


@pytest.mark.parametrize(
    "way", [[], ["--sharded"], ["--gradient-accumulation-steps", "3"], ["--sharded", "--gradient-accumulation-steps", "3"]],
    ids=["copies", "sharded", "copies in parts", "sharded in parts"],
)  # fmt: skip
def test_two_processes_with_half_a_batch_each_learn_what_one_learns(
    alone: tuple[str, Path], way: list[str], pairs: Path, tmp_path: Path
) -> None:
    optimiser, expected = alone
    options = ["--optimizer", optimiser, "--weight-decay", "0.1", *way]
    message = trained(torchrun(command(pairs, tmp_path / "run", *STEPS, *options)))
    assert message.count("to train on") == 1, "one process speaks"
    assert "Warning" not in message
    for key in ("loss", "validation_loss"):
        one, two = log_of(expected, key), log_of(tmp_path / "run", key)
        assert len(one) >= 3
        assert two == pytest.approx(one, abs=2e-5)
    first, second = (read_tensors(out / "model.safetensors") for out in (expected, tmp_path / "run"))
    for name, tensor in first.items():
        if not name.endswith("key.bias"):  # its gradient is rounding, and Adam scales it up
            torch.testing.assert_close(tensor, second[name], atol=2e-4, rtol=0)
    sentences = ["one two three", "seven four two"]
    assert load(tmp_path / "run").translate(sentences) == load(expected).translate(sentences)


@pytest.mark.usefixtures("int16")
@pytest.mark.parametrize("way", [[], ["--sharded"]], ids=["copies", "sharded"])
def test_in_int16_two_processes_learn_what_one_learns_in_float32(
    way: list[str], pairs: Path, tmp_path: Path
) -> None:
    trained(command(pairs, tmp_path / "one", *STEPS, "--processes", "1", "--precision", "float32"))
    trained(torchrun(command(pairs, tmp_path / "two", *STEPS, *way, "--precision", "int16")))
    one, two = log_of(tmp_path / "one", "loss"), log_of(tmp_path / "two", "loss")
    assert two != pytest.approx(one, abs=2e-5), "other numbers"
    assert two == pytest.approx(one, rel=5e-3)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_job_with_a_sentence_and_the_job_can_be_resumed(
    rank: int, pairs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = torchrun(command(pairs, out, "--steps", "4000", "--log-every", "1"))
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (out / "training" / "step-10").exists())
        os.kill(process_of_rank(process.pid, rank), signal.SIGKILL)
        _, message = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "error: another process of this training run has ended" in message
    before = max(log_of(out, "step"))
    resumed = [sys.executable, "-m", "qkv", "train", "translator", "--resume", "--out", str(out)]
    with subprocess.Popen(torchrun(resumed), stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: max(log_of(out, "step")) > before)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)
    states = [int(path.name.removeprefix("step-")) for path in (out / "training").glob("step-*")]
    assert max(states) == max(log_of(out, "step")), "what a scheduler ends is saved at the end of its step"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [(["--version"], 0, "qkv "), (["train", "nothing"], 2, "error: "), (["fault"], 1, "ZeroDivisionError")],
)
def test_under_torchrun_a_process_ends_without_pythons_clean_up_in_which_gloo_could_abort_it(
    arguments: list[str], code: int, said: str
) -> None:
    program = (
        "import atexit, os, sys, qkv.cli\n"
        "atexit.register(os.abort)\n"
        "qkv.cli.find_command = (lambda _: 1 / 0) if sys.argv[1] == 'fault' else qkv.cli.find_command\n"
        "qkv.cli.main()\n"
    )
    run = [sys.executable, "-c", program, *arguments]
    for processes, expected in (("2", code), ("1", -signal.SIGABRT)):
        ended = subprocess.run(
            run, env={**os.environ, "WORLD_SIZE": processes}, capture_output=True, text=True, timeout=60
        )
        assert ended.returncode == expected, ended.stderr
        assert said in ended.stdout + ended.stderr


@pytest.mark.parametrize("size", ["", "many", "-1"])
def test_a_size_that_is_no_number_is_not_torchruns(size: str) -> None:
    run = [sys.executable, "-m", "qkv", "--version"]
    ended = subprocess.run(run, env={**os.environ, "WORLD_SIZE": size}, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_without_standard_output_a_finished_process_has_not_failed() -> None:
    run = f"exec {sys.executable} -m qkv --version >&-"
    assert subprocess.run(["sh", "-c", run], env={**os.environ, "WORLD_SIZE": "2"}).returncode == 0


def process_of_rank(launcher: int, rank: int) -> int:
    def environment(pid: int) -> list[str]:
        return Path(f"/proc/{pid}/environ").read_text().split("\0")

    return next(pid for pid in children_of(launcher) if f"RANK={rank}" in environment(pid))


def test_a_network_that_is_not_there_is_a_sentence(pairs: Path, tmp_path: Path) -> None:
    run = torchrun(command(pairs, tmp_path / "run", *STEPS))
    ended = subprocess.run(
        run, env={**os.environ, "GLOO_SOCKET_IFNAME": "nosuch"}, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode != 0
    assert "error: the processes of torchrun cannot reach each other" in ended.stderr
    assert "init_process_group" not in ended.stderr, "no traceback of ours"


def test_without_torchrun_a_model_is_not_divided(pairs: Path, tmp_path: Path) -> None:
    run = command(pairs, tmp_path / "run", *STEPS, "--sharded", "--processes", "1")
    ended = subprocess.run(run, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "Start the command with torchrun" in ended.stderr
    assert not (tmp_path / "run").exists()


HOSTS = ("10.231.0.1", "10.231.0.2")


@pytest.fixture
def two_hosts() -> Iterator[list[str]]:
    """Two network namespaces with a cable between them; nothing else is reached from there."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("making network namespaces needs root and the ip command")
    names = [f"qkv-{uuid.uuid4().hex[:6]}-{number}" for number in (0, 1)]
    try:
        for name in names:
            ip("netns", "add", name)
        ends = [f"q{name[4:10]}{number}" for number, name in enumerate(names)]
        ip("link", "add", ends[0], "netns", names[0], "type", "veth", "peer", ends[1], "netns", names[1])
        for name, end, address in zip(names, ends, HOSTS, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            for device in (end, "lo"):
                ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def ip(*arguments: str) -> None:
    ended = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if ended.returncode != 0:
        pytest.skip(f"network namespaces cannot be made here: {ended.stderr.strip()}")


def test_two_hosts_meet_and_train(two_hosts: list[str], pairs: Path, tmp_path: Path) -> None:
    started = []
    for number, name in enumerate(two_hosts):
        out = tmp_path / "run"  # on a shared disk, as on a cluster
        options = (
            f"--nnodes 2 --node-rank {number} --nproc-per-node 1 --master-addr {HOSTS[0]} --master-port 29401"
        )
        run = torchrun(command(pairs, out, *STEPS), *options.split())
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": f"q{name[4:10]}{number}"}
        started.append(
            subprocess.Popen(
                ["ip", "netns", "exec", name, *run], env=environment, stderr=subprocess.PIPE, text=True
            )
        )
    messages = [process.communicate(timeout=180)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], messages
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["made_with"]["processes"] == 2
    assert log_of(tmp_path / "run", "loss")[-1] < log_of(tmp_path / "run", "loss")[0]
