"""Export translators to CTranslate2 and compare its outputs with ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from qkv.errors import ModelError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.hub import MarianMapping
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.search import Request
from qkv.hub.ctranslate2 import (
    Comparison,
    Exporter,
    Numbers,
    as_array,
    compare_outputs,
    fill_stack,
    specs,
    stack_options,
    write,
)
from qkv.text.marian_tokenizer import MarianTokenizer
from qkv.text.plain_tokens import PlainTokenizer
from qkv.text.vocabulary import Vocabulary

EXCLUDED = -1e9  # added to a logit


def save(product: Translator, folder: Path, numbers: Numbers) -> None:
    if not isinstance(product.model, TranslatorModel):
        raise ModelError(
            "CTranslate2 supports only translators with a Transformer encoder and decoder: this one cannot be exported."
        )
    if product.model.config.decoder_cell != "attention":
        raise ModelError(
            "CTranslate2 has no SSRU decoder: this model cannot be exported. Train one with decoder cell attention."
        )
    tokenizer = product.tokenizer
    unknown = tokenizer.unknown if isinstance(tokenizer, MarianTokenizer | PlainTokenizer) else None
    save_translator(
        product.model,
        names_of(tokenizer),
        folder,
        numbers=numbers,
        unknown=unknown,
        source_names=source_names_of(tokenizer),
    )


def save_translator(
    model: TranslatorModel,
    names: Sequence[str],
    folder: Path,
    *,
    numbers: Numbers = "float32",
    unknown: int | None = None,
    source_names: Sequence[str] | None = None,
) -> None:
    """Write a translator. With float32, CTranslate2 can still quantize the weights when it loads them.

    `names` are the names of the ids, all different, and `source_names` those of sources, if they have other ones. CTranslate2
    adds the end token to sources itself.
    """
    _, transformer = specs()
    config = model.config
    check(config, names)
    spec = transformer.TransformerSpec(
        transformer.TransformerEncoderSpec(**stack_options(config.encoder, model.source_rotation)),
        transformer.TransformerDecoderSpec(**stack_options(config.decoder, model.target_rotation)),
    )
    tokens = as_array(model.tokens.weight)
    sources = tokens if model.source_tokens is None else as_array(model.source_tokens.weight)
    for side, stack, positions in (
        (spec.encoder, model.encoder, model.source_positions),
        (spec.decoder, model.decoder, model.target_positions),
    ):
        for embeddings in side.embeddings if isinstance(side.embeddings, list) else [side.embeddings]:
            embeddings.weight = sources if side is spec.encoder else tokens
        fill_stack(side, stack, table_of(positions, config))
    spec.decoder.projection.weight = tokens if config.tied_output else as_array(model.output_table.weight)
    bias = output_bias(model)
    if bias is not None:
        spec.decoder.projection.bias = as_array(bias)
    spec.register_source_vocabulary(list(names if source_names is None else source_names))
    spec.register_target_vocabulary(list(names))
    settings = spec.config
    settings.bos_token = settings.decoder_start_token = names[config.start]
    settings.eos_token = names[config.end]
    settings.unk_token = names[
        config.pad if unknown is None else unknown
    ]  # our own tokenizers have a token for every byte
    settings.add_source_eos = config.source_ends
    settings.layer_norm_epsilon = config.encoder.norm_eps
    write(spec, folder, numbers)


def output_bias(model: TranslatorModel) -> Tensor | None:
    """Exclude Marian's padding, which is also the start token, by the bias: CTranslate2 has no option for that."""
    config = model.config
    if config.pad != config.start:
        return model.bias
    bias = torch.zeros(config.vocab_size) if model.bias is None else model.bias.detach().clone()
    bias[config.pad] = EXCLUDED
    return bias


def check(config: TranslatorConfig, names: Sequence[str]) -> None:
    if len(set(names)) != config.vocab_size:
        raise ValueError("every id needs its own name")
    if config.encoder.norm_eps != config.decoder.norm_eps:
        raise ModelError("CTranslate2 has one epsilon for all norms, but this model has two.")


def table_of(positions: nn.Module | None, config: TranslatorConfig) -> Any:
    """The positions added to the embeddings: zeros if positions are rotary."""
    if positions is None:
        return np.zeros((config.max_length, config.encoder.width), dtype=np.float32)
    return as_array(positions.table)  # type: ignore[arg-type]


def names_of(tokenizer: Vocabulary) -> list[str]:
    """The tokens as CTranslate2 reads them, in the order of their ids."""
    if isinstance(tokenizer, MarianTokenizer | PlainTokenizer):
        return list(tokenizer.vocabulary)
    own: Any = tokenizer
    return [str(own.library.id_to_token(number)) for number in range(len(tokenizer))]


def source_names_of(tokenizer: Vocabulary) -> list[str]:
    """The same for sources."""
    own = tokenizer.source_vocabulary if isinstance(tokenizer, MarianTokenizer | PlainTokenizer) else None
    return names_of(tokenizer) if own is None else list(own)


def compare(product: Translator, engine: Any, *, adds_end: bool = True) -> Comparison:
    """Compare log-probabilities of given targets, and greedy outputs for given sources.

    `adds_end` says whether CTranslate2 adds the end token to sources, as in our exports.
    """
    mapping, config, names = MarianMapping(), product.model.config, names_of(product.tokenizer)
    inputs = mapping.probe(product)
    sources = [
        [number for number in row if number not in (config.pad, config.end)]
        for row in inputs["input_ids"].tolist()
    ]
    targets = [row[1:] for row in inputs["decoder_input_ids"].tolist()]
    read = source_names_of(product.tokenizer)
    ending = [] if adds_end or not config.source_ends else [read[config.end]]
    tokens = [[*(read[number] for number in row), *ending] for row in sources]
    scored = engine.score_batch(tokens, [[names[number] for number in row] for row in targets])
    logits = mapping.compute(product, inputs)["logits"]  # (B, T, V)
    if config.pad == config.start:
        logits[..., config.pad] = float("-inf")
    ours = logits.log_softmax(-1)
    wanted = [
        ours[row].gather(1, torch.tensor([*ids, config.end])[:, None])[:, 0]
        for row, ids in enumerate(targets)
    ]
    theirs = torch.cat([torch.tensor(each.log_probs) for each in scored])
    hypotheses, settings = mapping.greedy(product, inputs)
    limit = settings["generation"]["max_new_tokens"]
    found = engine.translate_batch(tokens, beam_size=1, max_decoding_length=limit)
    output = [[names[number] for number in ids] for ids in hypotheses]
    same = sum(each.hypotheses[0] == own for each, own in zip(found, output, strict=True))
    return compare_outputs(torch.cat(wanted), theirs, same, len(sources))


def translate_with_both(
    product: Translator, engine: Any, lines: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Our translations and those of CTranslate2, both greedy, because they score beams differently."""
    return translate_greedily(product, lines), translate_with_engine(product, engine, lines)


def requests_for(product: Translator, lines: Sequence[str]) -> tuple[list[Request], list[int]]:
    """The request for each line, and the most tokens of its translation."""
    requests = [Request(source=product.tokenizer.encode(line)[: product._pipeline.limit]) for line in lines]
    searcher = product._pipeline.texts.searcher(TranslationOptions())
    return requests, [searcher.limit(request) for request in requests]


def translate_greedily(product: Translator, lines: Sequence[str]) -> list[str]:
    """Plain greedy decoding, as in other libraries: without guarantees and retries."""
    requests, _ = requests_for(product, lines)
    found = product._pipeline.texts.searcher(TranslationOptions()).find(
        requests, product._pipeline.texts.search(TranslationOptions(beam_size=1)), lambda count: None
    )
    return [product.tokenizer.decode(best.ids) for best, *_ in found]


def translate_with_engine(product: Translator, engine: Any, lines: Sequence[str]) -> list[str]:
    """Greedy translations by CTranslate2."""
    tokenizer, names = product.tokenizer, names_of(product.tokenizer)
    numbers = {name: number for number, name in enumerate(names)}
    config = product.model.config
    requests, limits = requests_for(product, lines)
    read = source_names_of(tokenizer)
    tokens = [[read[number] for number in request.source] for request in requests]
    found = engine.translate_batch(
        tokens,
        beam_size=1,
        max_decoding_length=config.max_length,
        max_batch_size=2_048,
        batch_type="tokens",
    )
    output = [each.hypotheses[0][:limit] for each, limit in zip(found, limits, strict=True)]
    return [tokenizer.decode([numbers[name] for name in each]) for each in output]


EXPORTER = Exporter(opened_as="Translator", save=save, compare=compare, translate=translate_with_both)
