"""Tokens a second of both models at equal parameters as sentences grow: in training, and when words are said."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import torch

from qkv.core.pairs import TranslationBatch, TranslationModel, TranslationStep
from qkv.families.translator.architectures import build
from qkv.families.translator.recipes import multi30k_tiny, recurrent
from qkv.families.translator.settings import ModelSettings
from qkv.families.translator.task import CONFIGS
from qkv.progress.terminal import count_progress

PAD, START, END = 0, 1, 2
VOCABULARY = 8_000
BATCH_TOKENS = 2_048
SAID_AT_ONCE = 16  # sentences
LENGTHS = (8, 16, 32, 64, 128, 256, 512)

Work = Callable[[], int]  # does some, and says how many tokens it was


@dataclass(frozen=True, kw_only=True)
class Speed:
    length: int
    tokens_per_second: dict[str, float]  # by model


def settings_of_both() -> dict[str, ModelSettings]:
    """The Transformer of Multi30k's recipe, and LSTMs with about as many weights."""
    recipe = replace(multi30k_tiny(0), model=replace(multi30k_tiny(0).model, positions="interleaved"))
    return {
        kind: replace(each.model, dropout=0.1)
        for kind, each in [("transformer", recipe), ("recurrent", recurrent(recipe))]
    }


def both_models() -> dict[str, TranslationModel]:
    torch.manual_seed(1)
    marks = cast(Any, SimpleNamespace(pad=PAD, start=START, end=END))
    return {
        kind: build(CONFIGS[kind](model, VOCABULARY, marks)) for kind, model in settings_of_both().items()
    }


def blocks_of(model: TranslationModel) -> int:
    """Weights besides the words, which both have alike."""
    return sum(parameter.numel() for parameter in model.parameters()) - model.tokens.weight.numel()


def batch_of(length: int, sentences: int) -> TranslationBatch:
    words = torch.randint(3, VOCABULARY, (sentences, length))
    source, target = words.clone(), words.flip(1)
    source[:, -1] = target[:, -1] = END
    shifted = torch.cat([torch.full((sentences, 1), START), target[:, :-1]], dim=1)
    return TranslationBatch.of(source, shifted, target, PAD)


def training(model: TranslationModel, length: int, sentences: int) -> Work:
    """Steps of AdamW on made-up sentences of one length."""
    batch = batch_of(length, sentences)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> int:
        model.train()
        optimiser.zero_grad()
        model.loss(batch).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        return len(batch.real)

    return step


def saying(model: TranslationModel, length: int) -> Work:
    """Words one after another, whichever they are."""
    batch = batch_of(length, SAID_AT_ONCE)

    @torch.inference_mode()
    def say_all() -> int:
        model.eval()
        step = TranslationStep(model, batch.source)
        for place in range(length):
            step(batch.shifted[:, place : place + 1])
        return len(batch.real)

    return say_all


WORKS: dict[str, Callable[[TranslationModel, int], Work]] = {
    f"training, {BATCH_TOKENS:,} tokens a step": lambda model, length: training(
        model, length, max(1, BATCH_TOKENS // length)
    ),
    "training, one sentence a step": lambda model, length: training(model, length, 1),
    f"saying words, {SAID_AT_ONCE} sentences at once": saying,
}


def turn(work: Work, seconds: float) -> tuple[int, float]:
    tokens, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds or not tokens:
        tokens += work()
    return tokens, spent


def measured(lengths: Sequence[int], rounds: int, seconds: float) -> dict[str, list[Speed]]:
    """For each kind of work and each length both models in turns, so that a slow minute is a slow one for both."""
    models = both_models()
    found: dict[str, list[Speed]] = {}
    with count_progress("speed", len(WORKS) * len(lengths)) as done:
        for name, prepared in WORKS.items():
            found[name] = []
            for length in lengths:
                works = {kind: prepared(model, length) for kind, model in models.items()}
                for work in works.values():
                    work()  # buffers are made, and caches filled
                turns: dict[str, list[tuple[int, float]]] = {kind: [] for kind in works}
                for _ in range(rounds):
                    for kind, work in works.items():
                        turns[kind].append(turn(work, seconds))
                found[name].append(
                    Speed(length=length, tokens_per_second={k: rate(t) for k, t in turns.items()})
                )
                done(1)
    return found


def rate(turns: Sequence[tuple[int, float]]) -> float:
    """Of the fastest turn: what else the machine does makes turns slower, never faster."""
    return max(tokens / seconds for tokens, seconds in turns)
