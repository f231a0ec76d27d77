"""A published BERT, alone, as a classifier, or with what sentence-transformers adds, as one of ours and back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qkv.checkpoint.files import json_bytes
from qkv.errors import UserError
from qkv.hub.bert import bert_from, classifier_from, their_config, their_name
from qkv.hub.family import NOTES, Written
from qkv.hub.folder import Published, read_object
from qkv.hub.naming import classes
from qkv.models.bert import EncoderConfig
from qkv.pipeline.bert import Bert, BertDefaults
from qkv.pipeline.encoding import Pooling
from qkv.pipeline.text_classifier import TextClassifier, TextClassifierDefaults
from qkv.text.word_pieces import BEGIN, MASK, PAD, SEPARATOR, UNKNOWN, WordPieces

POOLINGS: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}
PARTS = ("Transformer", "Pooling", "Normalize")  # of a sentence-transformer, that we compute
MODULES, LIMITS, POOLING_FOLDER = "modules.json", "sentence_bert_config.json", "1_Pooling"
LARGEST_NUMBER = 1e30  # that labels may mean
Product = Bert | TextClassifier


class BertFamily:
    def read(self, published: Published, language: str | None) -> Product:
        config, weights, where = published.config, published.weights, published.where
        if is_classifier(published):
            classifier = classifier_from(config, weights, where)
            pieces = word_pieces(published, classifier.config.encoder.vocab)
            return TextClassifier(classifier, pieces, label_settings(published, classifier.config.outputs))
        model = bert_from(config, weights, where)
        pieces = word_pieces(published, model.config.encoder.vocab)
        return Bert(model, pieces, sentence_settings(published, model.config.encoder.context))

    def write(self, product: Product) -> Written:
        config, name = their_config(encoder_of(product)), self.their_class(product)
        weights = {their_name(own): tensor for own, tensor in product.model.state_dict().items()}
        if name == "BertModel":
            weights = {each.removeprefix("bert."): tensor for each, tensor in weights.items()}
        files = tokenizer_files(product.pieces, product.defaults.longest)
        if isinstance(product, Bert):
            files |= sentence_files(product.defaults, encoder_of(product).stack.width)
        elif product.classes:
            config["id2label"] = dict(enumerate(product.classes))
            config["label2id"] = {label: number for number, label in enumerate(product.classes)}
        else:
            config |= {"id2label": {0: "LABEL_0"}, "label2id": {"LABEL_0": 0}, "problem_type": "regression"}
        return Written(config={**config, "architectures": [name]}, weights=weights, files=files)

    def notes(self, product: Product) -> dict[str, Any]:
        """What labels mean: whether two texts are compared, and the scale of a number."""
        if isinstance(product, Bert):
            return {}
        defaults = product.defaults
        return {"pairs": defaults.pairs, "mean": defaults.mean, "deviation": defaults.deviation}

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
        length = min(9, config.context)
        free = torch.tensor([number for number in range(config.vocab) if number != config.pad])
        ids = free[torch.randint(len(free), (2, length), generator=chance)]
        ids[1, length // 2 + 1 :] = config.pad
        segments = torch.zeros_like(ids)
        segments[0, length // 2 :] = config.segments - 1
        return {
            "input_ids": ids,
            "token_type_ids": segments,
            "attention_mask": (ids != config.pad).long(),
        }

    def computed(self, product: Product, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        ids, segments = inputs["input_ids"], inputs["token_type_ids"]
        model = product.model.eval()
        if isinstance(product, TextClassifier):
            return {"logits": model(ids, segments)}
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


def is_classifier(published: Published) -> bool:
    """As its config says; where it says nothing, by its weights."""
    names = published.config.get("architectures")
    return "BertForSequenceClassification" in names if names else "classifier.weight" in published.weights


def encoder_of(product: Product) -> EncoderConfig:
    return product.model.config.encoder


# In ------------------------------------------------------------------------------------------------------------


def word_pieces(published: Published, vocab: int) -> WordPieces:
    folder, where = published.folder, published.where
    if published.has("tokenizer.json"):
        pieces = WordPieces.load(folder / "tokenizer.json")
    elif published.has("vocab.txt"):
        lowercase = published.json("tokenizer_config.json").get("do_lower_case", True)
        pieces = WordPieces.from_vocabulary(folder / "vocab.txt", lowercase=bool(lowercase))
    else:
        raise UserError(f"{where} has neither tokenizer.json nor vocab.txt: without one it cannot read.")
    if len(pieces) != vocab:
        raise UserError(
            f"{where}: the tokenizer has {len(pieces):,} pieces and the model embeddings for {vocab:,}; "
            "these files do not belong together."
        )
    return pieces


def label_settings(published: Published, outputs: int) -> TextClassifierDefaults:
    config, notes = published.config, published.json(NOTES)
    several = config.get("problem_type") == "multi_label_classification"
    if several:
        raise UserError(
            f"{published.where} gives a text several labels at once (problem_type), and qkv gives it one."
        )
    mean, deviation = (
        number_in(notes, name, default) for name, default in (("mean", 0.0), ("deviation", 1.0))
    )
    return TextClassifierDefaults(
        longest=config["max_position_embeddings"],
        classes=() if outputs == 1 else classes(config, outputs, published.where),
        pairs=bool(notes.get("pairs", compares(config))),
        mean=mean,
        deviation=deviation,
    )


def number_in(notes: Mapping[str, Any], name: str, default: float) -> float:
    value = notes.get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST_NUMBER:
        raise UserError(f"{NOTES}: {name} should be a number, not {value!r}.")
    return float(value)


def compares(config: Mapping[str, Any]) -> bool:
    """Does it read two texts? The published settings say so for the tasks of GLUE alone."""
    pairs = ("mnli", "mrpc", "qnli", "qqp", "rte", "stsb", "sts-b", "wnli")
    return str(config.get("finetuning_task", "")).lower() in pairs


def sentence_settings(published: Published, context: int) -> BertDefaults:
    """What modules.json of a sentence-transformer says; any other BERT takes the mean."""
    if not published.has(MODULES):
        return BertDefaults(longest=context)
    names = modules_of(published.folder / MODULES)
    pooling: Pooling = "mean"
    if "Pooling" in names:
        path = names["Pooling"]
        if Path(path).name != path or path in (".", ".."):
            raise UserError(
                f"{published.where}/{MODULES} names '{path}', which is not a part of this folder: refused."
            )
        settings = read_object(published.folder / path / "config.json")
        chosen = [
            name for name, value in settings.items() if name.startswith("pooling_mode") and value is True
        ]
        if len(chosen) != 1 or chosen[0] not in POOLINGS:
            raise UserError(
                f"{published.where}: qkv pools by mean or by the first place, not by {', '.join(chosen) or 'nothing'}."
            )
        pooling = POOLINGS[chosen[0]]
    longest = published.json(LIMITS).get("max_seq_length")
    return BertDefaults(
        longest=min(context, longest) if isinstance(longest, int) and longest > 2 else context,
        pooling=pooling,
        normalised="Normalize" in names,
    )


def modules_of(path: Path) -> dict[str, str]:
    """The parts of a sentence-transformer and the folder of each."""
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
        names = {str(each["type"]).rsplit(".", 1)[-1]: str(each["path"]) for each in parts}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path} does not list the parts of a sentence-transformer ({error}).") from None
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise UserError(f"{path}: qkv does not compute the part {unknown[0]} of a sentence-transformer.")
    return names


# Out -----------------------------------------------------------------------------------------------------------


def tokenizer_files(pieces: WordPieces, longest: int) -> dict[str, bytes]:
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
        "tokenizer.json": pieces.text_with_marks().encode(),
        "tokenizer_config.json": json_bytes(settings),
    }


def sentence_files(defaults: BertDefaults, width: int) -> dict[str, bytes]:
    """What sentence-transformers needs to make the same vectors."""
    parts = ["Transformer", "Pooling", *(["Normalize"] if defaults.normalised else [])]
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
        LIMITS: json_bytes({"max_seq_length": defaults.longest, "do_lower_case": False}),
        f"{POOLING_FOLDER}/config.json": json_bytes({"word_embedding_dimension": width, **pooling}),
    }
