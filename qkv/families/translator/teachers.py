"""The teachers of word-level distillation: opened, checked, and attached to the model that learns from them."""

from collections.abc import Sequence
from pathlib import Path

from qkv.checkpoint.bundle import MODEL_FILE
from qkv.checkpoint.files import file_hash
from qkv.core.distillation import Distillation
from qkv.core.pairs import TranslationModel
from qkv.errors import ModelError
from qkv.families.loading import load_for
from qkv.families.translator.defaults import Languages
from qkv.families.translator.product import Translator
from qkv.families.translator.settings import DistillationSettings


def open_teachers(settings: DistillationSettings, languages: Languages) -> tuple[Translator, ...]:
    """The teachers, which share one vocabulary and translate between the languages of the pairs."""
    folders = settings.teacher_models
    teachers = tuple(load_for(folder, "translate", Translator) for folder in folders)
    for folder, teacher in zip(folders, teachers, strict=True):
        if teacher.tokenizer.text() != teachers[0].tokenizer.text():
            raise ModelError(
                f"{folder} has another vocabulary than {folders[0]}. Probabilities of words can only be compared in one "
                "vocabulary: train on their translations instead."
            )
        check_languages(folder, teacher._defaults.languages, languages)
    return teachers


def check_languages(folder: str, own: Languages, wanted: Languages) -> None:
    for mine, theirs in zip(own.named(), wanted.named(), strict=True):
        if mine and theirs and mine != theirs:
            raise ModelError(
                f"{folder} translates {own.source} to {own.target}, but the pairs are {wanted.source} to {wanted.target}."
            )


def learn_from(
    model: TranslationModel, teachers: Sequence[Translator], settings: DistillationSettings
) -> None:
    """From now on the model's loss in training includes its teachers' probabilities."""
    if teachers:
        models = [teacher.model.requires_grad_(False) for teacher in teachers]
        weight, temperature = settings.distillation_weight, settings.distillation_temperature
        model.distillation = Distillation(models, weight, temperature)


def teacher_hashes(settings: DistillationSettings) -> dict[str, str]:
    """A run resumes only with the same teachers."""
    return {
        f"teacher {number}": file_hash(Path(folder) / MODEL_FILE)
        for number, folder in enumerate(settings.teacher_models, start=1)
    }
