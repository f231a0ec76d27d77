"""qkv.evaluate and its reports: the scores of the command, on data as people have it in Python."""

import copy
import inspect
import json
import pickle
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import code_of
from PIL import Image

import qkv
from qkv.cli.classify import Classify
from qkv.cli.evaluate_labels import EvaluateLabels
from qkv.cli.fields import is_missing, option_fields
from qkv.families.dalle.commands.evaluate import EvaluateDrawing
from qkv.families.gpt.commands.evaluate import EvaluateText
from qkv.families.translator.commands.evaluate import Evaluate
from qkv.families.vit.commands.evaluate import EvaluateClassifier

MODELS = Path(__file__).parents[1] / "compatibility" / "format-1"
DATA = MODELS / "data"
PRESENTATION = {"json", "quiet", "verbose"}

PAIRS = [line.split("\t") for line in (DATA / "pairs.tsv").read_text().splitlines()][:60]
SOURCE, REFERENCE = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
GOOD = ["wrong" if place % 5 == 0 else text for place, text in enumerate(REFERENCE)]
BAD = ["wrong" if place % 2 == 0 else text for place, text in enumerate(REFERENCE)]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    texts = {
        "source": SOURCE,
        "reference": REFERENCE,
        "upper": list(map(str.upper, REFERENCE)),
        "good": GOOD,
        "bad": BAD,
    }
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def translator() -> qkv.Translator:
    found: qkv.Translator = qkv.load(MODELS / "translator", compute_type="float32")
    return found


pytestmark = pytest.mark.filterwarnings("ignore:.*occur in the training data:RuntimeWarning")


# Options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [Evaluate, EvaluateText, EvaluateClassifier, EvaluateDrawing, EvaluateLabels]
)
def test_every_option_of_the_command_is_a_keyword_with_the_same_default(command: type) -> None:
    parameters = inspect.signature(qkv.evaluate).parameters
    options = [each for each in option_fields(command) if each.name not in PRESENTATION]
    assert len(options) > 4
    for option in options:
        found = parameters[option.path[-1]]
        assert is_missing(option.default) if found.default is found.empty else found.default == option.default


def test_a_model_that_does_not_exist_is_named_whatever_the_data() -> None:
    with pytest.raises(qkv.ModelError, match="there is no folder or file runs/typo"):
        qkv.evaluate("runs/typo", text=["one"])


def test_labels_are_the_options_of_classify() -> None:
    parameters = inspect.signature(qkv.evaluate).parameters
    known = {each.name: each.default for each in option_fields(Classify)}
    assert {name: parameters[name].default for name in ("labels", "columns")} == {
        name: known[name] for name in ("labels", "columns")
    }


# Translations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options", "keywords"),
    [
        ("good.txt", ["--reference", "reference.txt", "--against", "bad.txt"], {"reference": "reference.txt", "against": "bad.txt"}),
        (
            str(MODELS / "translator"),
            ["--source", "source.txt", "--reference", "reference.txt", "upper.txt", "--beam-size", "2"],
            {"source": "source.txt", "reference": [Path("reference.txt"), Path("upper.txt")], "beam_size": 2},
        ),
    ],
)  # fmt: skip
def test_a_report_is_what_the_command_prints(
    model: str, options: list[str], keywords: Any, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = qkv.evaluate(model, **keywords)
    capsys.readouterr()
    assert code_of("evaluate", model, *options) == 0
    assert str(report) == capsys.readouterr().out
    assert code_of("evaluate", model, *options, "--json") == 0
    assert report.to_dict() == json.loads(capsys.readouterr().out)


def scores_of(report: qkv.TranslationReport) -> Any:
    return report.to_dict()["scores"], report.to_dict()["by_length"], report.to_dict()["worst"]


class Column:
    """A column of pandas (`tolist`), polars (`to_list`) or pyarrow (`to_pylist`)."""

    def __init__(self, values: list[str], method: str):
        self.values = values
        setattr(self, method, lambda: list(values))

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)


class Frame:
    """A table of pandas or polars."""

    def __init__(self, columns: dict[str, list[str]]):
        self.columns, self.values = list(columns), columns

    def __getitem__(self, name: str) -> Column:
        return Column(self.values[name], "to_list")


class Dataset(list[Any]):
    """A data set of `datasets`, whose labels are numbers with names."""

    column_names = ("text", "label")

    def __init__(self, rows: list[dict[str, Any]], names: Sequence[str]):
        super().__init__(rows)
        self.features = {"label": types.SimpleNamespace(names=list(names))}


def test_texts_may_be_lists_iterators_columns_or_files(translator: qkv.Translator, files: Path) -> None:
    first = scores_of(qkv.evaluate(translator, SOURCE, REFERENCE))
    assert scores_of(qkv.evaluate(MODELS / "translator", "source.txt", "reference.txt")) == first
    assert scores_of(qkv.evaluate(translator, iter(SOURCE), iter(REFERENCE))) == first
    assert scores_of(qkv.evaluate(translator, np.array(SOURCE), Column(REFERENCE, "to_pylist"))) == first  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "pairs",
    [
        list(zip(SOURCE, REFERENCE, strict=True)),
        iter(PAIRS),
        [{"source": source, "target": target} for source, target in PAIRS],
        ({"translation": {"en": source, "xx": target}} for source, target in PAIRS),
        {"en": SOURCE, "xx": REFERENCE},
        {"reference": REFERENCE, "source": SOURCE},
        Frame({"source": SOURCE, "target": REFERENCE}),
    ],
    ids=["tuples", "iterator", "dictionaries", "generator of datasets", "columns", "references", "frame"],
)
def test_pairs_may_have_any_usual_shape(pairs: Any, translator: qkv.Translator) -> None:
    report = qkv.evaluate(translator, pairs=pairs)
    assert report.sentences == len(PAIRS)
    assert report.worst[0].source in SOURCE


def test_columns_of_pairs_may_be_named(translator: qkv.Translator) -> None:
    frame = Frame({"target": SOURCE, "source": REFERENCE})  # misleading names
    report = qkv.evaluate(translator, pairs=frame, source_column="target", target_column="source")
    assert report.worst[0].source in SOURCE


def test_several_references_may_be_lists_per_sentence_or_per_file() -> None:
    upper = list(map(str.upper, REFERENCE))
    first = qkv.evaluate(GOOD, reference=[REFERENCE, upper])
    assert scores_of(qkv.evaluate(GOOD, reference=list(zip(REFERENCE, upper, strict=True)))) == scores_of(
        first
    )
    uneven = [[text] if place % 2 else [text, text.upper()] for place, text in enumerate(REFERENCE)]
    assert qkv.evaluate(GOOD, reference=uneven).to_dict()["measured"]["references_each"] == [1, 2]


def test_a_score_is_a_number_that_knows_its_interval_and_signature() -> None:
    report = qkv.evaluate(GOOD, reference=REFERENCE)
    score = report.chrf
    assert f"{score:.1f}" == f"{score.value:.1f}"
    assert score.interval is not None
    assert score.interval.low < score < score.interval.high
    assert "tok:13a" in report.bleu.signature
    for again in (copy.deepcopy(score), pickle.loads(pickle.dumps(score))):
        assert (again, again.signature, again.interval) == (score, score.signature, score.interval)
    assert report.exact_match == 80.0


def test_a_comparison_is_the_same_with_a_list_a_file_a_report_and_against(files: Path) -> None:
    report = qkv.evaluate(GOOD, reference=REFERENCE, against=BAD)
    assert report.against is not None
    assert report.against.chrf.clear
    assert report.against.chrf.gain > 0
    found = {name: each.to_dict() for name, each in report.against.against.differences.items()}
    for other in (BAD, "bad.txt", qkv.evaluate(BAD, reference=REFERENCE)):
        comparison = report.compare(other)
        assert {name: each.to_dict() for name, each in comparison.against.differences.items()} == found
    assert comparison.chrf.meaning("translations", "other") in str(comparison)


def test_a_model_is_compared_on_the_sources_of_the_report(translator: qkv.Translator) -> None:
    report = qkv.evaluate(translator, SOURCE, REFERENCE)
    assert report.overlap is not None
    assert len(report.overlap.lines) > 30
    assert report.compare(translator).bleu.difference == 0
    other = qkv.evaluate(MODELS / "translator-one-stream", SOURCE, REFERENCE)
    assert report.compare(MODELS / "translator-one-stream").scores.bleu == other.bleu


def test_warnings_point_to_the_caller(translator: qkv.Translator) -> None:
    with pytest.warns(RuntimeWarning, match="occur in the training data") as caught:
        qkv.evaluate(translator, SOURCE[:2], REFERENCE[:2])
    assert caught[0].filename == __file__


def test_a_report_as_text_has_no_control_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a notebook, rich would write to a terminal
    report = qkv.evaluate(GOOD, reference=REFERENCE)
    for shown in (str(report), repr(report.compare(BAD))):
        assert "BLEU" in shown
        assert "\x1b" not in shown


def test_html_has_the_scores_and_no_markup_of_the_data() -> None:
    report = qkv.evaluate(["<b>x</b>"], reference=["<script>y</script>"], against=["<i>z</i>"])
    for shown in (report._repr_html_(), report.compare(["<i>z</i>"])._repr_html_()):
        assert "BLEU" in shown
        assert not any(tag in shown for tag in ("<b>", "<i>", "<script>"))
    assert "&lt;script&gt;y" in report._repr_html_()


# Other families --------------------------------------------------------------------------------------


def test_texts_and_files_have_the_same_perplexity() -> None:
    from_file = qkv.evaluate(MODELS / "gpt", text=DATA / "text.txt")
    from_list = qkv.evaluate(
        qkv.load(MODELS / "gpt", compute_type="float32"), [(DATA / "text.txt").read_text()]
    )
    assert from_file.to_dict() == from_list.to_dict()
    assert from_file.perplexity is not None
    assert from_file.perplexity > 1


def test_chorales_and_files_have_the_same_likelihood() -> None:
    chorales = json.loads((DATA / "music.json").read_text())["test"]
    assert qkv.evaluate(MODELS / "gpt-music", music=chorales).to_dict() == (
        qkv.evaluate(MODELS / "gpt-music", music=DATA / "music.json").to_dict()
    )


def test_labelled_texts_may_be_a_file_rows_or_two_lists() -> None:
    rows = [line.split("\t") for line in (DATA / "labels.tsv").read_text().splitlines()]
    texts, labels = zip(*rows, strict=True)
    model = qkv.load(MODELS / "bert-classifier")
    first = qkv.evaluate(model, labels=DATA / "labels.tsv").to_dict()
    assert qkv.evaluate(model, labels=rows).to_dict() == first
    assert qkv.evaluate(model, texts, labels=labels).to_dict() == first
    assert qkv.evaluate(model, texts, labels).to_dict() == first
    assert (
        qkv.evaluate(model, texts, labels=[model.classes.index(each) for each in labels]).to_dict() == first
    )
    numbered = Dataset(
        [{"text": text, "label": 1 - model.classes.index(label)} for text, label in rows], model.classes[::-1]
    )
    assert qkv.evaluate(model, labels=numbered).to_dict() == first
    table = {"sentence": texts, "gold": labels}
    assert qkv.evaluate(model, labels=table, columns="sentence,gold").to_dict() == first
    numbers = qkv.evaluate(MODELS / "bert-classifier-numbers", labels=DATA / "numbers.tsv")
    assert numbers.pearson is not None
    assert numbers.pearson > 0.9


def test_images_may_be_a_folder_or_a_list_with_labels() -> None:
    with pytest.warns(RuntimeWarning, match="may hold images of the training data"):
        folder = qkv.evaluate(MODELS / "vit", images=DATA / "images")
    paths = sorted((DATA / "images").rglob("*.png"))
    images: list[Any] = [*paths[:7], *(Image.open(path) for path in paths[7:14]), *(np.asarray(Image.open(path)) for path in paths[14:])]  # fmt: skip
    listed = qkv.evaluate(MODELS / "vit", images, [path.parent.name for path in paths])
    assert isinstance(listed, qkv.ImageClassificationReport)
    assert listed.to_dict() == folder.to_dict()


def test_scenes_are_drawn_and_reconstructed() -> None:
    drawn = qkv.evaluate(MODELS / "dalle", scenes=1, candidates=1)
    assert isinstance(drawn, qkv.DrawingReport)
    assert drawn["how"]["candidates"] == 1
    codebook = qkv.evaluate(qkv.load(MODELS / "codebook"), scenes=2)
    assert isinstance(codebook, qkv.CodebookReport)
    assert codebook.psnr > 0


# Mistakes --------------------------------------------------------------------------------------------


def lines_that_fail() -> Iterator[str]:
    yield "one"
    raise RuntimeError("the disk is gone")


def test_an_error_of_an_iterator_is_not_swallowed(translator: qkv.Translator) -> None:
    with pytest.raises(RuntimeError, match="the disk is gone"):
        qkv.evaluate(translator, lines_that_fail(), REFERENCE)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: qkv.evaluate(m, SOURCE[:3], REFERENCE[:2]), "source has 3 texts but reference has 2; they must match one by one."),
        (lambda m: qkv.evaluate(m, ["a", None], ["a", "b"]), "source[1] is None; expected str."),
        (lambda m: qkv.evaluate(m, ["a", 3], ["a", "b"]), "source[1] is int; expected str."),
        (lambda m: qkv.evaluate(m, ["a", "b"], [["a"], [None]]), "reference[1][0] is None; expected str."),
        (lambda m: qkv.evaluate(m, ["a", "b"], [["a"]]), "reference has 1 lists for 2 sentences. Give a text or a list of texts"),
        (lambda m: qkv.evaluate(m, ["a", "b"], 7), "reference is int; expected a list, an iterator or a column of texts."),
        (lambda m: qkv.evaluate(m, [], []), "source is empty"),
        (lambda m: qkv.evaluate(m, ["a"]), "give `reference` (texts or files) or `pairs`."),
        (lambda m: qkv.evaluate(m, "nowhere.txt", ["a"]), "there is no file nowhere.txt"),
        (lambda m: qkv.evaluate(m, pairs=[("a", "b"), ("a",)]), "pairs[1] has 1 item; expected a source and a target."),
        (lambda m: qkv.evaluate(m, pairs=[("a", None)]), "pairs[0][1] is None; expected str."),
        (lambda m: qkv.evaluate(m, pairs=["a"]), "pairs[0] is str; expected a source and a target."),
        (lambda m: qkv.evaluate(m, pairs=[{"en": "a", "fr": "b"}]), "pairs has the columns 'en', 'fr'. Choose the source_column"),
        (lambda m: qkv.evaluate(m, pairs={"source": ["a"], "target": []}), "the columns of pairs have different lengths: 'target' ends first."),
        (lambda m: qkv.evaluate(m, text=["a"]), "`text` is not for a model of kind 'translator'"),
        (lambda m: qkv.evaluate(MODELS / "gpt", SOURCE, REFERENCE), "`reference` is not for a model of kind 'gpt', which takes music, part, text."),
        (lambda m: qkv.evaluate(MODELS / "bert", SOURCE, REFERENCE), "a model of kind 'bert' cannot be evaluated."),
        (lambda m: qkv.evaluate(None, SOURCE, REFERENCE), "the model is None; expected a folder, or a model from `qkv.load`."),
        (lambda m: qkv.evaluate(m, SOURCE, REFERENCE, against=qkv.load(MODELS / "gpt")), "against is a LanguageModel; expected a Translator"),
        (lambda m: qkv.evaluate(m, SOURCE, REFERENCE, beam_size=0), "beam_size must be from 1 to 1,000."),
        (lambda m: qkv.evaluate(m, SOURCE, REFERENCE, compute_type="int8"), "the model is open already: give `compute_type` to `load`"),
        (lambda m: qkv.evaluate(["a"], reference=["a"], tokenize="nothing"), "sacrebleu has no tokenizer 'nothing'"),
        (lambda m: qkv.evaluate(["a"], reference=["a"]).compare(["a", "b"]), "other has 2 texts, but the test set has 1."),
        (lambda m: qkv.evaluate(["a"], reference=["a"]).compare(m), "this report has no source sentences"),
        (lambda m: qkv.evaluate(["a"], reference=["a"]).compare(qkv.evaluate(["a"], reference=["b"])), "different sentences or references"),
        (lambda m: qkv.evaluate(MODELS / "gpt", text=["a", ""]), "text[1] is empty"),
        (lambda m: qkv.evaluate(MODELS / "gpt", text=["one"], music=[[[60]]]), "give either `text` or `music`."),
        (lambda m: qkv.evaluate(MODELS / "gpt-music", music=[[[60], [300]]]), "music[0][1]: [300] is not a frame"),
        (lambda m: qkv.evaluate(MODELS / "bert-classifier", ["a"], labels=["none"]), "labels[0] is 'none'; the model has 'long', 'short'."),
        (lambda m: qkv.evaluate(MODELS / "bert-classifier", ["a"], labels=[None]), "labels[0] is None; expected a class or a number."),
        (lambda m: qkv.evaluate(MODELS / "bert-classifier", ["a", "b"], labels=["long"]), "labels has 1 elements, but source has 2"),
        (lambda m: qkv.evaluate(MODELS / "bert-classifier", [("a", "b")], labels=["long"]), "source[0] has 2 texts besides the label"),
        (lambda m: qkv.evaluate(MODELS / "vit", images=[np.zeros((8, 8))], labels=[0]), "images[0] has values of type float64; expected uint8"),
        (lambda m: qkv.evaluate(MODELS / "vit", images=["x.png"]), "a list of `images` needs `labels`, one for each."),
        (lambda m: qkv.evaluate(MODELS / "codebook", scenes=2, guidance=2), "is a codebook and cannot draw: leave out `guidance`."),
    ],
)  # fmt: skip
def test_a_mistake_names_the_element_and_what_was_expected(
    call: Callable[[Any], object], message: str, translator: qkv.Translator
) -> None:
    with pytest.raises(qkv.QkvError) as raised:
        call(translator)
    assert message in str(raised.value)
    assert "--" not in str(raised.value)


def test_an_unknown_keyword_names_the_nearest_one(translator: qkv.Translator) -> None:
    with pytest.raises(TypeError, match="Did you mean 'beam_size'"):
        qkv.evaluate(translator, SOURCE, REFERENCE, bean_size=3)
