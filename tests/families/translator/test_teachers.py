"""A translator trained with teachers has their vocabulary, resumes bit for bit, and refuses teachers that do not fit."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest
from digit_runs import Recorder, digit_corpus, hashes, send, tiny_settings, train

from qkv.errors import QkvError
from qkv.families.translator.defaults import Languages
from qkv.families.translator.product import Translator
from qkv.families.translator.settings import DistillationSettings, TranslatorSettings
from qkv.families.translator.task import translator_task
from qkv.training.trainable import Setup


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("teachers")
    for seed in (1, 2):
        train(folder / str(seed), replace(tiny_settings(), seed=seed))
    return str(folder / "1"), str(folder / "2")


def student(*teachers: str) -> TranslatorSettings:
    settings = tiny_settings()
    model = replace(settings.model, width=12, heads=3, encoder_depth=2, decoder_cell="ssru")
    distillation = DistillationSettings(teacher_models=teachers, distillation_temperature=2.0)
    return replace(settings, vocab_size=500, model=model, distillation=distillation)


def test_a_student_resumes_bit_for_bit_and_shares_its_teachers_vocabulary(
    teachers: tuple[str, str], tmp_path: Path
) -> None:
    _, whole = train(tmp_path / "whole", student(*teachers))
    train(tmp_path / "parts", student(*teachers), recorder=Recorder(at=9, action=send(signal.SIGINT)))
    train(tmp_path / "parts", student(*teachers), resume=True)
    assert hashes(tmp_path / "parts", 20) == hashes(tmp_path / "whole", 20)
    _, alone = train(tmp_path / "alone", student(teachers[0]))
    assert whole.losses != alone.losses
    made, teacher = Translator.load(tmp_path / "whole"), Translator.load(teachers[0])
    assert made.tokenizer.text() == teacher.tokenizer.text()
    assert made.translate("one two") == Translator.load(tmp_path / "whole").translate("one two")


def test_a_run_is_not_resumed_with_other_teachers(teachers: tuple[str, str], tmp_path: Path) -> None:
    train(tmp_path / "out", student(teachers[0]), recorder=Recorder(at=9, action=send(signal.SIGINT)))
    with pytest.raises(QkvError, match="teacher"):
        train(tmp_path / "out", student(teachers[1]), resume=True)


def test_teachers_that_do_not_fit_are_rejected(teachers: tuple[str, str], tmp_path: Path) -> None:
    corpus = digit_corpus()
    train(tmp_path / "other", tiny_settings(), corpus=digit_corpus(seed=5))
    with pytest.raises(QkvError, match="other has another vocabulary than"):
        translator_task(corpus, student(teachers[0], str(tmp_path / "other")))
    french = replace(corpus, languages=Languages(source="en", target="fr"))
    with pytest.raises(QkvError, match="translates en to en, but the pairs are en to fr"):
        translator_task(french, student(teachers[0]))
    with pytest.raises(QkvError, match=r"the teachers' vocabulary has \d+ tokens: leave out `vocab_size`"):
        translator_task(corpus, student(teachers[0]), Setup(given=frozenset({"vocab_size"})))
    with pytest.raises(QkvError, match="no-such-teacher"):
        translator_task(corpus, student(str(tmp_path / "no-such-teacher")))
    weightless = replace(student(teachers[0]), distillation=DistillationSettings(distillation_weight=0.0))
    with pytest.raises(QkvError, match="distillation_weight must be more than 0"):
        translator_task(corpus, weightless)
