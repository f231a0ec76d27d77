"""Commands of DALL-E and its codebook: train, draw and evaluate, and their error messages."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import code_of, refused
from drawings import SHORT_RUN, TINY_BLOCKS, untrained_codes, untrained_painter
from PIL import Image

from qkv.data.captioned import scene_pictures
from qkv.data.labelled_pictures import hold_out
from qkv.families.dalle.codes import reconstruction
from qkv.families.dalle.product import ImageGenerator
from qkv.families.dalle.scene_scores import reconstructed_scenes

Output = pytest.CaptureFixture[str]


JUDGED = ["--measured-captions", "2", "--measured-candidates", "2"]


@pytest.fixture(scope="module")
def painter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("painter")
    untrained_painter().save(folder)
    return folder


def test_a_dalle_is_trained_on_scenes_and_draws(tmp_path: Path, capsys: Output) -> None:
    codes, out = tmp_path / "codes", tmp_path / "model"
    small = ["--scenes", "100", *SHORT_RUN]
    assert code_of("train", "codebook", *small, "--out", codes, "--width", "8", "--patch", "8") == 0
    report = json.loads((codes / "report.json").read_text())
    assert 0 < report["reconstruction"]["rmse"] < 1
    assert 1 <= report["reconstruction"]["used"] <= 512
    assert 0 <= report["scenes"]["unseen combinations"]["attributes"] < 0.9  # six steps
    assert any("unseen combinations" in name for name in report["results"])
    assert code_of("train", "dalle", *small, *TINY_BLOCKS, *JUDGED, "--codebook", codes, "--out", out) == 0
    scores = json.loads((out / "report.json").read_text())["scenes"]
    assert 0 <= scores["unseen combinations"]["attributes"] <= 1
    report = json.loads((out / "report.json").read_text())
    assert report["training"]["weights"] == "last weights, of step 6"
    assert "unseen pairs with both color and shape right" in report["results"]
    capsys.readouterr()
    picture = tmp_path / "a.png"
    assert code_of("draw", out, "a red ring", "-o", picture, "--candidates", "5", "--top-k", "4") == 0
    assert capsys.readouterr().out == f"{picture}\n"
    with Image.open(picture) as drawn:
        assert drawn.size == (8 * 66, 8 * 66)


def test_drawings_are_scored_by_the_scene_reader(painter: Path, tmp_path: Path, capsys: Output) -> None:
    sheet = tmp_path / "sheet.png"
    assert code_of("evaluate", painter, "--scenes", "3", "--candidates", "2", "--sheet", sheet, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seen combinations"]["attributes"] < 0.9  # it was never trained
    with Image.open(sheet) as picture:
        assert picture.width > 500


def test_options_can_be_tuned_on_validation_captions(
    painter: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    drawn: list[str] = []
    draw_each = ImageGenerator._draw_each

    def noting(self: ImageGenerator, captions: list[str], *rest: Any, **options: Any) -> Any:
        drawn.extend(captions)
        return draw_each(self, captions, *rest, **options)

    monkeypatch.setattr(ImageGenerator, "_draw_each", noting)
    asked = ["evaluate", painter, "--scenes", "12", "--candidates", "1", "--json"]
    found = []
    for more, name in (([], "test"), (["--part", "test"], "test"), (["--part", "valid"], "valid")):
        drawn.clear()
        assert code_of(*asked, *more) == 0
        assert json.loads(capsys.readouterr().out)["part"] == name
        found.append(set(drawn))
    assert found[0] == found[1]
    assert len(found[0]) == len(found[2]) == 24
    assert not found[0] & found[2]


def test_a_sheet_is_checked_before_drawing_and_its_failure_costs_no_scores(
    painter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    asked = [
        "evaluate",
        painter,
        "--scenes",
        "2",
        "--candidates",
        "1",
        "--sheet",
        tmp_path / "a.png",
        "--json",
    ]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("qkv.pictures.sheet_picture", full)
    assert code_of(*asked) == 4
    shown = capsys.readouterr()
    assert json.loads(shown.out)["captions"] == 2
    assert "No space left" in shown.err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(ImageGenerator, "_draw_each", lambda *_, **__: pytest.fail("it has begun to draw"))
    code = code_of(*asked)
    shown = capsys.readouterr()
    assert "a plot needs matplotlib" in refused(shown.err, shown.out, code)


def test_images_on_a_sheet_have_the_size_of_training(tmp_path: Path, capsys: Output) -> None:
    images, codes, out = tmp_path / "images", tmp_path / "codes", tmp_path / "model"
    images.mkdir()
    for number in range(20):
        Image.new("RGB", (50, 40 + number), "red").save(images / f"{number}.png")
    lines = [f"{number}.png\tthing {number}\n" for number in range(20)]
    (images / "captions.tsv").write_text("".join(lines))
    small = ["--images", images, "--size", "16", *SHORT_RUN]
    assert code_of("train", "codebook", *small, "--out", codes, "--width", "8", "--patch", "8") == 0
    assert code_of("train", "dalle", *small, *TINY_BLOCKS, "--codebook", codes, "--out", out) == 0
    capsys.readouterr()
    sheet = tmp_path / "sheet.png"
    asked = ["--images", images, "--sheet", sheet, "--candidates", "1"]
    assert code_of("evaluate", out, *asked, "--json") == 0
    assert json.loads(capsys.readouterr().out)["held out"] == 2
    assert sheet.is_file()


def test_a_codebook_is_evaluated_on_images_and_on_scenes(tmp_path: Path, capsys: Output) -> None:
    codes, side = untrained_codes(), untrained_codes().model.config.side
    codes.save(tmp_path / "codes")
    for number in range(3):
        Image.new("RGB", (40, 40), (80 * number, 0, 0)).save(tmp_path / f"{number}.png")
    assert code_of("evaluate", tmp_path / "codes", "--images", tmp_path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["images"] == 3
    pixels = np.stack([np.full((3, side, side), 0, dtype=np.uint8) for _ in range(3)])
    pixels[1, 0], pixels[2, 0] = 80, 160
    assert found["reconstruction"] == reconstruction(codes, pixels)
    assert code_of("evaluate", tmp_path / "codes", "--scenes", "4", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["part"], found["images"]) == ("valid", 4)
    assert found["reconstruction"] == reconstruction(codes, scene_pictures("valid", 4).pictures)
    assert found["seen combinations"] == reconstructed_scenes(codes, 4)["scenes"]["seen combinations"]


def test_the_longest_caption_may_be_held_out(tmp_path: Path, capsys: Output) -> None:
    """The sheet shows it as held out."""
    side = untrained_codes().model.config.side
    untrained_codes().save(tmp_path / "codes")
    np.savez(tmp_path / "a.npz", images=np.zeros((20, side, side, 3), dtype=np.uint8))
    given = ["--images", tmp_path / "a.npz", "--captions", tmp_path / "a.json"]
    kept, _ = hold_out(20, "2", seed=1)
    names = ["a" if number in kept else "a very long name that training never shows" for number in range(20)]
    (tmp_path / "a.json").write_text(json.dumps(names))
    run = [
        *SHORT_RUN,
        *TINY_BLOCKS,
        "--valid-size",
        "2",
        "--vocab-size",
        "300",
        "--batch-tokens",
        "900",
    ]
    model = tmp_path / "model"
    assert code_of("train", "dalle", *given, "--codebook", tmp_path / "codes", "--out", model, *run) == 0
    assert code_of("evaluate", model, *given, "--sheet", tmp_path / "a.png", "--candidates", "1") == 0
    assert (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["draw", "MODEL", "a red zebra", "-o", "a.png"], "does not know the word 'zebra'"),
        (["draw", "MODEL", "", "-o", "a.png"], "the caption is empty"),
        (["draw", "MODEL", "a \udcff ring", "-o", "a.png"], "the text is not UTF-8"),
        (["draw", "MODEL", "a ring", "-o", "a.jpg"], "--output must end in .png"),
        (["draw", "MODEL", "a ring", "-o", "nowhere/a.png"], "there is no folder nowhere"),
        (
            ["draw", "MODEL", "a ring", "-o", "folder.png"],
            "--output folder.png is a folder: give a file name",
        ),
        (
            ["draw", "MODEL", "a ring", "-o", "a.png", "--guidance", "inf"],
            "--guidance must be from 0 to",
        ),
        (
            ["draw", "MODEL", "a ring", "-o", "a.png", "--temperature", "1e-40"],
            "--temperature must be between 0.000001 and 1,000,000",
        ),
        (
            ["draw", "MODEL", "a ring", "-o", "a.png", "--temperature", "nan"],
            "--temperature must be",
        ),
        (["draw", "MODEL", "a ring", "-o", "a.png", "--top-k", "99"], "--top-k must be from 1 to"),
        (["draw", "MODEL", "a ring", "-o", "a.png", "--candidates", "0"], "--candidates must be from"),
        (["translate", "MODEL", "a ring"], "kind 'dalle'. It is for `qkv draw`"),
        (["train", "dalle", "--scenes", "100", "--out", "OUT"], "--codebook is missing"),
        (["train", "dalle", "--scenes", "100", "--codebook", "MODEL", "--out", "OUT"], "kind 'dalle'"),
        (["train", "codebook", "--images", "one", "--out", "OUT"], "too few to hold some out"),
        (["evaluate", "MODEL", "--scenes", "-1"], "--scenes must be from 1 to"),
        (["evaluate", "MODEL", "--images", "one", "--part", "valid"], "--part needs --scenes"),
    ],
)
def test_invalid_options_are_one_error_message(
    arguments: list[str],
    sentence: str,
    painter: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one" / "cat").mkdir(parents=True)
    (tmp_path / "folder.png").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "one" / "cat" / "a.png")
    named = {"MODEL": str(painter), "OUT": str(tmp_path / "out")}
    code = code_of(*(named.get(each, each) for each in arguments))
    captured = capsys.readouterr()
    assert sentence in refused(captured.err, captured.out, code)
