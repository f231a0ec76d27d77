"""Errors from Python: a small tree, and messages that name the argument, the element and what was expected."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_messages import FLAG

import qkv
from qkv.errors import MissingExtraError

TREE = {
    qkv.InputError: (qkv.QkvError, ValueError),
    qkv.InputTypeError: (qkv.InputError, TypeError),
    qkv.DataError: (qkv.QkvError,),
    qkv.ModelError: (qkv.QkvError,),
    qkv.OptionError: (qkv.QkvError, ValueError),
    qkv.MissingExtraError: (qkv.QkvError, ImportError),
}


def test_the_errors_form_this_tree() -> None:
    assert {kind: kind.__bases__ for kind in TREE} == TREE


class Table:
    """A table as pandas and polars have it: iterating gives the names of the columns, or the columns."""

    def __init__(self, columns: dict[Any, list[str]]):
        self.columns = columns

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)


WRONG: list[tuple[str, Any, type[Exception], str]] = [
    ("en-de", lambda m: m.translate(None), TypeError, "texts is None; translate() expects a text, a list of texts or an iterator of texts."),
    ("en-de", lambda m: m.translate(7), TypeError, "texts is int; translate() expects a text, a list of texts or an iterator of texts."),
    ("en-de", lambda m: m.translate(b"one"), TypeError, "texts is bytes; translate() expects a text, a list of texts or an iterator of texts."),
    ("en-de", lambda m: m.translate({"one"}), TypeError, "texts is set; translate() expects a text, a list of texts or an iterator of texts."),
    ("en-de", lambda m: m.translate([1]), TypeError, "texts[0] is int; expected str."),
    ("en-de", lambda m: m.translate(["one", None]), TypeError, "texts[1] is None; expected str."),
    ("en-de", lambda m: m.translate(np.array([1.5])), TypeError, "texts[0] is float64; expected str."),
    ("en-de", lambda m: m.translate("one", beem=3), TypeError, "translate() has no option 'beem'. Did you mean 'beam'?"),
    ("en-de", lambda m: m.translate("one", beam=3, beam_size=4), TypeError, "translate() got beam and beam_size, which are the same option."),
    ("en-de", lambda m: m.translate("one", beam_size=0), qkv.OptionError, "beam_size must be from 1 to 1,000."),
    ("en-de", lambda m: m.translate("one", beam_size="4"), qkv.OptionError, "beam_size must be a whole number, not str."),
    ("en-de", lambda m: m.translate("one", temperature=2.0), qkv.OptionError, "`temperature` can only be used with `sample`."),
    ("en-de", lambda m: m.translate("one", glossary=[1]), TypeError, "glossary is list; expected a mapping, a file or a Glossary."),
    ("en-de", lambda m: m.translate("one", glossary={"a": 1}), TypeError, "glossary has ('a', 1); expected a source term and its translation."),
    ("en-de", lambda m: m.translate("one", {"beam_size": 3}), TypeError, "options must be TranslationOptions, not dict."),
    ("en-de", lambda m: m.translate("one", target_language="fr"), qkv.InputError, "this model has no target language 'fr': it translates into one language only."),
    ("en-de", lambda m: m.stream(None), TypeError, "text is None; stream() expects a text."),
    ("en-de", lambda m: m.translate(Table({"en": ["one"], "de": ["eins"]})), TypeError, "texts is a table; pass one column, such as texts['en']."),
    ("en-de", lambda m: m.translate(["one", "\ud83d"]), qkv.InputError, "texts[1] has half a character (a lone surrogate). Correct it."),
    ("en-de", lambda m: m.translate("\ud83d"), qkv.InputError, "the text has half a character (a lone surrogate). Correct it."),
    ("en-de", lambda m: m.stream("\ud83d"), qkv.InputError, "text has half a character (a lone surrogate). Correct it."),
    ("gpt", lambda m: m.generate(["one", "\ud83d"]), qkv.InputError, "prompts[1] has half a character (a lone surrogate). Correct it."),
    ("bert", lambda m: m.embed(["one", "\ud83d"]), qkv.InputError, "texts[1] has half a character (a lone surrogate). Correct it."),
    ("entailment", lambda m: m.classify([("one", "\ud83d")]), qkv.InputError, "inputs[0] has half a character (a lone surrogate). Correct it."),
    ("bert", lambda m: m.embed(Table({1: ["one"]})), TypeError, "texts is a table; pass one column, such as texts[1]."),
    ("bert", lambda m: m.similar(["one"], ["\ud83d"]), qkv.InputError, "second[0] has half a character (a lone surrogate). Correct it."),
    ("bert", lambda m: m.similar(["one"], None), TypeError, "pairs[0] is str; expected a pair of texts."),
    ("bert", lambda m: m.similar(["one"], "one"), TypeError, "second is str; similar() expects a text, a list of texts or an iterator of texts."),
    ("en-de", lambda m: m.stream("one", beam=5), qkv.OptionError, "beam_size must be left out: stream() decodes greedily, or samples."),
    ("en-de", lambda m: m.stream("one", num_hypotheses=3), qkv.OptionError, "num_hypotheses must be left out: stream() decodes greedily, or samples."),
    ("en-de", lambda m: m.alternatives("one", count=0), qkv.OptionError, "count must be a whole number from 1 to 290, not 0."),
    ("en-de", lambda m: m.alternatives("one", count="3"), qkv.OptionError, "count must be a whole number from 1 to 290, not '3'."),
    ("en-de", lambda m: m.align("one " * 200, "eins"), qkv.InputError, "source has 601 tokens, and this model aligns at most 40. Shorten it."),
    ("en-de", lambda m: m.align("one", "eins " * 200), qkv.InputError, "target has 601 tokens, and this model aligns at most 40. Shorten it."),
    ("gpt", lambda m: m.generate("one", {"top_k": 3}), TypeError, "options must be GenerationOptions, not dict."),
    ("gpt", lambda m: m.score_choices("a", [1]), TypeError, "choices[0] is int; expected str."),
    ("gpt", lambda m: m.score_choices("a", "bc"), TypeError, "choices is str; score_choices() expects a list of texts."),
    ("bert", lambda m: m.fill("[MASK]", {"top_k": 2}), TypeError, "options must be FillOptions, not dict."),
    ("bert", lambda m: m.embed("one", options={"raw": True}), TypeError, "options must be EmbeddingOptions, not dict."),
    ("sentiment", lambda m: m.classify("one", {}), TypeError, "options must be PredictionOptions, not dict."),
    ("shapes", lambda m: m.classify("picture.png", {}), TypeError, "options must be ClassificationOptions, not dict."),
    ("scenes", lambda m: m.draw("a ring", {}), TypeError, "options must be DrawingOptions, not dict."),
    ("codebook", lambda m: m.decode(np.array([0, 0, 0, 999])), qkv.InputError, "codes has 999, but this model has the codes 0 to 11."),
    ("codebook", lambda m: m.decode(np.array([0, 0, 0, -1])), qkv.InputError, "codes has -1, but this model has the codes 0 to 11."),
    ("codebook", lambda m: m.decode(np.zeros(3, int)), qkv.InputError, "codes has the shape (3,); expected (4,) or (N, 4)."),
    ("codebook", lambda m: m.decode(np.zeros(4)), TypeError, "codes has the type float64; expected whole numbers."),
    ("gpt", lambda m: m.generate(["one", 2]), TypeError, "prompts[1] is int; expected str."),
    ("gpt", lambda m: m.generate("one", temperature=-1), qkv.OptionError, "temperature must be 0 or more; 0 always takes the likeliest token."),
    ("bert", lambda m: m.embed(None), TypeError, "texts is None; embed() expects a text, a list of texts or an iterator of texts."),
    ("sentiment", lambda m: m.classify(["one", ""]), qkv.InputError, "inputs[1] is empty."),
    ("bert", lambda m: m.fill(["[MASK]", "one"]), qkv.InputError, "texts[1] has no [MASK]. Write it where a word should be filled in."),
    ("bert", lambda m: m.similar(["one"], ["one", "two"]), qkv.InputError, "first has only 1 texts; give as many of both."),
    ("bert", lambda m: m.similar(["one", "two"]), TypeError, "pairs[0] is str; expected a pair of texts."),
    ("sentiment", lambda m: m.classify(3), TypeError, "inputs is int; classify() expects a text, a list of texts or an iterator of texts."),
    ("sentiment", lambda m: m.classify([("one", "two")]), qkv.InputError, "inputs[0] has 2 texts, but this model reads text: give one text for each input."),
    ("entailment", lambda m: m.classify("one"), TypeError, "inputs is str; classify() expects a pair of texts (a tuple), a list of pairs or an iterator of pairs."),
    ("entailment", lambda m: m.classify([("one", "two"), "one"]), TypeError, "inputs[1] is str; expected a pair of texts."),
    ("entailment", lambda m: m.classify([("one",)]), qkv.InputError, "inputs[0] has 1 text, but this model reads pairs: give two texts for each input."),
    ("shapes", lambda m: m.classify([None]), TypeError, "images[0] is None; expected a path, a Pillow image or an array."),
    ("shapes", lambda m: m.classify("no.png"), qkv.DataError, "there is no file no.png."),
    ("shapes", lambda m: m.classify(np.zeros((8, 12), int)), TypeError, "images[0] has the type int64; expected bytes (uint8) or numbers from 0 to 1."),
    ("scenes", lambda m: m.draw(None), TypeError, "captions is None; draw() expects a caption, a list of captions or an iterator of captions."),
    ("scenes", lambda m: m.draw("a rign"), qkv.InputError, "this model does not know the word 'rign'; did you mean 'ring'?"),
    ("scenes", lambda m: m.draw("a ring", top_k=3, candidates=2), qkv.OptionError, "top_k must be from 1 to the number of candidates."),
    ("en-de", lambda m: m.generate("one"), AttributeError, "Translator has no generate(). It is a translator; it has translate(), translate_file(), stream(), alternatives(), align()."),
    ("gpt", lambda m: m.translate("one"), AttributeError, "LanguageModel has no translate(). It is a GPT; it has generate(), stream(), compose(), score_choices(), log_probabilities()."),
    ("bert", lambda m: m.similarity(1, 2), AttributeError, "Bert has no similarity(). It is a BERT; it has fill(), embed(), similar(), follows()."),
    ("bert", lambda m: m.save("runs/gpt"), qkv.OptionError, "runs/gpt already holds a model: give another folder, or add `overwrite=True`."),
    ("bert", lambda m: m.nonsense, AttributeError, "'Bert' object has no attribute 'nonsense'"),
    ("gpt", lambda m: qkv.load("runs/gpt", kind=qkv.Translator), qkv.ModelError, "runs/gpt holds a LanguageModel, not a Translator."),
    ("gpt", lambda m: qkv.Translator.load("runs/gpt"), qkv.ModelError, "runs/gpt holds a LanguageModel, not a Translator."),
    ("gpt", lambda m: qkv.load(None), TypeError, "load() expects the folder or the name of a model, not None."),
    ("gpt", lambda m: qkv.load("runs/gpt", compute_type="int4"), qkv.OptionError, "compute_type must be one of auto, int8, float32, bf16, not 'int4'."),
    ("gpt", lambda m: qkv.load("runs/gpt", device="mps"), qkv.OptionError, "device 'mps' is not available to torch on this machine. Use the CPU."),
    ("gpt", lambda m: qkv.load("runs/gpt", compute="int8"), TypeError, "load() has no option 'compute'. Did you mean 'compute_type'?"),
]  # fmt: skip


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "call", "kind", "message"), WRONG, ids=[row[3][:60] for row in WRONG])
def test_a_mistake_is_named(name: str, call: Any, kind: type[Exception], message: str) -> None:
    model = qkv.load(f"runs/{name}")
    with pytest.raises(kind) as caught:
        call(model)
    assert str(caught.value) == message
    assert kind is AttributeError or isinstance(caught.value, qkv.QkvError | TypeError)
    assert not FLAG.search(message)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["runs/none", "nothing", Path("some/where")])
def test_a_missing_model_is_a_model_error_that_names_it(name: str | Path) -> None:
    with pytest.raises(qkv.ModelError, match=re.escape(str(name))):
        qkv.load(name)


def test_a_damaged_model_is_a_model_error(folder: Path) -> None:
    weights = folder / "runs" / "gpt" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-40])
    with pytest.raises(qkv.ModelError, match=r"model\.safetensors is damaged"):
        qkv.load("runs/gpt")


def test_a_missing_extra_is_an_import_error_that_names_it() -> None:
    error = MissingExtraError("a plot", package="matplotlib", extra="pictures")
    assert (error.name, error.extra) == ("matplotlib", "pictures")
    assert isinstance(error, ImportError)
