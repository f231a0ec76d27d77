"""Write language models in CTranslate2's layout, and compare its results with ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from qkv.families.gpt.hub import GPTMapping
from qkv.families.gpt.model import GPT
from qkv.families.gpt.product import LanguageModel
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


def save(product: LanguageModel, folder: Path, numbers: Numbers) -> None:
    save_gpt(product.model, names_of(product), folder, numbers=numbers)


def names_of(product: LanguageModel) -> list[str]:
    tokenizer = product.tokenizer
    return [str(tokenizer.library.id_to_token(number)) for number in range(len(tokenizer))]


def save_gpt(model: GPT, names: Sequence[str], folder: Path, *, numbers: Numbers = "float32") -> None:
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
    spec.register_vocabulary(list(names))
    settings = spec.config
    settings.bos_token = settings.eos_token = settings.unk_token = names[config.end]
    settings.layer_norm_epsilon = config.stack.norm_eps
    write(spec, folder, numbers)


def compare(product: LanguageModel, engine: Any) -> Comparison:
    mapping, config, names = GPTMapping(), product.model.config, names_of(product)
    inputs = mapping.probe(product)
    rows = [[names[number] for number in row] for row in inputs["input_ids"].tolist()]
    theirs = torch.tensor([each.tolist() for each in view_as_array(engine.forward_batch(rows))])
    ours = mapping.compute(product, inputs)["logits"]
    hypotheses, settings = mapping.greedy(product, inputs)
    prompts = [row[: settings["begun"]] for row in rows]
    found = engine.generate_batch(
        prompts,
        beam_size=1,
        sampling_topk=1,
        max_length=settings["generation"]["max_new_tokens"],
        include_prompt_in_result=False,
        end_token=[names[config.end]],
    )
    output = [[names[number] for number in ids] for ids in hypotheses]
    same = sum(list(each.sequences[0]) == own for each, own in zip(found, output, strict=True))
    return compare_outputs(ours, theirs, same, len(rows))


EXPORTER = Exporter(opened_as="Generator", save=save, compare=compare)
