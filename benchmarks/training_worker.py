"""One peer of benchmarks/training.py: it trains for a while each time that a line of JSON asks for it.

    python benchmarks/training_worker.py marian '{"tiny": {"width": 128, …}}' SOURCE TARGET TOKENIZER

{"shape": "tiny", "seconds": 5} on standard input is answered by {"tokens": …, "seconds": …}, {"shape": "tiny", "warm_up": 3} by the tokens
of so many steps (the model is made when it is first asked for), and {"peak": 1} by the speed of a large matrix product. With WORLD_SIZE above 1
each of the processes is asked alike, and they share every batch by DistributedDataParallel.
"""

import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from marian_model import new_marian
from torch import Tensor, nn
from training_systems import Shape

from qkv.core.pairs import TranslationBatch
from qkv.data.parallel import ParallelText, read_two
from qkv.families.translator.corpus import PairData
from qkv.text.tokenizer import Tokenizer
from qkv.training.distributed import cores

Logits = Callable[[TranslationBatch], Tensor]


def marian(shape: Shape, tokenizer: Tokenizer) -> tuple[nn.Module, Logits]:
    """Hugging Face transformers."""
    model = shared(new_marian(tokenizer, shape))

    def logits(batch: TranslationBatch) -> Tensor:
        mask = (batch.source != tokenizer.pad).long()
        answer: Tensor = model(
            input_ids=batch.source, attention_mask=mask, decoder_input_ids=batch.shifted, use_cache=False
        ).logits
        return answer

    return model, logits


class PlainTransformer(nn.Module):
    """torch.nn.Transformer with the embeddings that its tutorials put around it."""

    def __init__(self, shape: Shape, vocabulary: int, pad: int):
        super().__init__()
        width, self.pad = shape.width, pad
        self.tokens = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.tokens.weight, std=width**-0.5)
        self.body = nn.Transformer(
            width, shape.heads, shape.depth, shape.depth, shape.hidden, shape.dropout, batch_first=True
        )  # fmt: skip
        self.dropout = nn.Dropout(shape.dropout)
        place, pair = torch.arange(1024)[:, None], torch.arange(0, width, 2)
        angles = place * torch.exp(-math.log(10_000) * pair / width)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(
            self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.positions[: ids.shape[1]]
        )

    def forward(self, source: Tensor, shifted: Tensor) -> Tensor:
        hidden = source == self.pad
        y = self.body(
            self.embed(source),
            self.embed(shifted),
            tgt_mask=torch.ones(shifted.shape[1], shifted.shape[1], dtype=torch.bool).triu(1),
            tgt_is_causal=True,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
        return F.linear(y, self.tokens.weight)


def plain(shape: Shape, tokenizer: Tokenizer) -> tuple[nn.Module, Logits]:
    model = shared(PlainTransformer(shape, len(tokenizer), tokenizer.pad))
    return model, lambda batch: model(batch.source, batch.shifted)


PEERS = {"marian": marian, "nn.Transformer": plain}


def shared(model: nn.Module) -> nn.Module:
    model.train()
    return nn.parallel.DistributedDataParallel(model) if dist.is_initialized() else model


class Training:
    """A model of one shape in training; it goes on where it stopped."""

    def __init__(self, peer: str, shape: Shape, texts: ParallelText, tokenizer: Tokenizer):
        torch.manual_seed(1)
        self.pad = tokenizer.pad
        self.data = PairData(texts, tokenizer, shape.batch_tokens, max_length=1024, shuffled=True)
        self.model, self.logits = PEERS[peer](shape, tokenizer)
        self.weights = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self.weights, lr=shape.learning_rate, betas=shape.adam_betas, fused=True
        )
        self.smoothing = shape.label_smoothing
        self.batches = itertools.chain.from_iterable(map(self.data.epoch, itertools.count()))

    def step(self) -> int:
        """Target tokens that were learned from, in all processes together."""
        rows = next(self.batches)
        batch = self.data.batch(rows[rank() :: size()] or rows[:1])
        F.cross_entropy(
            self.logits(batch).flatten(0, 1),
            batch.target.flatten(),
            ignore_index=self.pad,
            label_smoothing=self.smoothing,
        ).backward()
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return self.data.tokens(rows)

    def turn(self, seconds: float) -> dict[str, float]:
        tokens, began = 0, time.monotonic()
        while True:
            tokens += self.step()
            spent = torch.tensor(time.monotonic() - began)
            if dist.is_initialized():
                dist.broadcast(spent, 0)  # all stop with the first one's clock
            if spent >= seconds:
                return {"tokens": tokens, "seconds": float(spent)}


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def size() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def matmul_peak() -> float:
    """The most of what this machine does in float32 with all cores: operations a second."""
    best = 0.0
    for width in (512, 1_024, 2_048):
        a, b = torch.randn(width, width), torch.randn(width, width)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            began = time.monotonic()
            torch.mm(a, b)
            best = max(best, 2 * width**3 / (time.monotonic() - began))
    return best


def main(peer: str, shapes: str, source: str, target: str, tokenizer_file: str) -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("gloo")
    torch.set_num_threads(max(1, cores() // size()))
    if peer == "marian":
        import transformers  # noqa: F401  # while the vocabulary is learned elsewhere
    while not Path(tokenizer_file).exists():
        time.sleep(0.05)
    tokenizer, texts = Tokenizer.load(Path(tokenizer_file)), read_two(Path(source), Path(target))
    described = {name: Shape(**values) for name, values in json.loads(shapes).items()}
    trainings: dict[str, Training] = {}
    for line in sys.stdin:
        question = json.loads(line)
        name = question["shape"]
        if name not in trainings:
            trainings[name] = Training(peer, described[name], texts, tokenizer)
        training = trainings[name]
        match question:
            case {"peak": _}:
                answer: dict[str, float] = {"peak": matmul_peak()}
            case {"warm_up": steps}:
                answer = {"tokens": sum(training.step() for _ in range(steps))}
            case {"seconds": seconds}:
                answer = training.turn(seconds)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
