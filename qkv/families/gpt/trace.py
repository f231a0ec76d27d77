"""A trace of a GPT: a prompt and its likeliest continuation, with every intermediate value."""

import torch

from qkv.configs import to_dict
from qkv.core.tape import Tape
from qkv.families.gpt.product import LanguageModel
from qkv.tracing.experiments import Experiment, StackLocation, apply_experiment, check_forced, shuffle_words
from qkv.tracing.trace import Side, Trace, at_rows, check_length, choices_of, without_batch

CONTINUED = 12  # tokens that the model adds to the prompt


@torch.inference_mode()
def trace_gpt(
    generator: LanguageModel,
    text: str,
    experiment: Experiment = Experiment(),  # noqa: B008
    *,
    beam: int | None = None,
    longest: int | None = None,
) -> Trace:
    """A prompt and its likeliest continuation as one stream. Rows from the prompt's last token on predict the output."""
    config, tokenizer = generator.model.config, generator.tokenizer
    text = shuffle_words(text, experiment.shuffle)
    prompt = tokenizer.encode(text)
    check_length(len(prompt), min(longest or config.max_length, config.max_length - CONTINUED - 1))
    check_forced(experiment.force, config.vocab_size)
    model = apply_experiment(generator.model, experiment, {"decoder": StackLocation("stack", True)}).eval()
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
        output=tokenizer.decode([each for each in ids[len(prompt) :] if each != config.end]),
        config=to_dict(config),
        sides=(
            Side(
                name="decoder",
                tokens=tuple(show(read)),
                ids=tuple(read),
                output=tuple(show(ids[1:])),
                stack=to_dict(config.stack),
                weights="stack",
                causal=True,
                embedding="tokens.weight",
            ),
        ),
        arrays=arrays,
        weights=model.state_dict(),
        choices=at_rows(choices_of(logits[first:], ids[first + 1 :], show), [*range(first, len(read))]),
        output_weight="tokens.weight",
        experiment=experiment,
    )
