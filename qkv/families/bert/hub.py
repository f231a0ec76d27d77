"""Convert published BERTs, classifiers and sentence-transformers to our bundles and back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers.normalizers import BertNormalizer
from torch import Tensor

from qkv.checkpoint.files import json_bytes
from qkv.errors import DataError
from qkv.families.bert.classifier import TextClassifier, TextClassifierDefaults
from qkv.families.bert.config import EncoderConfig
from qkv.families.bert.hub_weights import bert_from, classifier_from, their_config, their_name
from qkv.families.bert.options import Pooling
from qkv.families.bert.product import Bert, BertDefaults
from qkv.hub.folder import Published, check_size, read_json, read_object
from qkv.hub.mapping import NOTES, Written
from qkv.hub.naming import classes
from qkv.hub.tokenizer_settings import (
    BY_ITS_FILE,
    check_added_tokens,
    check_numbers,
    choice,
    class_of,
    must_be,
    name_of,
    tokenizer_settings,
)
from qkv.text.wordpiece import BEGIN, MASK, PAD, SEPARATOR, SPECIAL, UNKNOWN, WordPieceTokenizer

POOLINGS: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}
PARTS = ("Transformer", "Pooling", "Normalize")  # modules of a sentence-transformer that qkv supports
TOKENIZERS = (
    "BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast", "ElectraTokenizer",
    "ElectraTokenizerFast",
)  # fmt: skip
NAMES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
MODULES, LIMITS, POOLING_FOLDER = "modules.json", "sentence_bert_config.json", "1_Pooling"
PROMPTS = "config_sentence_transformers.json"
Product = Bert | TextClassifier


class BertMapping:
    def read(self, published: Published, language: str | None) -> Product:
        config, weights, where = published.config, published.weights, published.where
        if is_classifier(published):
            classifier = classifier_from(config, weights, where)
            tokenizer = read_tokenizer(published, classifier.config.encoder)
            return TextClassifier(classifier, tokenizer, label_settings(published, classifier.config.outputs))
        model = bert_from(config, weights, where)
        tokenizer = read_tokenizer(published, model.config.encoder)
        return Bert(
            model, tokenizer, sentence_settings(published, model.config.encoder.max_length, tokenizer)
        )

    def write(self, product: Product) -> Written:
        config, name = their_config(encoder_of(product)), self.their_class(product)
        weights = {their_name(own): tensor for own, tensor in product.model.state_dict().items()}
        if name == "BertModel":
            weights = {each.removeprefix("bert."): tensor for each, tensor in weights.items()}
        files = tokenizer_files(product.tokenizer, product._defaults.max_length)
        if isinstance(product, Bert):
            files |= sentence_files(product._defaults, encoder_of(product).stack.width)
        elif product.classes:
            config["id2label"] = dict(enumerate(product.classes))
            config["label2id"] = {label: number for number, label in enumerate(product.classes)}
        else:
            config |= {"id2label": {0: "LABEL_0"}, "label2id": {"LABEL_0": 0}, "problem_type": "regression"}
            weights |= rescale_head(weights, product._defaults)
        return Written(config={**config, "architectures": [name]}, weights=weights, files=files)

    def notes(self, product: Product) -> dict[str, Any]:
        """Whether the model reads pairs of texts."""
        return {} if isinstance(product, Bert) else {"pairs": product._defaults.pairs}

    def their_class(self, product: Product) -> str:
        if isinstance(product, TextClassifier):
            return "BertForSequenceClassification"
        heads = product.model.config
        if heads.words:
            return "BertForPreTraining" if heads.next_sentence else "BertForMaskedLM"
        return "BertForNextSentencePrediction" if heads.next_sentence else "BertModel"

    def probe(self, product: Product) -> dict[str, Tensor]:
        """Two texts with two segments, one of them with padding."""
        config = encoder_of(product)
        chance = torch.Generator().manual_seed(1)
        length = min(9, config.max_length)
        free = torch.tensor([number for number in range(config.vocab_size) if number != config.pad])
        ids = free[torch.randint(len(free), (2, length), generator=chance)]
        ids[1, length // 2 + 1 :] = config.pad
        segments = torch.zeros_like(ids)
        segments[0, length // 2 :] = config.segments - 1
        return {
            "input_ids": ids,
            "token_type_ids": segments,
            "attention_mask": (ids != config.pad).long(),
        }

    def compute(self, product: Product, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        ids, segments = inputs["input_ids"], inputs["token_type_ids"]
        model = product.model.eval()
        if isinstance(product, TextClassifier):
            logits, defaults = model(ids, segments), product._defaults
            return {"logits": logits if product.classes else defaults.mean + defaults.deviation * logits}
        bert = product.model
        states = bert.encoder(ids, segments)
        match self.their_class(product):
            case "BertForPreTraining":
                return {
                    "prediction_logits": bert.word_logits(states),
                    "seq_relationship_logits": bert.next_logits(states),
                }
            case "BertForMaskedLM":
                return {"logits": bert.word_logits(states)}
            case "BertForNextSentencePrediction":
                return {"logits": bert.next_logits(states)}
        found = {"last_hidden_state": states}
        return found if bert.pooler is None else {**found, "pooler_output": bert.pooler(states)}

    def encode(self, product: Product, line: str) -> list[int] | None:
        return product.tokenizer.encode(line)


def is_classifier(published: Published) -> bool:
    """As its config says; if it says nothing, by its weights."""
    names = published.config.get("architectures")
    return "BertForSequenceClassification" in names if names else "classifier.weight" in published.weights


def encoder_of(product: Product) -> EncoderConfig:
    return product.model.config.encoder


# In ------------------------------------------------------------------------------------------------------------


def read_tokenizer(published: Published, encoder: EncoderConfig) -> WordPieceTokenizer:
    folder, where = published.folder, published.where
    settings = tokenizer_settings(published, TOKENIZERS)
    if published.has("tokenizer.json"):
        tokenizer = WordPieceTokenizer.load(check_size(folder / "tokenizer.json"))
    elif published.has("vocab.txt"):
        tokenizer = WordPieceTokenizer.load(check_size(folder / "vocab.txt"))
    else:
        raise DataError(f"{where} has neither tokenizer.json nor vocab.txt; one of them is needed.")
    numbers = tokenizer.library.get_vocab()
    check_added_tokens(published, numbers)
    check_numbers(published, numbers.values(), encoder.vocab_size)
    if tokenizer.pad != encoder.pad:
        raise DataError(
            f"{where}: {PAD} has id {tokenizer.pad} in its tokenizer, but pad_token_id in its config.json is {encoder.pad}."
        )
    for name, token in zip(NAMES, SPECIAL, strict=True):
        if name_of(settings.get(name), token) != token:
            raise DataError(f"{where}: {name} is {settings[name]!r}; qkv supports only {token}.")
    if class_of(published) not in BY_ITS_FILE:
        set_normalizer(tokenizer, settings, where)
    return tokenizer


def set_normalizer(tokenizer: WordPieceTokenizer, settings: Mapping[str, Any], where: str) -> None:
    """BERT's tokenizers follow their settings, not tokenizer.json."""
    must_be(settings, "do_basic_tokenize", True, where)
    must_be(settings, "never_split", [], where)
    if tokenizer.library.normalizer is None or isinstance(tokenizer.library.normalizer, BertNormalizer):
        tokenizer.library.normalizer = BertNormalizer(
            lowercase=bool(choice(settings, "do_lower_case", True, where)),
            strip_accents=choice(settings, "strip_accents", None, where),
            handle_chinese_chars=bool(choice(settings, "tokenize_chinese_chars", True, where)),
        )


def label_settings(published: Published, outputs: int) -> TextClassifierDefaults:
    config, notes = published.config, published.json(NOTES)
    several = config.get("problem_type") == "multi_label_classification"
    if several:
        raise DataError(
            f"{published.where} predicts several labels per text (problem_type); qkv supports one."
        )
    return TextClassifierDefaults(
        max_length=config["max_position_embeddings"],
        classes=() if outputs == 1 else classes(config, outputs, published.where),
        pairs=bool(notes.get("pairs", reads_pairs(config))),
    )


def reads_pairs(config: Mapping[str, Any]) -> bool:
    """Whether it reads two texts. Published settings say so only for GLUE tasks."""
    pairs = ("mnli", "mrpc", "qnli", "qqp", "rte", "stsb", "sts-b", "wnli")
    return str(config.get("finetuning_task", "")).lower() in pairs


def sentence_settings(published: Published, context: int, tokenizer: WordPieceTokenizer) -> BertDefaults:
    """The settings in modules.json of a sentence-transformer; any other BERT uses mean pooling."""
    if not published.has(MODULES):
        return BertDefaults(max_length=context)
    where = published.where
    paths = modules_of(published.folder / MODULES)
    limits = published.json(LIMITS)
    if limits.get("do_lower_case") and tokenizer.encode("A") != tokenizer.encode("a"):
        raise DataError(
            f"{where}/{LIMITS}: do_lower_case lowercases text before the tokenizer, which qkv does not support."
        )
    prompt = published.json(PROMPTS).get("default_prompt_name")
    if prompt is not None:
        raise DataError(
            f"{where}/{PROMPTS}: default_prompt_name adds the prompt {prompt!r} to every text, which qkv does not support."
        )
    longest = limits.get("max_seq_length")
    return BertDefaults(
        max_length=min(context, longest) if isinstance(longest, int) and longest > 2 else context,
        pooling=pooling_of(published, paths["Pooling"]),
        normalized="Normalize" in paths,
    )


def pooling_of(published: Published, path: str) -> Pooling:
    if Path(path).name != path or path in (".", ".."):
        raise DataError(f"{published.where}/{MODULES} names '{path}', which is outside this folder.")
    settings = read_object(published.folder / path / "config.json")
    chosen = [name for name, value in settings.items() if name.startswith("pooling_mode") and value is True]
    if len(chosen) != 1 or chosen[0] not in POOLINGS:
        raise DataError(
            f"{published.where}: qkv supports pooling by mean or by the first token, not by {', '.join(chosen) or 'nothing'}."
        )
    return POOLINGS[chosen[0]]


def modules_of(path: Path) -> dict[str, str]:
    """The modules of a sentence-transformer in order, and the folder of each."""
    try:
        parts = [(str(each["type"]).rsplit(".", 1)[-1], str(each["path"])) for each in read_json(path)]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} does not list the modules of a sentence-transformer ({error}).") from None
    names = [name for name, _ in parts]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise DataError(f"{path}: qkv does not support the module {unknown[0]}.")
    if names not in (list(PARTS), list(PARTS[:2])):
        raise DataError(
            f"{path} lists {', '.join(names) or 'no modules'}: qkv supports {', '.join(PARTS[:2])} and optionally {PARTS[2]}, "
            "each once and in this order."
        )
    if parts[0][1]:
        raise DataError(
            f"{path} has the Transformer in the folder {parts[0][1]}. Move its files next to {MODULES}."
        )
    return dict(parts)


# Out -----------------------------------------------------------------------------------------------------------


def rescale_head(weights: Mapping[str, Tensor], defaults: TextClassifierDefaults) -> dict[str, Tensor]:
    """The head of a regression model, rescaled to output numbers on the scale of its labels, as other libraries expect."""
    return {
        "classifier.weight": weights["classifier.weight"] * defaults.deviation,
        "classifier.bias": weights["classifier.bias"] * defaults.deviation + defaults.mean,
    }


def tokenizer_files(tokenizer: WordPieceTokenizer, longest: int) -> dict[str, bytes]:
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "unk_token": UNKNOWN,
        "cls_token": BEGIN,
        "sep_token": SEPARATOR,
        "mask_token": MASK,
        "model_max_length": longest,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
    }
    return {
        "tokenizer.json": tokenizer.text_with_template().encode(),
        "tokenizer_config.json": json_bytes(settings),
    }


def sentence_files(defaults: BertDefaults, width: int) -> dict[str, bytes]:
    """What sentence-transformers needs to make the same vectors."""
    parts = ["Transformer", "Pooling", *(["Normalize"] if defaults.normalized else [])]
    paths = {"Transformer": "", "Pooling": POOLING_FOLDER, "Normalize": "2_Normalize"}
    modules = [
        {
            "idx": number,
            "name": str(number),
            "path": paths[part],
            "type": f"sentence_transformers.models.{part}",
        }
        for number, part in enumerate(parts)
    ]
    pooling = {name: kind == defaults.pooling for name, kind in POOLINGS.items()}
    return {
        MODULES: (json.dumps(modules, indent=2) + "\n").encode(),
        LIMITS: json_bytes({"max_seq_length": defaults.max_length, "do_lower_case": False}),
        f"{POOLING_FOLDER}/config.json": json_bytes({"word_embedding_dimension": width, **pooling}),
    }
