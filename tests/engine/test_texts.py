"""The compiled encoder equals the one block, for texts of any lengths, threads and widths."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qkv.core.stack_config import StackConfig
from qkv.engine.library import NoEngineError, library
from qkv.engine.texts import TextEngine, split_texts
from qkv.families.bert.config import EncoderConfig
from qkv.families.bert.model import Encoder
from qkv.runtime.network import Network


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    try:
        library()
    except NoEngineError as reason:
        pytest.skip(f"the engine cannot be built here: {reason}")


def encoder_of(width: int, heads: int, hidden: int) -> Encoder:
    torch.manual_seed(7)
    stack = StackConfig(
        depth=2,
        width=width,
        heads=heads,
        ffn_width=hidden,
        norm="post",
        activation="gelu",
        dropout=0.0,
        norm_eps=1e-12,
    )
    return Encoder(EncoderConfig(vocab_size=50, max_length=12, pad=0, segments=2, stack=stack)).eval()


def engine_of(encoder: Encoder, *, int8: bool = False, threads: int = 1) -> TextEngine:
    return TextEngine(encoder.config, Network.of(encoder).weights, int8=int8, threads=threads, prefix="")


LENGTHS = [5, 1, 9, 3]
IDS = [1 + number * 7 % 49 for number in range(sum(LENGTHS))]
SEGMENTS = [number % 2 for number in range(sum(LENGTHS))]


def close(found: NDArray[np.float32], wanted: torch.Tensor) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("width", "heads", "hidden"), [(32, 2, 48), (20, 2, 36), (21, 3, 17)])
def test_every_text_is_encoded_as_if_it_were_alone(width: int, heads: int, hidden: int, threads: int) -> None:
    encoder = encoder_of(width, heads, hidden)
    given = torch.tensor([IDS, SEGMENTS]).split(LENGTHS, dim=1)
    wanted = torch.cat([encoder(ids[None], segments[None])[0] for ids, segments in given])
    engine = engine_of(encoder, threads=threads)
    close(engine(IDS, SEGMENTS, LENGTHS), wanted)
    means, firsts = (engine(IDS, SEGMENTS, LENGTHS, pooling) for pooling in ("mean", "first"))
    parts = wanted.split(LENGTHS)
    close(means, torch.stack([part.mean(0) for part in parts]))
    close(firsts, torch.stack([part[0] for part in parts]))
    alone = engine(IDS[6:15], SEGMENTS[6:15], [9])  # which all threads share
    close(alone, wanted[6:15])


@torch.no_grad()
def test_int8_is_close_and_not_the_same() -> None:
    encoder = encoder_of(64, 4, 128)
    engines = (engine_of(encoder, int8=int8, threads=1) for int8 in (False, True))
    exact, rounded = (engine(IDS, SEGMENTS, LENGTHS) for engine in engines)
    similarity = torch.cosine_similarity(torch.from_numpy(exact), torch.from_numpy(rounded), dim=-1)
    assert similarity.min() > 0.99
    assert not np.array_equal(exact, rounded)


@torch.no_grad()
@pytest.mark.parametrize("int8", [False, True])
def test_the_states_of_a_text_depend_neither_on_neighbours_nor_on_threads(int8: bool) -> None:
    encoder = encoder_of(32, 2, 48)
    alone, shared = (engine_of(encoder, int8=int8, threads=threads) for threads in (1, 2))
    together = alone(IDS, SEGMENTS, LENGTHS)
    for engine in (alone, shared):
        assert np.array_equal(engine(IDS[6:15], SEGMENTS[6:15], [9]), together[6:15])


@torch.no_grad()
def test_callers_at_the_same_time_and_forks_have_threads_of_their_own() -> None:
    engine = engine_of(encoder_of(32, 2, 48), threads=2)
    wanted, several = engine(IDS[6:15], SEGMENTS[6:15], [9]), engine(IDS, SEGMENTS, LENGTHS)

    def all_the_same(_: int) -> bool:
        alone = all(np.array_equal(engine(IDS[6:15], SEGMENTS[6:15], [9]), wanted) for _ in range(20))
        return alone and np.array_equal(engine(IDS, SEGMENTS, LENGTHS), several)

    with ThreadPoolExecutor(3) as callers:
        assert all(callers.map(all_the_same, range(6)))
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # rather than to wait for ever for threads that only the parent has
        time.sleep(0.6)  # longer than work is done alone because the machine is crowded
        os._exit(0 if all_the_same(0) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert all_the_same(0)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
def test_idle_threads_sleep() -> None:
    engine = engine_of(encoder_of(32, 2, 48), threads=2)
    engine(IDS[6:15], SEGMENTS[6:15], [9])
    others = set(os.listdir("/proc/self/task")) - {str(threading.get_native_id())}
    assert others
    assert all(map(sleeps, others))


def sleeps(thread: str) -> bool:
    """Whether a thread falls asleep within a minute, and stays so."""
    for _ in range(6_000):
        states = []
        for _ in range(5):
            states.append(Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(")")[2].split()[0])
            time.sleep(0.002)
        if states == ["S"] * 5:
            return True
    return False


@pytest.mark.parametrize(
    ("ids", "segments", "error"),
    [([], [], ValueError), ([3] * 13, [0] * 13, ValueError), ([50], [0], IndexError), ([3], [2], IndexError)],
)
def test_out_of_range_inputs_raise_an_error(
    ids: list[int], segments: list[int], error: type[Exception]
) -> None:
    with pytest.raises(error):
        engine_of(encoder_of(32, 2, 48), threads=1)(ids, segments, [len(ids)])


def test_texts_are_not_split_between_parts() -> None:
    parts = split_texts([5, 1, 9, 3, 3], 6)
    assert [part.lengths for part in parts] == [[5, 1], [9], [3, 3]]
    assert [(row, text) for row, text, _ in parts] == [(0, 0), (6, 2), (15, 3)]
