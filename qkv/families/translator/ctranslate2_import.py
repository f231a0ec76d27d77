"""Translators of CTranslate2 (its TransformerSpec) as ours. `ctranslate2.py` is the other direction."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.core.positions import sinusoid
from qkv.core.stack_config import StackConfig
from qkv.errors import DataError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.ctranslate2 import EXCLUDED, compare
from qkv.families.translator.ctranslate2_tokenizer import Names, read_tokenizer
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.hub_defaults import MAX_SOURCE_LENGTH
from qkv.families.translator.hub_vocabularies import in_order, new_name, source_order
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.hub.ctranslate2 import Comparison
from qkv.hub.ctranslate2_file import Stored
from qkv.hub.ctranslate2_folder import Original
from qkv.hub.importing_ctranslate2 import Importer
from qkv.hub.naming import build_model

NEWEST_REVISION = 7
ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "swish", 3: "gelu"}  # by their numbers in the file
SIDES = ("encoder", "decoder")
OUR_TABLES = {"encoder": "source_positions.table", "decoder": "target_positions.table"}
PADDING = ("<pad>", "<blank>")
COMPUTED_POSITIONS = 1_024  # CTranslate2 computes more when a text is longer
ROTARY_BASE = 10_000
LONGEST = 1 << 17  # positions
WITHOUT_EFFECT = {
    "decoder/alignment_heads", "decoder/alignment_layer", "decoder/scale_alibi", "decoder/alibi_use_positive_positions",
    "encoder/embeddings_merge", "alignment_heads", "alignment_layer", "embeddings_merge",
    "with_source_bos", "with_source_eos", "with_target_bos", "user_decoder_start_tokens", "unk_token", "bos_token", "eos_token",
}  # fmt: skip
MUST_BE_OFF = ("decoder/alibi", "encoder/multi_query_attention", "with_relative_position")
# Their layers, and ours that each of them holds, one below the other.
PARTS = {
    "self_attention/linear_0": (
        "attention.sublayer.query",
        "attention.sublayer.key",
        "attention.sublayer.value",
    ),
    "self_attention/linear_1": ("attention.sublayer.output",),
    "attention/linear_0": ("cross_attention.sublayer.query",),
    "attention/linear_1": ("cross_attention.sublayer.key", "cross_attention.sublayer.value"),
    "attention/linear_2": ("cross_attention.sublayer.output",),
    "ffn/linear_0": ("feed_forward.sublayer.expand",),
    "ffn/linear_1": ("feed_forward.sublayer.contract",),
}
NORMS = {
    "self_attention/layer_norm": "attention.norm",
    "attention/layer_norm": "cross_attention.norm",
    "ffn/layer_norm": "feed_forward.norm",
}


@dataclass(frozen=True, kw_only=True)
class Ids:
    pad: int
    start: int
    end: int


def read(original: Original, language: str | None) -> Translator:
    stored, where = original.stored, original.where
    check_source(original)
    names, ids = special_tokens(original)
    source = source_of(original, names, ids)
    weights: dict[str, Tensor] = dict(embedding_weights(original, names, source))
    width = weights["tokens.weight"].shape[1]
    positions, tables = positions_of(stored, width, where)
    stacks = {}
    for side in SIDES:
        stacks[side] = stack_of(stored, side, width, original.norm_eps, where)
        weights |= dict(stack_weights(stored, side, stacks[side], where))
    bias = output_bias(stored, len(original.names), len(names), ids)
    use_our_scales(stored, weights, stacks["decoder"], where)
    check_unread(stored, where)
    if bias is not None:
        weights["bias"] = bias
    if positions == "learned":
        weights |= {OUR_TABLES[side]: table.clone() for side, table in tables.items()}
    own = weights.get("source_tokens.weight")
    try:
        config = TranslatorConfig(
            vocab_size=len(names),
            max_length=len(tables["encoder"]),
            pad=ids.pad,
            start=ids.start,
            end=ids.end,
            positions=positions,  # type: ignore[arg-type]
            encoder=stacks["encoder"],
            decoder=stacks["decoder"],
            label_smoothing=0.1,
            output_bias=bias is not None,
            source_vocab_size=None if own is None else len(own),
            tied_output="output_tokens.weight" not in weights,
            source_ends=original.tokens.source_ends or is_marian(stored),
        )
    except ValueError as error:
        raise DataError(f"{where}: this model cannot be built: {error}.") from None
    model = build_model(
        lambda: TranslatorModel(config), weights, config.encoder.depth + config.decoder.depth, where
    )
    tokens = Names(target=names, source=None if source is None else source.names)
    return Translator(
        model, read_tokenizer(original, tokens, config, language), defaults_of(original, config)
    )


def defaults_of(original: Original, config: TranslatorConfig) -> TranslatorDefaults:
    return TranslatorDefaults(
        languages=Languages.of(*original.languages),
        max_source_length=max(1, min(MAX_SOURCE_LENGTH, config.max_length - 2)),
        beam_size=4,
        length_penalty=1.0,
        length_norm="length without end",
    )


# Tokens ----------------------------------------------------------------------------------------------------------


def is_marian(stored: Stored) -> bool:
    """Only Marian's decoders start from zeros."""
    return bool(stored.scalar("decoder/start_from_zero_embedding", 0))


def check_source(original: Original) -> None:
    """CTranslate2's converter leaves Marian's end token to the user, so there the setting does not say if one is read."""
    tokens = original.tokens
    if tokens.source_begins:
        raise DataError(
            f"{original.where}: the model reads a start token before sources, which qkv does not support."
        )
    if tokens.end not in original.names:
        raise DataError(f"{original.where}: the vocabulary lacks {tokens.end}, the end token.")


def special_tokens(original: Original) -> tuple[list[str], Ids]:
    """The names of all tokens and the special ones among them. Padding is added if the vocabulary has none.

    A decoder that starts from zeros reads padding first, as Marian's models do in transformers: its embedding is zero.
    """
    names, tokens = list(original.names), original.tokens
    end = names.index(tokens.end)
    if is_marian(original.stored):
        names.append(new_name(names))
        return names, Ids(pad=len(names) - 1, start=len(names) - 1, end=end)
    if tokens.start is None or tokens.start not in names:
        raise DataError(
            f"{original.where}: the vocabulary lacks the token that the decoder starts with ({tokens.start}), so qkv cannot "
            "translate with it."
        )
    pad = next((names.index(name) for name in PADDING if name in names), None)
    if pad is None:
        pad = len(names)
        names.append(new_name(names))
    return names, Ids(pad=pad, start=names.index(tokens.start), end=end)


@dataclass(frozen=True, kw_only=True)
class SourceTokens:
    """The tokens of sources in our order, and their rows in the table of the encoder."""

    names: list[str]
    rows: list[int]


def source_of(original: Original, names: list[str], ids: Ids) -> SourceTokens | None:
    """None if sources have the tokens of targets and their embeddings."""
    if original.source_names is None:
        return None
    special = {ids.pad, ids.end, names.index(original.tokens.unknown)}
    ordered, rows = source_order(original.source_names, names, special)
    return SourceTokens(names=ordered, rows=rows)


def embedding_weights(
    original: Original, names: list[str], source: SourceTokens | None
) -> Iterator[tuple[str, Tensor]]:
    """The tables of source, target and output; those that are equal are one."""
    stored, where = original.stored, original.where
    first = "encoder/embeddings_0/weight"
    first = first if stored.has(first) else "encoder/embeddings/weight"
    second, third = "decoder/embeddings/weight", "decoder/projection/weight"
    sources = original.names if original.source_names is None else original.source_names
    for name, count in ((first, len(sources)), (second, len(original.names)), (third, len(original.names))):
        shape = stored.shape(name)
        if len(shape) != 2 or shape[0] != count:
            raise DataError(
                f"{where}: {name} has the shape {shape}, but the vocabulary has {count:,} tokens. These files do not belong "
                "together."
            )
    tokens = with_rows(stored.tensor(second), len(names))
    yield "tokens.weight", tokens
    if source is not None:
        yield "source_tokens.weight", in_order(stored.tensor(first), source.rows)
    elif not is_same(stored, first, second):
        yield "source_tokens.weight", with_rows(stored.tensor(first), len(names))
    if not is_same(stored, third, second):
        yield "output_tokens.weight", with_rows(stored.tensor(third), len(names))


def is_same(stored: Stored, name: str, other: str) -> bool:
    """Is it stored once, or are both equal?"""
    same = stored.original(name) == stored.original(other) or (
        stored.shape(name) == stored.shape(other) and torch.equal(stored.tensor(name), stored.tensor(other))
    )
    stored.used |= {name, f"{name}_scale"}
    return same


def with_rows(table: Tensor, count: int) -> Tensor:
    """With zeros for tokens that were added."""
    return torch.cat([table, table.new_zeros(count - len(table), table.shape[1])])


def output_bias(stored: Stored, stored_size: int, size: int, ids: Ids) -> Tensor | None:
    """The bias of the logits. Padding that was added, and is not excluded as the start token, is excluded here."""
    name, added = "decoder/projection/bias", size - stored_size
    bias = stored.tensor(name).flatten() if stored.has(name) else None
    if bias is None:
        bias = torch.zeros(stored_size)
    bias = torch.cat([bias, torch.full((added,), 0.0 if ids.pad == ids.start else EXCLUDED)])
    if ids.pad == ids.start and ids.pad < len(bias):
        bias[ids.pad] = 0.0  # an export by qkv excludes it by the bias; our search does so itself
    return bias if bool(bias.any()) else None


def use_our_scales(stored: Stored, weights: dict[str, Tensor], decoder: StackConfig, where: str) -> None:
    """We multiply embeddings by the root of the width. Another factor moves into the tables.

    Where the table of the target is also the output layer, it moves out of the last norm.
    """
    root = float(weights["tokens.weight"].shape[1]) ** 0.5
    first, second = (embedding_scale(stored, side, root) / root for side in SIDES)
    if min(first, second) <= 0:
        raise DataError(f"{where}: the embeddings have a scale of {min(first, second) * root:g}.")
    if abs(first - second) > 1e-6 and "source_tokens.weight" not in weights:
        weights["source_tokens.weight"] = weights["tokens.weight"].clone()
    for name, ratio in (("source_tokens.weight", first), ("tokens.weight", second)):
        if name in weights and abs(ratio - 1) > 1e-6:
            weights[name] = weights[name] * ratio
    if "output_tokens.weight" in weights or abs(second - 1) <= 1e-6:
        return
    last = (
        f"decoder.blocks.{decoder.depth - 1}.feed_forward.norm" if decoder.norm == "post" else "decoder.norm"
    )
    for kind in ("weight", "bias"):
        if f"{last}.{kind}" in weights:
            weights[f"{last}.{kind}"] = weights[f"{last}.{kind}"] / second


def embedding_scale(stored: Stored, side: str, root: float) -> float:
    """A flag, or the scale itself."""
    names = (f"{side}/scale_embeddings", f"{side}/embeddings/multiply_by_sqrt_depth")
    name = next((name for name in names if stored.has(name)), None)
    if name is None:
        return root
    value = stored.scalar(name, 1)
    if stored.find(name).type == "int8":
        return root if value else 1.0
    return value


# Stacks ----------------------------------------------------------------------------------------------------------


def stack_of(stored: Stored, side: str, width: int, norm_eps: float, where: str) -> StackConfig:
    activation = int(setting(stored, side, "activation", 0))
    if activation not in ACTIVATIONS:
        raise DataError(
            f"{where}: the {side} has an activation that qkv does not support (number {activation})."
        )
    hidden = stored.shape(f"{side}/layer_0/ffn/linear_0/weight")
    try:
        return StackConfig(
            depth=depth_of(stored, side),
            width=width,
            heads=int(setting(stored, side, "num_heads", 16 if stored.spec == "TransformerBig" else 8)),
            ffn_width=hidden[0] if hidden else 0,
            norm="pre" if setting(stored, side, "pre_norm", 1) else "post",
            activation=ACTIVATIONS[activation],  # type: ignore[arg-type]
            dropout=0.1,
            norm_eps=norm_eps,
        )
    except ValueError as error:
        raise DataError(f"{where}: this model cannot be built: {error}.") from None


def setting(stored: Stored, side: str, name: str, default: float) -> float:
    """Before revision 5, both sides have the same settings."""
    return stored.scalar(f"{side}/{name}", stored.scalar(name, default))


def depth_of(stored: Stored, side: str) -> int:
    found = (re.match(rf"{side}/layer_(\d+)/", name) for name in (*stored.variables, *stored.aliases))
    return len({match[1] for match in found if match is not None})


def stack_weights(stored: Stored, side: str, stack: StackConfig, where: str) -> Iterator[tuple[str, Tensor]]:
    for depth in range(stack.depth):
        theirs, ours = f"{side}/layer_{depth}", f"{side}.blocks.{depth}"
        for name, parts in PARTS.items():
            if side == "decoder" or not name.startswith("attention/"):
                yield from linear_weights(
                    stored, f"{theirs}/{name}", [f"{ours}.{part}" for part in parts], where
                )
        for name, part in NORMS.items():
            if side == "decoder" or not name.startswith("attention/"):
                yield from norm_weights(stored, f"{theirs}/{name}", f"{ours}.{part}")
    if stack.norm == "pre":
        yield from norm_weights(stored, f"{side}/layer_norm", f"{side}.norm")


def linear_weights(stored: Stored, theirs: str, ours: list[str], where: str) -> Iterator[tuple[str, Tensor]]:
    """One layer, or several that are stored as one. A layer without a bias has a bias of zero."""
    weight = stored.tensor(f"{theirs}/weight")
    if weight.ndim != 2 or len(weight) % len(ours):
        raise DataError(
            f"{where}: {theirs}/weight has the shape {tuple(weight.shape)}, which qkv cannot split."
        )
    bias = stored.tensor(f"{theirs}/bias") if stored.has(f"{theirs}/bias") else torch.zeros(len(weight))
    if bias.shape != weight.shape[:1]:
        raise DataError(
            f"{where}: {theirs}/bias has the shape {tuple(bias.shape)}, not {tuple(weight.shape[:1])}."
        )
    for name, matrix, vector in zip(ours, weight.chunk(len(ours)), bias.chunk(len(ours)), strict=True):
        yield f"{name}.weight", matrix
        yield f"{name}.bias", vector


def norm_weights(stored: Stored, theirs: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{ours}.weight", stored.tensor(f"{theirs}/gamma")
    yield f"{ours}.bias", stored.tensor(f"{theirs}/beta")


# Positions -------------------------------------------------------------------------------------------------------


def positions_of(stored: Stored, width: int, where: str) -> tuple[str, dict[str, Tensor]]:
    """The kind of positions, and a table for each side."""
    rotary = has_rotations(stored, where)
    found = {side: stored_table(stored, side, width, where) for side in SIDES}
    if rotary:
        table = found["encoder"]
        if any(each is not None and bool(each.any()) for each in found.values()):
            raise DataError(f"{where} has both rotary and other positions, which qkv does not support.")
        length = COMPUTED_POSITIONS if table is None else len(table)
        return "rotary", dict.fromkeys(SIDES, torch.zeros(length, width))
    tables = {side: computed_table(width) if table is None else table for side, table in found.items()}
    length = min(map(len, tables.values()))
    tables = {side: table[:length] for side, table in tables.items()}
    for kind, wanted in (
        ("halves", sinusoid(length, width, "halves")),
        ("interleaved", sinusoid(length, width, "interleaved")),
        ("none", torch.zeros(length, width)),
    ):
        # The tolerance is for files in 16 bits.
        if all(torch.allclose(table, wanted, atol=1e-3) for table in tables.values()):
            return kind, tables
    return "learned", tables


def stored_table(stored: Stored, side: str, width: int, where: str) -> Tensor | None:
    name = f"{side}/position_encodings/encodings"
    if not stored.has(name):
        return None
    shape = stored.shape(name)
    if len(shape) != 2 or shape[1] != width or not 0 < shape[0] <= LONGEST:
        raise DataError(
            f"{where}: {name} has the shape {shape}, which does not fit a model of width {width}."
        )
    return stored.tensor(name)


def computed_table(width: int) -> Tensor:
    """What CTranslate2 computes if a folder has no table: sines and cosines of positions from 1, as in tensor2tensor."""
    steps = torch.arange(width // 2, dtype=torch.float64) / max(1, width // 2 - 1)
    angles = torch.arange(1, COMPUTED_POSITIONS + 1, dtype=torch.float64)[:, None] * 10_000**-steps
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


def has_rotations(stored: Stored, where: str) -> bool:
    """Do all self-attentions rotate all columns of their heads, column i with column i + K/2?"""
    layers = [
        f"{side}/layer_{depth}/self_attention" for side in SIDES for depth in range(depth_of(stored, side))
    ]
    rotary = [name for name in layers if stored.has(f"{name}/rotary_dim")]
    if not rotary:
        return False
    for name in layers:
        settings = [
            stored.scalar(f"{name}/rotary_{each}", default)
            for each, default in (("dim", -1), ("interleave", 1), ("base", ROTARY_BASE))
        ]
        if settings != [0, 0, ROTARY_BASE]:
            raise DataError(f"{where}: {name} has rotary positions in a layout that qkv does not support.")
    return True


def check_unread(stored: Stored, where: str) -> None:
    on = [name for name in MUST_BE_OFF if stored.scalar(name, 0)]
    left = [*on, *(name for name in stored.unread() if name not in WITHOUT_EFFECT)]
    if left:
        raise DataError(
            f"{where} has parts that qkv does not support: {', '.join(left)}. Nothing was written."
        )


def compare_with_original(product: Translator, engine: Any, original: Original) -> Comparison:
    return compare(product, engine, adds_end=original.tokens.source_ends)


IMPORTER = Importer(opened_as="Translator", newest=NEWEST_REVISION, read=read, compare=compare_with_original)
