"""Convert GPT-1 and GPT-2 between Hugging Face's layout and ours."""

import re
from collections.abc import Mapping
from typing import Any

import torch
from tokenizers import Tokenizer as LibraryTokenizer
from torch import Tensor

from qkv.checkpoint.files import json_bytes
from qkv.core.stack_config import StackConfig
from qkv.decoding.greedy import greedy
from qkv.errors import DataError
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.gpt.product import LanguageModel, LanguageModelDefaults
from qkv.hub.folder import Published, added_tokens, check_size, read_object
from qkv.hub.mapping import NotExportableError, Written
from qkv.hub.naming import Settings, build_model, check_copies
from qkv.hub.tokenizer_settings import (
    BY_ITS_FILE,
    check_added_tokens,
    check_numbers,
    class_of,
    must_be,
    tokenizer_settings,
)
from qkv.text.published_bpe import PublishedBPE
from qkv.text.tokenizer import SPECIAL, Tokenizer

CLASSES = {"gpt2": "GPT2LMHeadModel", "openai-gpt": "OpenAIGPTLMHeadModel"}
ACTIVATIONS = {
    "gpt2": {
        "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu", "silu": "swish",
        "swish": "swish",
    },
    "openai-gpt": {"gelu": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"},  # what GPT-1 calls gelu
}  # fmt: skip
THEIR_ACTIVATIONS = {
    "gpt2": {"gelu_tanh": "gelu_new", "gelu": "gelu", "relu": "relu", "swish": "silu"},
    "openai-gpt": {"gelu_tanh": "gelu", "relu": "relu", "swish": "silu"},
}
WITHOUT_EFFECT = {
    "embd_pdrop", "n_ctx", "n_special", "predict_special_tokens", "reorder_and_upcast_attn", "summary_activation",
    "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
}  # fmt: skip
TOKENIZERS = ("GPT2Tokenizer", "GPT2TokenizerFast", "OpenAIGPTTokenizer", "OpenAIGPTTokenizerFast")
TOKENS = {"gpt2": "wte.weight", "openai-gpt": "tokens_embed.weight"}
POSITIONS = {"gpt2": "wpe.weight", "openai-gpt": "positions_embed.weight"}
NORM = {"gpt2": "ln_f"}
PARTS = {
    "ln_1": "attention.norm",
    "ln_2": "feed_forward.norm",
    "attn.c_proj": "attention.sublayer.output",
    "mlp.c_fc": "feed_forward.sublayer.expand",
    "mlp.c_proj": "feed_forward.sublayer.contract",
}
FUSED_QKV = "attn.c_attn"  # query, key and value in one matrix
QKV = ("query", "key", "value")


class GPTMapping:
    def read(self, published: Published, language: str | None) -> LanguageModel:
        config, where = published.config, published.where
        tokenizer, token_type = read_tokenizer(published)
        weights = {name.removeprefix("transformer."): each for name, each in published.weights.items()}
        check_copies(weights, {"lm_head.weight": TOKENS[config["model_type"]]}, where)
        architecture = gpt_config(config, end_of(published, tokenizer), where)
        model = build_model(lambda: GPT(architecture), gpt_weights(weights), architecture.stack.depth, where)
        check_numbers(published, tokenizer.library.get_vocab().values(), architecture.vocab_size)
        if isinstance(tokenizer, PublishedBPE):
            tokenizer.end = architecture.end
        return LanguageModel(model, tokenizer, LanguageModelDefaults(token_type=token_type))  # type: ignore[arg-type]

    def write(self, product: LanguageModel) -> Written:
        config = product.model.config
        stack, kind = config.stack, kind_of(product)
        if config.positions != "learned":
            raise NotExportableError(
                "transformers' GPT-1 and GPT-2 have no rotary positions, the default of qkv. Export this model to ctranslate2, or "
                'train one with {positions}="learned".'
            )
        if stack.activation not in THEIR_ACTIVATIONS[kind]:
            raise NotExportableError(
                f"transformers' {CLASSES[kind]} does not support {stack.activation}: this model cannot be exported."
            )
        if kind == "openai-gpt" and stack.ffn_width != 4 * stack.width:
            raise NotExportableError(
                f"transformers' {CLASSES[kind]} has an ffn_width of 4 × width, and this model has {stack.ffn_width}: "
                "it cannot be exported."
            )
        activation = THEIR_ACTIVATIONS[kind][stack.activation]
        ids = {"bos_token_id": config.end, "eos_token_id": config.end}
        return Written(
            config={
                "model_type": kind,
                "architectures": [CLASSES[kind]],
                "vocab_size": config.vocab_size,
                "n_positions": config.max_length,
                "n_embd": stack.width,
                "n_layer": stack.depth,
                "n_head": stack.heads,
                **(
                    {"n_inner": stack.ffn_width, "activation_function": activation}
                    if kind == "gpt2"
                    else {"afn": activation}
                ),
                "resid_pdrop": stack.dropout,
                "embd_pdrop": stack.dropout,
                "attn_pdrop": stack.attention_dropout,
                "layer_norm_epsilon": stack.norm_eps,
                "tie_word_embeddings": True,
                **ids,
            },
            weights=their_weights(product.model, kind),
            files=tokenizer_files(product),
            generation=ids | {"pad_token_id": config.end},
        )

    def notes(self, product: LanguageModel) -> dict[str, Any]:
        return {"pieces": product._defaults.token_type}

    def encode(self, product: LanguageModel, line: str) -> list[int] | None:
        tokenizer = product.tokenizer
        return tokenizer.encode(line) if isinstance(tokenizer, PublishedBPE) else None

    def their_class(self, product: LanguageModel) -> str:
        return CLASSES[kind_of(product)]

    def probe(self, product: LanguageModel) -> dict[str, Tensor]:
        config = product.model.config
        chance = torch.Generator().manual_seed(1)
        return {
            "input_ids": torch.randint(config.vocab_size, (2, min(9, config.max_length)), generator=chance)
        }

    def compute(self, product: LanguageModel, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {"logits": product.model.eval()(inputs["input_ids"])}

    def greedy(
        self, product: LanguageModel, inputs: Mapping[str, Tensor]
    ) -> tuple[list[list[int]], dict[str, Any]]:
        """Our greedy continuation of the probe's first ids, and the arguments of `generate` for the same."""
        config = product.model.config
        read = inputs["input_ids"][:, :4]
        limit = min(20, config.max_length - read.shape[1])
        step = product.model.eval().begin()
        step(read[:, :-1])
        hypotheses = greedy(step, read[:, -1], config.end, torch.full((len(read),), limit))
        arguments = {
            "input_ids": read,
            "attention_mask": torch.ones_like(read),
            "generation": {"max_new_tokens": limit, "pad_token_id": config.end},
        }
        return [each.ids for each in hypotheses], {**arguments, "begun": read.shape[1], "end": config.end}


def kind_of(product: LanguageModel) -> str:
    return "gpt2" if product.model.config.stack.norm == "pre" else "openai-gpt"


# In ------------------------------------------------------------------------------------------------------------


def gpt_config(theirs: Mapping[str, Any], end: int, where: str = "config.json") -> GPTConfig:
    """Our architecture for the content of their config.json; `end` is the token between documents."""
    kind = theirs.get("model_type")
    if kind not in CLASSES:
        raise DataError(f"the model type '{kind}' is not supported, only gpt2 and openai-gpt.")
    known = Settings(theirs, WITHOUT_EFFECT, where)
    known.must_be("tie_word_embeddings", True, True)
    if kind == "gpt2":
        known.must_be("scale_attn_weights", True, True)
        known.must_be("scale_attn_by_inverse_layer_idx", False, False)
        known.must_be("add_cross_attention", False, False)
    width = known.size("n_embd")
    name, default = ("activation_function", "gelu_new") if kind == "gpt2" else ("afn", "gelu")
    try:
        stack = StackConfig(
            depth=known.size("n_layer"),
            width=width,
            heads=known.size("n_head"),
            ffn_width=known.size("n_inner", 4 * width) if kind == "gpt2" else 4 * width,
            norm="pre" if kind == "gpt2" else "post",
            activation=known.choice(name, ACTIVATIONS[kind], default),
            dropout=known.share("resid_pdrop", 0.1),
            attention_dropout=known.share("attn_pdrop", 0.1),
            norm_eps=known.share("layer_norm_epsilon", 1e-5),
        )
        config = GPTConfig(
            vocab_size=known.size("vocab_size"),
            max_length=known.size("n_positions"),
            end=end,
            positions="learned",
            stack=stack,
        )
    except ValueError as error:
        raise DataError(f"{where}: this model cannot be built: {error}.") from None
    known.refuse_others()
    return config


def gpt_weights(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights under our names. Their matrices are transposed, and query, key and value are one.

    Unknown weights keep their names, so that they are reported as left over.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in theirs.items():
        name = name.removeprefix("transformer.")
        block = re.fullmatch(r"h\.(\d+)\.(.+)\.(\w+)", name)
        if name == "lm_head.weight" or re.fullmatch(r"h\.\d+\.attn\.(masked_)?bias", name):
            continue  # the output is tied to the tokens; the causal mask is not a weight
        if name in TOKENS.values():
            found["tokens.weight"] = tensor
        elif name in POSITIONS.values():
            found["positions.table"] = tensor
        elif name in ("ln_f.weight", "ln_f.bias"):
            found[f"stack.norm.{name[5:]}"] = tensor
        elif block is not None and block[2] == FUSED_QKV and tensor.ndim:
            for ours, part in zip(QKV, transpose(tensor).chunk(3), strict=False):
                found[f"stack.blocks.{block[1]}.attention.sublayer.{ours}.{block[3]}"] = part.contiguous()
        elif block is not None and block[2] in PARTS:
            found[f"stack.blocks.{block[1]}.{PARTS[block[2]]}.{block[3]}"] = transpose(tensor)
        else:
            found[name] = tensor
    return found


def transpose(tensor: Tensor) -> Tensor:
    """Transpose a matrix; return anything else unchanged."""
    return tensor.T.contiguous() if tensor.ndim == 2 else tensor


def read_tokenizer(published: Published) -> tuple[Tokenizer, str]:
    """Their tokenizer, or ours if qkv wrote the folder."""
    ours = published.json("qkv.json").get("pieces")
    path = published.folder / "tokenizer.json"
    if published.has("tokenizer.json"):
        if ours in ("subwords", "characters", "notes") and added_tokens(path) == SPECIAL:
            from qkv.families.gpt.product import TOKENIZERS

            return TOKENIZERS[ours].load(path), ours
        read_object(path)  # of a reasonable size
        found = PublishedBPE.load(path)
        check_settings(published, adds_prefix_space(found))
        return found, "published"
    if not (published.has("vocab.json") and published.has("merges.txt")):
        raise DataError(
            f"{published.where} has no tokenizer: neither tokenizer.json nor vocab.json with merges.txt."
        )
    byte_level = published.config["model_type"] == "gpt2"
    check_settings(published, False)
    vocabulary, merges = (check_size(published.folder / name) for name in ("vocab.json", "merges.txt"))
    found = PublishedBPE.of_merges(vocabulary, merges, byte_level=byte_level)
    check_added_tokens(published, found.library.get_vocab())
    return found, "published"


def check_settings(published: Published, space: bool) -> None:
    """`space` is whether the tokenizer adds a space before a text."""
    settings = tokenizer_settings(published, TOKENIZERS)
    if class_of(published) not in BY_ITS_FILE:
        must_be(settings, "add_prefix_space", space, published.where)
        must_be(settings, "add_bos_token", False, published.where)


def adds_prefix_space(tokenizer: PublishedBPE) -> bool:
    return bool(getattr(tokenizer.library.pre_tokenizer, "add_prefix_space", False))


def end_of(published: Published, tokenizer: Tokenizer) -> int:
    """The token between documents. GPT-1 has none; its unknown token serves instead."""
    end = published.config.get("eos_token_id")
    end = tokenizer.library.token_to_id("<|endoftext|>") if end is None else end
    if end is None:
        end = getattr(tokenizer, "unknown", None)
    if not isinstance(end, int) or not 0 <= end < len(tokenizer):
        raise DataError(f"{published.where}: eos_token_id should be a token id, not {end!r}.")
    return end


# Out -----------------------------------------------------------------------------------------------------------


def their_weights(model: GPT, kind: str) -> dict[str, Tensor]:
    state, found = model.state_dict(), {}
    found[f"transformer.{TOKENS[kind]}"] = state["tokens.weight"]
    found[f"transformer.{POSITIONS[kind]}"] = state["positions.table"]
    for form in ("weight", "bias"):
        if kind == "gpt2":
            found[f"transformer.ln_f.{form}"] = state[f"stack.norm.{form}"]
        for block in range(model.config.stack.depth):
            ours, theirs = f"stack.blocks.{block}", f"transformer.h.{block}"
            parts = [state[f"{ours}.attention.sublayer.{part}.{form}"] for part in QKV]
            found[f"{theirs}.{FUSED_QKV}.{form}"] = transpose(torch.cat(parts))
            for name, part in PARTS.items():
                found[f"{theirs}.{name}.{form}"] = transpose(state[f"{ours}.{part}.{form}"])
    return found


def tokenizer_files(product: LanguageModel) -> dict[str, bytes]:
    tokenizer, config = product.tokenizer, product.model.config
    library = LibraryTokenizer.from_str(tokenizer.text())
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": str(library.id_to_token(config.end)),
        "bos_token": str(library.id_to_token(config.end)),
        "model_max_length": config.max_length,
        "clean_up_tokenization_spaces": False,
    }
    unknown = getattr(tokenizer, "unknown", None)
    if unknown is not None:
        settings["unk_token"] = str(library.id_to_token(unknown))
    return {
        "tokenizer.json": tokenizer.text().encode(),
        "tokenizer_config.json": json_bytes(settings),
    }
