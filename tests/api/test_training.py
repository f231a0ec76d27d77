"""Training from Python does what the command does, and reports to callbacks."""

import inspect
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from commands import code_of, save_untrained
from digits import digit_lines
from drawings import untrained_codes
from language_models import untrained
from training_commands import number_pairs

import qkv
from qkv.api.starting import warn_of_unlikely_labels
from qkv.checkpoint.tensors import read_tensors
from qkv.cli.training_options import fields_of
from qkv.errors import DataError, InputError, InputTypeError, ModelError, OptionError
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.training.command import nominal_command
from qkv.training.trainable import Trainable

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]
PAIRS = [(f"{a} {b}", f"{b} {a}") for a in WORDS for b in WORDS]
SMALL: dict[str, Any] = {
    "vocab_size": 270, "width": 16, "heads": 2, "ffn_width": 16, "encoder_depth": 1, "decoder_depth": 1, "batch_tokens": 128,
    "beam_size": 1, "validate_every": 2, "processes": 1,
}  # fmt: skip
QUIET: dict[str, Any] = {**SMALL, "progress": False}
BERT: dict[str, Any] = {
    "steps": 1, "width": 8, "heads": 2, "ffn_width": 8, "depth": 1, "processes": 1, "vocab_size": 120
}  # fmt: skip


class Recorder(qkv.Callback):
    """Notes the events, and may act on some."""

    def __init__(self, **actions: Callable[[Any], None]):
        self.events: list[tuple[str, Any]] = []
        self.actions = actions

    def note(self, name: str, event: Any) -> None:
        self.events.append((name, event))
        if name in self.actions:
            self.actions[name](event)

    def on_start(self, event: Any) -> None:
        self.note("start", event)

    def on_step(self, event: Any) -> None:
        self.note("step", event)

    def on_validation(self, event: Any) -> None:
        self.note("validation", event)

    def on_save(self, event: Any) -> None:
        self.note("save", event)

    def on_end(self, event: Any) -> None:
        self.note("end", event)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_tensors(folder / "model.safetensors")


def equal(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, Recorder]:
    """A run of six steps, its model and its events."""
    out, recorder = tmp_path_factory.mktemp("api") / "run", Recorder()
    model = qkv.train_translator(iter(PAIRS), output=out, steps=6, callbacks=[recorder], **QUIET)
    return model, out, recorder


def test_a_second_thread_cannot_train_into_the_folder_of_a_running_one(tmp_path: Path) -> None:
    errors: list[Exception] = []

    def train_again(_: Any) -> None:
        def try_it() -> None:
            for start in (
                qkv.train_translator,
                lambda *_, **__: qkv.resume(tmp_path / "run", progress=False),
            ):
                try:
                    start(PAIRS, output=tmp_path / "run", steps=2, **QUIET)
                except Exception as error:
                    errors.append(error)

        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()

    qkv.train_translator(
        PAIRS, output=tmp_path / "run", steps=2, callbacks=[Recorder(start=train_again)], **QUIET
    )
    assert [type(each) for each in errors] == [DataError] * 2
    assert all("another run uses" in str(each) for each in errors)


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        ([Recorder], "callbacks[0] is the class Recorder; give an instance, such as Recorder()."),
        (
            [Recorder(), print],
            "callbacks[1] is builtin_function_or_method; expected an instance of qkv.Callback.",
        ),
        (print, "callbacks is builtin_function_or_method; expected a list of instances of qkv.Callback."),
    ],
)
def test_a_callback_that_is_none_is_named(callbacks: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        qkv.train_translator(PAIRS, output=tmp_path / "run", steps=2, callbacks=callbacks, **QUIET)
    assert not (tmp_path / "run").exists()


# Keywords ------------------------------------------------------------------------------------------------

PRESENTATION = ("json",)  # of the command line alone
TRAINABLES = [each for training in trainings().values() for each in resolve(training.trainables)]


@pytest.mark.parametrize("trainable", TRAINABLES, ids=lambda each: " ".join([each.name, *sorted(each.needs)]))
def test_every_option_of_a_training_command_is_a_keyword_with_the_same_default(trainable: Trainable) -> None:
    tunes = "fine_tune" in trainable.needs
    function = qkv.fine_tune if tunes else getattr(qkv, f"train_{trainable.name}")
    parameters = inspect.signature(function).parameters
    default = nominal_command(trainable, None)
    first = next(
        each for each in TRAINABLES if each.name == trainable.name and ("fine_tune" in each.needs) == tunes
    )
    for field in fields_of(trainable, default):
        name = field.name.replace("-", "_")
        if name in ("fine_tune", *PRESENTATION):  # `fine_tune` is the first argument
            continue
        parameter = parameters["data" if tunes and name == trainable.inputs.MAIN != "labels" else name]
        if tunes or trainable is not first:  # one function for several kinds of data: the recipe decides
            continue
        wanted = inspect.Parameter.empty if field.default is MISSING else field.default
        is_data = name in (trainable.inputs.MAIN, "captions", "codebook")
        assert parameter.default == (None if is_data else wanted), name
        assert is_data or field.doc in inspect.getdoc(function).replace("\n", " "), name  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "train_translator() needs output, the folder for the model."),
        ({"output": "x", "widht": 8}, "train_translator() has no option 'widht'. Did you mean 'width'?"),
        ({"out": "x", "output": "y"}, "train_translator() got out and output, which are the same option."),
    ],
)
def test_a_wrong_keyword_is_a_type_error(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        qkv.train_translator(PAIRS, **keywords)
    assert str(caught.value) == message


def test_a_wrong_value_names_the_keyword_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="width must be a multiple of heads"):
        qkv.train_translator(PAIRS, out=tmp_path / "run", **{**QUIET, "width": 17})
    with pytest.raises(
        OptionError, match=r"give the training data: `source` and `target`, or `pairs`, or `data`."
    ):
        qkv.train_translator(out=tmp_path / "run", **QUIET)
    assert not (tmp_path / "run").exists()


# Data ----------------------------------------------------------------------------------------------------


def test_python_data_and_files_give_equal_weights(
    trained: tuple[Any, Path, Recorder], tmp_path: Path
) -> None:
    _, out, _ = trained
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    assert (
        code_of("train", "translator", "--pairs", file, "-o", tmp_path / "command", "--steps", "6", *options)
        == 0
    )
    assert equal(out, tmp_path / "command")
    qkv.train_translator(str(file), output=tmp_path / "function", steps=6, **QUIET)
    assert equal(out, tmp_path / "function")
    assert qkv.info(out)["trained on"].startswith("Python data, ")
    assert qkv.info(tmp_path / "function")["trained on"].startswith("pairs.tsv, ")


def test_a_generator_that_fails_raises_its_own_error_and_frees_the_folder(tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[str, str]]:
        yield from PAIRS
        raise ZeroDivisionError("at the end")

    with pytest.raises(ZeroDivisionError, match="at the end"):
        qkv.train_translator(failing(), output=tmp_path / "run", steps=2, **QUIET)
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match=r"^valid\[0\] has 1 item; expected a source and a target."):
        qkv.train_translator(PAIRS, valid=[("a",)], output=tmp_path / "run", steps=2, **QUIET)
    assert not (tmp_path / "run").exists()


def test_languages_come_from_the_columns_of_both_parts(tmp_path: Path) -> None:
    rows = [{"en": source, "de": target} for source, target in PAIRS]
    turned = {"de": [target for _, target in PAIRS[:9]], "en": [source for source, _ in PAIRS[:9]]}
    model = qkv.train_translator(
        rows, valid=turned, source_language="en", output=tmp_path / "run", steps=1, **QUIET
    )
    assert model.report["languages"] == {"source": "en", "target": "de"}
    valid = (tmp_path / "run" / "training" / "python-data" / "valid_pairs.jsonl").read_text().splitlines()
    assert valid[1] == '{"source": "one two", "target": "two one"}'


def test_fine_tuning_reads_columns_in_the_direction_of_the_model(tmp_path: Path) -> None:
    base = tmp_path / "base"
    save_untrained(base, [source for source, _ in PAIRS], beam=1, length_penalty=0.0)
    turned = {"xx": [target for _, target in PAIRS], "english": [source for source, _ in PAIRS]}
    qkv.fine_tune(base, turned, output=tmp_path / "run", steps=1, processes=1, progress=False)
    pairs = (tmp_path / "run" / "training" / "python-data" / "pairs.jsonl").read_text().splitlines()
    assert pairs[1] == '{"source": "one two", "target": "two one"}'


def test_a_list_of_sentences_trains_a_bert_without_next_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = [f"The cat saw {a} {b}." for a in WORDS for b in WORDS]
    model = qkv.train_bert(sentences, output=tmp_path / "run", **BERT)
    assert model.config.next_sentence is False
    assert "training without next-sentence prediction" in capsys.readouterr().err
    assert qkv.resume(tmp_path / "run", steps=2, progress=False).config.next_sentence is False
    with pytest.raises(OptionError, match="or turn `next_sentence` off"):
        qkv.train_bert(sentences, output=tmp_path / "other", next_sentence=True, progress=False, **BERT)


def test_advice_is_shown_at_the_end_of_a_run_and_part_of_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = qkv.train_translator(PAIRS, output=tmp_path / "run", minutes=1e-7, **SMALL)
    short, low = model.report.advice
    assert short.startswith("The time limit ended training while the validation loss was still falling.")
    assert "is too low to be useful" in low
    shown = capsys.readouterr().err
    assert f"advice: {short}" in shown
    assert f"advice: {low}" in shown
    model.save(tmp_path / "copy")
    assert qkv.load(tmp_path / "copy").report.advice == [short, low]


@pytest.mark.parametrize("train", [qkv.train_vit, qkv.train_codebook])
def test_an_image_of_another_size_is_named_by_its_place(tmp_path: Path, train: Any) -> None:
    images = [np.zeros((8, 8, 3), np.uint8)] * 20 + [np.zeros((20, 20, 3), np.uint8)]
    labels = {"labels": ["a", "b", "c"] * 7} if train is qkv.train_vit else {}
    with pytest.raises(DataError, match=r"^images\[20\] is 20 × 20 pixels instead of 8 × 8: .*`size` 8\.$"):
        train(images, output=tmp_path / "run", progress=False, **labels)


def test_mistakes_in_data_to_fine_tune_on_are_named_as_they_were_given(tmp_path: Path) -> None:
    texts, out = [source for source, _ in PAIRS], {"output": tmp_path / "run", "progress": False}
    qkv.train_bert(texts, output=tmp_path / "bert", progress=False, **BERT)
    for data, more, message in (
        (texts, {}, "data has texts without labels. Give `labels`, or rows of a text and a label."),
        (texts, {"labels": ["a", "b"]}, "data has 49 texts but labels has 2. Give one for each."),
        ([("a", "b"), None], {}, "data[1] is None; expected a text and a label."),
        (PAIRS[:19], {"valid": [7]}, "valid[0] is int; expected a text and a label."),
    ):
        with pytest.raises(InputError) as caught:
            qkv.fine_tune(tmp_path / "bert", data, **more, **out)
        assert str(caught.value) == message
    with pytest.warns(RuntimeWarning, match="40 of 40 labels are different, so these may be sentence pairs"):
        warn_of_unlikely_labels([(text, f"{text}!") for text in texts[:40]])
    with pytest.raises(OptionError, match="holds a training run: add `resume=True` to continue it"):
        qkv.train_bert(texts, output=tmp_path / "bert", progress=False, **BERT)


# Events and ends -----------------------------------------------------------------------------------------


def test_callbacks_get_every_event_in_order(trained: tuple[Any, Path, Recorder]) -> None:
    model, out, recorder = trained
    names = [name for name, _ in recorder.events]
    assert names == ["start", *(["step", "step", "save", "validation"] * 3), "end"]
    events = dict(recorder.events)  # the last of each kind
    assert events["start"].parameters == model.report["parameters"]
    assert (events["start"].steps, events["start"].step) == (6, 0)
    assert events["step"].step == 6
    assert events["step"].progress == 1.0
    assert events["step"].learning_rate > 0
    assert events["step"].tokens_per_second > 0
    assert events["save"].checkpoint.is_dir()
    assert events["validation"].loss == pytest.approx(model.report.history[-1]["validation_loss"], abs=1e-4)
    assert (events["end"].reason, events["end"].folder) == ("steps", out)
    assert events["end"].report["training"] == model.report["training"]


def test_a_callback_ends_the_run_with_its_model_and_the_run_can_go_on(
    trained: tuple[Any, Path, Recorder], tmp_path: Path
) -> None:
    recorder = Recorder(step=lambda event: event.stop() if event.step == 3 else None)
    out = tmp_path / "run"
    model = qkv.train_translator(PAIRS, output=out, steps=6, callbacks=[recorder], **QUIET)
    assert model.report["training"]["steps"] == 3
    assert model.report["training"]["ended_by"] == recorder.events[-1][1].reason == "callback"
    assert qkv.resume(out, progress=False).report["training"]["steps"] == 6
    # The extra validation at step 3 changes no later step.
    assert equal(out / "training" / "step-6", trained[1] / "training" / "step-6")


def test_an_error_of_a_callback_saves_the_run_first(
    trained: tuple[Any, Path, Recorder], tmp_path: Path
) -> None:
    def fail(event: Any) -> None:
        if event.step == 3:
            raise LookupError("no such thing")

    out, recorder = tmp_path / "run", Recorder(step=fail)
    with pytest.raises(LookupError, match="no such thing"):
        qkv.train_translator(PAIRS, output=out, steps=6, callbacks=[recorder], **QUIET)
    qkv.resume(out, progress=False)
    assert equal(out, trained[1])


def test_ctrl_c_saves_the_run_and_a_resumed_run_ends_as_if_it_had_not_stopped(
    trained: tuple[Any, Path, Recorder], tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGINT)
    recorder = Recorder(step=lambda event: os.kill(os.getpid(), signal.SIGINT) if event.step == 2 else None)
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt, match=r"the run is saved. Resume it with qkv.resume"):
        qkv.train_translator(PAIRS, output=out, steps=6, callbacks=[recorder], **QUIET)
    assert recorder.events[-1][1].reason == "interruption"
    assert signal.getsignal(signal.SIGINT) == before
    # The same call resumes it, but only with the same data.
    with pytest.raises(qkv.QkvError, match="the data changed since the run was started"):
        qkv.train_translator(PAIRS[1:], output=out, steps=6, resume=True, **QUIET)
    qkv.train_translator(PAIRS, output=out, steps=6, resume=True, **QUIET)
    assert equal(out, trained[1])


def test_a_thread_that_receives_no_signals_can_train(
    trained: tuple[Any, Path, Recorder], tmp_path: Path
) -> None:
    before, found = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        handler = Recorder(step=lambda event: found.append(signal.getsignal(signal.SIGINT)))
        qkv.train_translator(PAIRS, output=tmp_path / "run", steps=6, callbacks=[handler], **QUIET)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert set(found) == {before}
    assert equal(tmp_path / "run", trained[1])


def test_training_leaves_the_random_numbers_of_the_program_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    qkv.train_translator(PAIRS, output=tmp_path / "run", steps=1, **QUIET)
    assert torch.equal(torch.rand(3), expected)


# Resuming ------------------------------------------------------------------------------------------------


def test_resume_extends_a_run_and_refuses_other_changes(
    trained: tuple[Any, Path, Recorder], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    qkv.train_translator(PAIRS, output=out, steps=2, **QUIET)
    with pytest.raises(OptionError) as caught:
        qkv.resume(out, width=32, progress=False)
    assert str(caught.value) == (
        "a resumed run keeps its options, but these differ: `width`. Only `steps` and `minutes` may be higher than before."
    )
    with pytest.raises(TypeError, match=r"resume\(\) has no option 'stpes'. Did you mean 'steps'\?"):
        qkv.resume(out, stpes=4)
    assert qkv.resume(out, steps=4, progress=False).report["training"]["steps"] == 4
    out = out.rename(tmp_path / "moved")  # with its data
    assert code_of("train", "translator", "--resume", "--output", out, "--steps", "5") == 0
    assert qkv.load(out).report["training"]["steps"] == 5
    with pytest.raises(DataError, match="no run found in"):
        qkv.resume(tmp_path / "nowhere")
    with pytest.raises(qkv.QkvError, match="already holds a training run"):
        qkv.train_translator(PAIRS, output=out, steps=2, **QUIET)


# Fine-tuning ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    save_untrained(folder / "translator", digit_lines(50), beam=1, length_penalty=1.0)
    untrained("subwords").save(folder / "gpt")
    untrained_codes().save(folder / "codebook")
    return folder


TUNING = {"steps": 1, "processes": 1, "progress": False}


def test_the_family_of_the_model_decides_what_fine_tuning_does(bases: Path, tmp_path: Path) -> None:
    model = qkv.load(bases / "translator")
    assert isinstance(qkv.fine_tune(model, PAIRS, out=tmp_path / "a", **TUNING), qkv.Translator)
    texts = ["one two three four five " * 40]
    in_memory = untrained("subwords")
    assert isinstance(qkv.fine_tune(in_memory, texts, out=tmp_path / "b", **TUNING), qkv.LanguageModel)
    rows = [(" ".join(WORDS[n % 5 :]), n % 2) for n in range(20)]
    tuned = qkv.fine_tune(bases / "gpt", iter(rows), valid=rows[:4], out=tmp_path / "c", **TUNING)
    assert isinstance(tuned, qkv.GPTClassifier)
    assert tuned.report["data"]["classes"] == ["0", "1"]


def test_a_model_that_cannot_be_fine_tuned_is_an_error(bases: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"codebook cannot be fine-tuned\. Kinds of models that can: translator, gpt"
    ):
        qkv.fine_tune(bases / "codebook", PAIRS, out=tmp_path / "run")
    with pytest.raises(InputTypeError, match=r"model is int; expected a model or its folder."):
        qkv.fine_tune(7, PAIRS, out=tmp_path / "run")
    with pytest.raises(InputTypeError, match=r"^data\[0\] is str; expected a source and a target."):
        qkv.fine_tune(bases / "translator", ["a text"], out=tmp_path / "run", **TUNING)
    with pytest.raises(TypeError, match=r"fine_tune\(\) has no option 'fit'"):
        qkv.fine_tune(bases / "translator", PAIRS, out=tmp_path / "run", fit=True, **TUNING)
    assert not (tmp_path / "run").exists()


# Progress and reports ------------------------------------------------------------------------------------


def test_progress_is_shown_or_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    qkv.train_translator(PAIRS, output=tmp_path / "quiet", steps=1, **QUIET)
    assert capfd.readouterr() == ("", "")
    qkv.train_translator(PAIRS, output=tmp_path / "shown", steps=1, **SMALL)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "45 to train on, 4 to validate on" in shown.err
    assert "validation loss" in shown.err


def test_a_notebook_has_one_output_that_is_updated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[Any] = []

    def display(content: Any, *, display_id: bool) -> Any:
        assert display_id
        shown.append(content)
        return SimpleNamespace(update=lambda content: shown.__setitem__(0, content))

    shell = SimpleNamespace(kernel=object())
    interactive, displays = ModuleType("IPython"), ModuleType("IPython.display")
    monkeypatch.setattr(interactive, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(displays, "display", display, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", interactive)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    qkv.train_translator(PAIRS, output=tmp_path / "run", steps=2, **SMALL)
    [content] = shown
    assert re.search(r"step +2 .* validation loss [0-9.]+ +best so far", repr(content))
    assert content._repr_html_().startswith("<pre>Translation of ")
    assert "validation loss" not in capsys.readouterr().err


def test_a_report_has_the_learning_curve(trained: tuple[Any, Path, Recorder]) -> None:
    report = trained[0].report
    assert [row["step"] for row in report.history if "validation_loss" in row] == [2, 4, 6]
    html = report._repr_html_()
    assert html.count("<polyline") == 1  # a run this short has no line of training losses
    assert "6 steps" in html
    assert repr(report).startswith("TrainingReport(steps: 6, minutes: ")
    assert report.to_dict()["training"]["steps"] == 6


def test_a_saved_copy_keeps_the_report(trained: tuple[Any, Path, Recorder], tmp_path: Path) -> None:
    model, *_ = trained
    model.save(tmp_path / "copy")
    copy = qkv.load(tmp_path / "copy")
    assert copy.report.facts == model.report.facts != {}
    assert copy.report.history == model.report.history != []
    assert qkv.info(copy) == qkv.info(model)


def test_a_report_of_a_model_without_a_run_is_empty(tmp_path: Path) -> None:
    report = qkv.TrainingReport.read(tmp_path)
    assert (dict(report), report.history, report._repr_html_()) == ({}, [], "<table></table>")


# Processes -----------------------------------------------------------------------------------------------

OPTIONS = "steps=3, vocab_size=270, width=16, heads=2, ffn_width=16, batch_tokens=128, validate_every=3, processes=2"
SCRIPT = f"""
import sys
from pathlib import Path

marker = Path(sys.argv[1]) / "ran"
if marker.exists():
    raise SystemExit("the main module runs twice")
marker.touch()
sys.stdin.close()
import qkv

model = qkv.train_translator(Path(sys.argv[1]) / "pairs.tsv", output=Path(sys.argv[1]) / "run", {OPTIONS}, progress=False)
print(model.report["made_with"]["processes"])
"""


@pytest.mark.parametrize("way", ["file", "-c"])
def test_helpers_start_without_running_the_main_module_again(tmp_path: Path, way: str) -> None:
    number_pairs(tmp_path / "pairs.tsv")
    (tmp_path / "train.py").write_text(SCRIPT)
    code = [str(tmp_path / "train.py")] if way == "file" else ["-c", SCRIPT]
    ran = subprocess.run(
        [sys.executable, *code, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("2\n", "", 0)
