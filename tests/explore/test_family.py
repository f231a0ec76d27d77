"""A GPT, a BERT and a ViT are shown with what they have, and every number of theirs is found again too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from digits import digit_lines

from qkv.core.block import StackConfig
from qkv.explore.session import Explorer, Wish
from qkv.pipeline import Experiment

STACK = StackConfig(depth=2, width=24, heads=3, hidden=40, norm="pre", activation="gelu", dropout=0.0)


def disturbed(model: torch.nn.Module) -> Any:
    """Weights so large that attention has its favourites."""
    torch.manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


def save_gpt(folder: Path) -> str:
    models = pytest.importorskip("qkv.models.gpt", reason="there is no GPT yet")
    generator = pytest.importorskip("qkv.pipeline.generator")
    from qkv.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.learn(digit_lines(60), 330)
    config = models.GPTConfig(vocab=len(tokenizer), context=80, end=2, positions="learned", stack=STACK)
    defaults = generator.GeneratorDefaults(pieces="subwords")
    generator.Generator(disturbed(models.GPT(config)), tokenizer, defaults).save(folder)
    return "one two three"


def save_bert(folder: Path) -> str:
    models = pytest.importorskip("qkv.models.bert", reason="there is no BERT yet")
    pipeline = pytest.importorskip("qkv.pipeline.bert")
    from qkv.text.word_pieces import WordPieces  # type: ignore[import-not-found,unused-ignore]

    pieces = WordPieces.learn(digit_lines(200), 120)
    encoder = models.EncoderConfig(vocab=len(pieces), context=64, pad=pieces.pad, segments=2, stack=STACK)
    config = models.BertConfig(encoder=encoder, pooler=True, words=True, next_sentence=True)
    pipeline.Bert(disturbed(models.Bert(config)), pieces, pipeline.BertDefaults(longest=60)).save(folder)
    return "one two [MASK] four"


def save_vit(folder: Path) -> str:
    models = pytest.importorskip("qkv.models.vit", reason="there is no ViT yet")
    pipeline = pytest.importorskip("qkv.pipeline.pictures")
    image = pytest.importorskip("PIL.Image")
    config = models.VitConfig(height=8, width=12, channels=1, patch=4, classes=3, stack=STACK)
    defaults = pipeline.ClassifierDefaults(classes=("circle", "square", "line"), colours="grey")
    pipeline.PictureClassifier(disturbed(models.Vit(config)), defaults).save(folder)
    path = folder.parent / "picture.png"
    image.fromarray(np.arange(96, dtype=np.uint8).reshape(8, 12) * 2).save(path)
    return str(path)


SAVED = {"gpt": save_gpt, "bert": save_bert, "vit": save_vit}


@pytest.fixture(params=SAVED)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Explorer, Wish]:
    text = SAVED[request.param](tmp_path / "model")
    return Explorer(tmp_path / "model", [Path(text)]), Wish(text=text)


def test_every_number_is_found_again(opened: tuple[Explorer, Wish]) -> None:
    explorer, wish = opened
    trace, found = explorer.trace(wish)
    assert found.largest < 1e-3, found
    assert found.arrays > 30
    assert trace.choices
    assert trace.answer


@pytest.mark.parametrize("name", ["no_scaling", "no_mask", "no_positions", "silenced"])
def test_so_it_is_in_every_experiment(opened: tuple[Explorer, Wish], name: str) -> None:
    explorer, wish = opened
    usual, _ = explorer.trace(wish)
    side = usual.sides[0].name
    value: Any = (f"{side}.0", f"{side}.1.attention.2") if name == "silenced" else True
    trace, found = explorer.trace(Wish(text=wish.text, experiment=Experiment(**{name: value})))
    assert found.largest < 2e-3, found
    if name == "no_mask":
        assert np.isfinite(trace[f"{side}.0.attention.masked"]).all()


def test_the_page_is_told_what_there_is(opened: tuple[Explorer, Wish]) -> None:
    explorer, wish = opened
    told = explorer.summary(wish)
    [side] = told["sides"]
    names = told["names"]
    assert {f"{side['name']}.{part}" for part in ("tokens", "positions", "embedded", "output")} <= set(names)
    assert len(told["attention"]) == 2
    assert explorer.info()["examples"]


def test_a_page_cannot_ask_for_pictures_of_its_own(tmp_path: Path) -> None:
    from qkv.errors import UserError

    text = save_vit(tmp_path / "model")
    with pytest.raises(UserError, match="give one with --text"):
        Explorer(tmp_path / "model")
    explorer = Explorer(tmp_path / "model", [Path(text)])
    with pytest.raises(UserError, match="only the pictures"):
        explorer.trace(Wish(text=str(tmp_path / "other.png")))
