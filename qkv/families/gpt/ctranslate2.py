"""Write language models in CTranslate2's layout, and compare its results with ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from qkv.families.gpt.hub import GPTMapping
from qkv.families.gpt.model import GPT
from qkv.families.gpt.product import Generator
from qkv.hub.ctranslate2 import (
    Comparison,
    Exporter,
    Numbers,
    as_array,
    compare_outputs,
    fill_stack,
    specs,
    stack_options,
    view_as_array,
    write,
)


def save(product: Generator, folder: Path, numbers: Numbers) -> None:
    save_gpt(product.model, names_of(product), folder, numbers=numbers)


def names_of(product: Generator) -> list[str]:
    tokenizer = product.tokenizer
    return [str(tokenizer.pieces.id_to_token(number)) for number in range(len(tokenizer))]


def save_gpt(model: GPT, pieces: Sequence[str], folder: Path, *, numbers: Numbers = "float32") -> None:
    """Write a language model, for CTranslate2's Generator."""
    _, transformer = specs()
    config = model.config
    spec = transformer.TransformerDecoderModelSpec(
        transformer.TransformerDecoderSpec(
            **stack_options(config.stack, model.rotation), with_encoder_attention=False
        )
    )
    spec.decoder.scale_embeddings = False
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = as_array(model.tokens.weight)
    fill_stack(
        spec.decoder, model.stack, None if model.positions is None else as_array(model.positions.table)
    )
    spec.register_vocabulary(list(pieces))
    told = spec.config
    told.bos_token = told.eos_token = told.unk_token = pieces[config.end]
    told.layer_norm_epsilon = config.stack.norm_eps
    write(spec, folder, numbers)


def compare(product: Generator, engine: Any) -> Comparison:
    mapping, config, pieces = GPTMapping(), product.model.config, names_of(product)
    inputs = mapping.probe(product)
    rows = [[pieces[number] for number in row] for row in inputs["input_ids"].tolist()]
    theirs = torch.tensor([each.tolist() for each in view_as_array(engine.forward_batch(rows))])
    ours = mapping.compute(product, inputs)["logits"]
    answers, settings = mapping.greedy(product, inputs)
    begun = [row[: settings["begun"]] for row in rows]
    found = engine.generate_batch(
        begun,
        beam_size=1,
        sampling_topk=1,
        max_length=settings["generation"]["max_new_tokens"],
        include_prompt_in_result=False,
        end_token=[pieces[config.end]],
    )
    said = [[pieces[number] for number in answer] for answer in answers]
    same = sum(list(each.sequences[0]) == own for each, own in zip(found, said, strict=True))
    return compare_outputs(ours, theirs, same, len(rows))


EXPORTER = Exporter(opened_as="Generator", save=save, compare=compare)
