"""What recording costs: nothing when it is off.

The same forward pass three times, in turns: the model without a tape; the same arithmetic written down once more with no
place for a tape at all, from the same weights; and the model with a tape. The first two must agree in time, all three in
their numbers.

    python benchmarks/recording.py [--seconds 20] [--threads 1]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.core.block import Block, StackConfig
from qkv.core.masks import as_scores, causal_mask, padding_mask
from qkv.core.tape import Tape
from qkv.models.translator import Translator, TranslatorConfig

SIZES = {"demo": (2, 128, 4, 256), "base": (6, 512, 8, 2048)}  # depth, width, heads, hidden


def translator(size: str) -> Translator:
    depth, width, heads, hidden = SIZES[size]
    stack = StackConfig(
        depth=depth, width=width, heads=heads, hidden=hidden, norm="pre", activation="relu", dropout=0.0
    )
    torch.manual_seed(1)
    config = TranslatorConfig(
        vocab=3_000, context=128, pad=0, start=1, end=2, positions="interleaved", encoder=stack, decoder=stack
    )
    return Translator(config).eval()


def bare(model: Translator, source: Tensor, shifted: Tensor) -> Tensor:
    """The forward pass with no place for a tape."""
    mask = as_scores(padding_mask(source, 0), torch.float32)
    causal = as_scores(causal_mask(shifted.shape[1], shifted.shape[1]), torch.float32)
    memory = run(model.encoder, embedded(model, source, model.source_positions), mask, None, None)
    x = run(model.decoder, embedded(model, shifted, model.target_positions), causal, memory, mask)
    return F.linear(x, model.tokens.weight)


def embedded(model: Translator, ids: Tensor, positions: torch.nn.Module | None) -> Tensor:
    assert positions is not None
    total: Tensor = model.tokens(ids) * model.config.encoder.width**0.5 + positions(0, ids.shape[1])
    return total


def run(
    stack: torch.nn.Module, x: Tensor, mask: Tensor, memory: Tensor | None, memory_mask: Tensor | None
) -> Tensor:
    for block in stack.blocks:  # type: ignore[union-attr]
        assert isinstance(block, Block)
        y = block.attention.norm(x)
        x = x + attention(block.attention.sublayer, y, y, mask)
        if block.cross_attention is not None and memory is not None:
            x = x + attention(
                block.cross_attention.sublayer, block.cross_attention.norm(x), memory, memory_mask
            )
        feed_forward = block.feed_forward.sublayer
        x = x + feed_forward.contract(F.relu(feed_forward.expand(block.feed_forward.norm(x))))  # type: ignore[operator,union-attr]
    y: Tensor = stack.norm(x)  # type: ignore[operator]
    return y


def attention(layer: torch.nn.Module, x: Tensor, source: Tensor, mask: Tensor | None) -> Tensor:
    q, k, v = (
        linear(each).unflatten(-1, (layer.heads, -1)).transpose(1, 2)
        for linear, each in [(layer.query, x), (layer.key, source), (layer.value, source)]
    )
    z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    y: Tensor = layer.output(z.transpose(1, 2).flatten(-2))  # type: ignore[operator]
    return y


@torch.inference_mode()
def measured(size: str, batch: int, length: int, seconds: float) -> dict[str, float]:
    """Median milliseconds of each way, taken in turns."""
    model = translator(size)
    source, shifted = (torch.randint(3, 3_000, (batch, length)) for _ in range(2))
    ways: dict[str, Callable[[], Tensor]] = {
        "no tape": lambda: model(source, shifted),
        "no place for one": lambda: bare(model, source, shifted),
        "recording": lambda: model(source, shifted, Tape()),
    }
    answers = [way() for way in ways.values()]
    for other in answers[1:]:
        torch.testing.assert_close(answers[0], other, atol=1e-4, rtol=1e-4)
    times: dict[str, list[float]] = {name: [] for name in ways}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["no tape"]) < 5:
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            times[name].append(1000 * (time.perf_counter() - began))
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each row of the table")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("model  batch  length   no tape  no place for one  ratio  recording")
    for size, batch, length in [("demo", 1, 10), ("demo", 32, 20), ("base", 1, 20), ("base", 8, 30)]:
        found = measured(size, batch, length, options.seconds)
        off, none, on = found["no tape"], found["no place for one"], found["recording"]
        print(
            f"{size:<6} {batch:>5}  {length:>6}  {off:>7.2f}  {none:>16.2f}  {off / none:>5.3f}  {on:>9.2f}   ms"
        )


if __name__ == "__main__":
    main()
