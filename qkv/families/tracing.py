"""Traces of every member of the family, by the kind of its bundle.

What these models are is known from what they offer alone (`model`, its `config`, a tokenizer), so that this file needs none
of them to be there.
"""

import copy
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qkv.checkpoint.bundle import read_config
from qkv.configs import to_dict
from qkv.core.tape import Tape
from qkv.errors import UserError
from qkv.families.loading import load, load_weights
from qkv.families.translator.trace import trace_translator
from qkv.tracing.experiments import Experiment, Place, changed, check_forced, shuffled
from qkv.tracing.trace import Choice, Side, Trace, choices_of, without_batch

CONTINUED = 12  # pieces that a language model adds
MOST_PATCHES = 100  # of a picture that can be looked at


def trace(model: Any, text: str) -> Trace:
    """Every number on the way to an answer, by name: `qkv.trace("runs/en-de", "the cat danced")`."""
    if isinstance(model, str | Path):
        return trace_of(kind_in(Path(model)))(load(model), text)
    kinds = {"Translator": "translator", "Generator": "gpt", "Bert": "bert", "PictureClassifier": "vit"}
    return trace_of(kinds.get(type(model).__name__, type(model).__name__))(model, text)


def kind_in(folder: Path) -> str:
    return str(read_config(folder)["kind"])


def trace_of(kind: str) -> Callable[..., Trace]:
    if kind not in TRACERS:
        raise UserError(f"a {kind} cannot be looked into: there are {', '.join(TRACERS)}.")
    return TRACERS[kind]


def with_weights(model: Any, weights: Mapping[str, Tensor], where: str) -> Any:
    """The same with other weights, such as those of an earlier step of its training."""
    found = copy.copy(model)
    found.model = copy.deepcopy(model.model)
    load_weights(found.model, weights, where)
    return found


@torch.inference_mode()
def trace_gpt(
    generator: Any,
    text: str,
    experiment: Experiment = Experiment(),  # noqa: B008
    *,
    beam: int | None = None,
    longest: int | None = None,
) -> Trace:
    """A prompt and its likeliest continuation as one stream; the rows from the prompt's last on have led to words."""
    config, tokenizer = generator.model.config, generator.tokenizer
    text = shuffled(text, experiment.shuffle)
    prompt = tokenizer.encode(text)
    check_length(len(prompt), min(longest or config.context, config.context - CONTINUED - 1))
    check_forced(experiment.force, config.vocab)
    model = changed(generator.model, experiment, {"decoder": Place("stack", True)}).eval()
    ids, forced = list(prompt), list(experiment.force)
    while len(ids) < len(prompt) + CONTINUED:
        ids.append(forced.pop(0) if forced else int(model(torch.tensor([ids]))[0, -1].argmax()))
        if ids[-1] == config.end:
            break
    read, tape = ids[:-1], Tape()
    logits = model(torch.tensor([read]), tape)[0]
    arrays = without_batch(tape)
    if model.positions is not None:
        arrays["decoder.positions"] = model.positions(0, len(read)).float().numpy()
    show = tokenizer.show
    first = len(prompt) - 1
    return Trace(
        kind="gpt",
        text=text,
        answer=tokenizer.decode([each for each in ids[len(prompt) :] if each != config.end]),
        config=to_dict(config),
        sides=(
            Side(
                name="decoder",
                pieces=tuple(show(read)),
                ids=tuple(read),
                said=tuple(show(ids[1:])),
                stack=to_dict(config.stack),
                weights="stack",
                causal=True,
                embedding="tokens.weight",
            ),
        ),
        arrays=arrays,
        weights=model.state_dict(),
        choices=later(choices_of(logits[first:], ids[first + 1 :], show), [*range(first, len(read))]),
        output_weight="tokens.weight",
        experiment=experiment,
    )


@torch.inference_mode()
def trace_bert(
    bert: Any,
    text: str,
    experiment: Experiment = Experiment(),  # noqa: B008
    *,
    beam: int | None = None,
    longest: int | None = None,
) -> Trace:
    """A text as the encoder reads it; where a word is masked, what could stand there."""
    pieces, config = bert.pieces, bert.model.config
    text = shuffled(text.strip(), experiment.shuffle)
    if not text:
        raise UserError("there is nothing to read: write a sentence.")
    ids = [pieces.begin, *pieces.encode_with_masks(text), pieces.separator]
    check_length(len(ids), min(longest or bert.defaults.longest, bert.defaults.longest))
    model, tape = changed(bert.model, experiment, {"encoder": Place("encoder.stack", False)}).eval(), Tape()
    given = torch.tensor([ids])
    states = model.encoder(given, None, tape.inside("encoder"))[0]
    masked = [place for place, number in enumerate(ids) if number == pieces.mask]
    choices: tuple[Choice, ...] = ()
    answer = text
    if model.words is not None:
        logits = model.word_logits(states)
        tape.record("logits", logits[None])
        if masked:
            best = logits[masked].argmax(-1).tolist()
            choices = later(choices_of(logits[masked], best, pieces.show), masked)
            answer = " / ".join(pieces.show(best))
    return Trace(
        kind="bert",
        text=text,
        answer=answer,
        config={**to_dict(config), "vocab": config.encoder.vocab, "positions": "learned"},
        sides=(
            Side(
                name="encoder",
                pieces=tuple(pieces.show(ids)),
                ids=tuple(ids),
                stack=to_dict(config.encoder.stack),
                weights="encoder.stack",
                causal=False,
                embedding="encoder.tokens.weight",
                sum_is_normed=True,
            ),
        ),
        arrays=without_batch(tape),
        weights=model.state_dict(),
        choices=choices,
        experiment=experiment,
    )


@torch.inference_mode()
def trace_vit(
    classifier: Any,
    text: str,
    experiment: Experiment = Experiment(),  # noqa: B008
    *,
    beam: int | None = None,
    longest: int | None = None,
) -> Trace:
    """A picture, by the name of its file, as the sentence of its patches; the class is told by the row before them."""
    read_picture: Any = importlib.import_module("qkv.data.images").read_picture
    config = classifier.model.config
    if config.patches > MOST_PATCHES:
        raise UserError(
            f"its pictures have {config.patches} patches, and at most {MOST_PATCHES} can be looked at."
        )
    pixels = torch.tensor(read_picture(Path(text), classifier.form, fit=True))[None].float() / 127.5 - 1
    model, tape = changed(classifier.model, experiment, {"stack": Place("stack", False)}).eval(), Tape()
    logits = model(pixels, tape)
    classes = classifier.classes
    best = int(logits[0].argmax())
    across = config.width // config.patch
    names = ["class", *(f"{place // across + 1}·{place % across + 1}" for place in range(config.patches))]
    arrays = {
        f"stack.{name}" if name in ("patches", "tokens", "embedded") else name: each
        for name, each in without_batch(tape).items()
    }
    arrays["stack.positions"] = model.positions(0, len(names)).float().numpy()
    return Trace(
        kind="vit",
        text=text,
        answer=classes[best],
        config={**to_dict(config), "vocab": len(classes), "positions": "learned"},
        sides=(
            Side(
                name="stack",
                pieces=tuple(names),
                ids=(),
                stack=to_dict(config.stack),
                weights="stack",
                causal=False,
            ),
        ),
        arrays=arrays,
        weights=model.state_dict(),
        choices=choices_of(logits, [best], lambda ids: [classes[each] for each in ids]),
        picture=pixels[0].numpy(),
        output_weight="head.weight",
        output_bias="head.bias",
        experiment=experiment,
    )


def later(choices: Sequence[Choice], rows: Sequence[int]) -> tuple[Choice, ...]:
    """Choices with the rows that they belong to."""
    return tuple(
        Choice(row=row, chosen=each.chosen, total=each.total, candidates=each.candidates)
        for each, row in zip(choices, rows, strict=True)
    )


def check_length(pieces: int, most: int) -> None:
    if pieces < 1:
        raise UserError("there is nothing to go on from: write at least one word.")
    if pieces > most:
        raise UserError(f"this text has {pieces:,} pieces, and at most {most} can be looked at: shorten it.")


TRACERS: dict[str, Callable[..., Trace]] = {
    "translator": trace_translator,
    "gpt": trace_gpt,
    "bert": trace_bert,
    "vit": trace_vit,
}
