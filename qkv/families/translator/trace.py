"""Trace a translator: record the search, then rerun the model on the result and record every value."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from qkv.configs import to_dict
from qkv.core.pairs import TranslationModel
from qkv.core.tape import Tape
from qkv.core.translation import CrossHeads
from qkv.decoding.beam_options import PENALTIES
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.step import Step
from qkv.errors import QkvError
from qkv.families.translator.general_search import GeneralSearch
from qkv.families.translator.guarantees.attempts import Attempt, Trial
from qkv.families.translator.guarantees.job import Reading
from qkv.families.translator.guarantees.retry import Retry
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.recurrent import Recurrent
from qkv.families.translator.search import Request, Searcher
from qkv.families.translator.segments import is_for_translation
from qkv.tracing.experiments import (
    Experiment,
    StackLocation,
    Uncached,
    apply_experiment,
    check_forced,
    shuffle_words,
)
from qkv.tracing.trace import CANDIDATES, Beams, Side, Trace, check_length, choices_of, without_batch
from qkv.tracing.watching import RecordedStep

PLACES = {"encoder": StackLocation("encoder", False), "decoder": StackLocation("decoder", True)}
OF_LSTMS = {
    "encoder": StackLocation("encoder", False),
    "decoder": StackLocation("decoder", False, attention="cross_attention"),
}
MAX_TRACED_TOKENS = 96  # without positions a model may not stop


def two_stacks(model: TranslationModel) -> TranslatorModel | Recurrent:
    """The model, if it has an encoder and a decoder, which the explorer needs."""
    if not isinstance(model, TranslatorModel | Recurrent):
        raise QkvError(
            f"this is a {model.config.architecture} model, but only models with an encoder and a decoder can be explored. "
            "Word alignments show its attention."
        )
    return model


class WatchedSearch(GeneralSearch):
    """A search for one sentence. Without the causal mask there is no cache: early states depend on later tokens."""

    watched: RecordedStep | None = None

    def __init__(self, model: TranslationModel, boundary: Callable[[], Sequence[bool]], *, anew: bool):
        super().__init__(Searcher([model], boundary))
        self.searcher.general = self
        self.model, self.anew = model, anew

    def begin(self, sources: Sequence[Sequence[int]], look: CrossHeads | None) -> Step:
        if self.anew:
            step = self.allowed(Uncached(self.model, torch.tensor(sources, device=self.model.device)))
        else:
            step = super().begin(sources, look)
        self.watched = RecordedStep(step)
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
    """Search as `translate` does first, then rerun the model on the result and record every value.

    A source of more than `longest` tokens raises an error.
    """
    if beam is not None:
        translator = Translator(
            translator.model, translator.tokenizer, replace(translator._defaults, beam_size=beam)
        )
    decoding = TranslationOptions()
    text = shuffle_words(text.strip(), experiment.shuffle)
    if not is_for_translation(text, decoding.protected):
        raise QkvError("nothing to translate: enter a sentence with at least one letter.")
    check_forced(experiment.force, translator.model.config.vocab_size)
    attempt = Attempt(reading=Reading.plain(translator._pipeline.texts.job(text, decoding)))
    ids = translator.tokenizer.encode(attempt.reading.text)
    most = translator._pipeline.limit if longest is None else min(longest, translator._pipeline.limit)
    check_length(len(ids), most)
    model = two_stacks(translator.model)
    model = apply_experiment(model, experiment, OF_LSTMS if isinstance(model, Recurrent) else PLACES)
    if experiment.changes_model:
        translator = Translator(model, translator.tokenizer, translator._defaults)
    request = Request(source=ids, prefix=experiment.force)
    hypotheses, beams = searched(translator, request, experiment)
    best = hypotheses[0]
    output = best.ids[
        : min(MAX_TRACED_TOKENS, model.config.max_length - 1)
    ]  # the start token takes a position
    free, texts = Trial(attempt, request, hypotheses), translator._pipeline.texts
    traced = texts.translation(replace(best, ids=output), attempt.reading, decoding).text
    found = recorded(translator, text, traced, ids, output, beams, experiment)
    if experiment == Experiment() and not Retry(texts, decoding).holds(free, decoding):
        return replace(found, translation=translator.translate(text))  # retried, or repaired
    return replace(found, translation=traced)


def searched(
    translator: Translator, request: Request, experiment: Experiment
) -> tuple[list[Hypothesis], Beams]:
    """The hypotheses, best first, and how they were found. Unlike in `translate`, all finished ones are kept."""
    defaults, tokenizer = translator._defaults, translator.tokenizer
    model = two_stacks(translator.model)
    general = WatchedSearch(model, lambda: tokenizer.starts_word, anew=experiment.no_mask)
    search = translator._pipeline.texts.search(TranslationOptions(num_hypotheses=defaults.beam_size))
    [found] = general.searcher.find([request], search, lambda count: None)
    watched = general.watched
    assert watched is not None
    penalty = PENALTIES[defaults.length_norm](defaults.length_penalty if defaults.beam_size > 1 else 0.0)
    lost = watched.pruned([each.ids for each in found])[:CANDIDATES] if defaults.beam_size > 1 else []
    return found, Beams(
        width=defaults.beam_size,
        length_penalty=defaults.length_penalty,
        hypotheses=tuple(
            (tokenizer.decode(each.ids), each, penalty(len(each.log_probabilities))) for each in found
        ),
        pruned=tuple((tokenizer.decode(each.prefix.ids), each) for each in lost),
        rounds=tuple(
            tuple((tokenizer.decode(each.ids), each.total) for each in alive) for alive in watched.rounds
        ),
    )


def tables_of(model: TranslationModel) -> dict[str, str]:
    """The weights that embed the source, and those of the output layer."""
    names = [name for name, _ in model.named_parameters()]
    own = {side: f"{side}_tokens.weight" for side in ("source", "output")}
    return {side: name if name in names else "tokens.weight" for side, name in own.items()}


def recorded(
    translator: Translator,
    text: str,
    translated: str,
    ids: Sequence[int],
    output: Sequence[int],
    beams: Beams,
    experiment: Experiment,
) -> Trace:
    model, tokenizer = two_stacks(translator.model), translator.tokenizer
    show, tables = tokenizer.target.show, tables_of(model)
    config, device, tape = model.config, model.tokens.weight.device, Tape()
    blocks = not isinstance(model, Recurrent)
    read, shifted, target = config.complete_source(ids), [config.start, *output], [*output, config.end]
    model.eval()
    logits = model(torch.tensor([read], device=device), torch.tensor([shifted], device=device), tape)[0]
    return Trace(
        kind="translator",
        text=text,
        output=translated,
        config=to_dict(config),
        sides=(
            Side(
                name="encoder",
                tokens=tuple(tokenizer.show(read)),
                ids=tuple(read),
                stack=to_dict(config.encoder),
                weights="encoder",
                causal=False,
                embedding=tables["source"],
                embedding_scale=config.encoder.width**0.5,
            ),
            Side(
                name="decoder",
                tokens=tuple(show(shifted)),
                ids=tuple(shifted),
                stack=to_dict(config.decoder),
                weights="decoder",
                causal=isinstance(model, TranslatorModel) and model.config.decoder_cell == "attention",
                embedding="tokens.weight",
                embedding_scale=config.encoder.width**0.5,
                output=tuple(show(target)),
                attention=None if blocks else "cross_attention",
            ),
        ),
        arrays=without_batch(tape),
        weights=model.state_dict(),
        choices=choices_of(logits, target, show),
        beams=beams,
        output_weight=tables["output"],
        output_bias=None if model.bias is None else "bias",
        experiment=experiment,
    )
