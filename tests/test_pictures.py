"""Plots of a run."""

import json
from pathlib import Path

from PIL import Image

from qkv.pictures import learning_curve_picture


def test_a_learning_curve_has_a_second_panel_where_the_run_noted_its_accuracy(tmp_path: Path) -> None:
    rows = [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}, {"step": 2, "validation_loss": 0.9}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "timing.jsonl").write_text(json.dumps({"step": 2, "seconds": 90}) + "\n")
    learning_curve_picture(tmp_path / "loss.png", tmp_path)
    (tmp_path / "accuracy.jsonl").write_text(json.dumps({"step": 2, "minutes": 1.5, "accuracy": 0.5}) + "\n")
    learning_curve_picture(tmp_path / "both.png", tmp_path)
    with Image.open(tmp_path / "loss.png") as one, Image.open(tmp_path / "both.png") as two:
        assert two.height == one.height
        assert two.width > 1.5 * one.width
        right = two.convert("RGB").crop((two.width // 2, 0, two.width, two.height))
    assert len(right.getcolors(1_000_000) or []) > 10  # axes, letters and a point, not an empty half
