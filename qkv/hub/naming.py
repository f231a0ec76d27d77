"""Rename another library's weights to ours, and report every missing, extra or misshapen weight."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from qkv.errors import DataError

Model = TypeVar("Model", bound=nn.Module)
LARGEST = 1 << 24  # limit of any size in a config


def build_model(make: Callable[[], Model], weights: Mapping[str, Tensor], depth: int, where: str) -> Model:
    """Build the model with these weights. All faults are reported in one message, before memory is allocated.

    `depth` is the number of blocks in its config; no model has more blocks than weights.
    """
    if depth > len(weights):
        raise DataError(
            f"{where}: the config has {depth:,} blocks, but there are only {len(weights):,} weights."
        )
    try:
        with torch.device("meta"):
            outline = make().state_dict()
    except RuntimeError as error:  # sizes overflow
        raise DataError(f"{where}: the model is too large ({error}).") from None
    check_weights(outline, weights, where)
    model = make()
    model.load_state_dict({name: tensor.to(outline[name].dtype) for name, tensor in weights.items()})
    return model.eval()


def check_weights(own: Mapping[str, Tensor], found: Mapping[str, Tensor], where: str) -> None:
    faults = {
        "missing": [name for name in own if name not in found],
        "left over": [name for name in found if name not in own],
        "of another shape": [
            f"{name} has {tuple(found[name].shape)} instead of {tuple(own[name].shape)}"
            for name in own
            if name in found and found[name].shape != own[name].shape
        ],
    }
    messages = [f"{what}: {', '.join(names)}" for what, names in faults.items() if names]
    if messages:
        raise DataError(f"{where}: the weights do not fit its config; {'; '.join(messages)}.")


def rename_weights(
    weights: Mapping[str, Tensor], rename: Callable[[str], str | None], where: str
) -> dict[str, Tensor]:
    """The weights under our names; `rename` returns None for what is not a weight, such as a computed table.

    Unknown weights keep their names, so that they are reported as left over.
    """
    found: dict[str, Tensor] = {}
    twice = []
    for theirs, tensor in weights.items():
        name = rename(theirs)
        if name is None:
            continue
        if name in found:
            twice.append(theirs)
        found[name] = tensor
    if twice:
        raise DataError(f"{where}: these weights occur twice, under two names: {', '.join(twice)}.")
    return found


def check_copies(weights: Mapping[str, Tensor], copies: Mapping[str, str], where: str) -> None:
    """Check that copies of tied weights are equal; otherwise they are separate layers, which qkv does not support."""
    for copy, name in copies.items():
        if copy in weights and name in weights and not torch.equal(weights[copy], weights[name]):
            raise DataError(
                f"{where}: {copy} differs from {name}, but qkv supports only models that share the two."
            )


def outputs_of(weights: Mapping[str, Tensor], where: str) -> int:
    """The number of a classifier's outputs."""
    matrix = weights.get("classifier.weight")
    if matrix is None or matrix.ndim != 2 or not len(matrix):
        raise DataError(
            f"{where} has no classifier.weight: qkv reads this kind of model only as a classifier."
        )
    return len(matrix)


def classes(config: Mapping[str, Any], outputs: int, where: str) -> tuple[str, ...]:
    """Names of the classes in order, by default numbers from 0. Duplicate names get their number added.

    ImageNet has two cranes, one of them a bird.
    """
    names = config.get("id2label") or {str(number): str(number) for number in range(outputs)}
    try:
        found = tuple(str(names[str(number)]) for number in range(outputs))
    except (KeyError, TypeError):
        raise DataError(f"{where}: id2label does not name each of the {outputs} classes.") from None
    if len(names) != outputs:
        raise DataError(f"{where}: id2label has {len(names)} names for {outputs} classes.")
    shared = {name for name, count in Counter(found).items() if count > 1}
    distinct = tuple(f"{name} ({number})" if name in shared else name for number, name in enumerate(found))
    if len(set(distinct)) < outputs:
        raise DataError(f"{where}: id2label gives the same name to several of the {outputs} classes.")
    return distinct


class Settings:
    """A published config.json. Settings are read by name, and unread settings are an error.

    `without_effect` are settings that do not change the computation.
    """

    def __init__(self, config: Mapping[str, Any], without_effect: set[str], where: str):
        self.config, self.where = config, where
        inert = {name for name, value in INERT.items() if config.get(name) == value}
        self.known = {"model_type", "architectures"} | ALWAYS_WITHOUT_EFFECT | without_effect | inert

    def fault(self, sentence: str) -> DataError:
        return DataError(f"{self.where}: {sentence}")

    def size(self, name: str, default: int | None = None, most: int = LARGEST) -> int:
        value = self.value(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            raise self.fault(f"{name} should be a size, not {value!r}.")
        return value

    def id(self, name: str, vocab: int, default: int | None = None) -> int:
        value = self.value(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < vocab:
            raise self.fault(f"{name} should be a token id below {vocab}, not {value!r}.")
        return value

    def share(self, name: str, default: float) -> float:
        value = self.value(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
            raise self.fault(f"{name} should be at least 0 and below 1, not {value!r}.")
        return float(value)

    def choice(self, name: str, choices: Mapping[str, str], default: str) -> Any:
        value = self.value(name, default)
        if not isinstance(value, str) or value not in choices:
            raise self.fault(f"{name} is '{value}'; qkv supports only {', '.join(choices)}.")
        return choices[value]

    def must_be(self, name: str, wanted: Any, default: Any) -> None:
        """A setting with one supported value; `default` is its value if it is absent."""
        value = self.value(name, default)
        if value != wanted:
            raise self.fault(f"{name} is {value!r}; qkv supports only {wanted!r}.")

    def value(self, name: str, default: Any = None) -> Any:
        self.known.add(name)
        value = self.config.get(name)
        value = default if value is None else value
        if value is None:
            raise self.fault(f"the setting {name} is missing.")
        return value

    def refuse_others(self) -> None:
        """Call last: unread settings could change the computation."""
        unknown = sorted(set(self.config) - self.known)
        if unknown:
            raise self.fault(
                f"config.json has unknown settings: {', '.join(unknown)}. Remove those that do not "
                "change the computation."
            )


INERT = {  # at these values; others would change the computation
    "pruned_heads": {},
    "use_bfloat16": False,
    "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",
}
ALWAYS_WITHOUT_EFFECT = {
    "_name_or_path", "_attn_implementation_autoset", "_num_labels", "attn_implementation", "bos_token_id",
    "chunk_size_feed_forward", "classifier_dropout", "cross_attention_hidden_size", "decoder_start_token_id", "dtype",
    "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty", "finetuning_task",
    "gradient_checkpointing", "id2label", "initializer_range", "is_encoder_decoder", "label2id", "max_length",
    "min_length", "model_max_length", "output_attentions", "output_hidden_states", "output_past", "pad_token_id",
    "prefix", "problem_type", "remove_invalid_values", "return_dict", "return_dict_in_generate", "sep_token_id",
    "task_specific_params", "tokenizer_class", "torch_dtype", "torchscript", "transformers_version", "use_cache",
    "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids",
    "num_beams", "length_penalty", "early_stopping", "no_repeat_ngram_size", "num_labels", "do_sample", "temperature", "top_k",
    "top_p", "typical_p", "diversity_penalty", "num_beam_groups", "num_return_sequences", "output_scores",
    "repetition_penalty",
}  # fmt: skip
