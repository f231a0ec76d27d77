"""What the benchmarks of language models work out themselves."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import one_stream  # noqa: E402
import shakespeare  # noqa: E402

sys.path.remove(str(BENCHMARKS))

from qkv.families.translator.architectures import build  # noqa: E402
from qkv.families.translator.recipes import RECIPES  # noqa: E402
from qkv.families.translator.task import architecture  # noqa: E402
from qkv.pictures import new_figure  # noqa: E402
from qkv.text.tokenizer import Tokenizer  # noqa: E402


@pytest.mark.parametrize(("recipe", "depth"), [("built-in", 5), ("multi30k-tiny", 10)])
def test_both_shapes_have_the_same_number_of_weights(recipe: str, depth: int) -> None:
    model = RECIPES[recipe](30_000).model
    assert one_stream.depth_alone(model) == depth
    tokenizer = Tokenizer.learn(["a"], 259)
    with torch.device("meta"):
        both = [
            build(architecture(shape, 8_000, tokenizer))
            for shape in (model, replace(model, encoder_depth=0, decoder_depth=depth))
        ]
    first, second = (sum(p.numel() for p in each.parameters()) for each in both)
    assert abs(first - second) / first < 0.005


def test_the_points_of_a_run_are_its_validations(tmp_path: Path) -> None:
    log = [{"step": 1, "loss": 2.0}, {"step": 2, "validation_loss": 1.5}, {"step": 4, "validation_loss": 1.2}]
    timing = [{"step": 1, "seconds": 3}, {"step": 2, "seconds": 6}, {"step": 4, "seconds": 12}]
    for name, lines in (("log.jsonl", log), ("timing.jsonl", timing)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert shakespeare.points_of(tmp_path) == [(2, 0.1, 1.5), (4, 0.2, 1.2)]


def test_the_picture_of_an_hour_has_a_curve_for_each_run_with_the_best_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [
        shakespeare.Result(name=name, parameters="5", points=[(1, 1.0, 2.0), (2, 2.0, 1.5), (3, 3.0, 1.6)])
        for name in shakespeare.HOURS
    ]
    figures = []
    monkeypatch.setattr(
        shakespeare, "new_figure", lambda *size: figures.append(new_figure(*size)) or figures[0]
    )
    shakespeare.draw(tmp_path / "curve.png", results)
    [axes] = figures[0].axes
    assert [list(line.get_ydata()) for line in axes.lines[:2]] == [[2.0, 1.5, 1.6]] * 2
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told[0] == "ours, an hour, 5 parameters: 1.500 after 2 minutes"
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_nanogpts_lines_are_understood() -> None:
    found = shakespeare.VALIDATED.search("step 250: train loss 2.3817, val loss 2.4026")
    assert found is not None
    assert found.groups() == ("250", "2.4026")


def test_a_folder_that_is_not_nanogpt_raises_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("text")
    arguments = ["--text", str(text), "--nanogpt", str(tmp_path), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["shakespeare.py", *arguments])
    with pytest.raises(SystemExit):
        shakespeare.main()
    assert "is not nanoGPT: it has no train.py" in capsys.readouterr().err
