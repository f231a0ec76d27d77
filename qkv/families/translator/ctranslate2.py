"""Translators for CTranslate2: written in its layout, and compared with ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from qkv.errors import UserError
from qkv.families.translator.hub import MarianMapping
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.model import TranslatorConfig
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
from qkv.text.sentence_pieces import SentencePieces
from qkv.text.vocabulary import Vocabulary

NEVER_SAID = -1e9  # added to a logit


def save(product: Translator, folder: Path, numbers: Numbers) -> None:
    if not isinstance(product.model, TranslatorModel):
        raise UserError(
            "CTranslate2 runs only translators with an encoder and a decoder of Transformer blocks: this one cannot be exported."
        )
    tokenizer = product.tokenizer
    unknown = tokenizer.unknown if isinstance(tokenizer, SentencePieces) else None
    save_translator(product.model, names_of(tokenizer), folder, numbers=numbers, unknown=unknown)


def save_translator(
    model: TranslatorModel,
    pieces: Sequence[str],
    folder: Path,
    *,
    numbers: Numbers = "float32",
    unknown: int | None = None,
) -> None:
    """Write a translator. In float32 CTranslate2 rounds the weights when it opens them, as it is told to.

    `pieces` are the names of the ids, each of them once; sources are given to it without their end mark.
    """
    _, transformer = specs()
    config = model.config
    check(config, pieces)
    spec = transformer.TransformerSpec(
        transformer.TransformerEncoderSpec(**stack_options(config.encoder, model.source_rotation)),
        transformer.TransformerDecoderSpec(**stack_options(config.decoder, model.target_rotation)),
    )
    tokens = as_array(model.tokens.weight)
    for side, stack, positions in (
        (spec.encoder, model.encoder, model.source_positions),
        (spec.decoder, model.decoder, model.target_positions),
    ):
        for embeddings in side.embeddings if isinstance(side.embeddings, list) else [side.embeddings]:
            embeddings.weight = tokens
        fill_stack(side, stack, table_of(positions, config))
    spec.decoder.projection.weight = tokens
    bias = output_bias(model)
    if bias is not None:
        spec.decoder.projection.bias = as_array(bias)
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    told = spec.config
    told.bos_token = told.decoder_start_token = pieces[config.start]
    told.eos_token = pieces[config.end]
    told.unk_token = pieces[config.pad if unknown is None else unknown]  # of ours every byte has a piece
    told.add_source_eos = True
    told.layer_norm_epsilon = config.encoder.norm_eps
    write(spec, folder, numbers)


def output_bias(model: TranslatorModel) -> Tensor | None:
    """Marian's padding, which a translation begins with, must not come again: CTranslate2 knows no rule for that."""
    config = model.config
    if config.pad != config.start:
        return model.bias
    bias = torch.zeros(config.vocab_size) if model.bias is None else model.bias.detach().clone()
    bias[config.pad] = NEVER_SAID
    return bias


def check(config: TranslatorConfig, pieces: Sequence[str]) -> None:
    if len(set(pieces)) != config.vocab_size:
        raise ValueError("every id needs a name of its own")
    if config.encoder.norm_eps != config.decoder.norm_eps:
        raise UserError("CTranslate2 has one epsilon for all norms, and this model has two.")


def table_of(positions: nn.Module | None, config: TranslatorConfig) -> Any:
    """What is added to the embeddings: nothing, where positions are rotary."""
    if positions is None:
        return np.zeros((config.max_length, config.encoder.width), dtype=np.float32)
    return as_array(positions.table)  # type: ignore[arg-type]


def names_of(tokenizer: Vocabulary) -> list[str]:
    """The pieces as CTranslate2 is asked with them."""
    if isinstance(tokenizer, SentencePieces):
        return list(tokenizer.vocabulary)
    own: Any = tokenizer
    return [str(own.pieces.id_to_token(number)) for number in range(len(tokenizer))]


def compare(product: Translator, engine: Any) -> Comparison:
    """Log-probabilities of given targets, and what is said greedily to given sources."""
    mapping, config, pieces = MarianMapping(), product.model.config, names_of(product.tokenizer)
    inputs = mapping.probe(product)
    sources = [
        [number for number in row if number not in (config.pad, config.end)]
        for row in inputs["input_ids"].tolist()
    ]
    targets = [row[1:] for row in inputs["decoder_input_ids"].tolist()]
    asked = [[pieces[number] for number in row] for row in sources]
    scored = engine.score_batch(asked, [[pieces[number] for number in row] for row in targets])
    logits = mapping.computed(product, inputs)["logits"]  # (B, T, V)
    if config.pad == config.start:
        logits[..., config.pad] = float("-inf")
    ours = logits.log_softmax(-1)
    wanted = [
        ours[row].gather(1, torch.tensor([*ids, config.end])[:, None])[:, 0]
        for row, ids in enumerate(targets)
    ]
    theirs = torch.cat([torch.tensor(each.log_probs) for each in scored])
    answers, settings = mapping.greedy(product, inputs)
    limit = settings["generation"]["max_new_tokens"]
    found = engine.translate_batch(asked, beam_size=1, max_decoding_length=limit)
    said = [[pieces[number] for number in answer] for answer in answers]
    same = sum(each.hypotheses[0] == own for each, own in zip(found, said, strict=True))
    return compare_outputs(torch.cat(wanted), theirs, same, len(sources))


def translate_with_both(
    product: Translator, engine: Any, lines: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Our translations and those of CTranslate2, both greedy: the two score beams differently."""
    return translate_greedily(product, lines), translated(product, engine, lines)


def requests_for(product: Translator, lines: Sequence[str]) -> tuple[list[Request], list[int]]:
    """Each line as it is read, and how many pieces an answer to it may have."""
    requests = [Request(source=product.tokenizer.encode(line)[: product.limit]) for line in lines]
    searcher = product.texts.searcher(TranslationOptions())
    return requests, [searcher.limit(request) for request in requests]


def translate_greedily(product: Translator, lines: Sequence[str]) -> list[str]:
    """The likeliest piece at each step, as other libraries are asked: nothing is promised, and nothing tried again."""
    requests, _ = requests_for(product, lines)
    found = product.texts.searcher(TranslationOptions()).find(
        requests, product.texts.search(TranslationOptions(beam_size=1)), lambda count: None
    )
    return [product.tokenizer.decode(best.ids) for best, *_ in found]


def translated(product: Translator, engine: Any, lines: Sequence[str]) -> list[str]:
    """By CTranslate2, greedily."""
    tokenizer, pieces = product.tokenizer, names_of(product.tokenizer)
    numbers = {piece: number for number, piece in enumerate(pieces)}
    config = product.model.config
    requests, limits = requests_for(product, lines)
    asked = [[pieces[number] for number in request.source] for request in requests]
    found = engine.translate_batch(
        asked,
        beam_size=1,
        max_decoding_length=config.max_length,
        max_batch_size=2_048,
        batch_type="tokens",
    )
    said = [each.hypotheses[0][:limit] for each, limit in zip(found, limits, strict=True)]
    return [tokenizer.decode([numbers[piece] for piece in each]) for each in said]


EXPORTER = Exporter(opened_as="Translator", save=save, compare=compare, translate=translate_with_both)
