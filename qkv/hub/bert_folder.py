"""A published BERT, alone, as a classifier, or with what sentence-transformers adds, as one of ours."""

from pathlib import Path
from typing import Any

from qkv.checkpoint.files import read_json
from qkv.errors import UserError
from qkv.hub.bert import bert_from, classifier_from
from qkv.hub.folders import Imported, read_weights
from qkv.pipeline.bert import Bert, BertDefaults, Pooling
from qkv.pipeline.text_classifier import TextClassifier, TextClassifierDefaults
from qkv.text.word_pieces import WordPieces

POOLINGS: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}
PARTS = {
    "Transformer": None,
    "Pooling": None,
    "Normalize": None,
}  # of a sentence-transformer, that we compute


def bert_in(folder: Path, config: dict[str, Any]) -> Imported:
    weights = read_weights(folder)
    pieces = word_pieces(folder)
    where = str(folder)
    if "classifier.weight" in weights:
        classifier = classifier_from(config, weights, where)
        check_vocabulary(pieces, classifier.config.encoder.vocab, where)
        numbers = classifier.config.numbers
        names = () if numbers else classes(config, classifier.config.outputs, where)
        longest = classifier.config.encoder.context
        defaults = TextClassifierDefaults(longest=longest, classes=names, pairs=compares(config))
        return TextClassifier(classifier, pieces, defaults)
    model = bert_from(config, weights, where)
    check_vocabulary(pieces, model.config.encoder.vocab, where)
    return Bert(model, pieces, sentence_settings(folder, model.config.encoder.context))


def word_pieces(folder: Path) -> WordPieces:
    if (folder / "tokenizer.json").is_file():
        return WordPieces.load(folder / "tokenizer.json")
    if not (folder / "vocab.txt").is_file():
        raise UserError(f"{folder} has neither tokenizer.json nor vocab.txt: without one it cannot read.")
    settings = folder / "tokenizer_config.json"
    told = read_json(settings) if settings.is_file() else {}
    lowercase = told.get("do_lower_case", True)
    return WordPieces.from_vocabulary(folder / "vocab.txt", lowercase=bool(lowercase))


def check_vocabulary(pieces: WordPieces, vocab: int, where: str) -> None:
    if len(pieces) != vocab:
        raise UserError(
            f"{where}: the tokenizer has {len(pieces)} pieces, the model {vocab}; these files do not belong together."
        )


def classes(config: dict[str, Any], outputs: int, where: str) -> tuple[str, ...]:
    """In the order of the outputs; without names they are numbers from 0."""
    names = config.get("id2label") or {str(number): str(number) for number in range(outputs)}
    try:
        found = tuple(str(names[str(number)]) for number in range(outputs))
    except (KeyError, TypeError):
        raise UserError(f"{where}: id2label does not name each of the {outputs} classes.") from None
    if len(set(found)) < outputs or len(names) != outputs:
        raise UserError(f"{where}: id2label does not name each of the {outputs} classes once.")
    return found


def compares(config: dict[str, Any]) -> bool:
    """Does it read two texts? The published settings say so for the tasks of GLUE alone."""
    pairs = ("mnli", "mrpc", "qnli", "qqp", "rte", "stsb", "sts-b", "wnli")
    return str(config.get("finetuning_task", "")).lower() in pairs


def sentence_settings(folder: Path, context: int) -> BertDefaults:
    """What modules.json of a sentence-transformer says; any other BERT takes the mean."""
    modules = folder / "modules.json"
    if not modules.is_file():
        return BertDefaults(longest=context)
    names = {each["type"].rsplit(".", 1)[-1]: each["path"] for each in read_json(modules)}
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise UserError(f"{modules}: qkv does not compute the part {unknown[0]} of a sentence-transformer.")
    pooling: Pooling = "mean"
    if "Pooling" in names:
        settings = read_json(folder / names["Pooling"] / "config.json")
        chosen = [
            name for name, value in settings.items() if name.startswith("pooling_mode") and value is True
        ]
        if len(chosen) != 1 or chosen[0] not in POOLINGS:
            raise UserError(f"{folder}: qkv pools by mean or by the first place, not by {', '.join(chosen)}.")
        pooling = POOLINGS[chosen[0]]
    longest = context
    limits = folder / "sentence_bert_config.json"
    if limits.is_file():
        longest = min(context, read_json(limits).get("max_seq_length") or context)
    return BertDefaults(longest=longest, pooling=pooling, normalised="Normalize" in names)
