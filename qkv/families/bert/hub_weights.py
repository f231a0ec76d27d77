"""Hugging Face's config and weight names of BERT, and ours."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from qkv.errors import DataError
from qkv.families.bert.config import BertClassifierConfig, BertConfig, EncoderConfig
from qkv.families.bert.model import Bert, BertClassifier
from qkv.hub.naming import Settings, build_model, check_copies, outputs_of, rename_weights
from qkv.hub.stack import stack_from, their_stack

WITHOUT_EFFECT = {
    "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head",
    "pooler_type",
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
THEIR_LAYER = {ours: theirs for theirs, ours in LAYER.items()}
OLD_NORM = {"gamma": "weight", "beta": "bias"}  # in the first published weights


def our_name(theirs: str) -> str | None:
    """Our name of their weight; None for what can be computed or is a copy."""
    name = theirs.removeprefix("bert.")
    if name == "embeddings.position_ids" or name.startswith("cls.predictions.decoder."):
        return None  # position ids, and copies of the embeddings and the bias
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


def their_name(ours: str) -> str:
    """Their name of our weight, with the prefix that all but the bare encoder have."""
    block = re.fullmatch(r"encoder\.stack\.blocks\.(\d+)\.(.+)\.(weight|bias)", ours)
    if block is not None:
        number, part, kind = block.groups()
        return f"bert.encoder.layer.{number}.{THEIR_LAYER[part]}.{kind}"
    for theirs, part in PARTS.items():
        if ours == part or ours.startswith(f"{part}."):
            name = theirs + ours[len(part) :]
            return name if theirs.startswith("cl") else f"bert.{name}"  # heads are outside the encoder
    raise KeyError(ours)


def encoder_config(config: Mapping[str, Any], where: str) -> EncoderConfig:
    known = Settings(config, WITHOUT_EFFECT, where)
    for name, wanted in (
        ("position_embedding_type", "absolute"),
        ("is_decoder", False),
        ("add_cross_attention", False),
        ("tie_word_embeddings", True),
    ):
        known.must_be(name, wanted, wanted)
    vocab = known.size("vocab_size")
    context, pad = known.size("max_position_embeddings"), known.id("pad_token_id", vocab, 0)
    segments, stack = known.size("type_vocab_size", 2), stack_from(known, "post", 0.1)
    known.must_be("emb_size", stack.width, stack.width)
    known.refuse_others()
    return EncoderConfig(vocab_size=vocab, max_length=context, pad=pad, segments=segments, stack=stack)


def their_config(config: EncoderConfig) -> dict[str, Any]:
    stack = config.stack
    if stack.norm != "post":
        raise DataError("transformers' BERT has no pre-norm: this model cannot be exported.")
    return {
        "model_type": "bert",
        "vocab_size": config.vocab_size,
        **their_stack(stack),
        "max_position_embeddings": config.max_length,
        "type_vocab_size": config.segments,
        "pad_token_id": config.pad,
        "tie_word_embeddings": True,
    }


COPIES = {  # some files store these tied weights twice
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def bert_from(config: Mapping[str, Any], weights: Mapping[str, Tensor], where: str) -> Bert:
    """A BERT with the heads that there are weights for."""
    plain = {name.removeprefix("bert."): tensor for name, tensor in weights.items()}
    check_copies(plain, COPIES, where)
    ours = rename_weights(weights, our_name, where)
    if "cls.predictions.decoder.bias" in plain:  # it has two names
        ours.setdefault("words.bias", plain["cls.predictions.decoder.bias"])
    encoder = encoder_config(config, where)
    try:
        heads = BertConfig(
            encoder=encoder,
            pooler="pooler.linear.weight" in ours,
            words="words.transform.weight" in ours,
            next_sentence="next_sentence.weight" in ours,
        )
    except ValueError as error:
        raise DataError(f"{where}: this model cannot be built: {error}.") from None
    return build_model(lambda: Bert(heads), ours, encoder.stack.depth, where)


def classifier_from(config: Mapping[str, Any], weights: Mapping[str, Tensor], where: str) -> BertClassifier:
    outputs = outputs_of(weights, where)
    encoder = encoder_config(config, where)
    whole = BertClassifierConfig(encoder=encoder, outputs=outputs, numbers=outputs == 1)
    return build_model(
        lambda: BertClassifier(whole), rename_weights(weights, our_name, where), encoder.stack.depth, where
    )
