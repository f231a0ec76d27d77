"""A translator's training is a function of its seed, survives interruption bit for bit, and refuses what cannot work."""

import json
import math
import signal
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from digit_runs import Recorder, digit_corpus, hashes, logged, send, tiny_settings, train

from qkv.checkpoint.files import file_hash, read_sealed, seal, write_json
from qkv.checkpoint.tensors import read_tensors
from qkv.core.pairs import TranslationModel
from qkv.engine.library import NoEngineError, library
from qkv.engine.training import CompiledKernels
from qkv.errors import ProcessEndedError, QkvError
from qkv.families.loading import load
from qkv.families.translator.corpus import PairData
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.product import Translator
from qkv.families.translator.task import TranslatorTask
from qkv.training.card import cell
from qkv.training.validation import loss_on


@pytest.mark.parametrize(("stopped_after", "log_every"), [([10], 1), ([2], 6), ([14], 1), ([4, 8, 20], 3)])
def test_twenty_steps_equal_ten_and_ten_more_after_a_stop_bit_for_bit(
    tmp_path: Path, stopped_after: list[int], log_every: int
) -> None:
    settings = tiny_settings(log_every=log_every)
    _, whole = train(tmp_path / "whole", settings)
    losses: list[float] = []
    for number, step in enumerate(stopped_after):
        recorder = Recorder(at=step - 1, action=send(signal.SIGINT))
        outcome, _ = train(tmp_path / "parts", settings, recorder=recorder, resume=number > 0)
        assert outcome.report is None
        assert (tmp_path / "parts" / "training" / f"step-{step}").is_dir()
        losses += recorder.losses
    outcome, last = train(tmp_path / "parts", settings, resume=True)
    assert outcome.report is not None
    assert hashes(tmp_path / "parts", 20) == hashes(tmp_path / "whole", 20)
    assert losses + last.losses == whole.losses


@pytest.mark.parametrize("change", ["muon", "subword dropout", "both"])
def test_muon_and_bpe_dropout_are_resumed_bit_for_bit(tmp_path: Path, change: str) -> None:
    settings = tiny_settings(optimizer="adamw" if change == "subword dropout" else "muon")
    if change != "muon":
        settings = replace(settings, data=replace(settings.data, bpe_dropout=0.2))
    _, whole = train(tmp_path / "whole", settings)
    recorder = Recorder(at=11, action=send(signal.SIGINT))
    outcome, _ = train(tmp_path / "parts", settings, recorder=recorder)
    assert outcome.report is None
    _, last = train(tmp_path / "parts", settings, resume=True)
    assert hashes(tmp_path / "parts", 20) == hashes(tmp_path / "whole", 20)
    assert recorder.losses + last.losses == whole.losses
    assert whole.losses != train(tmp_path / "plain")[1].losses


def test_a_snapshot_that_a_kill_left_behind_is_removed_after_all(tmp_path: Path) -> None:
    """Between a checkpoint that no longer needs it and its removal."""
    train(tmp_path / "whole")
    train(tmp_path / "parts", recorder=Recorder(at=14, action=send(signal.SIGINT)))
    snapshots = tmp_path / "parts" / "training" / "snapshots"
    oldest = min(snapshots.iterdir(), key=lambda path: int(path.stem.removeprefix("step-")))
    (snapshots / "step-1.safetensors").write_bytes(oldest.read_bytes())
    train(tmp_path / "parts", resume=True)
    assert hashes(tmp_path / "parts", 20) == hashes(tmp_path / "whole", 20)


def test_a_run_killed_between_two_saves_resumes_from_the_last_one_with_the_same_result(
    tmp_path: Path,
) -> None:
    train(tmp_path / "whole")

    def die() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        train(tmp_path / "killed", recorder=Recorder(at=11, action=die))
    _, rest = train(tmp_path / "killed", resume=True)
    assert rest.steps[0] == 8, "step 7 was validated and saved"
    assert hashes(tmp_path / "killed", 20) == hashes(tmp_path / "whole", 20)


def test_a_run_killed_before_its_first_save_starts_anew(tmp_path: Path) -> None:
    def die() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        train(tmp_path / "killed", recorder=Recorder(at=3, action=die))
    _, rest = train(tmp_path / "killed", resume=True)
    assert rest.steps == list(range(1, 21))
    assert [facts["step"] for facts in logged(tmp_path / "killed") if "loss" in facts] == list(range(1, 21))


def test_a_damaged_newest_state_costs_some_steps_and_nothing_else(tmp_path: Path) -> None:
    train(tmp_path / "whole")
    train(tmp_path / "hurt", recorder=Recorder(at=16, action=send(signal.SIGINT)))
    victim = tmp_path / "hurt" / "training" / "step-17" / "optimiser.safetensors"
    victim.write_bytes(victim.read_bytes()[:-1])
    _, rest = train(tmp_path / "hurt", resume=True)
    assert rest.steps[0] == 15
    assert len(rest.warnings) == 1
    assert "step-17" in rest.warnings[0]
    assert hashes(tmp_path / "hurt", 20) == hashes(tmp_path / "whole", 20)


def test_resuming_a_finished_run_changes_no_weight(tmp_path: Path) -> None:
    first, _ = train(tmp_path / "out")
    before = hashes(tmp_path / "out", 20)
    second, recorder = train(tmp_path / "out", resume=True)
    assert recorder.steps == []
    assert hashes(tmp_path / "out", 20) == before
    assert first.report is not None
    assert second.report is not None
    assert first.report["validation"] == second.report["validation"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_last_step_skips_the_scoring(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    train(tmp_path / "whole")
    outcome, _ = train(tmp_path / "out", recorder=Recorder(at=20, action=send(number)))
    assert (outcome.exit_code, outcome.report, outcome.saved) == (code, None, True)
    assert not (tmp_path / "out" / "report.json").exists()
    outcome, rest = train(tmp_path / "out", resume=True)
    assert outcome.report is not None
    assert rest.steps == []
    assert hashes(tmp_path / "out", 20) == hashes(tmp_path / "whole", 20)


def test_a_persons_own_copy_of_a_snapshot_hinders_nothing_and_stays(tmp_path: Path) -> None:
    train(tmp_path / "out", recorder=Recorder(at=14, action=send(signal.SIGINT)))
    snapshots = tmp_path / "out" / "training" / "snapshots"
    mine = snapshots / "step-7-mine.safetensors"
    mine.write_bytes((snapshots / "step-7.safetensors").read_bytes())
    outcome, _ = train(tmp_path / "out", resume=True)
    assert outcome.report is not None
    assert mine.exists()


def test_a_later_version_with_a_new_setting_resumes_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(settings: Any) -> dict[str, Any]:
        facts = asdict(settings)
        del facts["training"]["milestones"]
        return facts

    with monkeypatch.context() as patch:
        patch.setattr("qkv.training.run_file.asdict", older)
        train(tmp_path / "out", recorder=Recorder(at=9, action=send(signal.SIGINT)))
    _, rest = train(tmp_path / "out", resume=True)
    assert (rest.steps[0], rest.warnings) == (11, [])


def test_a_run_that_was_killed_while_it_was_scored_knows_the_average_that_it_has_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.training.selection.loss_on", lambda *_: 0.0)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TranslatorTask, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "out")
    kept = file_hash(tmp_path / "out" / "model.safetensors")
    outcome, recorder = train(tmp_path / "out", resume=True)
    assert outcome.report is not None
    assert outcome.report["training"]["weights"] == "average of the snapshots at steps 14, 20"
    assert file_hash(tmp_path / "out" / "model.safetensors") == kept
    assert recorder.warnings == ["this run is already complete."]


def test_a_change_in_the_arithmetic_is_named_on_resume(tmp_path: Path) -> None:
    train(tmp_path / "out", recorder=Recorder(at=9, action=send(signal.SIGINT)))
    path = tmp_path / "out" / "training" / "run.json"
    facts = read_sealed(path)
    assert set(facts["arithmetic"]) == {
        "torch",
        "products",
        "attention",
        "device",
        "vector instructions",
        "threads",
    }
    facts["arithmetic"] |= {"torch": "1.0", "attention": "by hand"}
    write_json(path, seal(facts))
    _, rest = train(tmp_path / "out", resume=True)
    assert len(rest.warnings) == 1
    assert f"started with torch 1.0, now {torch.__version__} and attention by hand, now" in rest.warnings[0]


def test_a_run_with_compiled_kernels_is_resumed_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every run on one thread is."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    used = 0
    attend = CompiledKernels.attend

    def counted(*given: Any) -> Any:
        nonlocal used
        used += 1
        return attend(*given)

    monkeypatch.setattr(CompiledKernels, "attend", counted)
    train(tmp_path / "whole")
    assert used > 0
    train(tmp_path / "parts", recorder=Recorder(at=9, action=send(signal.SIGINT)))
    _, rest = train(tmp_path / "parts", resume=True)
    assert rest.warnings == []
    assert hashes(tmp_path / "parts", 20) == hashes(tmp_path / "whole", 20)


def test_changed_data_are_rejected_on_resume(tmp_path: Path) -> None:
    train(tmp_path / "out", recorder=Recorder(at=5, action=send(signal.SIGINT)))
    before = file_hash(tmp_path / "out" / "training" / "step-6" / "model.safetensors")
    with pytest.raises(
        QkvError,
        match=r"the data changed since the run was started: the training data and the validation data\.",
    ):
        train(tmp_path / "out", resume=True, corpus=digit_corpus(seed=2))
    assert file_hash(tmp_path / "out" / "training" / "step-6" / "model.safetensors") == before


@pytest.mark.parametrize(
    ("error", "kept"),
    [(QkvError("these data cannot be had."), False), (ProcessEndedError("a process is gone."), True)],
)
def test_data_that_are_refused_leave_no_run_and_a_process_that_is_gone_leaves_it(
    error: QkvError, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(TranslatorTask, "assemble", broken)
        with pytest.raises(type(error)):
            train(tmp_path / "out")
    assert (tmp_path / "out" / "training" / "run.json").exists() is kept
    outcome, _ = train(tmp_path / "out", resume=kept)
    assert outcome.exit_code == 0


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    settings = tiny_settings()
    _, first = train(tmp_path / "first", settings)
    torch.rand(7)  # what others draw in between is of no account
    _, second = train(tmp_path / "second", settings)
    _, other = train(tmp_path / "other", replace(settings, seed=2))
    assert first.losses == second.losses
    assert hashes(tmp_path / "first", 20) == hashes(tmp_path / "second", 20)
    assert first.losses != other.losses


def test_every_step_has_some_rate_and_the_last_the_smallest(tmp_path: Path) -> None:
    train(tmp_path / "out")
    rates = [facts["learning_rate"] for facts in logged(tmp_path / "out") if "learning_rate" in facts]
    assert len(rates) == 20
    assert max(rates) in rates[:5]
    assert 0 < rates[-1] == min(rates[4:])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_at_the_end_of_its_step_with_the_shells_code(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    outcome, recorder = train(tmp_path / "out", recorder=Recorder(at=6, action=send(number)))
    assert (outcome.exit_code, outcome.report, recorder.steps[-1]) == (code, None, 7)
    assert (tmp_path / "out" / "training" / "step-7").is_dir()
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_nan_in_real_training_leaves_real_weights_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = TranslatorModel.loss
    calls = iter(range(10**6))
    monkeypatch.setattr(
        TranslatorModel,
        "loss",
        lambda self, batch: loss(self, batch) * (math.nan if self.training and next(calls) == 4 else 1.0),
    )
    _, recorder = train(tmp_path / "out")
    assert len(recorder.warnings) == 1
    weights = read_tensors(tmp_path / "out" / "training" / "step-20" / "model.safetensors")
    assert all(tensor.isfinite().all() for tensor in weights.values())


@pytest.mark.parametrize("average_is_better", [True, False])
def test_the_better_of_the_best_snapshot_and_the_average_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, average_is_better: bool
) -> None:
    monkeypatch.setattr("qkv.training.selection.loss_on", lambda *_: 0.0 if average_is_better else 1e9)
    outcome, recorder = train(tmp_path / "out")
    assert outcome.report is not None
    kept = read_tensors(tmp_path / "out" / "model.safetensors")
    folder = tmp_path / "out" / "training" / "snapshots"
    if average_is_better:
        assert outcome.report["training"]["weights"] == "average of the snapshots at steps 14, 20"
        parts = [read_tensors(folder / f"step-{step}.safetensors") for step in (14, 20)]
        expected = {name: (parts[0][name] + parts[1][name]) / 2 for name in kept}
    else:
        best = min(recorder.validations, key=lambda each: each[1])[0]
        assert outcome.report["training"]["weights"] == f"snapshot at step {best}"
        expected = read_tensors(folder / f"step-{best}.safetensors")
    for name, tensor in kept.items():
        assert torch.allclose(tensor, expected[name]), name
        assert torch.equal(tensor, outcome.product.model.state_dict()[name]), name


def test_the_last_weights_are_kept_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qkv.training.selection.loss_on", lambda *_: 0.0)  # the average would be the better
    outcome, _ = train(tmp_path / "out", tiny_settings(keep="last", learning_rate=0.3))
    assert outcome.report is not None
    assert outcome.report["training"]["weights"] == "last weights, of step 20"
    last = read_tensors(tmp_path / "out" / "training" / "snapshots" / "step-20.safetensors")
    for name, tensor in read_tensors(tmp_path / "out" / "model.safetensors").items():
        assert torch.equal(tensor, last[name]), name


def test_validation_loss_is_per_token_and_without_dropout_or_smoothing(tmp_path: Path) -> None:
    outcome, _ = train(tmp_path / "out")
    model, corpus = outcome.product.model, digit_corpus()
    losses = [
        loss_on(model, PairData(corpus.valid, outcome.product.tokenizer, budget, 64, shuffled=False))
        for budget in (1, 64, 10_000)
    ]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def test_the_bundle_is_usable_while_training_goes_on(tmp_path: Path) -> None:
    train(tmp_path / "out", recorder=Recorder(at=8, action=send(signal.SIGINT)))
    translator = load(tmp_path / "out")
    assert isinstance(translator, Translator)
    assert not (tmp_path / "out" / "report.json").exists()
    weights = read_tensors(tmp_path / "out" / "training" / "snapshots" / "step-7.safetensors")
    assert torch.equal(translator.model.state_dict()["tokens.weight"], weights["tokens.weight"])


def test_the_report_and_the_model_card_describe_the_run(tmp_path: Path) -> None:
    outcome, _ = train(tmp_path / "out")
    assert outcome.report is not None
    stored = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(outcome.report))
    assert stored["training"]["steps"] == 20
    assert stored["data"]["pairs"] == 70
    assert stored["validation"]["sentences"] == 10
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    for fact in ("en → en", "digits: 70 sentence pairs", cell(stored["validation"]["bleu"]["signature"])):
        assert fact in card


def test_a_folder_with_a_run_or_a_model_is_not_overwritten(tmp_path: Path) -> None:
    train(tmp_path / "out", recorder=Recorder(at=8, action=send(signal.SIGINT)))
    before = hashes(tmp_path / "out", 9)
    with pytest.raises(QkvError, match="already holds a training run"):
        train(tmp_path / "out")
    assert hashes(tmp_path / "out", 9) == before
    (tmp_path / "out" / "training").rename(tmp_path / "elsewhere")
    with pytest.raises(QkvError, match="is not empty: give another `output`"):
        train(tmp_path / "out")


def test_data_that_cannot_fill_an_exact_vocabulary_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    settings = replace(tiny_settings(), vocab_size=5_000)
    with pytest.raises(QkvError, match=r"yield a vocabulary of at most \d+ tokens, not 5,000"):
        train(tmp_path / "out", settings, given=["vocab_size"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("where", "name", "value", "sentence"),
    [
        (None, "steps", 0, "steps must be at least 1"),
        (None, "minutes", -1.0, "minutes must be more than 0"),
        (None, "vocab_size", 100, "a vocabulary of 100 is too small"),
        ("model", "max_length", 2, "max_length must be at least 8"),
        ("model", "heads", 3, "width must be a multiple of heads"),
        ("model", "dropout", 1.5, "dropout must be at least 0 and below 1"),
        ("model", "heads", 0, "heads, ffn_width must be at least 1"),
        ("model", "label_smoothing", 1.0, "label_smoothing must be at least 0 and below 1"),
        ("training", "validate_every", 0, "validate_every must be at least 1"),
        ("training", "batch_tokens", 0, "batch_tokens must be at least 1"),
        ("training", "adam_betas", (2.0, 0.9), "adam_betas must be"),
        ("training", "learning_rate", math.nan, "learning_rate must be more than 0"),
        ("decoding", "beam_size", 0, "beam_size must be from 1 to 1,000"),
        ("data", "bpe_dropout", 1.0, "bpe_dropout must be at least 0 and below 1"),
        ("scoring", "tokenize", "14a", "sacrebleu has no tokenizer '14a'"),
    ],
)
def test_invalid_settings_are_rejected_before_anything_is_written(
    tmp_path: Path, where: str | None, name: str, value: Any, sentence: str
) -> None:
    settings = tiny_settings()
    if where is None:
        settings = replace(settings, **{name: value})
    else:
        settings = replace(settings, **{where: replace(getattr(settings, where), **{name: value})})
    with pytest.raises(QkvError) as caught:
        train(tmp_path / "out", settings)
    assert sentence in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_rotary_positions_with_odd_head_width_are_rejected_before_anything_is_written(
    tmp_path: Path,
) -> None:
    settings = tiny_settings()
    settings = replace(settings, model=replace(settings.model, positions="rotary", width=6, heads=2))
    with pytest.raises(QkvError, match="must be even with rotary positions"):
        train(tmp_path / "out", settings)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_of_the_users_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "README.md").write_text("mine")
    with pytest.raises(QkvError, match="is not empty: give another `output`"):
        train(tmp_path / "out")
    assert (tmp_path / "out" / "README.md").read_text() == "mine"


def test_the_final_scoring_uses_the_engine_and_reports_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        library()
    except NoEngineError as reason:
        pytest.skip(f"no engine here: {reason}")

    def refuse(*_: object) -> None:
        raise AssertionError("torch decodes")

    monkeypatch.setattr(TranslationModel, "begin", refuse)
    corpus = digit_corpus()
    outcome, recorder = train(tmp_path / "out", corpus=replace(corpus, tests={"news": corpus.valid}))
    assert outcome.report is not None
    count = len(corpus.valid)
    assert ("translating the validation set", count, count) in recorder.work
    assert ("translating news", count, count) in recorder.work
    assert list(dict.fromkeys(what for what, _, _ in recorder.work)) == [
        "choosing weights and scoring",
        "translating the validation set",
        "calibrating the confidence",
        "choosing attention heads for alignment",
        "scoring",
        "translating news",
    ]


def test_a_trained_translator_never_claims_more_than_its_validation_set_supports(tmp_path: Path) -> None:
    corpus = digit_corpus()
    outcome, _ = train(tmp_path / "out", corpus=replace(corpus, valid=corpus.train))
    assert outcome.report is not None
    told = outcome.report["calibration"]["confidence"]
    assert told["hypotheses"] > told["sentences"]
    assert {"brier_score", "brier_score_baseline", "calibration_error"} <= told.keys()
    confidence = load(tmp_path / "out")._defaults.confidence  # type: ignore[union-attr]
    least, most = 1 / (told["sentences"] + 2), (told["sentences"] + 1) / (told["sentences"] + 2)
    assert confidence.of((-1e9, -1e9, 0.0)) >= least
    assert confidence.of((0.0, 0.0, 1e9)) <= most
