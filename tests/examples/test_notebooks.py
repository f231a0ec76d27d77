"""The notebooks in examples/ run from the first cell to the last, with tiny models and a few steps."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import qkv

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
MODELS = {  # what each notebook leaves in its folder
    "translator": {"en-de": qkv.Translator},
    "gpt": {"python": qkv.LanguageModel},
    "bert": {"reviews": qkv.Bert, "good-or-bad": qkv.TextClassifier},
    "vit": {"shapes": qkv.ImageClassifier, "copy": qkv.ImageClassifier},
    "dalle": {"codes": qkv.Codebook, "drawing": qkv.ImageGenerator},
}
SHOWN = {  # the end of a cell's output, by cell
    "translator": {"details": "Vogel", "evaluating": "chrF", "comparing": "BLEU", "trace": "<svg", "explorer": "<iframe"},
    "gpt": {"training": "bits per byte", "evaluating": "bits per byte", "trace": "<svg", "explorer": "<iframe"},
    "bert": {"tuning": "<b>", "evaluating": "accuracy", "trace": "<svg", "explorer": "<iframe", "export": "transformers"},
    "vit": {"classifying": "triangle", "evaluating": "accuracy", "trace": "<svg", "explorer": "<iframe"},
    "dalle": {"codebook": "reconstruction", "saving": "DALL-E"},
}  # fmt: skip


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of a short run, and a temporary folder for its models. The kernel inherits them."""
    settings = {"STEPS": 3, "WIDTH": 16, "PROCESSES": 1}
    for name, value in settings.items():
        monkeypatch.setenv(f"QKV_EXAMPLE_{name}", str(value))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return tmp_path


IN_EVERY_RUN = ("translator", "gpt", "bert")  # the others are slow tests
MARKED = [
    pytest.param(path, id=path.stem, marks=() if path.stem in IN_EVERY_RUN else pytest.mark.slow)
    for path in NOTEBOOKS
]


@pytest.mark.parametrize("path", MARKED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the packages that start kernels
def test_a_notebook_runs_and_leaves_models_that_load(path: Path, tiny: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tiny)}}
    NotebookClient(notebook, kernel_name="python3", timeout=300, resources=place).execute()

    shown = {cell.id: [*map(html_of, cell.outputs)] for cell in notebook.cells if cell.cell_type == "code"}
    for cell, text in SHOWN[path.stem].items():
        assert text in shown[cell][-1], f"{cell} does not show {text!r}"
    texts = [output.data["text/plain"] for cell in notebook.cells for output in data_of(cell)]
    assert not [text for text in texts if not text or "\x1b" in text]  # nothing empty, no control sequences

    [runs] = tiny.glob("qkv-*")
    for name, kind in MODELS[path.stem].items():
        assert type(qkv.load(runs / name)) is kind


def data_of(cell: Any) -> list[Any]:
    return [output for output in cell.get("outputs", []) if "data" in output]


def html_of(output: Any) -> str:
    data = output.get("data", {})
    return str(data.get("text/html", data.get("text/plain", output.get("text", ""))))


def test_there_is_a_notebook_for_every_family() -> None:
    from qkv.families import FAMILIES

    assert {path.stem for path in NOTEBOOKS} == set(FAMILIES) == set(MODELS) == set(SHOWN)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    written = path.read_text(encoding="utf-8")
    notebook = json.loads(written)
    nbformat.validate(notebook)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}  # not the version of who ran it last
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids)) <= 20
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    assert not re.search(r'"/(home|tmp|root|work|Users)', written)  # no path of somebody's machine
    assert written == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
