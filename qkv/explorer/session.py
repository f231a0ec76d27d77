"""One model in the explorer: a cache of its traces, and its checkpoints."""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import read_json
from qkv.checkpoint.tensors import read_tensors
from qkv.data.worlds import LANGUAGES, deck_pairs
from qkv.errors import QkvError
from qkv.explorer.recompute import Check, check
from qkv.explorer.wire import Precision, array_of, final_output, pack, summary, tensors
from qkv.families.loading import kind_of, load
from qkv.families.tracing import tracer_of, with_weights
from qkv.runtime.running import EXACT
from qkv.tracing.experiments import Experiment
from qkv.tracing.trace import Trace

LONGEST = 48  # tokens that can be traced
KEPT_BYTES = 96 << 20  # of traces
KEPT_CHECKPOINTS = 3
WIDEST_BEAM = 8
LONGEST_TEXT = 1_000  # characters: checked before any pattern or tokenizer reads them
SNAPSHOT = re.compile(r"step-(\d+)\.safetensors")


@dataclass(frozen=True, kw_only=True)
class TraceQuery:
    """The request for a trace; equal requests give equal traces."""

    text: str
    experiment: Experiment = Experiment()  # noqa: RUF009  (it is frozen)
    checkpoint: int | None = None
    beam: int | None = None

    def __post_init__(self) -> None:
        experiment = self.experiment
        if len(self.text) > LONGEST_TEXT:
            raise ValueError(
                f"the text has {len(self.text):,} characters, but the limit is {LONGEST_TEXT:,} "
                f"(and {LONGEST} tokens)"
            )
        if not all(isinstance(each, str) for each in experiment.silenced):
            raise ValueError("silenced must be a list of names of heads or layers")
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in experiment.force):
            raise ValueError("force must be a list of token ids")
        if max(len(experiment.silenced), len(experiment.force)) > 2 * LONGEST:
            raise ValueError(f"silenced and force take at most {2 * LONGEST} entries")
        if self.beam is not None and not 1 <= self.beam <= WIDEST_BEAM:
            raise ValueError(f"beam must be from 1 to {WIDEST_BEAM}")


class Explorer:
    """`pictures` are the image files that the page may request, and no others."""

    def __init__(self, folder: Path, pictures: Sequence[Path] = ()):
        self.folder = folder
        self.bundle = kind_of(folder)
        self.kind = self.bundle.name
        self.tracer = tracer_of(self.bundle)
        self.model: Any = load(folder, EXACT)  # what is shown is float32, and so is its output
        self.reads_pictures = getattr(self.model, "reads", "") == "images"
        self.pictures = [str(path) for path in pictures]
        if self.reads_pictures and not self.pictures:
            raise QkvError("this model classifies images: give the path of an image file as the text.")
        self.checkpoints = find_checkpoints(folder)
        self.opened: OrderedDict[int, Any] = OrderedDict()
        self.traces: OrderedDict[TraceQuery, tuple[Trace, Check]] = OrderedDict()
        self.bytes = 0
        self.measured: dict[str, Any] | None = None

    # Requests of the page ---------------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        languages = getattr(self.model._defaults, "languages", None)
        return {
            "model": self.folder.resolve().name,
            "kind": self.kind,
            "architecture": getattr(self.model.model.config, "architecture", None),
            "languages": None
            if languages is None
            else {"source": languages.source, "target": languages.target},
            "parameters": sum(each.numel() for each in self.model.model.parameters()),
            "longest": LONGEST,
            "checkpoints": sorted(self.checkpoints),
            "examples": self.examples(),
            "truth": self.is_built_in(),
        }

    def summary(self, query: TraceQuery) -> dict[str, Any]:
        return summary(*self.trace(query))

    def tensors(self, query: TraceQuery, names: tuple[str, ...], precision: Precision) -> dict[str, Any]:
        return {"tensors": tensors(self.trace(query)[0], names, precision)}

    def evolve(self, query: TraceQuery, name: str, row: int | None = None) -> dict[str, Any]:
        """The same view at every checkpoint, each with its own output."""
        found = []
        for step in [*sorted(self.checkpoints), None]:
            trace, _ = self.trace(replace(query, checkpoint=step))
            found.append(
                {
                    "checkpoint": step,
                    "output": final_output(trace),
                    "tokens": [side.tokens for side in trace.sides],
                    "output_tokens": trace.sides[-1].output,
                    "log_probability": sum(
                        each.log_probability
                        for choice in trace.choices
                        for each in choice.candidates
                        if each.id == choice.chosen
                    ),
                    "tensor": pack(array_of(trace, name), "float16"),
                }
            )
        return {"name": name, "states": found}

    def truth(self, done: Callable[[int], None] = lambda count: None) -> dict[str, Any]:
        """Scores of the heads on sentences with known alignments and references; computed once."""
        from qkv.explorer.truth import measure_heads

        if not self.is_built_in():
            raise QkvError(
                "ground truth is available only for models that were trained on the built-in languages."
            )
        if self.measured is None:
            self.measured = measure_heads(self.model, done)
        return self.measured

    # Models and traces -----------------------------------------------------------------------------------

    def trace(self, query: TraceQuery) -> tuple[Trace, Check]:
        if query in self.traces:
            self.traces.move_to_end(query)
            return self.traces[query]
        if self.reads_pictures and query.text not in self.pictures:
            raise QkvError(
                f"this server shows only the images that it was started with: {', '.join(self.pictures)}."
            )
        model = self.at(query.checkpoint)
        found = self.tracer(model, query.text, query.experiment, beam=query.beam, longest=LONGEST)
        self.traces[query] = found, check(found)
        self.bytes += size(found)
        while self.bytes > KEPT_BYTES and len(self.traces) > 1:
            _, (old, _) = self.traces.popitem(last=False)
            self.bytes -= size(old)
        return self.traces[query]

    def at(self, step: int | None) -> Any:
        if step is None:
            return self.model
        if step not in self.checkpoints:
            known = ", ".join(map(str, sorted(self.checkpoints))) or "none"
            raise QkvError(f"there is no checkpoint for step {step}; available: {known}.")
        if step not in self.opened:
            path = self.checkpoints[step]
            self.opened[step] = with_weights(self.model, read_tensors(path), str(path))
            if len(self.opened) > KEPT_CHECKPOINTS:
                self.opened.popitem(last=False)
        return self.opened[step]

    def examples(self) -> list[str]:
        """Example inputs: the decks' own sentences, if the model has one of their languages."""
        if self.reads_pictures:
            return self.pictures
        languages = getattr(self.model._defaults, "languages", None)
        if languages is None:
            return list(self.bundle.examples)
        if {languages.source, languages.target} <= set(LANGUAGES) and languages.source != languages.target:
            decks = deck_pairs(languages.source, languages.target)
            return [pair.source for pair in (*decks[3:], *decks[:3])]  # the reference problem comes first
        return [deck_pairs("en", "de")[0].source]

    def is_built_in(self) -> bool:
        path = self.folder / "report.json"
        if getattr(self.model._defaults, "languages", None) is None:
            return False
        try:
            origin = read_json(path)["data"]["origin"] if path.is_file() else ""
        except (QkvError, KeyError, TypeError):
            return False
        return str(origin).startswith("the built-in grammar")


def size(trace: Trace) -> int:
    """An experiment has its own weights."""
    weights = trace.weights.values() if trace.experiment.changes_model else ()
    return sum(each.nbytes for each in trace.arrays.values()) + sum(each.nbytes for each in weights)


def find_checkpoints(folder: Path) -> dict[int, Path]:
    """Weights saved by a training run, by step."""
    paths = [
        path
        for kind in ("milestones", "snapshots")
        for path in (folder / "training" / kind).glob("step-*.safetensors")
    ]
    steps = ((SNAPSHOT.fullmatch(path.name), path) for path in paths)
    return {int(match[1]): path for match, path in steps if match}
