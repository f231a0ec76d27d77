"""One input gives one result, a sequence gives a list, an iterator gives a lazy iterator: for every model."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import qkv

TEXTS = ["one two", "three", "four five six"]


class Series:
    """Has the methods that Series of pandas and polars and columns of `datasets` share, and no others."""

    def __init__(self, values: list[Any]):
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, place: int) -> Any:
        return self.values[place]


def plain(result: Any) -> Any:
    """Something that can be compared: the last digits of numbers depend on the batch."""
    if isinstance(result, list):
        return [plain(each) for each in result]
    if isinstance(result, qkv.Prediction):
        return result.label, {name: round(each, 4) for name, each in result.probabilities.items()}
    if isinstance(result, np.ndarray | float):
        return np.round(result, 4).tolist()
    return result.pixels.tolist() if isinstance(result, qkv.Drawing) else result


METHODS: dict[str, tuple[str, Callable[[Any], Callable[..., Any]], list[Any]]] = {
    "translate": ("en-de", lambda model: model.translate, TEXTS),
    "translate details": ("en-de", lambda model: lambda each: model.translate(each, details=True), TEXTS),
    "translate several": ("en-de", lambda model: lambda each: model.translate(each, num_hypotheses=2), TEXTS),
    "generate": ("gpt", lambda model: lambda each: model.generate(each, max_new_tokens=3), TEXTS),
    "fill": ("bert", lambda model: model.fill, ["one [MASK]", "[MASK] two [MASK]", "[MASK]"]),
    "embed": ("bert", lambda model: model.embed, TEXTS),
    "similar": ("bert", lambda model: model.similar, [("one", "two"), ("one", "one"), ("two", "two three")]),
    "classify texts": ("sentiment", lambda model: model.classify, TEXTS),
    "classify pairs": ("entailment", lambda model: model.classify, [("one", "two"), ("three", "one")]),
    "classify images": ("shapes", lambda model: model.classify, ["picture.png", Path("picture.png")]),
    "draw": ("scenes", lambda model: lambda each: model.draw(each, candidates=2), ["a ring", "a red ring"]),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", METHODS)
def test_one_input_a_sequence_and_an_iterator_give_the_same_results(name: str) -> None:
    model, method, inputs = METHODS[name]
    call = method(qkv.load(f"runs/{model}"))
    alone = [plain(call(each)) for each in inputs]
    together = call(inputs)
    assert isinstance(together, np.ndarray if name == "embed" else list)
    assert plain(list(together)) == alone
    assert plain(list(call(Series(inputs)))) == alone
    lazy = call(each for each in inputs)
    assert iter(lazy) is lazy
    assert plain(list(lazy)) == alone
    assert len(call([])) == 0


@pytest.mark.usefixtures("folder")
def test_arrays_and_tuples_of_strings_are_sequences() -> None:
    translator = qkv.load("runs/en-de")
    wanted = translator.translate(TEXTS)
    assert translator.translate(np.array(TEXTS)) == translator.translate(tuple(TEXTS)) == wanted
    assert translator.translate(dict(enumerate(TEXTS)).values()) == wanted


@pytest.mark.usefixtures("folder")
def test_an_image_is_a_path_an_image_or_an_array() -> None:
    classifier = qkv.load("runs/shapes", kind=qkv.ImageClassifier)
    image = PIL.Image.open("picture.png")
    array = np.asarray(image)
    wanted = classifier.classify("picture.png")
    given: list[Any] = [
        image,
        array,
        array / 255,
        array[None],
        array[:, :, None],
        Path("picture.png"),
        ("picture.png",),
    ]
    assert plain(classifier.classify(given)) == [plain(wanted)] * len(given)
    assert plain(classifier.classify(np.stack([array, array]))) == [plain(wanted)] * 2
    assert list(classifier.classify(image, top_k=1).probabilities) == [wanted.label]


@pytest.mark.usefixtures("folder")
def test_an_image_of_another_size_can_be_fitted() -> None:
    classifier = qkv.load("runs/shapes", kind=qkv.ImageClassifier)
    with pytest.raises(qkv.DataError, match=r"images\[1\] is 30 × 20 pixels instead of 12 × 8"):
        classifier.classify(["picture.png", PIL.Image.new("L", (30, 20))])
    assert classifier.classify(PIL.Image.new("RGB", (30, 20)), fit=True).label in classifier.classes


@pytest.mark.parametrize("stop", [5, 40])
@pytest.mark.usefixtures("folder")
def test_a_generator_larger_than_memory_is_read_a_little_ahead(stop: int) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "one"

    results = qkv.load("runs/en-de").translate(endless(), beam=1)
    for _ in range(stop):
        next(results)
    assert stop <= read <= 1_000 + stop


@pytest.mark.usefixtures("folder")
def test_a_generator_that_raises_midway_gives_the_results_before() -> None:
    def breaks() -> Iterator[str]:
        yield from TEXTS
        raise ConnectionError("the database is gone")

    translator = qkv.load("runs/en-de")
    results = translator.translate(breaks())
    assert [next(results) for _ in TEXTS] == translator.translate(TEXTS)
    with pytest.raises(ConnectionError, match="the database is gone") as caught:
        next(results)
    assert caught.value.__notes__ == ["while reading texts[3]"]


@pytest.mark.usefixtures("folder")
def test_a_wrong_element_of_an_iterator_comes_after_the_results_before_it() -> None:
    bert = qkv.load("runs/bert")
    results = bert.embed(iter([*TEXTS, None]))
    assert len([next(results) for _ in TEXTS]) == 3
    with pytest.raises(TypeError, match=r"texts\[3\] is None; expected str\."):
        next(results)
    results = qkv.load("runs/sentiment").classify(iter(["one"] * 10 + [""]))
    assert len([next(results) for _ in range(8)]) == 8
    with pytest.raises(qkv.InputError, match=r"inputs\[10\] is empty"):
        list(results)


@pytest.mark.usefixtures("folder")
def test_keywords_replace_fields_of_the_options() -> None:
    translator = qkv.load("runs/en-de", kind=qkv.Translator)
    options = qkv.TranslationOptions(beam_size=1, num_hypotheses=2)
    assert isinstance(translator.translate("one", options, num_hypotheses=3), list)
    assert translator.translate("one", options, num_hypotheses=1) == [translator.translate("one", beam=1)]


@pytest.mark.usefixtures("folder")
def test_a_glossary_is_a_mapping_a_file_or_an_object() -> None:
    translator = qkv.load("runs/en-de", kind=qkv.Translator)
    Path("terms.tsv").write_text("two\tzwei\n")
    given: list[Any] = [{"two": "zwei"}, "terms.tsv", Path("terms.tsv"), qkv.Glossary.read(Path("terms.tsv"))]
    found = {translator.translate("one two", glossary=each) for each in given}
    assert len(found) == 1
    assert "zwei" in found.pop()


@pytest.mark.usefixtures("folder")
def test_an_ensemble_is_of_models_or_folders() -> None:
    translator, other = qkv.load("runs/en-de", kind=qkv.Translator), qkv.Translator.load("runs/en-de")
    wanted = translator.translate("one two")
    assert translator.translate("one two", ensemble=[other]) == wanted
    assert translator.translate("one two", ensemble=["runs/en-de"]) == wanted


@pytest.mark.usefixtures("folder")
def test_unsure_translations_are_marked_or_withheld() -> None:
    from dataclasses import replace

    from qkv.families.translator.translations import Confidence

    translator = qkv.load("runs/en-de", kind=qkv.Translator)
    with pytest.raises(qkv.ModelError, match="no calibrated confidence"):
        translator.translate("one", min_confidence=0.5)
    never = Confidence(bias=-10.0, weights=(0.0, 0.0, 0.0), good="any")
    translator._defaults = replace(translator._defaults, confidence=never)
    text = translator.translate("one")
    assert translator.translate(["one", "42"], min_confidence=0.5) == [f"[unsure] {text}", "42"]
    assert translator.translate(["one", "42"], min_confidence=0.5, withhold=True) == ["", "42"]
    found = translator.translate("one", min_confidence=0.5, details=True)
    assert (found.text, found.unsure, found.confidence) == (text, True, pytest.approx(1 / 1002))


@pytest.mark.usefixtures("folder")
def test_a_file_is_translated_as_the_command_does_it_and_resumed_by_either() -> None:
    from commands import code_of

    Path("in.txt").write_text("one two\n\nthree\n", encoding="utf-8")
    qkv.load("runs/en-de").translate_file("in.txt", "python.txt", scores=True, beam=1, progress=False)
    files = ("--input", "in.txt", "--output", "command.txt")
    assert code_of("translate", "runs/en-de", *files, "--scores", "--beam", "1") == 0
    assert Path("python.txt").read_bytes() == Path("command.txt").read_bytes()


@pytest.mark.usefixtures("folder")
def test_a_file_that_a_command_began_is_resumed_from_python(monkeypatch: pytest.MonkeyPatch) -> None:
    from commands import code_of

    from qkv.families.translator.lines import LineTranslation
    from qkv.runtime import file_job

    Path("in.txt").write_text("".join(f"one {number}\n" for number in range(20)), encoding="utf-8")
    monkeypatch.setattr(file_job, "LINES_OF_A_PART", 7)
    qkv.load("runs/en-de").translate_file("in.txt", "whole.txt", progress=False)
    real, parts = LineTranslation.records, []

    def interrupted(*given: Any, **named: Any) -> list[str]:
        parts.append(given)
        if len(parts) == 2:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(LineTranslation, "records", interrupted)
    assert code_of("translate", "runs/en-de", "--input", "in.txt", "--output", "out.txt") == 130
    qkv.load("runs/en-de").translate_file("in.txt", "out.txt", progress=False)
    assert Path("out.txt").read_bytes() == Path("whole.txt").read_bytes()
    assert len(parts) == 4  # of three parts, one was done before


@pytest.mark.usefixtures("folder")
def test_two_iterators_are_compared_lazily_pair_by_pair() -> None:
    bert = qkv.load("runs/bert", kind=qkv.Bert)
    wanted = bert.similar(TEXTS, TEXTS[::-1])
    assert plain(list(bert.similar(iter(TEXTS), iter(TEXTS[::-1])))) == plain(wanted)
    assert plain(next(bert.similar((each for each in TEXTS), TEXTS[::-1]))) == plain(wanted[0])
    results = bert.similar(iter(TEXTS), iter(TEXTS[:2]))
    assert [next(results) for _ in range(2)]
    with pytest.raises(qkv.InputError, match="second has only 2 texts"):
        next(results)


@pytest.mark.usefixtures("folder")
def test_a_number_of_hypotheses_always_gives_lists() -> None:
    translator = qkv.load("runs/en-de", kind=qkv.Translator)
    best = translator.translate(TEXTS)
    assert translator.translate(TEXTS, num_hypotheses=1) == [[each] for each in best]
    assert translator.translate(TEXTS[0], num_hypotheses=1) == [best[0]]
    assert translator.translate(TEXTS, qkv.TranslationOptions(num_hypotheses=1)) == best


@pytest.mark.usefixtures("folder")
def test_nothing_is_protected_with_none_as_on_the_command_line() -> None:
    translator = qkv.load("runs/en-de", kind=qkv.Translator)
    assert "{name}" in translator.translate("one {name}")
    unprotected = translator.translate("one {name}", protect=())
    assert translator.translate("one {name}", protect="none") == unprotected
    assert translator.translate("one {name}", protect=["none"]) == unprotected


@pytest.mark.usefixtures("folder")
def test_saving_over_a_model_replaces_it_with_its_report() -> None:
    (Path("runs/gpt") / "report.json").write_text('{"old": true}')
    bert = qkv.load("runs/bert", device="auto")
    bert.save("runs/gpt", overwrite=True)
    again = qkv.load("runs/gpt", kind=qkv.Bert)
    assert "old" not in again.report
    assert (again.embed("one two") == qkv.load("runs/bert").embed("one two")).all()
