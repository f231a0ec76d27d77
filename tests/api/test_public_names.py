"""What `import qkv` offers, and what a model shows: a change here is a change of the interface."""

import subprocess
import sys
from pathlib import Path

import pytest

import qkv

EVERY_MODEL = {"close", "config", "info", "load", "model", "report", "save"}
MEMBERS = {
    "Translator": {"align", "alternatives", "atranslate", "attention", "stream", "tokenizer", "translate", "translate_file"},
    "LanguageModel": {"agenerate", "compose", "generate", "log_probabilities", "score_choices", "stream", "tokenizer"},
    "Bert": {"aembed", "afill", "asimilar", "embed", "fill", "follows", "similar", "tokenizer"},
    "TextClassifier": {"aclassify", "classes", "classify", "reads", "tokenizer"},
    "GPTClassifier": {"aclassify", "classes", "classify", "reads", "tokenizer"},
    "ImageClassifier": {"aclassify", "classes", "classify", "reads"},
    "ImageGenerator": {"adraw", "codebook", "draw", "tokenizer"},
    "Codebook": {"decode", "encode"},
}  # fmt: skip
FOLDERS = {
    "Translator": "en-de", "LanguageModel": "gpt", "Bert": "bert", "TextClassifier": "sentiment", "GPTClassifier": "entailment",
    "ImageClassifier": "shapes", "ImageGenerator": "scenes", "Codebook": "codebook",
}  # fmt: skip
NAMES = """
    Bert Callback ClassificationOptions ClassificationReport Cleaned Codebook CodebookReport DataError Drawing DrawingOptions
    DrawingReport EmbeddingOptions EndEvent Exploration ExportReport FillOptions GPTClassifier GenerationOptions Glossary Guess
    ImageClassificationReport ImageClassifier ImageGenerator InputError InputTypeError LanguageModel LanguageModelReport
    MissingExtraError Model ModelError ModelInfo MusicReport OptionError Prediction PredictionOptions QkvError Report Running
    SaveEvent Score StartEvent StepEvent TextClassifier Trace TrainingReport Translation TranslationComparison TranslationOptions
    TranslationReport Translator ValidationEvent __version__ clean evaluate explore export fine_tune import_model info load
    resume trace train_bert train_codebook train_dalle train_gpt train_translator train_vit
"""


def test_the_public_names_are_these() -> None:
    assert sorted(qkv.__all__) == sorted(NAMES.split())
    assert dir(qkv) == sorted(qkv.__all__)
    assert set(qkv.WHERE) == set(qkv.__all__) - {"__version__"}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_model_shows_what_a_user_needs(name: str, saved_models: Path) -> None:
    model = qkv.load(saved_models / "runs" / FOLDERS[name])
    assert type(model) is getattr(qkv, name)
    assert set(dir(model)) == MEMBERS[name] | EVERY_MODEL
    assert {each for each in vars(model) if not each.startswith("_")} <= MEMBERS[name]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'qkv' has no attribute 'Generator'"):
        _ = qkv.Generator


def test_importing_qkv_imports_neither_torch_nor_numpy() -> None:
    code = "import sys, qkv; dir(qkv); sys.exit(bool({'torch', 'numpy', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
