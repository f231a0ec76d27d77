"""A language model goes on from the weights it has: with its own tokens and sizes, whoever has made it."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from digit_runs import Recorder, send
from language_models import counting_text, untrained
from published import write_gpt1, write_gpt2

from qkv.data.chorales import Music
from qkv.data.documents import Documents
from qkv.errors import QkvError
from qkv.families.gpt.fine_tuning import fine_tune_task
from qkv.families.gpt.music_data import MusicParts
from qkv.families.gpt.product import GenerationOptions, TokenType
from qkv.families.gpt.recipes import fine_tune_music, fine_tune_text
from qkv.families.gpt.settings import FineTuneMusicSettings, FineTuneTextSettings
from qkv.families.gpt.text_data import TextParts
from qkv.families.loading import load
from qkv.hub.exporting import export_to_transformers
from qkv.hub.importing import import_model
from qkv.training.runs import train
from qkv.training.settings import TrainingSettings
from qkv.training.trainable import Setup

STILL = 1e-30  # so small a rate changes no weight


def training(rate: float) -> TrainingSettings:
    return TrainingSettings(batch_tokens=64, learning_rate=rate, warmup_steps=2, validate_every=7, average=2)


def settings(steps: int | None = 20, rate: float = 1e-2, **others: Any) -> FineTuneTextSettings:
    return FineTuneTextSettings(steps=steps, training=training(rate), **others)


def passages(text: str = counting_text(40), valid: str = counting_text(9)) -> TextParts:
    return TextParts(*(Documents(texts=[each], origin="counting") for each in (text, valid)))


def tuned(
    base: Path, out: Path, given: Any = None, how: Any = None, recorder: Recorder | None = None, **more: Any
) -> Any:
    task = fine_tune_task(given or passages(), base, how or settings(), Setup())
    return train(task, out, watch=lambda _: recorder or Recorder(), **more)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each kind of tokens."""
    folder = tmp_path_factory.mktemp("bases")
    kinds: tuple[TokenType, ...] = ("subwords", "characters", "notes")
    for kind in kinds:
        untrained(kind).save(folder / kind)
    published: dict[str, Callable[[Path], Any]] = {"gpt1": write_gpt1, "gpt2": write_gpt2}
    for name, write in published.items():
        write(folder / f"{name}-published")
        import_model(folder / f"{name}-published", folder / name, origin="here")
    return folder


def test_it_begins_with_the_weights_the_tokens_and_the_sizes_of_the_model(
    bases: Path, tmp_path: Path
) -> None:
    report = tuned(bases / "gpt2", tmp_path / "out", how=settings(1, STILL, dropout=0.25)).report
    before, after = load(bases / "gpt2"), load(tmp_path / "out")
    for name, tensor in before.model.state_dict().items():
        assert torch.allclose(after.model.state_dict()[name], tensor, rtol=0, atol=1e-25), name
    assert after.tokenizer.text() == before.tokenizer.text()
    assert after._defaults == before._defaults
    stack = replace(before.model.config.stack, dropout=0.25)
    assert after.model.config == replace(before.model.config, stack=stack)
    assert report["fine_tuned"] == {"from": "gpt2", "validation_loss_before": report["validation"]["loss"]}
    assert report["data"]["origin"] == "counting, on top of gpt2"


@pytest.mark.parametrize("base", ["subwords", "gpt1", "gpt2"])
def test_it_learns_the_new_text_and_the_report_has_the_loss_before_and_after(
    base: str, bases: Path, tmp_path: Path
) -> None:
    report = tuned(bases / base, tmp_path / "out", how=settings(40, dropout=0.0)).report
    before, after = report["fine_tuned"]["validation_loss_before"], report["validation"]["loss"]
    assert after < before - 1
    for name in ("validation loss", "perplexity", "bits per byte"):
        then, now = (
            float(report["results"][each].split()[0].replace(",", "")) for each in (f"{name} before", name)
        )
        assert now < then


def test_an_imported_and_fine_tuned_model_survives_export_and_import(bases: Path, tmp_path: Path) -> None:
    tuned(bases / "gpt2", tmp_path / "out", how=settings(30))
    export_to_transformers(tmp_path / "out", tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "again", origin="here")
    likeliest = GenerationOptions(max_new_tokens=20, temperature=0)
    said = load(tmp_path / "out").generate("one two", likeliest)
    assert load(tmp_path / "again").generate("one two", likeliest) == said
    assert load(bases / "gpt2").generate("one two", likeliest) != said


def music(frames: int = 40) -> MusicParts:
    piece = [(60 + n % 5, 55, 52, 48 - n % 3) for n in range(frames)]
    how = FineTuneMusicSettings(steps=60, transpose=0, training=training(1e-2))
    return MusicParts(Music(train=[piece] * 3, valid=[piece], test=[piece], origin="scales"), how)


def test_a_model_of_music_learns_other_music(bases: Path, tmp_path: Path) -> None:
    given = music()
    report = tuned(bases / "notes", tmp_path / "out", given, given.settings).report
    assert report["validation"]["loss"] < report["fine_tuned"]["validation_loss_before"] - 1
    frames = {name: value for name, value in report["results"].items() if name.startswith("test")}
    now, then = (float(frames[name].split()[0]) for name in sorted(frames))
    assert now < then - 4
    assert load(tmp_path / "out").compose(options=GenerationOptions(max_new_tokens=16))


@pytest.mark.parametrize(
    ("base", "given", "how", "sentence"),
    [
        ("notes", passages(), settings(), "is a model of music. Fine-tune it on music."),
        ("gpt2", music(), music().settings, "is a model of text. Fine-tune it on text."),
        ("characters", passages("the cæt danced\n" * 20), settings(), "but not 'æ'"),
        (
            "gpt2",
            passages("zero one two"),
            settings(),
            r"the training text is too short: it has \d+ tokens, fewer than the model's context length of 24: give more",
        ),
    ],
)
def test_data_that_do_not_fit_the_model_are_rejected_and_nothing_is_written(
    base: str, given: Any, how: Any, sentence: str, bases: Path, tmp_path: Path
) -> None:
    with pytest.raises(QkvError, match=sentence):
        tuned(bases / base, tmp_path / "out", given, how)
    assert not (tmp_path / "out").exists()


def test_what_is_held_out_may_be_shorter_than_a_context(bases: Path, tmp_path: Path) -> None:
    report = tuned(bases / "gpt2", tmp_path / "out", passages(valid="one two"), settings(2)).report
    assert 0 < report["data"]["validation_tokens"] < 24


def test_a_run_is_resumed_with_the_model_it_began_with_only(bases: Path, tmp_path: Path) -> None:
    tuned(bases / "gpt2", tmp_path / "out", recorder=Recorder(at=5, action=send(signal.SIGINT)))
    tuned(bases / "gpt2", tmp_path / "other", how=settings(1))  # the same settings and tokens, other weights
    with pytest.raises(
        QkvError, match="the data changed since the run was started: the weights to begin with"
    ):
        tuned(tmp_path / "other", tmp_path / "out", resume=True)
    assert tuned(bases / "gpt2", tmp_path / "out", resume=True).report["training"]["steps"] == 20


def test_epochs_set_the_length_of_a_run_without_steps_or_minutes(bases: Path, tmp_path: Path) -> None:
    report = tuned(bases / "gpt2", tmp_path / "out", how=settings(None, epochs=2)).report
    assert report["training"]["epochs"] == pytest.approx(2, abs=0.1)


def test_little_is_seen_more_often_and_a_wide_model_changes_more_slowly() -> None:
    assert [fine_tune_text(size, 128).epochs for size in (1_000, 100_000, 10_000_000)] == [20, 5, 3]
    assert [fine_tune_music(size, 128).epochs for size in (100, 10_000, 1_000_000)] == [20, 5, 3]
    assert (
        fine_tune_text(1_000, 768).training.learning_rate
        < fine_tune_text(1_000, 128).training.learning_rate / 5
    )
