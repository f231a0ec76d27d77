"""Ideas from speedruns on Multi30k en-de, each against the recipe `multi30k-tiny` with the same steps, seed and batches.

    python benchmarks/multi30k_ideas.py --data DIR --steps 1500 --seeds 1,2
    python benchmarks/multi30k_ideas.py --data DIR --only baseline,swiglu --steps 5000

Every run uses one process with one thread. Start it twice, with different `--only`, to use two cores. A run saves its state
at every validation and resumes from there; finished runs are skipped. OUT/results.jsonl has one line for each: validation loss of
the last weights and of their moving average, and greedy BLEU on val of the better of the two. Nothing reads the test set.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from ideas.models import BigramTranslator, with_head_gates, with_swiglu, with_value_residual
from ideas.optimizers import Decay, change_muon
from torch import Tensor

from qkv.checkpoint.tensors import read_tensors, write_tensors
from qkv.cli.options import read_options
from qkv.core.kernels import computed_by
from qkv.data.parallel import ParallelText
from qkv.engine.training import CompiledKernels
from qkv.evaluation.scores import Scorer
from qkv.families.translator.corpus import PairData
from qkv.families.translator.model import Translator
from qkv.families.translator.recipes import multi30k_tiny
from qkv.families.translator.task import architecture
from qkv.text.tokenizer import Tokenizer
from qkv.training.distributed import SingleProcess, keep_freed_memory
from qkv.training.optimizer import Optimizer
from qkv.training.randomness import seed_for
from qkv.training.schedule import rate_at
from qkv.training.spread import Shared
from qkv.training.validation import loss_on

PARTS = 2  # of a batch, each about as large as those of two processes


@dataclass(frozen=True, kw_only=True)
class Idea:
    model: type[Translator] = Translator
    change: Callable[[Translator], None] | None = None
    decay: Decay = field(default_factory=Decay)
    per_pair_of_heads: bool = False
    least_rate: float = 0.0  # share of the peak that the rate falls to


IDEAS = {
    "baseline": Idea(),
    "bigrams": Idea(model=BigramTranslator),
    "value-residual": Idea(change=with_value_residual),
    "head-gates": Idea(change=with_head_gates),
    "swiglu": Idea(change=with_swiglu),
    "decay-schedule": Idea(decay=Decay(scheduled=True, factor=2.0)),
    "cautious-decay": Idea(decay=Decay(cautious=True)),
    "rate-floor": Idea(least_rate=0.15),
    "head-pairs": Idea(per_pair_of_heads=True),
}


@dataclass(frozen=True, kw_only=True)
class Options:
    data: Path
    """Folder with Multi30k: train and val, each .lc.norm.tok.en and .lc.norm.tok.de."""
    out: Path = Path("runs/multi30k-ideas")
    """Folder for states and results.jsonl."""
    only: str = ",".join(IDEAS)
    """Names of ideas."""
    seeds: str = "1"
    """Random seeds."""
    steps: int = 1500
    """Steps of every run."""
    validate_every: int = 250
    """Steps between two validations, at which the state is saved."""
    ema: float = 0.995
    """Decay of the moving average of the weights per step."""


class Run:
    def __init__(
        self,
        name: str,
        seed: int,
        options: Options,
        texts: tuple[ParallelText, ParallelText],
        tokenizer: Tokenizer,
    ):
        self.idea, self.seed, self.options, self.tokenizer, self.valid_text = (
            IDEAS[name],
            seed,
            options,
            tokenizer,
            texts[1],
        )
        self.folder = options.out / f"{name}-{seed}-{options.steps}"
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = multi30k_tiny(len(texts[0]))
        self.settings = replace(settings.training, precision="int16")
        length, tokens = settings.model.max_length, settings.training.batch_tokens
        self.train = PairData(texts[0], tokenizer, tokens, length, shuffled=True)
        self.valid = PairData(texts[1], tokenizer, tokens, length, shuffled=False)
        torch.manual_seed(seed_for(seed, "weights", 0))
        self.model = self.idea.model(architecture(settings.model, len(tokenizer), tokenizer))  # type: ignore[arg-type]
        if self.idea.change is not None:
            self.idea.change(self.model)
        self.spread = Shared(self.model, SingleProcess(), self.settings)
        self.optimizer = Optimizer(self.spread, self.settings)
        if self.idea.decay != Decay() or self.idea.per_pair_of_heads:
            change_muon(
                self.optimizer,
                self.idea.decay,
                self.settings.learning_rate,
                per_pair_of_heads=self.idea.per_pair_of_heads,
            )
        self.average = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self.step, self.seconds = 0, 0.0
        self.restore()

    def restore(self) -> None:
        if not (self.folder / "position.json").exists():
            return
        position = json.loads((self.folder / "position.json").read_text(encoding="utf-8"))
        self.step, self.seconds = position["step"], position["seconds"]
        state = {
            part: read_tensors(self.folder / f"{part}-{self.step}.safetensors")
            for part in ("model", "optimizer", "average")
        }
        self.model.load_state_dict(state["model"])
        self.optimizer.restore(state["optimizer"])
        self.average = state["average"]

    def save(self) -> None:
        parts = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.tensors(),
            "average": self.average,
        }
        for part, tensors in parts.items():
            write_tensors(self.folder / f"{part}-{self.step}.safetensors", tensors)
        written = self.folder / "position.part"
        written.write_text(json.dumps({"step": self.step, "seconds": self.seconds}), encoding="utf-8")
        written.replace(self.folder / "position.json")
        for path in self.folder.glob("*.safetensors"):
            if not path.stem.endswith(f"-{self.step}"):
                path.unlink()

    def go(self) -> None:
        """Train from the saved step to the end. The order of batches and all random numbers depend on the seed and the step alone."""
        first = 0
        epoch = 0
        while self.step < self.options.steps:
            batches = self.train.epoch(seed_for(self.seed, "order", epoch))
            for number, rows in enumerate(batches, first + 1):
                if self.step < number <= self.options.steps:
                    self.one_step(rows)
                    if self.step % self.options.validate_every == 0 or self.step == self.options.steps:
                        self.validate()
            first, epoch = first + len(batches), epoch + 1

    def one_step(self, rows: list[int]) -> None:
        began = time.process_time()
        progress, self.step = self.step / self.options.steps, self.step + 1
        torch.manual_seed(seed_for(self.seed, "dropout", self.step))
        self.model.train()
        total = self.train.tokens(rows)
        parts = [rows[number::PARTS] for number in range(PARTS) if rows[number::PARTS]]
        loss = self.spread.backward(
            [(self.train.batch(part), self.train.tokens(part) / total) for part in parts]
        )
        norm = self.spread.clip(self.settings.max_grad_norm)
        least = self.idea.least_rate
        rate = rate_at(self.settings, self.step, progress * (1 - least))
        self.optimizer.step(rate, loss.isfinite() & norm.isfinite())
        share = max(1 - self.options.ema, 1 / (self.step + 1))
        for name, tensor in self.model.state_dict().items():
            self.average[name].lerp_(tensor, share)
        self.seconds += time.process_time() - began

    def validate(self) -> None:
        self.save()
        line = {
            "step": self.step,
            "loss": self.loss(),
            "average": self.loss_of_average(),
            "cpu_seconds": round(self.seconds, 1),
        }
        print(self.folder.name, json.dumps(line), flush=True)
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    def loss(self) -> float:
        with self.spread.arithmetic():
            return round(loss_on(self.model, self.valid), 5)

    def loss_of_average(self) -> float:
        kept = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self.model.load_state_dict(self.average)
        found = self.loss()
        self.model.load_state_dict(kept)
        return found

    def result(self) -> dict[str, object]:
        loss, average = self.loss(), self.loss_of_average()
        if average < loss:
            self.model.load_state_dict(self.average)
        hypotheses = greedy_translations(self.model, self.valid, self.tokenizer)
        targets = [self.tokenizer.decode(ids) for ids in self.valid.targets]
        bleu = float(Scorer.make(tokenize="none").score(hypotheses, targets).bleu)
        return {
            "loss": loss, "average": average, "bleu_greedy": round(bleu, 2), "cpu_seconds": round(self.seconds),
            "parameters": sum(p.numel() for p in self.model.parameters()),
        }  # fmt: skip


@torch.no_grad()
def greedy_translations(model: Translator, data: PairData, tokenizer: Tokenizer) -> list[str]:
    """Without a cache, so that a changed model needs nothing but `encode` and `decode`."""
    model.eval()
    found: dict[int, str] = {}
    for rows in data.epoch(0):
        batch = data.batch(rows)
        memory, mask = model.encode(batch.source)
        ids = torch.full((len(rows), 1), tokenizer.start)
        done = torch.zeros(len(rows), dtype=torch.bool)
        for _ in range(2 * batch.source.shape[1] + 10):
            best: Tensor = model.output(model.decode(ids, memory, mask)[:, -1]).argmax(-1)
            ids = torch.cat([ids, torch.where(done, tokenizer.end, best)[:, None]], dim=1)
            done |= best == tokenizer.end
            if done.all():
                break
        for row, sentence in zip(rows, ids[:, 1:].tolist(), strict=True):
            found[row] = tokenizer.decode([each for each in sentence if each != tokenizer.end])
    return [found[row] for row in range(len(data))]


def read_texts(folder: Path, part: str) -> ParallelText:
    sides = [
        (folder / f"{part}.lc.norm.tok.{language}").read_text(encoding="utf-8").splitlines()
        for language in ("en", "de")
    ]
    return ParallelText(source=sides[0], target=sides[1])


def main(arguments: list[str]) -> None:
    options = read_options(Options, arguments, prog="multi30k_ideas.py", description=__doc__ or "")
    names, seeds = options.only.split(","), [int(seed) for seed in options.seeds.split(",")]
    if unknown := [name for name in names if name not in IDEAS]:
        raise SystemExit(f"unknown ideas: {', '.join(unknown)}. Choose from {', '.join(IDEAS)}.")
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    texts = read_texts(options.data, "train"), read_texts(options.data, "val")
    path = options.out / "tokenizer.json"
    if not path.exists():
        learned = Tokenizer.learn([*texts[0].source, *texts[0].target], multi30k_tiny(0).vocab_size)
        path.write_text(learned.text(), encoding="utf-8")
    tokenizer, results = Tokenizer.load(path), options.out / "results.jsonl"
    for seed in seeds:
        for name in names:
            key = f"{name}-{seed}-{options.steps}"
            if results.exists() and any(
                json.loads(line)["run"] == key for line in results.read_text().splitlines()
            ):
                continue
            with keep_freed_memory(), computed_by(CompiledKernels()):
                run = Run(name, seed, options, texts, tokenizer)
                run.go()
                line = json.dumps({"run": key, **run.result()})
            print(line, flush=True)
            with results.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
