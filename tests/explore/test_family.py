"""A GPT, a BERT and a ViT are shown with what they have, and every number of theirs is found again too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from family_bundles import SAVED, save_vit

from qkv.explorer.session import Explorer, TraceQuery
from qkv.tracing.experiments import Experiment


@pytest.fixture(params=SAVED)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Explorer, TraceQuery]:
    text = SAVED[request.param](tmp_path / "model")
    return Explorer(tmp_path / "model", [Path(text)]), TraceQuery(text=text)


def test_every_number_is_found_again(opened: tuple[Explorer, TraceQuery]) -> None:
    explorer, query = opened
    trace, found = explorer.trace(query)
    assert found.largest < 1e-3, found
    assert found.arrays > 30
    assert trace.choices
    assert trace.output


@pytest.mark.parametrize("name", ["no_scaling", "no_mask", "no_positions", "silenced"])
def test_so_it_is_in_every_experiment(opened: tuple[Explorer, TraceQuery], name: str) -> None:
    explorer, query = opened
    usual, _ = explorer.trace(query)
    side = usual.sides[0].name
    value: Any = (f"{side}.0", f"{side}.1.attention.2") if name == "silenced" else True
    trace, found = explorer.trace(TraceQuery(text=query.text, experiment=Experiment(**{name: value})))
    assert found.largest < 2e-3, found
    if name == "no_mask":
        assert np.isfinite(trace[f"{side}.0.attention.masked"]).all()


def test_the_summary_lists_sides_names_and_attention(opened: tuple[Explorer, TraceQuery]) -> None:
    explorer, query = opened
    told = explorer.summary(query)
    [side] = told["sides"]
    names = told["names"]
    assert {f"{side['name']}.{part}" for part in ("tokens", "positions", "embedded", "output")} <= set(names)
    assert len(told["attention"]) == 2
    assert explorer.info()["examples"]


def test_the_page_can_request_only_the_given_images(tmp_path: Path) -> None:
    from qkv.errors import QkvError

    text = save_vit(tmp_path / "model")
    with pytest.raises(QkvError, match="give the path of an image file"):
        Explorer(tmp_path / "model")
    explorer = Explorer(tmp_path / "model", [Path(text)])
    with pytest.raises(QkvError, match="only the images that it was started with"):
        explorer.trace(TraceQuery(text=str(tmp_path / "other.png")))
