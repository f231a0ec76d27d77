"""The examples in the docstrings of the training functions run, for every family."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from commands import save_untrained
from digits import digit_lines

import qkv

NAMES = [
    "train_translator", "train_gpt", "train_bert", "train_vit", "train_codebook", "train_dalle", "fine_tune", "resume",
    "Callback", "TrainingReport", "StartEvent", "StepEvent", "ValidationEvent", "SaveEvent", "EndEvent",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_training_function_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    save_untrained(tmp_path / "runs" / "en-de", digit_lines(50), beam=1, length_penalty=1.0)
    runner = doctest.DocTestRunner()
    examples = doctest.DocTestFinder(recurse=False).find(getattr(qkv, name), name, globs={"qkv": qkv})
    assert sum(len(each.examples) for each in examples) > 0
    for each in examples:
        runner.run(each)
    assert runner.summarize().failed == 0


def test_an_image_classifier_reports_its_accuracy_at_every_validation(tmp_path: Path) -> None:
    images = [np.full((8, 8), 200 * (n % 2), dtype=np.uint8) for n in range(20)]
    rows = [
        {"image": image, "label": f"{'light' if n % 2 else 'dark'}/grey"} for n, image in enumerate(images)
    ]
    small = {
        "width": 8,
        "heads": 2,
        "ffn_width": 8,
        "depth": 1,
        "patch": 4,
        "processes": 1,
        "progress": False,
    }
    model = qkv.train_vit(rows, valid=rows[:6], output=tmp_path / "run", steps=4, validate_every=2, **small)
    assert model.report["data"]["classes"] == ["dark/grey", "light/grey"]
    assert model.report["data"]["validation_images"] == 6
    assert [line["step"] for line in model.report["curve"]] == [2, 4]
