"""A trace of a BERT: a text as the encoder reads it, with every intermediate value."""

import torch

from qkv.configs import to_dict
from qkv.core.tape import Tape
from qkv.errors import QkvError
from qkv.families.bert.product import Bert
from qkv.tracing.experiments import Experiment, StackLocation, apply_experiment, shuffle_words
from qkv.tracing.trace import Choice, Side, Trace, at_rows, check_length, choices_of, without_batch


@torch.inference_mode()
def trace_bert(
    bert: Bert,
    text: str,
    experiment: Experiment = Experiment(),  # noqa: B008
    *,
    beam: int | None = None,
    longest: int | None = None,
) -> Trace:
    """A text as the encoder reads it, with predictions for masked words."""
    pieces, config = bert.tokenizer, bert.model.config
    text = shuffle_words(text.strip(), experiment.shuffle)
    if not text:
        raise QkvError("the text is empty. Write a sentence.")
    ids = [pieces.begin, *pieces.encode_with_masks(text), pieces.separator]
    check_length(len(ids), min(longest or bert._defaults.max_length, bert._defaults.max_length))
    model, tape = (
        apply_experiment(bert.model, experiment, {"encoder": StackLocation("encoder.stack", False)}).eval(),
        Tape(),
    )
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
            choices = at_rows(choices_of(logits[masked], best, pieces.show), masked)
            answer = " / ".join(pieces.show(best))
    return Trace(
        kind="bert",
        text=text,
        output=answer,
        config={**to_dict(config), "vocab_size": config.encoder.vocab_size, "positions": "learned"},
        sides=(
            Side(
                name="encoder",
                tokens=tuple(pieces.show(ids)),
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
