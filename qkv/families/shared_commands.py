"""Commands that belong to no single family. As in the records of the families, strings name the modules."""

from qkv.families.family import Command

SHARED = (
    Command(
        name="tour",
        summary="five minutes: train a small translator, use it, look inside it, serve it",
        run="qkv.cli.tour:main",
    ),
    Command(
        name="evaluate",
        summary="score a model on translations, texts, labels or images",
        run="qkv.cli.evaluate:main",
    ),
    Command(
        name="clean",
        summary="drop harmful pairs from a parallel corpus and report why",
        run="qkv.cli.clean:main",
    ),
    Command(
        name="memory",
        summary="keep translations by people in a translation memory, search and export them",
        run="qkv.cli.memory:main",
    ),
    Command(
        name="check",
        summary="find mistakes in files with translations: placeholders, tags, numbers, plural forms",
        run="qkv.cli.check:main",
    ),
    Command(
        name="learn",
        summary="learn from a reviewed file: fill a translation memory, propose terms",
        run="qkv.cli.learn:main",
    ),
    Command(
        name="classify",
        summary="predict the class of texts, pairs of texts or images",
        run="qkv.cli.classify:main",
    ),
    Command(
        name="models",
        summary="list published translators by language pair",
        run="qkv.cli.models:main",
    ),
    Command(
        name="get",
        summary="download and import published translators by language pair",
        run="qkv.cli.get:main",
    ),
    Command(
        name="import",
        summary="convert a published model to a bundle: Marian, GPT, GPT-2, BERT, ViT",
        run="qkv.cli.import_model:main",
    ),
    Command(
        name="export",
        summary="convert a model for transformers or CTranslate2",
        run="qkv.cli.export_model:main",
    ),
    Command(
        name="explore",
        summary="walk through a model step by step in a browser, with its own numbers",
        run="qkv.cli.explore:main",
    ),
    Command(
        name="serve",
        summary="serve models over HTTP, for clients of LibreTranslate, DeepL and OpenAI",
        run="qkv.cli.serve:main",
    ),
    Command(
        name="push",
        summary="upload a model to Hugging Face's hub",
        run="qkv.cli.push:main",
    ),
    Command(
        name="info",
        summary="show what a model is, what it was trained on and how good it is",
        run="qkv.cli.info:main",
    ),
    Command(
        name="completion",
        summary="print a script that completes commands and options in your shell",
        run="qkv.cli.completion:main",
    ),
)
