"""The input forms of GPT-1, and texts that are too long for them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from language_models import untrained

import qkv
from qkv.errors import QkvError
from qkv.families.gpt.classifier import ClassifierDefaults, Form, GPTClassifier, laid_out, orders
from qkv.families.gpt.config import TaskConfig
from qkv.families.gpt.model import GPTForTask
from qkv.runtime.running import Running

START, END = 1, 2


def classifier(form: Form, classes: tuple[str, ...] = ()) -> GPTClassifier:
    base = untrained("characters", max_length=24)
    task = "classes" if classes else "choice" if form == "choice" else "value"
    torch.manual_seed(3)
    model = GPTForTask(TaskConfig(gpt=base.model.config, task=task, classes=len(classes) or 1))  # type: ignore[arg-type]
    model.gpt.load_state_dict(base.model.state_dict())
    defaults = ClassifierDefaults(token_type="characters", form=form, classes=classes)
    return GPTClassifier(model.eval(), base.tokenizer, defaults)


def test_the_forms_are_those_of_the_paper() -> None:
    a, b, c = [5], [6, 7], [8]
    assert orders("classification", [a]) == [[a]]
    assert orders("entailment", [a, b]) == [[a, b]]
    assert orders("similarity", [a, b]) == [[a, b], [b, a]]
    assert orders("choice", [a, b, c]) == [[a, b], [a, c]]
    assert laid_out([a, b], START, END, 9) == [START, 5, START, 6, 7, END]


def test_what_does_not_fit_is_truncated_the_longest_text() -> None:
    assert laid_out([[5] * 9, [6, 7]], START, END, 9) == [START, 5, 5, 5, 5, START, 6, 7, END]
    assert laid_out([[5] * 9, [6] * 9], START, END, 9) == [START, 5, 5, 5, START, 6, 6, 6, END]
    with pytest.raises(QkvError, match="too short for 2 texts"):
        laid_out([[5] * 9, [6] * 9], START, END, 4)


def test_predictions_do_not_depend_on_their_neighbours() -> None:
    model = classifier("entailment", ("no", "yes"))
    pairs = [("the cat", "sang"), ("the dog danced the", "the"), ("a", "a" * 40)]
    together = model.classify(pairs)
    for pair, prediction in zip(pairs, together, strict=True):
        [alone] = model.classify([pair])
        assert alone.label == prediction.label
        assert alone.probabilities == pytest.approx(dict(prediction.probabilities), abs=1e-5)


@pytest.mark.parametrize("form", ["classification", "entailment", "similarity", "choice"])
def test_the_engine_predicts_what_the_model_does(form: Form) -> None:
    model = classifier(form, ("no", "yes", "both") if form in ("classification", "entailment") else ())
    inputs = [("the cat", "sang", "danced"), ("the dog danced the", "the", "a")]
    counts = {"classification": 1, "choice": 3}
    given = [texts[: counts.get(form, 2)] for texts in inputs]
    exact, rounded = (
        model._running(Running(compute_type=compute)).classify(given) for compute in ("float32", "int8")
    )
    for one, other, near in zip(model.classify(given), exact, rounded, strict=True):
        assert one.label == other.label or one.number is not None
        assert other.probabilities == pytest.approx(dict(one.probabilities), abs=1e-5)
        assert near.probabilities == pytest.approx(dict(one.probabilities), abs=0.05)
        assert (other.number or 0) == pytest.approx(one.number or 0, abs=1e-4)


def test_similarity_is_the_same_in_both_orders() -> None:
    model = classifier("similarity")
    first, second = model.classify([("the cat", "the dog"), ("the dog", "the cat")])
    assert first.number == pytest.approx(second.number, abs=1e-5)


def test_numbers_are_on_the_scale_of_the_labels() -> None:
    model = classifier("similarity")
    [plain] = model.classify([("the cat", "the dog")])
    model._defaults = replace(model._defaults, scale=(3.0, 2.0))
    [scaled] = model.classify([("the cat", "the dog")])
    assert scaled.number == pytest.approx(3 + 2 * (plain.number or 0), abs=1e-5)


def test_the_answers_are_what_is_chosen_from() -> None:
    [prediction] = classifier("choice").classify([("the cat", "sang", "danced", "a dog")])
    assert set(prediction.probabilities) == {"sang", "danced", "a dog"}


@pytest.mark.parametrize(
    ("form", "given"),
    [("classification", ("a", "the")), ("entailment", ("a",)), ("choice", ("a", "the"))],
)
def test_another_number_of_texts_is_rejected(form: Form, given: tuple[str, ...]) -> None:
    classes = () if form == "choice" else ("no", "yes")
    with pytest.raises(QkvError, match=rf"inputs\[0\] has {len(given)} texts?, but this model reads"):
        classifier(form, classes).classify([given])


def test_the_same_answer_twice_is_rejected() -> None:
    with pytest.raises(QkvError, match=r"inputs\[0\] has the same choice twice"):
        classifier("choice").classify([("the cat", "sang", "sang")])


def test_texts_need_no_tuples() -> None:
    model = classifier("classification", ("a", "b"))
    assert [model.classify("the cat")] == model.classify(["the cat"]) == model.classify([("the cat",)])


def test_the_start_is_that_with_which_it_was_trained(tmp_path: Path) -> None:
    model = classifier("classification", ("no", "yes"))
    model._defaults = replace(model._defaults, start=END)
    assert model._readings(["a"])[0] == [END, *model.tokenizer.encode("a"), END]
    model.save(tmp_path)
    assert qkv.load(tmp_path)._defaults.start == END
    config = json.loads((tmp_path / "config.json").read_text())
    del config["start"]  # models that were saved before had always 1
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert qkv.load(tmp_path)._defaults.start == START
    (tmp_path / "config.json").write_text(json.dumps({**config, "start": 999}))
    with pytest.raises(QkvError, match="999 is not a token id of this model"):
        qkv.load(tmp_path)


def test_the_answer_is_read_off_the_token_with_which_it_was_trained(tmp_path: Path) -> None:
    model = classifier("classification", ("no", "yes"))
    assert model._readings(["a"])[0][-1] == END  # as models that were saved before
    model._defaults = replace(model._defaults, last=START)
    assert model._readings(["a"])[0] == [START, *model.tokenizer.encode("a"), START]
    model.save(tmp_path)
    assert qkv.load(tmp_path)._defaults.last == START
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "last": -1}))
    with pytest.raises(QkvError, match="-1 is not a token id of this model"):
        qkv.load(tmp_path)


def test_an_empty_text_is_rejected() -> None:
    with pytest.raises(QkvError, match=r"inputs\[1\] has an empty text"):
        classifier("entailment", ("no", "yes")).classify([("a", "the"), ("a", " ")])


def test_a_saved_classifier_gives_the_same_output(tmp_path: Path) -> None:
    model = classifier("classification", ("no", "yes"))
    model.save(tmp_path)
    again = qkv.load(tmp_path)
    [found], [wanted] = again.classify([("the cat",)]), model._running(Running()).classify([("the cat",)])
    assert found == wanted  # both in int8, the default
    assert again.info()["classes"] == "no, yes"
