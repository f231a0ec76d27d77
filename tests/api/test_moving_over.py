"""docs/moving-over.md is true: both sides of every row run on the same small models and give the same.

transformers and sacreBLEU run as they are. sentence-transformers, datasets, pandas and polars run if they are installed;
without them, small classes with the same methods take their place.
"""

import dataclasses
import importlib
import importlib.util
import inspect
import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import sacrebleu

import qkv

PAGE = (Path(__file__).parents[2] / "docs" / "moving-over.md").read_text(encoding="utf-8")
MODELS = Path(__file__).parents[1] / "compatibility" / "format-1"
NAMES = {
    "gpt": "gpt-published", "bert": "bert", "sentences": "bert-sentences", "sentiment": "bert-classifier", "vit": "vit",
    "en-de": "translator-marian",
}  # fmt: skip
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|$", flags=re.MULTILINE)
REVIEWS = [
    {"text": text, "label": label}
    for text, label in [("one two", "short"), ("one two three four five", "long")] * 6
]
TINY = {"processes": 1, "progress": False}


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(title: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", section(title), flags=re.DOTALL)


def rows(title: str) -> list[tuple[str, str]]:
    return ROW.findall(section(title))


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The models of the page: in qkv's format, and in that of Hugging Face."""
    folder = tmp_path_factory.mktemp("moving")
    for name, kept in NAMES.items():
        shutil.copytree(MODELS / kept, folder / "runs" / name)
        qkv.export(folder / "runs" / name, "huggingface", folder / "theirs" / name)
    shutil.copy(MODELS / "vit" / "picture.png", folder / "picture.png")
    (folder / "reviews.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in REVIEWS))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def run(program: str, names: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other libraries
        exec(program, names)
    return names


def check_rows(pairs: list[tuple[str, str]], theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    for wrote, write in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, found = eval(wrote, theirs), eval(write, ours)
        assert same(expected, found), f"{wrote}\n{expected}\n{write}\n{found}"


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, str | list | tuple):
        return bool(one == other)
    return np.shape(one) == np.shape(other) and np.allclose(one, other, atol=1e-4)


# transformers ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("workshop")
def test_pipelines_and_models_give_the_same() -> None:
    title = "transformers: pipelines"
    theirs, ours = blocks(title)
    assert len(rows(title)) == 11
    check_rows(rows(title), run(theirs, {}), run(ours, {"qkv": qkv}))


@pytest.mark.usefixtures("workshop")
def test_translations_are_the_same() -> None:
    title = "transformers: translation"
    theirs, ours = blocks(title)
    *generated, _ = rows(title)
    assert len(generated) == 3
    check_rows(generated, run(theirs, {}), run(ours, {"qkv": qkv}))


@pytest.mark.usefixtures("workshop")
def test_the_pipeline_for_translation_gives_the_same() -> None:
    from transformers import pipeline
    from transformers.pipelines import PIPELINE_REGISTRY

    if "translation" not in PIPELINE_REGISTRY.get_supported_tasks():
        pytest.skip("this version of transformers has no pipeline for translation")
    theirs, ours = blocks("transformers: translation")
    *_, piped = rows("transformers: translation")
    check_rows([piped], run(theirs, {"pipeline": pipeline}), run(ours, {"qkv": qkv}))


@pytest.mark.usefixtures("workshop")
def test_an_imported_model_computes_the_same() -> None:
    program = PAGE.split("```python\n")[1].split("```")[0]
    imported = run(program, {})["bert"]
    assert np.allclose(imported.embed(["one two"]), qkv.load("runs/bert").embed(["one two"]), atol=1e-6)


def keywords(texts: list[str]) -> dict[str, Any]:
    return dict(eval(f"dict({', '.join(texts)})"))


def test_every_training_argument_exists_there_and_works_here(workshop: Path, tmp_path: Path) -> None:
    from transformers import TrainingArguments

    pairs = rows("transformers: Trainer")
    assert len(pairs) == 15
    theirs = keywords([wrote for wrote, _ in pairs])
    assert theirs.keys() <= {each.name for each in dataclasses.fields(TrainingArguments)}
    ours = {**keywords([write for _, write in pairs]), "output": tmp_path / "out", **TINY}
    model = qkv.fine_tune("runs/bert", REVIEWS, valid=REVIEWS[:4], **ours)
    assert isinstance(model, qkv.TextClassifier)
    settings = json.dumps(json.loads((tmp_path / "out" / "training" / "run.json").read_text()))
    assert '"learning_rate": 0.0001' in settings
    assert '"adam_epsilon": 1e-08' in settings
    assert model.report["training"]["steps"] == 4
    assert [line["step"] for line in model.report.history if "validation_loss" in line] == [2, 4]


@pytest.mark.usefixtures("workshop")
def test_a_trainer_becomes_one_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Notes(qkv.Callback):
        losses: ClassVar[list[float]] = []

        def on_validation(self, event: qkv.ValidationEvent) -> None:
            self.losses.append(event.loss)

    monkeypatch.chdir(tmp_path)
    _, program = blocks("transformers: Trainer")
    names = {
        "qkv": qkv,
        "bert": qkv.load(MODELS / "bert"),
        "data": REVIEWS,
        "valid": REVIEWS[:4],
        "Notes": Notes,
    }
    model = run(with_tiny_settings(program), names)["model"]
    assert model.classes == ("long", "short")
    assert Notes.losses
    with pytest.warns(UserWarning, match="this run is already complete"):
        qkv.resume("out", progress=False).save("copy")
    assert qkv.load("copy").classify("one two") == model.classify("one two")
    assert "patience" in inspect.signature(qkv.fine_tune).parameters


def with_tiny_settings(program: str) -> str:
    return re.sub(r"\)\n", ", processes=1, progress=False)\n", program)


# sentence-transformers ---------------------------------------------------------------------------------


class SentenceTransformer:
    """What sentence-transformers computes, from the folder that it would open."""

    def __init__(self, folder: str):
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer, self.model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
        pooling = json.loads((Path(folder) / "1_Pooling" / "config.json").read_text())
        self.takes_first = pooling["pooling_mode_cls_token"]
        self.normalizes = "models.Normalize" in (Path(folder) / "modules.json").read_text()

    def encode(
        self,
        sentences: Any,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        normalize_embeddings: bool = False,
    ) -> Any:
        many = [sentences] if isinstance(sentences, str) else sentences
        tokens = self.tokenizer(many, return_tensors="pt", padding=True)
        states = self.model(**tokens).last_hidden_state.detach().numpy()  # (B, T, D)
        mask = tokens["attention_mask"].numpy()[:, :, None]
        found = states[:, 0] if self.takes_first else (states * mask).sum(1) / mask.sum(1)  # (B, D)
        if self.normalizes or normalize_embeddings:
            found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found[0] if isinstance(sentences, str) else found

    def similarity(self, one: Any, other: Any) -> Any:
        lengths = np.linalg.norm(one, axis=1)[:, None] * np.linalg.norm(other, axis=1)[None]
        return one @ other.T / lengths


def sentence_transformer() -> dict[str, Any]:
    if not is_installed("sentence_transformers"):
        return {"SentenceTransformer": SentenceTransformer}
    return vars(importlib.import_module("sentence_transformers"))


@pytest.mark.usefixtures("workshop")
def test_sentence_vectors_are_the_same() -> None:
    title = "sentence-transformers"
    theirs, ours = blocks(title)
    names = dict(sentence_transformer())
    if not is_installed("sentence_transformers"):
        theirs = theirs.replace("from sentence_transformers import SentenceTransformer\n", "")
    assert len(rows(title)) == 8
    check_rows(rows(title), run(theirs, names), run(ours, {"qkv": qkv}))


@pytest.mark.usefixtures("workshop")
def test_pooling_and_normalisation_follow_the_model() -> None:
    texts = ["one two three.", "nine."]
    expected = sentence_transformer()["SentenceTransformer"]("theirs/sentences").encode(texts)
    assert not np.allclose(np.linalg.norm(expected, axis=1), 1)
    assert np.allclose(qkv.load("runs/sentences", compute_type="float32").embed(texts), expected, atol=1e-4)


# datasets, pandas, polars, sacreBLEU -------------------------------------------------------------------


class Dataset:
    """The methods of `datasets.Dataset` that the page uses."""

    def __init__(self, rows: list[dict[str, Any]]):
        self.rows, self.column_names = rows, list(rows[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        return [row[column] for row in self.rows]

    def map(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> "Dataset":
        return Dataset([{**row, **change(row)} for row in self.rows])


def data_set() -> Any:
    """As the page loads it."""
    [program, _] = blocks("datasets, pandas and polars")
    if not is_installed("datasets"):
        return Dataset([json.loads(line) for line in Path("reviews.jsonl").read_text().splitlines()])
    load_dataset = partial(importlib.import_module("datasets").load_dataset, cache_dir="cache")
    return run(program, {"load_dataset": load_dataset})["data"]


@pytest.mark.usefixtures("workshop")
def test_data_sets_go_in_as_they_are() -> None:
    labelled = rows("datasets, pandas and polars")[:3]
    theirs = run(blocks("transformers: pipelines")[0], {"data": data_set()})
    ours = run(blocks("transformers: pipelines")[1], {"qkv": qkv, "data": data_set()})
    check_rows(labelled, theirs, ours)


@pytest.mark.filterwarnings("ignore")  # of the other libraries
@pytest.mark.parametrize("library", ["stand-in", "datasets", "pandas", "polars"])
@pytest.mark.usefixtures("workshop")
def test_data_sets_and_frames_train_and_are_classified(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library == "stand-in":
        data: Any = Dataset(REVIEWS)
    elif not is_installed(library):
        pytest.skip(f"{library} is not installed")
    else:
        data = data_set() if library == "datasets" else importlib.import_module(library).DataFrame(REVIEWS)
    bert, classifier = qkv.load(MODELS / "bert"), qkv.load(MODELS / "bert-classifier")
    expected = classifier.classify([row["text"] for row in REVIEWS])
    assert classifier.classify(data["text"]) == expected
    monkeypatch.chdir(tmp_path)
    [_, program] = blocks("datasets, pandas and polars")
    names = run(with_tiny_settings(program), {"qkv": qkv, "bert": bert, "data": data})
    assert names["model"].classes == ("long", "short")
    for name in ("mine", "mine-2"):
        assert isinstance(qkv.load(tmp_path / "runs" / name), qkv.TextClassifier)


def test_scores_are_those_of_sacrebleu() -> None:
    pairs = rows("datasets, pandas and polars")[3:]
    assert len(pairs) == 2
    names = {
        "sacrebleu": sacrebleu, "qkv": qkv, "translations": ["the small cat danced here", "a dog slept in the house"] * 3,
        "references": ["the small cat danced there", "a dog slept in the garden"] * 3,
    }  # fmt: skip
    check_rows(pairs, names, names)


def test_every_row_of_the_page_is_run() -> None:
    titles = re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert sum(len(rows(title)) for title in titles) == len(lines) == 43
