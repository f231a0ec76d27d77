"""One adaptation in its work folder: train with several learning rates, measure, and keep the best."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE
from qkv.checkpoint.files import bytes_hash, canonical, file_hash, make_folders, read_json, write_json
from qkv.data.parallel import ParallelText
from qkv.errors import QkvError
from qkv.evaluation.display import Display
from qkv.evaluation.scores import score_translations
from qkv.families.translator.adaptation.data import Mixture, Parts, mixture, write_tsv
from qkv.families.translator.adaptation.general import (
    General,
    PairsOfRun,
    domain_parts,
    general_parts,
    open_translator,
    translations,
)
from qkv.families.translator.adaptation.options import AdaptOptions
from qkv.families.translator.adaptation.search import Limits, Snapshot, search

FIRST_STAGE = 4  # parts of a pass over the data; the first stage is one of them
SHORTEST = 20  # steps of the first stage
STATE, KEPT = "state.json", "kept"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of the training with one learning rate: from the base model, or from where that run stands."""

    base: Path
    train: Path
    valid: Path
    output: Path
    rate: float
    steps: int
    """At the end of the stage, counted from the base model."""
    options: AdaptOptions
    advance: Callable[[int], object]


@dataclass(kw_only=True)
class Adaptation:
    """What is complete is in state.json, so a later call continues there."""

    base: Path
    options: AdaptOptions
    work: Path
    display: Display
    train_stage: Callable[[Stage], None]
    domain: Parts
    general: General
    mixture: Mixture
    state: dict[str, Any]
    started: float = field(default_factory=monotonic)
    limits: Limits = field(init=False)

    @classmethod
    def prepare(
        cls,
        base: Path,
        options: AdaptOptions,
        work: Path,
        display: Display,
        train_stage: Callable[[Stage], None],
        of_run: PairsOfRun,
    ) -> "Adaptation":
        domain = domain_parts(base, options)
        general = general_parts(base, options, domain, work, display, of_run)
        mixed = mixture(domain.train, general.parts.train, options.seed)
        write_tsv(work / "project-and-general.tsv", mixed.pairs)
        write_tsv(work / "valid.tsv", zip(domain.dev.source, domain.dev.target, strict=True))
        display.say(
            f"{len(domain.train):,} pairs of the project to learn, {mixed.replayed:,} general ones to replay ({general.origin}); "
            f"{len(domain.dev):,} and {len(general.parts.dev):,} to choose by, {len(domain.test):,} and "
            f"{len(general.parts.test):,} to test on"
        )
        return cls(
            base=base,
            options=options,
            work=work,
            display=display,
            train_stage=train_stage,
            domain=domain,
            general=general,
            mixture=mixed,
            state=read_state(work, key_of(base, options, domain, general.parts)),
        )

    def search(self) -> list[Snapshot]:
        before = self.measured("base", lambda: self.base)
        self.display.say(
            f"base model: project chrF {before['domain']:.1f}, general chrF {before['general']:.1f}"
        )
        passes = max(
            1, self.tokens() // self.options.batch_tokens
        )  # steps of a pass over the project's pairs
        most = max(1, round(self.options.epochs * passes))
        self.limits = Limits(
            least_general=before["general"] - self.options.max_loss,
            least_domain=before["domain"],
            first_steps=min(most, max(SHORTEST, passes // FIRST_STAGE)),
            most_steps=most,
        )
        return search(self.options.learning_rates, self.limits, self.train, self.has_time)

    def tokens(self) -> int:
        """Of a pass over the project's pairs and as many general ones, from the lengths of some."""
        tokenizer, sample = open_translator(self.base).tokenizer, self.mixture.pairs[:500]
        pairs = [(tokenizer.encode(source), tokenizer.target.encode(target)) for source, target in sample]
        return round(
            2 * len(self.domain.train) * sum(1 + max(map(len, each)) for each in pairs) / len(sample)
        )

    def train(self, rate: float, steps: int) -> Snapshot:
        folder = self.work / f"rate-{rate:g}"

        def trained() -> Path:
            with self.display.progress(f"learning rate {rate:g}, {steps:,} steps", steps) as advance:
                self.train_stage(
                    Stage(
                        base=self.base, train=self.work / "project-and-general.tsv", valid=self.work / "valid.tsv", output=folder,
                        rate=rate, steps=steps, options=self.options, advance=advance,
                    )
                )  # fmt: skip
            return folder

        found = self.measured(f"{rate:g}-{steps}", trained, rate=rate, steps=steps)
        snapshot = Snapshot(
            rate=rate, steps=steps, domain=found["domain"], general=found["general"], loss=found["loss"]
        )
        self.display.say(
            f"learning rate {rate:g}, {steps:,} steps: project chrF {snapshot.domain:.1f}, general chrF {snapshot.general:.1f}"
        )
        return snapshot

    def measured(self, name: str, model: Callable[[], Path], **facts: Any) -> dict[str, Any]:
        """The chrF of a model on both parts to choose by. A snapshot that is the best so far is kept."""
        done: dict[str, Any] = self.state["measured"]
        if name in done:
            found: dict[str, Any] = done[name]
            return found
        started = monotonic()
        folder = model()
        found = {**facts, "domain": self.chrf(folder, self.domain.dev)}
        found["general"] = self.chrf(folder, self.general.parts.dev)
        found["seconds"] = monotonic() - started
        if facts:
            earlier = [each["steps"] for each in done.values() if each.get("rate") == facts["rate"]]
            found["loss"] = read_json(folder / "report.json")["validation"]["loss"]
            found["new_steps"] = facts["steps"] - max(earlier, default=0)
            self.keep(folder, found)
        done[name] = found
        self.record()
        return found

    def chrf(self, folder: Path, pairs: ParallelText) -> float:
        return score_translations(self.outputs(folder, pairs), pairs.target).chrf.value

    def outputs(self, folder: Path, pairs: ParallelText, **running: Any) -> list[str]:
        with open_translator(folder, **running) as model:
            return translations(model, pairs.source, self.display)

    def keep(self, folder: Path, found: dict[str, Any]) -> None:
        """Copy the bundle of a snapshot that may be chosen: training goes on in its folder."""
        others = [each["domain"] for each in self.state["measured"].values() if each.get("kept")]
        within = found["general"] >= self.limits.least_general
        found["kept"] = within and found["domain"] > max(others, default=self.limits.least_domain)
        if found["kept"]:
            part = self.work / f"{KEPT}.part"
            shutil.rmtree(part, ignore_errors=True)
            make_folders(part)
            for file in filter(Path.is_file, folder.iterdir()):
                shutil.copyfile(file, part / file.name)
            shutil.rmtree(self.work / KEPT, ignore_errors=True)
            os.rename(part, self.work / KEPT)

    # Time ------------------------------------------------------------------------------------------------

    @property
    def minutes(self) -> float:
        """Of all calls together."""
        spent: float = self.state["minutes"]
        return spent + (monotonic() - self.started) / 60

    def has_time(self, steps: int) -> bool:
        """By the slowest stage so far."""
        stages = [each for each in self.state["measured"].values() if each.get("new_steps")]
        seconds = max((each["seconds"] / each["new_steps"] for each in stages), default=0.0)
        enough = self.minutes + seconds * steps / 60 <= self.options.minutes
        if not enough:
            self.display.say("the time limit ends the search; more time may give a better model")
        return enough

    def record(self) -> None:
        self.state["minutes"], self.started = self.minutes, monotonic()
        write_json(self.work / STATE, self.state)


def read_state(work: Path, key: str) -> dict[str, Any]:
    path = work / STATE
    state: dict[str, Any] = read_json(path) if path.exists() else {"key": key, "minutes": 0.0, "measured": {}}
    if state.get("key") != key:
        raise QkvError(
            f"{work} holds an adaptation of another model, or with other data or settings. Remove it, or give another output."
        )
    return state


def key_of(base: Path, options: AdaptOptions, *parts: Parts) -> str:
    """A hash of what decides the snapshots. More time and another limit only choose among them."""
    texts = [text.fingerprint() for each in parts for text in (each.train, each.dev, each.test)]
    settings = [options.epochs, options.batch_tokens, options.seed, options.max_loss]
    return bytes_hash(canonical([file_hash(base / MODEL_FILE), texts, settings]))
