"""Write text encoders in CTranslate2's layout, and compare its results with ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from qkv.families.bert.hub import BertMapping
from qkv.families.bert.model import Bert as BertModel
from qkv.families.bert.product import Bert
from qkv.hub.ctranslate2 import (
    Comparison,
    Exporter,
    Numbers,
    as_array,
    compare_outputs,
    fill_linear,
    fill_norm,
    fill_stack,
    specs,
    stack_options,
    view_as_array,
    write,
)


def save(product: Bert, folder: Path, numbers: Numbers) -> None:
    names = product.tokenizer.show(range(len(product.tokenizer)))
    save_bert(product.model, names, product.tokenizer.unknown, folder, numbers=numbers)


def save_bert(
    model: BertModel, names: Sequence[str], unknown: int, folder: Path, *, numbers: Numbers = "float32"
) -> None:
    """Write an encoder and its pooler for CTranslate2's Encoder, which has no heads for words or labels."""
    common, transformer = specs()
    config = model.config.encoder
    encoder = transformer.TransformerEncoderSpec(
        **stack_options(config.stack, None),
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=common.EmbeddingsMerge.ADD,
    )
    spec = transformer.TransformerEncoderModelSpec(
        encoder, pooling_layer=model.pooler is not None, pooling_activation=common.Activation.Tanh
    )
    spec.encoder.scale_embeddings = False
    spec.encoder.embeddings[0].weight = as_array(model.encoder.tokens.weight)
    spec.encoder.embeddings[1].weight = as_array(model.encoder.segments.weight)
    fill_norm(spec.encoder.layernorm_embedding, model.encoder.norm)
    fill_stack(spec.encoder, model.encoder.stack, as_array(model.encoder.positions.table))
    if model.pooler is not None:
        fill_linear(spec.pooler_dense, model.pooler.linear)
    spec.register_vocabulary(list(names))
    spec.config.unk_token = names[unknown]
    spec.config.layer_norm_epsilon = config.stack.norm_eps
    write(spec, folder, numbers)


def compare(product: Bert, engine: Any) -> Comparison:
    """Compare states, without padding. CTranslate2 requires segments, so they are given."""
    inputs = BertMapping().probe(product)
    ids, segments = inputs["input_ids"], inputs["token_type_ids"]
    lengths = inputs["attention_mask"].sum(1).tolist()
    rows = [row[:length] for row, length in zip(ids.tolist(), lengths, strict=True)]
    kinds = [row[:length] for row, length in zip(segments.tolist(), lengths, strict=True)]
    output = engine.forward_batch(rows, token_type_ids=kinds)
    theirs = torch.from_numpy(view_as_array(output.last_hidden_state))
    ours = product.model.eval().encoder(ids, segments)
    real = inputs["attention_mask"].bool()
    return compare_outputs(ours[real], theirs[real], len(rows), len(rows))


EXPORTER = Exporter(opened_as="Encoder", save=save, compare=compare)
