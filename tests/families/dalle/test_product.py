"""A caption in, images out."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from drawings import untrained_codes, untrained_painter
from torch import Tensor

import qkv
from qkv.decoding.hypothesis import Hypothesis
from qkv.errors import QkvError
from qkv.families.dalle.options import DrawingOptions
from qkv.families.dalle.product import ImageGenerator

CAPTION = "a red circle above a blue square"
FEW = DrawingOptions(candidates=3, seed=5)


def test_a_saved_painter_draws_the_same(tmp_path: Path) -> None:
    before = untrained_painter()
    before.save(tmp_path)
    after = qkv.load(tmp_path)
    assert isinstance(after, ImageGenerator)
    for one, other in zip(before._draw(CAPTION, FEW), after._draw(CAPTION, FEW), strict=True):
        assert np.array_equal(one.pixels, other.pixels)
        assert one.likelihood == pytest.approx(other.likelihood)


def test_the_same_seed_draws_the_same_and_another_seed_something_else() -> None:
    painter = untrained_painter()
    first, again, other = (painter.draw(CAPTION, how).pixels for how in (FEW, FEW, replace(FEW, seed=6)))
    assert first.shape == (3, 32, 32)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_drawing_prints_its_scores_and_not_its_pixels() -> None:
    shown = repr(untrained_painter().draw(CAPTION, FEW))
    assert re.fullmatch(r"Drawing\(likelihood=-?[\d.]+, contrast=-?[\d.e-]+\)", shown)


def test_captions_go_to_where_the_model_is_and_drawings_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    painter, devices = untrained_painter(), []
    painter.model.to("meta")

    def sampled(step: object, start: Tensor, end: int, limits: Tensor, *_: object) -> list[Hypothesis]:
        devices.extend([start.device.type, limits.device.type])
        return [Hypothesis([0] * painter.config.area, 0.0, False, [])] * len(start)

    monkeypatch.setattr("qkv.families.dalle.product.sample", sampled)
    monkeypatch.setattr(painter, "_likelihood", lambda captions, codes: [0.0] * len(captions))
    assert painter.draw(CAPTION, FEW).pixels.shape == (3, 32, 32)
    assert devices == ["meta"] * 2


def test_pictures_go_to_where_the_codebook_is_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, devices, back = untrained_codes(), [], []
    codes.model.to("meta")

    def noting(answer: Tensor) -> Callable[[Tensor], Tensor]:
        def called(given: Tensor) -> Tensor:
            devices.append(given.device.type)
            return answer

        return called

    monkeypatch.setattr(codes.model, "encode", noting(torch.zeros(2, 16, dtype=torch.long)))
    monkeypatch.setattr(codes.model, "decode", noting(torch.zeros(2, 3, 32, 32)))
    monkeypatch.setattr(Tensor, "cpu", lambda self: back.append(self.shape) or self)
    codes.encode(np.zeros((2, 3, 32, 32), dtype=np.uint8))
    codes.decode(np.zeros((2, 16), dtype=np.int64))
    assert devices == ["meta", "meta"]
    assert back == [(2, 16), (2, 3, 32, 32)]


@pytest.mark.parametrize("ranking", ["likelihood", "contrast"])
def test_the_best_come_first(ranking: str) -> None:
    how = DrawingOptions(candidates=6, ranking=ranking)  # type: ignore[arg-type]
    values = [getattr(drawing, ranking) for drawing in untrained_painter()._draw(CAPTION, how)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 1


def test_the_likelihood_of_a_picture_is_that_of_its_codes() -> None:
    painter = untrained_painter()
    captions = np.array([painter._read(CAPTION)])
    codes = np.random.default_rng(1).integers(0, 12, (1, 16))
    step, ids, total = painter.model.begin(torch.tensor(captions)), captions[:, -1:], 0.0
    for place in range(16):
        total += float(step(torch.tensor(ids)).log_softmax(-1)[0, codes[0, place]])
        ids = codes[:, place : place + 1]
    assert painter._likelihood(captions, codes)[0] == pytest.approx(total / 16, abs=1e-5)


def test_many_captions_are_drawn_together() -> None:
    counted: list[int] = []
    found = untrained_painter()._draw_each([CAPTION, "a ring", "un anillo verde"], FEW, done=counted.append)
    assert [len(each) for each in found] == [3, 3, 3]
    assert sum(counted) == 3


@pytest.mark.parametrize(
    ("caption", "sentence"),
    [
        ("", "the caption is empty"),
        (" \t ", "the caption is empty"),
        ("a red circel", "does not know the word 'circel'; did you mean 'circle'"),
        ("a quantum", "does not know the word 'quantum'; it knows"),
        ("a red " * 40 + "circle", "tokens, and the model reads at most 28"),
    ],
)
def test_a_caption_that_means_nothing_is_rejected(caption: str, sentence: str) -> None:
    with pytest.raises(QkvError, match=sentence):
        untrained_painter().draw(caption)


def test_a_painter_of_an_open_world_takes_any_word() -> None:
    assert untrained_painter(closed=False)._read("ein Quantum")[-1] == 0


def test_captions_ignore_case() -> None:
    painter = untrained_painter()
    assert painter._read("A Red circle") == painter._read("a red circle")


def test_captions_ignore_a_final_full_stop() -> None:
    painter = untrained_painter()
    assert painter._read("A red circle.") == painter._read("a red circle .") == painter._read("a red circle")
    with pytest.raises(QkvError, match="the caption is empty"):
        painter._read(" . ")


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": 0},
        {"seed": -1},
        {"temperature": 0.0},
        {"temperature": float("inf")},
        {"top_p": 1.5},
        {"top_p": float("nan")},
        {"guidance": -1.0},
        {"guidance": float("nan")},
    ],
)
def test_an_impossible_option_is_named(change: dict[str, float]) -> None:
    with pytest.raises(QkvError, match=f"{next(iter(change))} must"):
        DrawingOptions(**change)  # type: ignore[arg-type]


def test_a_bundle_without_its_codebook_is_rejected(tmp_path: Path) -> None:
    untrained_painter().save(tmp_path)
    (tmp_path / "codebook" / "model.safetensors").unlink()
    with pytest.raises(QkvError, match=r"codebook/model\.safetensors is missing"):
        qkv.load(tmp_path)
