"""Fine-tuning a translator keeps its vocabulary and sizes, and resumes bit for bit, also after an import."""

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from digit_runs import Recorder, digit_corpus, hashes, send, tiny_settings
from digit_runs import train as train_digits
from digits import digit_lines
from published import WORDS, write_marian

from qkv.data.parallel import ParallelText
from qkv.errors import QkvError
from qkv.evaluation.overlap import find_overlap, read_seen
from qkv.families.loading import load
from qkv.families.translator.corpus import Corpus
from qkv.families.translator.defaults import Languages
from qkv.families.translator.fine_tuning import fine_tune_task
from qkv.families.translator.settings import FineTuneTranslatorSettings, ModelSettings
from qkv.hub.exporting import export_to_transformers
from qkv.hub.importing import import_model
from qkv.training.runs import Outcome, train
from qkv.training.settings import TrainingSettings

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")


def settings(steps: int | None = 20, rate: float = 3e-3, **others: Any) -> FineTuneTranslatorSettings:
    training = TrainingSettings(
        batch_tokens=64, learning_rate=rate, warmup_steps=2, validate_every=7, average=2, log_every=1
    )
    return FineTuneTranslatorSettings(steps=steps, training=training, **others)


def tuned(
    base: Path,
    out: Path,
    corpus: Corpus | None = None,
    how: FineTuneTranslatorSettings | None = None,
    **options: Any,
) -> tuple[Outcome[Any], Recorder]:
    recorder = options.pop("recorder", None) or Recorder()
    corpus = corpus or digit_corpus(60, seed=5)
    task = fine_tune_task(corpus, base, how or settings())
    return train(task, out, watch=lambda _: recorder, **options), recorder


def reversed_words(
    mark: Callable[[int], str] = lambda number: "", languages: Languages | None = None
) -> Corpus:
    """Sentences that a Marian model of the tests has pieces for, and their words the other way round."""
    lines = [
        " ".join(WORDS[(number * step + shift) % 21] for step in (1, 3, 4))
        for number in range(14)
        for shift in (0, 5)
    ]
    sources = [mark(number) + line for number, line in enumerate(lines)]
    targets = [" ".join(reversed(line.split())) for line in lines]
    return Corpus(
        train=ParallelText(source=sources[4:], target=targets[4:]),
        valid=ParallelText(source=sources[:4], target=targets[:4]),
        dropped={},
        languages=languages or Languages.of(None, None),
        origin="words",
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "model"
    train_digits(out)
    return out


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For one target language."""
    folder = tmp_path_factory.mktemp("marian")
    write_marian(folder / "published")
    import_model(folder / "published", folder / "bundle", origin="here")
    return folder / "bundle"


@pytest.fixture(scope="module")
def romance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For two target languages."""
    folder = tmp_path_factory.mktemp("romance")
    write_marian(folder / "published", ("fra", "ita"))
    import_model(folder / "published", folder / "bundle", origin="here")
    return folder / "bundle"


def test_it_begins_with_the_weights_the_vocabulary_and_the_sizes_of_the_model(
    trained: Path, tmp_path: Path
) -> None:
    still = settings(
        steps=1, rate=1e-30, dropout=0.0, label_smoothing=0.0
    )  # so small a step changes no weight
    outcome, _ = tuned(trained, tmp_path / "out", how=still)
    before, after = load(trained), load(tmp_path / "out")
    for name, tensor in before.model.state_dict().items():
        assert torch.equal(after.model.state_dict()[name], tensor), name
    assert after.tokenizer.text() == before.tokenizer.text()
    assert after.model.config.decoder == replace(before.model.config.decoder, dropout=0.0)
    assert after.model.config.label_smoothing == 0.0
    assert outcome.report is not None
    told = outcome.report["fine_tuned"]
    assert told == {"from": "model", "validation_loss_before": outcome.report["validation"]["loss"]}
    assert outcome.report["data"]["origin"] == "digits, on top of model"


def test_it_learns_and_what_both_trainings_have_shown_counts_as_seen(trained: Path, tmp_path: Path) -> None:
    outcome, _ = tuned(trained, tmp_path / "out", how=settings(rate=1e-2, dropout=0.0))
    assert outcome.report is not None
    assert (
        outcome.report["validation"]["loss"] < outcome.report["fine_tuned"]["validation_loss_before"] - 0.05
    )
    seen = read_seen(tmp_path / "out")
    assert seen is not None
    shown = [digit_corpus().train.source[0], digit_corpus(60, seed=5).train.source[0]]
    unseen = next(
        line
        for line in digit_lines(50, seed=99, longest=9)
        if line not in digit_corpus().train.source + digit_corpus(60, seed=5).train.source
    )
    assert find_overlap(seen, [*shown, unseen], [[*shown, unseen]]).same_translation == [1, 2]


@pytest.mark.parametrize("base", ["trained", "marian"])
def test_an_interrupted_run_ends_as_one_that_was_not_bit_for_bit(
    base: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(base)
    corpus = reversed_words() if base == "marian" else None
    _, whole = tuned(model, tmp_path / "whole", corpus)
    recorder = Recorder(at=9, action=send(signal.SIGINT))
    outcome, _ = tuned(model, tmp_path / "parts", corpus, recorder=recorder)
    assert outcome.report is None
    _, last = tuned(model, tmp_path / "parts", corpus, resume=True)
    assert recorder.losses + last.losses == whole.losses
    assert hashes(tmp_path / "parts", 20) == hashes(tmp_path / "whole", 20)


def test_a_run_is_resumed_with_the_model_it_began_with_only(
    trained: Path, marian: Path, tmp_path: Path
) -> None:
    tuned(trained, tmp_path / "out", recorder=Recorder(at=5, action=send(signal.SIGINT)))
    train_digits(tmp_path / "other", replace(tiny_settings(), seed=7))
    changed = "the weights to begin with and the settings of the model to begin with"
    with pytest.raises(QkvError, match=f"the data changed since the run was started: .*{changed}"):
        tuned(tmp_path / "other", tmp_path / "out", resume=True)


def test_an_imported_translator_learns_and_goes_out_and_in_again(marian: Path, tmp_path: Path) -> None:
    named = reversed_words(languages=Languages.of("en", None))
    how = settings(steps=30, rate=2e-2, dropout=0.0)
    outcome, _ = tuned(marian, tmp_path / "out", named, how)
    assert outcome.report is not None
    assert outcome.report["validation"]["loss"] < outcome.report["fine_tuned"]["validation_loss_before"] - 1
    export_to_transformers(tmp_path / "out", tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "again", origin="here")
    first, again = load(tmp_path / "out"), load(tmp_path / "again")
    assert first._defaults.languages == Languages(source="en", target="de")  # one named now, one before
    assert again._defaults == first._defaults
    lines = named.valid.source
    assert again.translate(lines) == first.translate(lines)
    assert first.translate(lines) != load(marian).translate(lines)
    assert first._defaults.beam_size == load(marian)._defaults.beam_size


def test_the_target_language_comes_from_an_option_from_each_line_or_from_the_pairs(
    romance: Path, tmp_path: Path
) -> None:
    quick = settings(steps=2)
    tuned(romance, tmp_path / "option", reversed_words(), replace(quick, language_token="fra"))
    tuned(romance, tmp_path / "lines", reversed_words(lambda number: ">>fra<<"), quick)
    tuned(romance, tmp_path / "target", reversed_words(languages=Languages.of("eng", "fra")), quick)
    first, second, third = (load(tmp_path / name) for name in ("option", "lines", "target"))
    for name, each in first.model.state_dict().items():
        assert torch.equal(second.model.state_dict()[name], each)
        assert torch.equal(third.model.state_dict()[name], each)
    assert first.tokenizer.language == "fra"  # wanted from now on where nobody says
    assert first.translate("the dog") == second.translate(">>fra<< the dog")


@pytest.mark.parametrize(
    ("model", "changes", "match"),
    [
        (
            "romance",
            {},
            "translates into fra, ita, but the source '.*' selects none of these",
        ),
        ("romance", {"language_token": "spa"}, "this model has no target language 'spa'"),
        ("marian", {"language_token": "fra"}, "translates into one language"),
        ("trained", {"language_token": "fra"}, "translates into one language"),
        (
            "marian",
            {"data.bpe_dropout": 0.1},
            "BPE dropout needs a vocabulary that qkv has learned",
        ),
        (
            "marian",
            {"dropout": 1.0, "epochs": 0.0},
            "epochs must be more than 0, and finite; dropout must be at least 0",
        ),
    ],
)
def test_data_that_do_not_fit_the_model_are_rejected_and_nothing_is_written(
    model: str, changes: dict[str, Any], match: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    how = settings()
    share = changes.pop("data.bpe_dropout", 0.0)
    how = replace(how, data=replace(how.data, bpe_dropout=share), **changes)
    with pytest.raises(QkvError, match=match):
        tuned(request.getfixturevalue(model), tmp_path / "out", reversed_words(), how)
    assert not (tmp_path / "out").exists()


def test_a_model_of_lstms_and_one_without_an_encoder_are_tuned_as_well(tmp_path: Path) -> None:
    usual = tiny_settings()
    models: dict[str, ModelSettings] = {
        "lstm": replace(usual.model, architecture="recurrent"),
        "stream": replace(usual.model, encoder_depth=0),
    }
    for name, model in models.items():
        train_digits(tmp_path / name, replace(usual, steps=3, model=model))
        tuned(tmp_path / name, tmp_path / f"{name}-tuned", how=settings(steps=3, dropout=0.3))
        report = json.loads((tmp_path / f"{name}-tuned" / "report.json").read_text())
        assert report["training"]["steps"] == 3
        config = load(tmp_path / f"{name}-tuned").model.config
        assert (config.dropout if name == "lstm" else config.decoder.dropout) == 0.3


def test_epochs_set_the_length_of_a_run_without_steps_or_minutes(trained: Path, tmp_path: Path) -> None:
    outcome, _ = tuned(trained, tmp_path / "out", how=settings(steps=None, epochs=0.5))
    assert outcome.report is not None
    assert outcome.report["training"]["epochs"] == pytest.approx(0.5, abs=0.1)
