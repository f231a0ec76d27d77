"""Hugging Face transformers' Marian, in the loop that people write around it."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from marian_model import new_marian
from multi30k_systems.common import (
    BEAM,
    DECODED_TOGETHER,
    JUST_NOW,
    LENGTH_PENALTY,
    POINTS,
    Candidates,
    Options,
    PeerSettings,
    System,
    Texts,
    Trained,
    Translate,
    Weights,
    bar_of_minutes,
    mean_weights,
)
from torch import Tensor

from qkv.checkpoint.tensors import read_tensors, write_tensors
from qkv.data.batching import pad_rows, token_batches
from qkv.families.translator.corpus import PairData
from qkv.text.tokenizer import Tokenizer
from qkv.training.distributed import cores


class MarianRun:
    """Updates until the time is over; weights are kept at every eighth of it."""

    def __init__(
        self, name: str, texts: Texts, settings: PeerSettings, minutes: float, seed: int, folder: Path
    ):
        torch.manual_seed(seed)
        self.name = name
        self.settings, self.minutes, self.seed, self.folder = settings, minutes, seed, folder
        self.tokenizer = texts.tokenizer
        self.model = new_marian(self.tokenizer, settings)
        context = self.model.config.max_position_embeddings
        self.data = PairData(texts.train, self.tokenizer, settings.batch_tokens, context, shuffled=True)
        self.optimiser = torch.optim.Adam(
            (p for p in self.model.parameters() if p.requires_grad),
            lr=0.0,
            betas=settings.adam_betas,
            fused=True,
        )
        self.updates, self.tokens, self.seconds = 0, 0, 0.0
        self.last_epochs: deque[Weights] = deque(maxlen=settings.averaged)
        self.kept: dict[float, dict[str, str]] = {}  # minutes -> what the weights are -> their file

    def go(self) -> None:
        self.model.train()
        began = time.monotonic()
        with bar_of_minutes(f"{self.name}: training", self.minutes) as show:
            for batches in self.updates_of_epochs():
                self.update(batches)
                self.seconds = time.monotonic() - began
                show(self.seconds / 60)
                if self.seconds >= 60 * self.minutes * (len(self.kept) + 1) / POINTS:
                    self.keep()
                if self.seconds >= 60 * self.minutes:
                    return

    def updates_of_epochs(self) -> Iterator[list[list[int]]]:
        epoch = 0
        while True:
            batches = self.data.epoch(self.seed + epoch)
            for first in range(0, len(batches), self.settings.batches):
                yield batches[first : first + self.settings.batches]
            epoch += 1
            self.last_epochs.append(self.weights())

    def update(self, batches: Sequence[list[int]]) -> None:
        self.updates += 1
        for group in self.optimiser.param_groups:
            group["lr"] = rate_of(self.settings, self.updates)
        tokens = sum(map(self.data.tokens, batches))
        for rows in batches:
            (self.summed_loss(rows) / tokens).backward()
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.tokens += tokens

    def summed_loss(self, rows: list[int]) -> Tensor:
        batch, pad = self.data.batch(rows), self.tokenizer.pad
        logits = self.model(
            input_ids=batch.source,
            attention_mask=(batch.source != pad).long(),
            decoder_input_ids=batch.shifted,
            use_cache=False,
        ).logits
        return F.cross_entropy(
            logits.flatten(0, 1),
            batch.target.flatten(),
            ignore_index=pad,
            label_smoothing=self.settings.label_smoothing,
            reduction="sum",
        )

    def weights(self) -> Weights:
        """Shared matrices once."""
        return {name: tensor.detach().clone() for name, tensor in self.model.named_parameters()}

    def keep(self) -> None:
        at_hand = {JUST_NOW: self.weights()}
        if self.last_epochs:
            at_hand[f"average of {len(self.last_epochs)}"] = mean_weights(list(self.last_epochs))
        files = {}
        for number, (name, weights) in enumerate(at_hand.items()):
            files[name] = f"update-{self.updates}-{number}.safetensors"
            write_tensors(self.folder / files[name], weights)
        self.kept[self.seconds / 60] = files


def rate_of(settings: PeerSettings, update: int) -> float:
    return settings.learning_rate * min(
        update / settings.warmup_steps, (settings.warmup_steps / update) ** 0.5
    )


@torch.inference_mode()
def marian_translations(model: Any, tokenizer: Tokenizer, sentences: Sequence[str]) -> list[str]:
    from transformers import GenerationConfig

    sources = [[*ids, tokenizer.end] for ids in tokenizer.encode_all(sentences)]
    results = [""] * len(sources)
    for rows in token_batches([len(ids) for ids in sources], DECODED_TOGETHER // BEAM, seed=None):
        source = pad_rows([sources[row] for row in rows], tokenizer.pad)
        settings = GenerationConfig(
            num_beams=BEAM,
            length_penalty=LENGTH_PENALTY,
            do_sample=False,
            max_new_tokens=2 * source.shape[1] + 20,
            pad_token_id=tokenizer.pad,
            eos_token_id=tokenizer.end,
            decoder_start_token_id=tokenizer.start,
        )
        mask = (source != tokenizer.pad).long()
        answers = model.generate(input_ids=source, attention_mask=mask, generation_config=settings)
        for row, ids in zip(rows, answers.tolist(), strict=True):
            results[row] = tokenizer.decode(ids)
    return results


def with_weights(model: Any, tokenizer: Tokenizer, path: Path) -> Translate:
    def translate(sentences: Sequence[str]) -> list[str]:
        kept = read_tensors(path)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(kept[name])
        return marian_translations(model.eval(), tokenizer, sentences)

    return translate


def marian(name: str, settings: PeerSettings) -> System:
    def train(options: Options, texts: Texts, folder: Path) -> Trained:
        torch.set_num_threads(cores())
        run = MarianRun(name, texts, settings, options.minutes, options.seed, folder)
        run.go()
        return Trained(
            about=f"MarianMTModel, {settings}, {run.updates} updates",
            parameters=sum(p.numel() for p in run.model.parameters() if p.requires_grad),
            tokens_per_second=run.tokens / run.seconds,
            weights={str(minutes): files for minutes, files in run.kept.items()},
        )

    def candidates(options: Options, texts: Texts, folder: Path, trained: Trained) -> Candidates:
        torch.set_num_threads(cores())
        model = new_marian(texts.tokenizer, settings)
        return {
            float(minutes): {
                weights: with_weights(model, texts.tokenizer, folder / file)
                for weights, file in files.items()
            }
            for minutes, files in trained.weights.items()
        }

    return System(train, candidates)
