"""The target language that a file states, and that of the model."""

import re
from dataclasses import replace
from pathlib import Path

from qkv.documents import Document
from qkv.errors import InputError
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.pipeline import Pipeline

CODE = re.compile(r"[a-z]{2}(?:[-_]\w{2,8})*", re.IGNORECASE)


class OtherLanguageError(InputError):
    """A file is in another target language than the model's."""


def languages_for(
    source: Path, document: Document, pipeline: Pipeline, options: TranslationOptions
) -> tuple[str | None, TranslationOptions]:
    """The language for the file's header, and the options with the target language that the file states."""
    stated, known = document.target_language, pipeline.tokenizer.languages
    if options.target_language is None and stated in known:
        options = replace(options, target_language=stated)
    target = options.target_language or pipeline.defaults.languages.named()[1]
    if not target or not CODE.fullmatch(target):
        return None, options
    if stated and CODE.fullmatch(stated) and first_part(stated) != first_part(target):
        raise OtherLanguageError(
            f"{source} states the target language {stated}, but this translation is into {target}: use another model or "
            "correct the file."
        )
    return target, options


def first_part(language: str) -> str:
    return re.split("[-_]", language)[0].lower()
