"""The compiled encoder equals the one block, for texts of any lengths, threads and widths."""

import pytest
import torch

from qkv.core.block import Stack, StackConfig
from qkv.engine.library import NoEngineError, library
from qkv.engine.texts import TextEngine, shared_out


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    try:
        library()
    except NoEngineError as reason:
        pytest.skip(f"the engine cannot be built here: {reason}")


def stack_of(width: int, heads: int, hidden: int, norm: str = "post") -> tuple[Stack, StackConfig]:
    torch.manual_seed(7)
    config = StackConfig(
        depth=2,
        width=width,
        heads=heads,
        hidden=hidden,
        norm=norm,
        activation="gelu",
        dropout=0.0,
        norm_eps=1e-12,
    )  # type: ignore[arg-type]
    return Stack(config).eval(), config


LENGTHS = [5, 1, 9, 3]


@torch.no_grad()
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("width", "heads", "hidden"), [(32, 2, 48), (20, 2, 36), (21, 3, 17)])
def test_every_text_is_encoded_as_if_it_were_alone(width: int, heads: int, hidden: int, threads: int) -> None:
    stack, config = stack_of(width, heads, hidden)
    x = torch.randn(sum(LENGTHS), width)
    wanted = torch.cat([stack(part[None])[0] for part in x.split(LENGTHS)])
    engine = TextEngine(stack, config, int8=False, threads=threads)
    before = x.clone()
    torch.testing.assert_close(engine(x, LENGTHS), wanted, rtol=1e-5, atol=1e-5)
    assert torch.equal(x, before)  # what comes in is left as it is


@torch.no_grad()
def test_int8_is_close_and_not_the_same() -> None:
    stack, config = stack_of(64, 4, 128)
    x = torch.randn(sum(LENGTHS), 64)
    exact, rounded = (TextEngine(stack, config, int8=int8, threads=1)(x, LENGTHS) for int8 in (False, True))
    cosines = torch.cosine_similarity(exact, rounded, dim=-1)
    assert cosines.min() > 0.99
    assert not torch.equal(exact, rounded)


@torch.no_grad()
def test_a_text_is_the_same_whatever_stands_beside_it() -> None:
    stack, config = stack_of(32, 2, 48)
    engine = TextEngine(stack, config, int8=False, threads=1)
    x = torch.randn(sum(LENGTHS), 32)
    together = engine(x, LENGTHS)
    assert torch.equal(engine(x[6:15], [9]), together[6:15])


def test_texts_are_shared_out_whole() -> None:
    parts = shared_out([5, 1, 9, 3, 3], 6)
    assert [lengths for _, lengths in parts] == [[5, 1], [9], [3, 3]]
    assert [(rows.start, rows.stop) for rows, _ in parts] == [(0, 6), (6, 15), (15, 21)]
