"""Translators in Hugging Face transformers: Marian (post-norm) and Pegasus (pre-norm)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from qkv.configs import to_dict
from qkv.core.pairs import TranslationStep
from qkv.core.positions import sinusoid
from qkv.core.stack_config import StackConfig
from qkv.core.translation import TranslationConfig
from qkv.decoding.greedy import greedy
from qkv.decoding.step import Without
from qkv.errors import DataError, ModelError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.hub_defaults import defaults_of
from qkv.families.translator.hub_tokenizer import read_tokenizer, tokenizer_files
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.hub.folder import Published
from qkv.hub.mapping import NotExportableError, Written
from qkv.hub.naming import Settings, build_model, check_copies, rename_weights
from qkv.text.marian_tokenizer import MarianTokenizer

ACTIVATIONS = {
    "relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu", "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}  # fmt: skip
THEIR_ACTIVATIONS = {"relu": "relu", "swish": "swish", "gelu": "gelu", "gelu_tanh": "gelu_new"}
WITHOUT_EFFECT = {
    "activation_dropout", "encoder_layerdrop", "decoder_layerdrop", "classif_dropout", "init_std", "num_hidden_layers",
    "extra_pos_embeddings", "gradient_checkpointing", "is_decoder",
}  # fmt: skip
CLASSES = {"marian": "MarianMTModel", "pegasus": "PegasusForConditionalGeneration"}
NORMS = {"marian": "post", "pegasus": "pre"}
NORM_EPS = 1e-5  # fixed in transformers
LONGEST = 1 << 17  # the most positions; the table is computed, so no weight shows its size

TOKENS = "model.shared.weight"
TIED = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
BIAS = "final_logits_bias"
PARTS = {
    "self_attn_layer_norm": "attention.norm",
    "encoder_attn_layer_norm": "cross_attention.norm",
    "final_layer_norm": "feed_forward.norm",
    "self_attn.q_proj": "attention.sublayer.query",
    "self_attn.k_proj": "attention.sublayer.key",
    "self_attn.v_proj": "attention.sublayer.value",
    "self_attn.out_proj": "attention.sublayer.output",
    "encoder_attn.q_proj": "cross_attention.sublayer.query",
    "encoder_attn.k_proj": "cross_attention.sublayer.key",
    "encoder_attn.v_proj": "cross_attention.sublayer.value",
    "encoder_attn.out_proj": "cross_attention.sublayer.output",
    "fc1": "feed_forward.sublayer.expand",
    "fc2": "feed_forward.sublayer.contract",
}
POSITIONS = {
    "source_positions.table": "model.encoder.embed_positions.weight",
    "target_positions.table": "model.decoder.embed_positions.weight",
}
OUR_POSITIONS = {theirs: ours for ours, theirs in POSITIONS.items()}
THEIR_PARTS = {ours: theirs for theirs, ours in PARTS.items()}


class MarianMapping:
    def read(self, published: Published, language: str | None) -> Translator:
        where, weights = published.where, dict(published.weights)
        share_tokens(weights, where)
        bias = weights.pop(BIAS, None)
        has_bias = bias is not None and bool(bias.any())
        config = translator_config(published.config, where, output_bias=has_bias)
        ours = rename_weights(weights, our_name, where)
        config = with_positions(config, ours)
        if bias is not None and has_bias:
            ours["bias"] = bias.flatten()
        model = build_model(
            lambda: TranslatorModel(config), ours, config.encoder.depth + config.decoder.depth, where
        )
        tokenizer = read_tokenizer(published, config, language)
        return Translator(model, tokenizer, defaults_of(published, config))

    def write(self, product: Translator) -> Written:
        model = in_halves(with_encoder(product))
        config = model.config
        check_exportable(config)
        kind = "marian" if config.encoder.norm == "post" else "pegasus"
        weights = {their_name(name): tensor for name, tensor in model.state_dict().items() if name != "bias"}
        for name in POSITIONS.values():
            weights.setdefault(name, fixed_positions(config))
        bias = torch.zeros(config.vocab_size) if model.bias is None else model.bias.detach()
        weights[BIAS] = bias[None].clone()
        ids = {"pad_token_id": config.pad, "eos_token_id": config.end, "decoder_start_token_id": config.start}
        encoder, decoder = config.encoder, config.decoder
        return Written(
            config={
                "model_type": kind,
                "architectures": [CLASSES[kind]],
                "vocab_size": config.vocab_size,
                "d_model": encoder.width,
                "encoder_layers": encoder.depth,
                "decoder_layers": decoder.depth,
                "encoder_attention_heads": encoder.heads,
                "decoder_attention_heads": decoder.heads,
                "encoder_ffn_dim": encoder.ffn_width,
                "decoder_ffn_dim": decoder.ffn_width,
                "activation_function": THEIR_ACTIVATIONS[encoder.activation],
                "dropout": encoder.dropout,
                "attention_dropout": encoder.attention_dropout,
                "max_position_embeddings": config.max_length,
                "scale_embedding": True,
                "tie_word_embeddings": True,
                **({"share_encoder_decoder_embeddings": True} if kind == "marian" else {}),
                "is_encoder_decoder": True,
                "forced_eos_token_id": None,
                "torch_dtype": "float32",
                **ids,
            },
            weights=weights,
            files=tokenizer_files(product.tokenizer, config.max_length),
            generation={
                **ids,
                "max_length": config.max_length,
                "num_beams": product._defaults.beam_size,
                "length_penalty": product._defaults.length_penalty,
                **exclude_padding(config),
            },
        )

    def their_class(self, product: Translator) -> str:
        return CLASSES["marian" if with_encoder(product).config.decoder.norm == "post" else "pegasus"]

    def probe(self, product: Translator) -> dict[str, Tensor]:
        config = product.model.config
        special = {config.pad, config.start, config.end}
        common = range(min(config.vocab_size, config.source_size))
        if product.model.source_tokens is not None:  # some rows of it only fill gaps
            special |= set((~product.model.source_tokens.weight.any(1)).nonzero().flatten().tolist())
        free = torch.tensor([number for number in common if number not in special])
        chance = torch.Generator().manual_seed(1)
        length = min(9, config.max_length)
        picked = free[torch.randint(len(free), (2, 2 * length), generator=chance)]
        source, target = picked[:, :length].clone(), picked[:, length:].clone()
        if config.source_ends:
            source[0, -1] = source[1, length // 2] = config.end
        source[1, length // 2 + 1 :] = config.pad
        target[:, 0] = config.start
        return {
            "input_ids": source,
            "attention_mask": (source != config.pad).long(),
            "decoder_input_ids": target,
        }

    def compute(self, product: Translator, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {"logits": product.model.eval()(inputs["input_ids"], inputs["decoder_input_ids"])}

    def greedy(
        self, product: Translator, inputs: Mapping[str, Tensor]
    ) -> tuple[list[list[int]], dict[str, Any]]:
        """Our greedy output for the probe, and the arguments of `generate` for the same."""
        config, source = product.model.config, inputs["input_ids"]
        limit = min(20, config.max_length - 1)
        step = TranslationStep(product.model.eval(), source)
        hypotheses = greedy(
            Without(step, config.pad) if config.pad == config.start else step,
            torch.full((len(source),), config.start),
            config.end,
            torch.full((len(source),), limit),
        )
        generation = {
            "max_new_tokens": limit,
            "pad_token_id": config.pad,
            "decoder_start_token_id": config.start,
            **exclude_padding(config),
        }
        arguments = {
            "input_ids": source,
            "attention_mask": inputs["attention_mask"],
            "generation": generation,
        }
        return [each.ids for each in hypotheses], {**arguments, "begun": 1, "end": config.end}

    def encode(self, product: Translator, line: str) -> list[int] | None:
        """Without the target language token, which transformers adds only if the text contains it."""
        tokenizer = product.tokenizer
        return tokenizer.other().encode(line) if isinstance(tokenizer, MarianTokenizer) else None

    def notes(self, product: Translator) -> dict[str, Any]:
        """Decoding defaults, languages, and the default target language."""
        tokenizer = product.tokenizer
        language = tokenizer.language if isinstance(tokenizer, MarianTokenizer) else None
        return {
            "defaults": to_dict(product._defaults),
            **({} if language is None else {"language": language}),
        }


# In ------------------------------------------------------------------------------------------------------------


def share_tokens(weights: dict[str, Tensor], where: str) -> None:
    """One table for source, target and output, stored under any of its names."""
    names = [name for name in (TOKENS, *TIED) if name in weights]
    if names:
        check_copies(weights, dict.fromkeys(names[1:], names[0]), where)
        weights[TOKENS] = weights[names[0]]
        for name in TIED:
            weights.pop(name, None)


def translator_config(config: Mapping[str, Any], where: str, *, output_bias: bool) -> TranslatorConfig:
    known = Settings(config, WITHOUT_EFFECT, where)
    kind = config["model_type"]
    for name, wanted in (
        ("scale_embedding", True),
        ("normalize_before", NORMS[kind] == "pre"),
        ("add_final_layer_norm", NORMS[kind] == "pre"),
        ("normalize_embedding", False),
        ("static_position_embeddings", True),
        ("add_bias_logits", False),
        ("tie_word_embeddings", True),
        ("share_encoder_decoder_embeddings", True),
    ):
        known.must_be(name, wanted, False if name == "scale_embedding" else wanted)
    vocab = known.size("vocab_size")
    known.must_be("decoder_vocab_size", vocab, vocab)
    activation = known.choice("activation_function", ACTIVATIONS, "gelu")
    attention_dropout, dropout = known.share("attention_dropout", 0.0), known.share("dropout", 0.1)
    stacks = {
        side: {
            "depth": known.size(f"{side}_layers"),
            "heads": known.size(f"{side}_attention_heads"),
            "ffn_width": known.size(f"{side}_ffn_dim"),
            "width": known.size("d_model"),
            "norm": NORMS[kind],
            "activation": activation,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "norm_eps": NORM_EPS,
        }
        for side in ("encoder", "decoder")
    }
    end, pad = known.id("eos_token_id", vocab), known.id("pad_token_id", vocab)
    start, context = (
        known.id("decoder_start_token_id", vocab),
        known.size("max_position_embeddings", most=LONGEST),
    )
    known.refuse_others()
    try:
        return TranslatorConfig(
            vocab_size=vocab,
            max_length=context,
            pad=pad,
            start=start,
            end=end,
            positions="halves",
            encoder=StackConfig(**stacks["encoder"]),
            decoder=StackConfig(**stacks["decoder"]),
            label_smoothing=0.1,
            output_bias=output_bias,
        )
    except ValueError as error:
        raise DataError(f"{where}: this model cannot be built: {error}.") from None


def our_name(theirs: str) -> str:
    if theirs == TOKENS:
        return "tokens.weight"
    block = re.fullmatch(r"model\.(encoder|decoder)\.layers\.(\d+)\.(.+)\.(weight|bias)", theirs)
    if block is not None and block[3] in PARTS:
        return f"{block[1]}.blocks.{block[2]}.{PARTS[block[3]]}.{block[4]}"
    norm = re.fullmatch(r"model\.(encoder|decoder)\.layer_norm\.(weight|bias)", theirs)
    if norm is not None:
        return f"{norm[1]}.norm.{norm[2]}"
    return OUR_POSITIONS.get(theirs, theirs)


def with_positions(config: TranslatorConfig, weights: dict[str, Tensor]) -> TranslatorConfig:
    """Drop position tables that equal the sinusoid; others are learned positions."""
    names = list(POSITIONS)
    tables = [weights[name] for name in names if name in weights]
    shape = (config.max_length, config.encoder.width)
    if not tables or any(table.shape != shape for table in tables):
        return config  # a table of another shape is reported as left over
    computed = sinusoid(*shape, "halves")
    if all(torch.allclose(table, computed, atol=1e-3) for table in tables):  # the file may be in 16 bits
        for name in names:
            weights.pop(name, None)
        return config
    return replace(config, positions="learned")


# Out -----------------------------------------------------------------------------------------------------------


def with_encoder(product: Translator) -> TranslatorModel:
    if not isinstance(product.model, TranslatorModel):
        raise NotExportableError(
            "only translators with a Transformer encoder and decoder can be exported to transformers; this is another architecture."
        )
    if product.model.config.decoder_cell != "attention":
        raise ModelError(
            "no translator in transformers has an SSRU decoder: this model cannot be exported. Train one with decoder cell attention."
        )
    config = product.model.config
    if not config.source_ends or not config.tied_output or config.source_vocab_size is not None:
        raise NotExportableError(
            "Marian and Pegasus in transformers have one table of embeddings and read an end token: this model cannot be exported. "
            "Export it to ctranslate2."
        )
    return product.model


def check_exportable(config: TranslatorConfig) -> None:
    """Raise an error for what neither of their classes supports."""
    encoder, decoder = config.encoder, config.decoder
    if config.positions == "rotary":
        raise NotExportableError(
            "no translator in transformers has rotary positions, the default of small models. Export this model to ctranslate2, "
            'or train one with {positions}="interleaved".'
        )
    reasons = {
        f"norms with an epsilon of {encoder.norm_eps:g}": encoder.norm_eps != NORM_EPS,
        "different norms in encoder and decoder": encoder.norm != decoder.norm
        or encoder.norm_eps != decoder.norm_eps,
        "different activations in encoder and decoder": encoder.activation != decoder.activation,
        "an odd width": bool(encoder.width % 2),
    }
    for reason, holds in reasons.items():
        if holds:
            raise NotExportableError(
                f"no translator in transformers supports {reason}: this model cannot be exported."
            )


def in_halves(model: TranslatorModel) -> TranslatorModel:
    """The same computation with all sines before all cosines: the columns of the residual stream are permuted."""
    config = model.config
    if config.positions != "interleaved" or config.encoder.width % 2:
        return model
    width = config.encoder.width
    order = torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])
    other = TranslatorModel(replace(config, positions="halves"))
    other.load_state_dict({name: permute(name, tensor, order) for name, tensor in model.state_dict().items()})
    return other.eval()


def exclude_padding(config: TranslationConfig) -> dict[str, Any]:
    """Arguments of `generate` that exclude padding, which is also the start token, and give it no probability."""
    return {"bad_words_ids": [[config.pad]], "renormalize_logits": True} if config.pad == config.start else {}


def fixed_positions(config: TranslatorConfig) -> Tensor:
    """A table that we compute, written because transformers would report it as missing."""
    shape = (config.max_length, config.encoder.width)
    return torch.zeros(shape) if config.positions == "none" else sinusoid(*shape, "halves")


def permute(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    """A weight that reads from or writes to a residual stream with permuted columns."""
    *_, layer, kind = name.split(".")
    if layer == "tokens" or (layer in ("query", "key", "value", "expand") and kind == "weight"):
        return tensor[:, order]
    if layer in ("output", "contract", "norm"):
        return tensor[order]
    return tensor


def their_name(ours: str) -> str:
    if ours == "tokens.weight":
        return TOKENS
    block = re.fullmatch(r"(encoder|decoder)\.blocks\.(\d+)\.(.+)\.(weight|bias)", ours)
    if block is not None:
        return f"model.{block[1]}.layers.{block[2]}.{THEIR_PARTS[block[3]]}.{block[4]}"
    norm = re.fullmatch(r"(encoder|decoder)\.norm\.(weight|bias)", ours)
    if norm is not None:
        return f"model.{norm[1]}.layer_norm.{norm[2]}"
    return POSITIONS[ours]
