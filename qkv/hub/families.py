"""Which map reads which published model, by what its config.json calls itself; which one writes which of ours."""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

from qkv.errors import UserError
from qkv.hub.mapping import Family

READERS = {
    "marian": ("qkv.families.translator.hub", "MarianFamily"),
    "pegasus": ("qkv.families.translator.hub", "MarianFamily"),
    "openai-gpt": ("qkv.families.gpt.hub", "GptFamily"),
    "gpt2": ("qkv.families.gpt.hub", "GptFamily"),
    "bert": ("qkv.families.bert.hub", "BertFamily"),
    "vit": ("qkv.families.vit.hub", "VitFamily"),
}
TRANSLATE = ("marian", "pegasus")
CLASSES = {  # that compute what ours do; the same weights under another head mean something else
    "marian": ("MarianMTModel",),
    "pegasus": ("PegasusForConditionalGeneration",),
    "openai-gpt": ("OpenAIGPTLMHeadModel", "OpenAIGPTModel"),
    "gpt2": ("GPT2LMHeadModel", "GPT2Model"),
    "bert": (
        "BertModel",
        "BertForMaskedLM",
        "BertForNextSentencePrediction",
        "BertForPreTraining",
        "BertForSequenceClassification",
    ),
    "vit": ("ViTForImageClassification",),
}
WRITERS = {  # by the kind of our bundle
    "translator": ("qkv.families.translator.hub", "MarianFamily"),
    "gpt": ("qkv.families.gpt.hub", "GptFamily"),
    "bert": ("qkv.families.bert.hub", "BertFamily"),
    "bert-classifier": ("qkv.families.bert.hub", "BertFamily"),
    "vit": ("qkv.families.vit.hub", "VitFamily"),
}


def family_of(config: Mapping[str, Any], where: str) -> Family:
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in READERS:
        near = difflib.get_close_matches(str(kind), READERS, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; it knows {', '.join(READERS)}."
        raise UserError(f"{where} is a model of the type '{kind}', which qkv cannot read{hint}")
    check_class(config, kind, where)
    return made(READERS[kind])


def check_class(config: Mapping[str, Any], kind: str, where: str) -> None:
    """A folder that says which class it is for is read as that one, or not at all."""
    names = config.get("architectures") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(
            f"{where}: architectures in its config.json should be a list of names, not {names!r}."
        )
    for name in names:
        if name not in CLASSES[kind]:
            raise UserError(
                f"{where} is a {name} (architectures in its config.json), which qkv cannot read; of such models it reads "
                f"{', '.join(CLASSES[kind])}."
            )


def writer_of(kind: str, where: str) -> Family:
    if kind not in WRITERS:
        raise UserError(
            f"{where} holds a {kind}, for which transformers has no class: it can be written for none."
        )
    return made(WRITERS[kind])


def made(place: tuple[str, str]) -> Family:
    module, name = place
    family: Family = getattr(importlib.import_module(module), name)()
    return family
