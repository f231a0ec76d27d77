"""BERT as Hugging Face's library names it: its config, and where each of its weights belongs."""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from qkv.core.block import StackConfig
from qkv.errors import UserError
from qkv.hub.naming import check_known, placed
from qkv.models.bert import Bert, BertClassifier, BertClassifierConfig, BertConfig, EncoderConfig

ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}

# Settings that change what is computed, with the values that we compute.
KNOWN: dict[str, tuple[Any, ...]] = {
    "model_type": ("bert",),
    "hidden_act": tuple(ACTIVATIONS),
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}
# And those that change nothing here: how it was made, and what it was meant for.
WITHOUT_EFFECT = {
    "_name_or_path", "_attn_implementation_autoset", "architectures", "attn_implementation", "bos_token_id",
    "chunk_size_feed_forward", "classifier_dropout", "cross_attention_hidden_size", "directionality", "dtype",
    "eos_token_id", "finetuning_task", "gradient_checkpointing", "id2label", "initializer_range", "label2id",
    "model_max_length", "output_attentions", "output_hidden_states", "output_past", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "problem_type",
    "return_dict", "torch_dtype", "transformers_version", "use_cache",
}  # fmt: skip
SIZES = {
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "hidden_dropout_prob", "attention_probs_dropout_prob", "max_position_embeddings", "type_vocab_size",
    "layer_norm_eps", "pad_token_id",
}  # fmt: skip

PARTS = {
    "embeddings.word_embeddings": "encoder.tokens",
    "embeddings.position_embeddings.weight": "encoder.positions.table",
    "embeddings.token_type_embeddings": "encoder.segments",
    "embeddings.LayerNorm": "encoder.norm",
    "pooler.dense": "pooler.linear",
    "cls.predictions.transform.dense": "words.transform",
    "cls.predictions.transform.LayerNorm": "words.norm",
    "cls.predictions.bias": "words.bias",
    "cls.seq_relationship": "next_sentence",
    "classifier": "labels",
}
LAYER = {
    "attention.self.query": "attention.sublayer.query",
    "attention.self.key": "attention.sublayer.key",
    "attention.self.value": "attention.sublayer.value",
    "attention.output.dense": "attention.sublayer.output",
    "attention.output.LayerNorm": "attention.norm",
    "intermediate.dense": "feed_forward.sublayer.expand",
    "output.dense": "feed_forward.sublayer.contract",
    "output.LayerNorm": "feed_forward.norm",
}
OLD_NORM = {"gamma": "weight", "beta": "bias"}  # as the first published weights have them


def our_name(theirs: str) -> str | None:
    """Where a weight of theirs belongs; None for what can be computed or is there twice."""
    name = theirs.removeprefix("bert.")
    if name == "embeddings.position_ids" or name.startswith("cls.predictions.decoder."):
        return None  # counted from 0, and the embeddings and the bias once more
    if ".LayerNorm." in name:
        head, _, last = name.rpartition(".")
        name = f"{head}.{OLD_NORM.get(last, last)}"
    layer = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", name)
    if layer is not None:
        number, part, kind = layer.groups()
        return f"encoder.stack.blocks.{number}.{LAYER[part]}.{kind}" if part in LAYER else theirs
    for part, ours in PARTS.items():
        if name == part or name.startswith(f"{part}."):
            return ours + name[len(part) :]
    return theirs


def encoder_config(config: Mapping[str, Any], where: str) -> EncoderConfig:
    check_known(config, KNOWN, where)
    unknown = sorted(set(config) - set(KNOWN) - WITHOUT_EFFECT - SIZES)
    if unknown:
        raise UserError(
            f"{where}: qkv does not know what {', '.join(unknown)} means for a BERT; remove what changes nothing."
        )
    try:
        return EncoderConfig(
            vocab=config["vocab_size"],
            context=config["max_position_embeddings"],
            pad=config.get("pad_token_id", 0),
            segments=config.get("type_vocab_size", 2),
            stack=StackConfig(
                depth=config["num_hidden_layers"],
                width=config["hidden_size"],
                heads=config["num_attention_heads"],
                hidden=config["intermediate_size"],
                norm="post",
                activation=ACTIVATIONS[config.get("hidden_act", "gelu")],  # type: ignore[arg-type]
                dropout=config.get("hidden_dropout_prob", 0.1),
                attention_dropout=config.get("attention_probs_dropout_prob", 0.1),
                norm_eps=config.get("layer_norm_eps", 1e-12),
            ),
        )
    except KeyError as error:
        raise UserError(f"{where}: the setting {error} is missing.") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: such a model cannot be built: {error}.") from None


COPIES = {  # there twice where the file was written without noticing that they are one
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def check_copies(weights: Mapping[str, Tensor], where: str) -> None:
    """A second copy that is another one would mean an output layer of its own, which we do not compute."""
    for copy, name in COPIES.items():
        original = weights.get(f"bert.{name}", weights.get(name))
        if copy in weights and original is not None and not torch.equal(weights[copy], original):
            raise UserError(f"{where}: {copy} is not {name}; qkv knows output layers tied to the words only.")


def bert_from(config: Mapping[str, Any], weights: Mapping[str, Tensor], where: str) -> Bert:
    """A BERT with those heads for which there are weights."""
    check_copies(weights, where)
    ours = {name for name in map(our_name, weights) if name is not None}
    model = Bert(
        BertConfig(
            encoder=encoder_config(config, where),
            pooler="pooler.linear.weight" in ours,
            words="words.transform.weight" in ours,
            next_sentence="next_sentence.weight" in ours,
        )
    )
    model.load_state_dict(placed(weights, our_name, model, where))
    return model.eval()


def classifier_from(config: Mapping[str, Any], weights: Mapping[str, Tensor], where: str) -> BertClassifier:
    if "classifier.weight" not in weights:
        raise UserError(f"{where} has no classifier.weight: it is no classifier.")
    outputs = len(weights["classifier.weight"])
    encoder = encoder_config(config, where)
    model = BertClassifier(BertClassifierConfig(encoder=encoder, outputs=outputs, numbers=outputs == 1))
    model.load_state_dict(placed(weights, our_name, model, where))
    return model.eval()
