"""One answer of a model with every number on the way to it: the pieces, all that was recorded, and what was chosen from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qkv.configs import to_dict
from qkv.core.tape import Tape
from qkv.decoding.beam import paper_penalty
from qkv.decoding.step import Hypothesis, Step
from qkv.errors import UserError
from qkv.models.translator import CrossHeads
from qkv.pipeline.experiments import Anew, Experiment, changed, check_forced, shuffled
from qkv.pipeline.guarantees import Job, attempts
from qkv.pipeline.options import BATCH_TOKENS, Decoding
from qkv.pipeline.search import Request, Search, Searcher
from qkv.pipeline.translator import Translator, Trial, is_for_translation, load
from qkv.pipeline.watching import Lost, Watched

Arrays = dict[str, np.ndarray[Any, np.dtype[np.float32]]]
CANDIDATES = 12  # of what could be said, so many are told
LONGEST_ANSWER = 96  # pieces of an answer that are looked into: without positions a model may go on and on


@dataclass(frozen=True, kw_only=True)
class Side:
    """A stack of blocks and what it read."""

    name: str  # under which its blocks are recorded
    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    stack: dict[str, Any]  # its config
    weights: str  # what the names of its weights begin with
    causal: bool  # does it see only what stands before?
    embedding: str | None = None  # the weight whose rows its ids choose …
    embedding_scale: float = 1.0  # … and what they are multiplied by
    said: tuple[str, ...] = ()  # what each row led to, where that is a word


@dataclass(frozen=True)
class Candidate:
    id: int
    text: str
    logit: float
    log_probability: float


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What could be said after one row, likeliest first; what was said is among them."""

    row: int
    chosen: int
    total: float  # logarithm of the sum of e to the logits: what turns logits into log-probabilities
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, kw_only=True)
class Beams:
    """How the answer was found."""

    width: int
    length_penalty: float
    hypotheses: tuple[
        tuple[str, Hypothesis, float], ...
    ]  # that ended, best first: text, itself, what it was divided by
    lost: tuple[tuple[str, Lost], ...]
    rounds: tuple[tuple[tuple[str, float], ...], ...]  # at each step the beginnings that were alive


@dataclass(frozen=True, kw_only=True)
class Trace:
    kind: str
    text: str
    answer: str
    config: dict[str, Any]  # of the model
    sides: tuple[Side, ...]
    arrays: Arrays = field(repr=False)
    """All that was recorded, by its name, without the batch."""
    weights: Mapping[str, Tensor] = field(repr=False)
    """What it was computed with."""
    choices: tuple[Choice, ...] = field(repr=False)
    beams: Beams | None = field(default=None, repr=False)
    output_weight: str | None = None
    """The weight whose rows give the logits, where it is one matrix alone."""
    experiment: Experiment = field(default=Experiment(), repr=False)

    def __getitem__(self, name: str) -> Any:
        if name not in self.arrays:
            raise KeyError(f"nothing was recorded as '{name}'; the names are {', '.join(self.arrays)}")
        return self.arrays[name]

    @property
    def names(self) -> list[str]:
        return list(self.arrays)

    def side(self, name: str) -> Side:
        return next(each for each in self.sides if each.name == name)

    def bertviz(self) -> dict[str, Any]:
        """Tokens and attention as BertViz takes them: `model_view(**trace.bertviz())`."""
        pieces = [list(side.pieces) for side in self.sides]
        each = [self.layers(side.name, "attention") for side in self.sides]
        if len(self.sides) == 1:
            return {"attention": each[0], "tokens": pieces[0]}
        names = [side.name for side in self.sides]
        found: dict[str, Any] = {"cross_attention": self.layers(names[-1], "cross_attention")}
        for name, tokens, layers in zip(names, pieces, each, strict=True):
            found |= {f"{name}_tokens": tokens, f"{name}_attention": layers}
        return found

    def layers(self, side: str, sublayer: str) -> list[Tensor]:
        """Attention weights of every block, (1, H, T, S) each."""
        found: list[Tensor] = []
        while (name := f"{side}.{len(found)}.{sublayer}.weights") in self.arrays:
            found.append(torch.from_numpy(self.arrays[name])[None])
        return found


class WatchedSearcher(Searcher):
    """Of one sentence; without the mask nothing may be kept between steps, for what was read early depends on what comes late."""

    anew = False
    watched: Watched | None = None

    def begin(self, source: Tensor, look: CrossHeads | None) -> Step:
        self.watched = Watched(Anew(self.models[0], source) if self.anew else super().begin(source, look))
        return self.watched


@torch.inference_mode()
def trace_translator(
    translator: Translator,
    text: str,
    experiment: Experiment = Experiment(),  # noqa: B008
    *,
    beam: int | None = None,
    longest: int | None = None,
) -> Trace:
    """Translate as `translate` does, then read the translation once more and record everything.

    A source of more than `longest` pieces is refused.
    """
    if beam is not None:
        translator = Translator(
            translator.model, translator.tokenizer, replace(translator.defaults, beam=beam)
        )
    decoding = Decoding()
    text = shuffled(text.strip(), experiment.shuffle)
    if not is_for_translation(text, decoding.protect):
        raise UserError("there is nothing to translate: write a sentence with at least one letter.")
    check_forced(experiment.force, translator.model.config.vocab)
    attempt = attempts(Job.of(text, decoding), translator.defaults.stand_ins, 0)[0]
    ids = translator.tokenizer.encode(attempt.reading.text)
    most = translator.limit if longest is None else min(longest, translator.limit)
    if len(ids) > most:
        raise UserError(
            f"this text has {len(ids):,} pieces, and at most {most} can be looked at: shorten it."
        )
    model = changed(translator.model, experiment)
    if experiment.changes_model:
        translator = Translator(model, translator.tokenizer, translator.defaults)
    request = Request(source=ids, prefix=experiment.force)
    hypotheses, beams = searched(translator, request, experiment)
    best = hypotheses[0]
    said = best.ids[: min(LONGEST_ANSWER, model.config.context - 1)]  # the start takes a position too
    free = Trial(attempt, request, hypotheses)
    if experiment == Experiment() and not translator.holds(best, free):
        answer = translator.translate(text)  # which makes it again under stricter rules, or mends it
    else:
        answer = translator.answer(best, attempt.reading, decoding).text
    return recorded(translator, text, answer, ids, said, beams, experiment)


def searched(
    translator: Translator, request: Request, experiment: Experiment
) -> tuple[list[Hypothesis], Beams]:
    """The hypotheses, best first, and how they were found: as `translate` searches, but all that end are kept."""
    defaults, tokenizer = translator.defaults, translator.tokenizer
    searcher = WatchedSearcher([translator.model], tokenizer.begins_anew)
    searcher.anew = experiment.no_mask
    search = Search(
        beam=defaults.beam,
        length_penalty=defaults.length_penalty,
        best=defaults.beam,
        batch_tokens=BATCH_TOKENS,
    )
    [found] = searcher.find([request], search, lambda count: None)
    watched = searcher.watched
    assert watched is not None
    penalty = paper_penalty(defaults.length_penalty if defaults.beam > 1 else 0.0)
    lost = watched.lost([each.ids for each in found])[:CANDIDATES] if defaults.beam > 1 else []
    return found, Beams(
        width=defaults.beam,
        length_penalty=defaults.length_penalty,
        hypotheses=tuple(
            (tokenizer.decode(each.ids), each, penalty(len(each.log_probabilities))) for each in found
        ),
        lost=tuple((tokenizer.decode(each.beginning.ids), each) for each in lost),
        rounds=tuple(
            tuple((tokenizer.decode(each.ids), each.total) for each in alive) for alive in watched.rounds
        ),
    )


def recorded(
    translator: Translator,
    text: str,
    answer: str,
    ids: Sequence[int],
    said: Sequence[int],
    beams: Beams,
    experiment: Experiment,
) -> Trace:
    model, show = translator.model, translator.tokenizer.show
    config, device, tape = model.config, model.tokens.weight.device, Tape()
    read, shifted, target = [*ids, config.end], [config.start, *said], [*said, config.end]
    model.eval()
    logits = model(torch.tensor([read], device=device), torch.tensor([shifted], device=device), tape)[0]
    weights = {name.replace(".stack.", "."): each for name, each in model.state_dict().items()}
    return Trace(
        kind="translator",
        text=text,
        answer=answer,
        config=to_dict(config),
        sides=(
            Side(
                name="encoder",
                pieces=tuple(show(read)),
                ids=tuple(read),
                stack=to_dict(config.encoder),
                weights="encoder",
                causal=False,
                embedding="tokens.weight",
                embedding_scale=config.encoder.width**0.5,
            ),
            Side(
                name="decoder",
                pieces=tuple(show(shifted)),
                ids=tuple(shifted),
                stack=to_dict(config.decoder),
                weights="decoder",
                causal=True,
                embedding="tokens.weight",
                embedding_scale=config.encoder.width**0.5,
                said=tuple(show(target)),
            ),
        ),
        arrays=without_batch(tape),
        weights=weights,
        choices=choices_of(logits, target, show),
        beams=beams,
        output_weight="tokens.weight",
        experiment=experiment,
    )


def without_batch(tape: Tape) -> Arrays:
    """What was recorded of one sentence. Positions are the same for all sentences, and have no batch to begin with."""
    return {
        name: (tensor if name.endswith("positions") else tensor[0]).float().cpu().numpy()
        for name, tensor in tape.tensors.items()
    }


def choices_of(logits: Tensor, target: Sequence[int], show: Any) -> tuple[Choice, ...]:
    """What could have been said after every row of the logits (T, V), where `target` was."""
    found = []
    for row, (scores, chosen) in enumerate(zip(logits.double(), target, strict=True)):
        total = float(scores.logsumexp(-1))
        best = scores.topk(min(CANDIDATES, len(scores))).indices.tolist()
        wanted = best if chosen in best else [*best[:-1], chosen]
        texts = show(wanted)
        candidates = [
            Candidate(each, name, float(scores[each]), float(scores[each]) - total)
            for each, name in zip(wanted, texts, strict=True)
        ]
        found.append(Choice(row=row, chosen=chosen, total=total, candidates=tuple(candidates)))
    return tuple(found)


def trace(model: Translator | str | Path, text: str) -> Trace:
    """Every number on the way to a translation, by name: `qkv.trace("runs/en-de", "the cat danced")`."""
    return trace_translator(model if isinstance(model, Translator) else load(model), text)
