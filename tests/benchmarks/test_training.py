"""The benchmark of training counts what was trained, and compares with the best peer as people run it."""

import importlib.util
import json
import random
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from qkv.data.parallel import read_two
from qkv.errors import QkvError
from qkv.text.tokenizer import Tokenizer

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "training.py"
SPECIFICATION = importlib.util.spec_from_file_location("benchmark_of_training", SCRIPT)
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
training = importlib.util.module_from_spec(SPECIFICATION)
sys.modules["benchmark_of_training"] = training  # where its dataclasses look for their names
sys.path.insert(0, str(SCRIPT.parent))  # where it finds its own files
try:
    SPECIFICATION.loader.exec_module(training)
    systems = sys.modules.pop("training_systems")
finally:
    sys.path.remove(str(SCRIPT.parent))

SMALL = replace(training.SHAPES["tiny"], depth=1, width=16, hidden=32, heads=2, batch_tokens=256)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Two files of sentences, and a vocabulary for them."""
    folder = tmp_path_factory.mktemp("texts")
    sides = training.made_up(random.Random(1), 300)
    for name, lines in zip(("source", "target"), sides, strict=True):
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "tokenizer.json").write_text(Tokenizer.learn([*sides[0], *sides[1]], 500).text())
    return folder / "source", folder / "target", folder / "tokenizer.json"


def test_made_up_sentences_have_the_lengths_of_captions_and_are_the_same_every_time() -> None:
    source, target = training.made_up(random.Random(1), 2_000)
    lengths = [len(line.split()) for line in source]
    assert 12 < sum(lengths) / len(lengths) < 13.5
    assert 3 <= min(lengths) <= max(lengths) <= 40
    assert all(abs(len(a.split()) - len(b.split())) <= 2 for a, b in zip(source, target, strict=True))
    assert training.made_up(random.Random(1), 2_000) == (source, target)


def test_operations_are_six_for_each_weight_and_word_but_for_the_scores() -> None:
    base = training.SHAPES["base"]
    d, f = base.width, base.hidden
    weights = (
        base.depth * (4 * d * d + 2 * d * f) + base.depth * (8 * d * d + 2 * d * f) + systems.VOCABULARY * d
    )
    assert base.operations(1.0, 1.0) == pytest.approx(6 * weights, rel=0.02)
    assert base.operations(1.0, 1.0) > 6 * weights


def test_the_ratio_is_against_the_best_peer_that_has_one_process() -> None:
    speeds = {
        "ours": 600.0,
        "ours, recipe": 500.0,
        "marian": 300.0,
        "marian, 2 processes": 400.0,
        "nn.Transformer": 200.0,
    }
    rows = {name: {"tokens_per_second": speed} for name, speed in speeds.items()}
    assert training.ratio(rows) == 2.0


def test_the_log_is_read_incrementally(tmp_path: Path) -> None:
    ours = systems.Ours.__new__(systems.Ours)
    ours.log = tmp_path / "a" / "b" / "log.jsonl"
    ours.log.parent.mkdir(parents=True)
    ours.processes = [systems.started([sys.executable, "-c", "input()"], tmp_path)]
    ours.read_to, ours.steps, ours.tokens = 0, 0, 0
    assert ours.so_far() == (0, 0)
    ours.log.write_text('{"step": 1, "tokens": 70}\n{"step": 2, "tok')
    assert ours.so_far() == (1, 70)
    with open(ours.log, "a") as file:
        file.write('ens": 150}\n{"step": 2, "validation_loss": 3.0}\n')
    assert ours.so_far() == (2, 150)
    assert ours.so_far() == (2, 150)
    systems.end(ours.processes)
    with pytest.raises(QkvError, match="has ended with -9"):
        ours.so_far()


@pytest.mark.parametrize(("kind", "count"), [("marian", 1), ("nn.Transformer", 2)])
def test_a_worker_trains_for_the_requested_time(
    kind: str, count: int, texts: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    if kind == "marian":
        pytest.importorskip("transformers", reason="transformers is not installed")
    worker = systems.Worker(kind, texts[:2], texts[2], tmp_path / "peer", {"small": SMALL}, count)
    peer = systems.Peer(worker, "small")
    try:
        peer.hold()
        peer.make_ready(steps=2)
        tokens, seconds = peer.turn(0.5)
        assert seconds >= 0.5
        assert tokens > 0
        assert peer.matmul_peak() > 1e8
    finally:
        systems.end(peer.processes)


def test_our_command_has_the_requested_shape(tmp_path: Path) -> None:
    command = systems.ours_command(SMALL, (tmp_path / "a", tmp_path / "b"), tmp_path / "out", "muon")
    options = dict(zip(command[5::2], command[6::2], strict=True))
    assert command[1:5] == ["-m", "qkv", "train", "translator"]
    for name, flag in (
        ("width", "--width"),
        ("hidden", "--ffn-width"),
        ("heads", "--heads"),
        ("dropout", "--dropout"),
    ):
        assert options[flag] == str(asdict(SMALL)[name])
    assert options["--encoder-depth"] == options["--decoder-depth"] == "1"
    assert options["--optimizer"] == "muon"
    assert json.loads(options["--vocab-size"]) == systems.VOCABULARY


IN_THE_PLACE_OF_JOEYNMT = """
import pathlib, signal, sys, time

log = pathlib.Path(sys.argv[4]).parent / "model" / "train.log"  # -m joeynmt train CONFIG
log.parent.mkdir()

def say(line):
    with open(log, "a") as file:
        print(line, file=file)

rested = False

def go_on(*_):
    global rested
    rested = True

signal.signal(signal.SIGCONT, go_on)
say("EPOCH 1")
while True:
    time.sleep(0.05)
    speed, rested = 7 if rested else 1200, False
    say(f"Epoch 1, Step: 1, Tokens per Sec: {speed}, Lr: 0.1")
"""


def test_joeynmts_own_speeds_are_read_and_the_first_of_a_turn_is_not_believed(
    texts: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """A program in its place that says what it says, and after each rest a speed that is none."""
    program = tmp_path / "joey"
    program.write_text(f"#!{sys.executable}\n{IN_THE_PLACE_OF_JOEYNMT}")
    program.chmod(0o755)
    pairs = read_two(*texts[:2])
    joey = systems.JoeyNMT(str(program), SMALL, pairs, Tokenizer.load(texts[2]), tmp_path / "out")
    try:
        joey.hold()
        time.sleep(0.5)
        joey.make_ready(steps=2)
        time.sleep(0.5)
        tokens, seconds = joey.turn(0.6)
        assert seconds >= 0.6
        assert tokens == pytest.approx(1200 * seconds, abs=1)
        rested = len(joey.so_far())
        time.sleep(0.2)
        assert len(joey.so_far()) == rested
    finally:
        systems.end(joey.processes)
    config = json.loads((tmp_path / "out" / "config.yaml").read_text())
    assert config["model"]["encoder"]["hidden_size"] == SMALL.width
    assert (tmp_path / "out" / "data" / "train.en").read_text().count("\n") == len(pairs)


def test_unknown_shapes_raise_an_error() -> None:
    assert list(training.shapes_of(training.Options(shapes="base, tiny"))) == ["base", "tiny"]
    twice = training.shapes_of(training.Options())["base-2048"]
    assert twice == replace(training.SHAPES["base"], batch_tokens=2_048)
    with pytest.raises(training.QkvError, match="--shapes knows tiny, base, base-2048, base-4096, not huge"):
        training.shapes_of(training.Options(shapes="tiny,huge"))


class Hungry:
    """Holds most for a moment in the middle of a turn."""

    processes: tuple[()] = ()

    def turn(self, seconds: float) -> tuple[int, float]:
        held.append(1.0)
        time.sleep(seconds / 2)
        held.append(5.0)
        time.sleep(seconds / 4)
        held.append(2.0)
        time.sleep(seconds / 4)
        return 0, seconds


held: list[float] = []


def test_memory_is_the_most_that_was_held_at_any_time_of_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "memory_of", lambda processes: held[-1] if held else 0.5)
    assert systems.most_memory(Hungry(), 2.0) == 5.0


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"seconds": 0.0}, {"out": Path("no/such/folder/results.json")}]
)
def test_impossible_measurements_fail_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(training.QkvError):
        training.run(training.Options(**wrong))
