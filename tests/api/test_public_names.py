"""What `import qkv` offers, and what a model shows: a change here is a change of the interface."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ENVIRONMENT
from without_torch import HIDE_TORCH

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
    Bert Callback CheckReport ClassificationOptions ClassificationReport Cleaned Codebook CodebookReport DataError Drawing DrawingOptions
    DrawingReport EmbeddingOptions EndEvent Exploration ExportReport FillOptions Finding GPTClassifier GenerationOptions Glossary Guess
    ImageClassificationReport ImageClassifier ImageGenerator InputError InputTypeError LanguageModel LanguageModelReport
    Learned Memory MemoryMatch MissingExtraError Model ModelError ModelInfo MusicReport OptionError Prediction PredictionOptions PublishedModel PublishedModels QkvError Report Running
    SaveEvent Score ServeOptions Service StartEvent StepEvent TextClassifier Trace TrainingReport Translation TranslationComparison
    TranslationOptions TranslationReport Translator ValidationEvent __version__ adapt check clean distill evaluate explore export fine_tune get
    import_model info learn load push models resume serve serve_app trace train train_bert train_codebook train_dalle train_gpt train_translator
    train_vit
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


CALLS = {
    "adapt": "qkv.adapt('runs/en-de', [('one', 'eins')], output='adapted')",
    "clean": "qkv.clean([('one two', 'eins zwei')], output='clean.tsv', source_language='en', target_language='de', progress=False)",
    "check": "qkv.check('clean.tsv')",
    "distill": "qkv.distill('runs/en-de', ['one two'], output='student')",
    "evaluate": "qkv.evaluate('runs/en-de', ['one'], ['eins'], progress=False)",
    "explore": "qkv.explore('runs/en-de', html='page.html')",
    "export": "qkv.export('runs/en-de', 'huggingface', 'out')",
    "fine_tune": "qkv.fine_tune('runs/en-de', [('one', 'eins')], output='tuned')",
    "get": "qkv.get('en-fr', publisher='argos')",
    "import_model": "qkv.import_model('runs/en-de', 'imported')",
    "info": "qkv.info('runs/en-de')",
    "learn": "qkv.learn('app.json')",
    "load": "qkv.load('runs/en-de')",
    "models": "qkv.models('en-de')",
    "push": "qkv.push('runs/en-de', 'a name without an owner')",
    "resume": "qkv.resume('runs/en-de')",
    "trace": "qkv.trace(qkv.load('runs/en-de'), 'one')",
    "serve": "qkv.serve('runs/en-de', port=0, log_format='none').close()",
    "serve_app": "qkv.serve_app('runs/en-de')",
    "train": "qkv.train('gpt', ['one two'], output='new')",
    "train_bert": "qkv.train_bert(['one two'], output='new')",
    "train_codebook": "qkv.train_codebook(['picture.png'], output='new')",
    "train_dalle": "qkv.train_dalle(scenes=100, output='new')",
    "train_gpt": "qkv.train_gpt(['one two'], output='new')",
    "train_translator": "qkv.train_translator([('one', 'eins')], output='new')",
    "train_vit": "qkv.train_vit([('picture.png', 'ring')], output='new')",
}
WITHOUT = {
    "check",
    "clean",
    "evaluate",
    "info",
    "learn",  # the file is missing
    "load",
    "models",
    "push",  # the name is wrong
    "resume",
    "serve",
    "serve_app",
}  # work without torch, or need something else first
PROGRAM = f"""{HIDE_TORCH}
import qkv
found = {{}}
for name, call in json.loads(sys.argv[1]).items():
    try:
        eval(call)
    except Exception as error:
        found[name] = [type(error).__name__, str(error)]
print(json.dumps(found))
"""


@pytest.mark.usefixtures("folder")
def test_without_torch_every_function_works_or_names_the_missing_extra() -> None:
    assert set(CALLS) == {name for name in qkv.__all__ if inspect.isfunction(getattr(qkv, name))}
    given = [sys.executable, "-c", PROGRAM, json.dumps(CALLS)]
    ended = subprocess.run(given, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    found = json.loads(ended.stdout)
    assert {name for name, error in found.items() if error[0] == "MissingExtraError"} == set(
        CALLS
    ) - WITHOUT, found
    assert all("extra `train`" in found[name][1] for name in set(CALLS) - WITHOUT), found
    assert not {name for name in WITHOUT - {"resume", "learn", "push"} if name in found}, found
