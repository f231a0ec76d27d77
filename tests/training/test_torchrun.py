"""Under torchrun the same command trains the same model, copied or sharded, on one host or two."""

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import forked
import pytest
import torch
from commands import code_of
from training_commands import (
    arguments,
    children_of,
    command,
    log_of,
    number_pairs,
    resume_arguments,
    wait_for,
)

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


def train_as_ranks(*words: str) -> str:
    """Train in two processes as torchrun starts them, and return what both print."""
    with forked.ranks(*words) as started:
        ended = [process.wait() for process in started]
    messages = "".join(each.stderr for each in ended)
    assert [each.returncode for each in ended] == [0, 0], messages
    return messages


@pytest.fixture(scope="module")
def alone(
    request: pytest.FixtureRequest, pairs: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The optimizer, and the folder of a run of one process."""
    out = tmp_path_factory.mktemp(request.param) / "alone"
    options = ["--optimizer", request.param, "--weight-decay", "0.1"]
    assert code_of(*arguments(pairs, out, *STEPS, *options, "--processes", "1")) == 0
    return request.param, out


IN_PARTS = ["--gradient-accumulation-steps", "3"]
WAYS: dict[str, list[str]] = {
    "copies": [],
    "sharded": ["--sharded"],
    "copies in parts": IN_PARTS,
    "sharded in parts": ["--sharded", *IN_PARTS],
}
# Every pair of choices once; the other combinations are slow tests.
QUICK = {("adamw", "copies"), ("adamw", "sharded in parts"), ("muon", "sharded"), ("muon", "copies in parts")}
COMBINATIONS = [
    pytest.param(
        optimizer,
        WAYS[way],
        id=f"{optimizer}-{way}",
        marks=() if (optimizer, way) in QUICK else pytest.mark.slow,
    )
    for optimizer in ("adamw", "muon")
    for way in WAYS
]


@pytest.mark.parametrize(("alone", "way"), COMBINATIONS, indirect=["alone"])
def test_two_processes_with_half_a_batch_each_learn_what_one_learns(
    alone: tuple[str, Path], way: list[str], pairs: Path, tmp_path: Path
) -> None:
    optimizer, expected = alone
    options = ["--optimizer", optimizer, "--weight-decay", "0.1", *way]
    message = train_as_ranks(*arguments(pairs, tmp_path / "run", *STEPS, *options))
    assert message.count("to train on") == 1, "only one process prints"
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


@pytest.fixture(scope="module")
def in_float32(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of one process in float32."""
    out = tmp_path_factory.mktemp("float32") / "one"
    assert code_of(*arguments(pairs, out, *STEPS, "--processes", "1", "--precision", "float32")) == 0
    return out


@pytest.mark.usefixtures("int16")
@pytest.mark.parametrize("way", ["copies", "sharded"])
def test_in_int16_two_processes_learn_what_one_learns_in_float32(
    way: str, in_float32: Path, pairs: Path, tmp_path: Path
) -> None:
    train_as_ranks(*arguments(pairs, tmp_path / "two", *STEPS, *WAYS[way], "--precision", "int16"))
    one, two = log_of(in_float32, "loss"), log_of(tmp_path / "two", "loss")
    assert two != pytest.approx(one, abs=2e-5), "other numbers"
    assert two == pytest.approx(one, rel=5e-3)


def test_killing_the_first_process_ends_the_job_with_an_error_message_and_the_job_can_be_resumed(
    pairs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = torchrun(command(pairs, out, "--steps", "4000", "--log-every", "1"))
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (out / "training" / "step-10").exists())
        os.kill(process_of_rank(process.pid, 0), signal.SIGKILL)
        _, message = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "error: another process of this training run has ended" in message
    before = max(log_of(out, "step"))
    with forked.ranks(*resume_arguments(out)) as resumed:
        wait_for(lambda: max(log_of(out, "step")) > before)
        for each in resumed:  # torchrun passes on the signal of a scheduler
            os.kill(each.pid, signal.SIGTERM)
        assert [each.wait(timeout=120).returncode for each in resumed] == [143, 143]
    states = [int(path.name.removeprefix("step-")) for path in (out / "training").glob("step-*")]
    assert max(states) == max(log_of(out, "step")), "a job that a scheduler ends is saved after its step"


def test_killing_another_process_ends_the_first_with_an_error_message(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with forked.ranks(*arguments(pairs, out, "--steps", "4000", "--log-every", "1")) as (first, second):
        wait_for(lambda: (out / "training" / "step-10").exists())
        os.kill(second.pid, signal.SIGKILL)
        second.wait()
        ended = first.wait(timeout=120)
    assert ended.returncode == 2
    assert "error: another process of this training run has ended" in ended.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [(["--version"], 0, "qkv "), (["train", "nothing"], 2, "error: "), (["fault"], 1, "ZeroDivisionError")],
)
def test_under_torchrun_a_process_skips_pythons_clean_up_because_gloo_could_abort_it(
    options: list[str], code: int, message: str
) -> None:
    program = (
        "import atexit, os, sys, qkv.cli\n"
        "atexit.register(os.abort)\n"
        "qkv.cli.find_command = (lambda _: 1 / 0) if sys.argv[1] == 'fault' else qkv.cli.find_command\n"
        "qkv.cli.main()\n"
    )
    run = [sys.executable, "-c", program, *options]
    for processes, expected in (("2", code), ("1", -signal.SIGABRT)):
        ended = subprocess.run(
            run, env={**os.environ, "WORLD_SIZE": processes}, capture_output=True, text=True, timeout=60
        )
        assert ended.returncode == expected, ended.stderr
        assert message in ended.stdout + ended.stderr


@pytest.mark.parametrize("size", ["", "many", "-1"])
def test_a_world_size_that_is_not_a_positive_number_is_ignored(size: str) -> None:
    run = [sys.executable, "-m", "qkv", "--version"]
    ended = subprocess.run(run, env={**os.environ, "WORLD_SIZE": size}, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_process_without_standard_output_succeeds() -> None:
    run = f"exec {sys.executable} -m qkv --version >&-"
    assert subprocess.run(["sh", "-c", run], env={**os.environ, "WORLD_SIZE": "2"}).returncode == 0


def process_of_rank(launcher: int, rank: int) -> int:
    def environment(pid: int) -> list[str]:
        return Path(f"/proc/{pid}/environ").read_text().split("\0")

    return next(pid for pid in children_of(launcher) if f"RANK={rank}" in environment(pid))


def test_a_missing_network_gives_an_error_message(pairs: Path, tmp_path: Path) -> None:
    environment = {"GLOO_SOCKET_IFNAME": "nosuch"}
    with forked.ranks(*arguments(pairs, tmp_path / "run", *STEPS), environment=environment) as started:
        ended = [process.wait(timeout=120) for process in started]
    assert [each.returncode for each in ended] == [2, 2]
    message = "".join(each.stderr for each in ended)
    assert "error: the processes of torchrun cannot reach each other" in message
    assert "init_process_group" not in message, "no traceback"


def test_a_model_is_only_sharded_under_torchrun(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*arguments(pairs, tmp_path / "run", *STEPS, "--sharded", "--processes", "1")) == 2
    assert "Start the command with torchrun" in capsys.readouterr().err
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
