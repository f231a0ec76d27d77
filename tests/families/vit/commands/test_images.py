"""Commands of image classifiers: train, classify and evaluate, and their error messages."""

import json
import shutil
from pathlib import Path

import pytest
from commands import code_of, content, refused
from drawings import SHORT_RUN, TINY_BLOCKS, halves, untrained_classifier
from PIL import Image

from qkv.data.worlds.labelled_scenes import evaluation_scenes
from qkv.families.loading import load
from qkv.families.vit.product import ImageClassifier

Output = pytest.CaptureFixture[str]


VIT = [*TINY_BLOCKS, *SHORT_RUN, "--batch-tokens", "80"]


def test_a_classifier_is_trained_on_a_folder_of_images(tmp_path: Path, capsys: Output) -> None:
    images, out = halves(tmp_path / "images", each=20), tmp_path / "model"
    more = [
        "--steps",
        "30",
        "--learning-rate",
        "0.03",
        "--operations",
        "0",
        "--crop",
        "0",
        "--erase",
        "0",
    ]
    assert code_of("train", "vit", "--images", images, "--out", out, *VIT, *more) == 0
    report = json.loads((out / "report.json").read_text())
    assert report["data"]["classes"] == ["above", "left"]
    assert [line["step"] for line in report["curve"]] == sorted({line["step"] for line in report["curve"]})
    capsys.readouterr()
    asked = [images / "above" / "3.png", images / "left" / "4.png"]
    assert code_of("classify", out, *asked, "--json") == 0
    said = [json.loads(line)["label"] for line in capsys.readouterr().out.splitlines()]
    assert said == ["above", "left"]
    assert code_of("evaluate", out, "--images", images, "--json") == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.9
    assert code_of("info", out) == 0
    assert "image classifier (ViT), 2 classes" in capsys.readouterr().out


def test_an_interrupted_run_is_resumed_with_the_same_result(tmp_path: Path) -> None:
    """A state of the first half is what a killed run leaves."""
    images = halves(tmp_path / "images")
    options = [*VIT, "--flip", "--erase", "0.5"]
    for name in ("whole", "halved"):
        assert code_of("train", "vit", "--images", images, "--out", tmp_path / name, *options) == 0
    halved = tmp_path / "halved"
    shutil.rmtree(halved / "training" / "step-6")
    assert code_of("train", "vit", "--resume", "--out", halved) == 0
    both = [content(tmp_path / name) for name in ("whole", "halved")]
    one, other = ({Path(path).name: found for path, found in each.items()} for each in both)
    assert one["model.safetensors"] == other["model.safetensors"]


@pytest.mark.parametrize(
    ("parts", "taken"),
    [(("train", "val", "test"), "test"), (("train", "val"), "valid"), (("train",), "all"), (("",), "all")],
)
def test_a_classifier_is_evaluated_on_the_test_part_first(
    parts: tuple[str, ...], taken: str, tmp_path: Path, capsys: Output
) -> None:
    untrained_classifier().save(tmp_path / "model")
    for number, part in enumerate(parts, 1):
        for name in ("ant", "bee"):
            folder = tmp_path / "images" / part / name
            folder.mkdir(parents=True)
            for place in range(number):
                Image.new("RGB", (8, 8), "red").save(folder / f"{place}.png")
    assert code_of("evaluate", tmp_path / "model", "--images", tmp_path / "images", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["part"], found["images"]) == (taken, 2 * len(parts))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scenes", "3"], "or a multiple of that, not 8"),
        (["--images", ".", "--sheet", "a.png"], "unrecognized argument --sheet"),
        (["--scenes", "3", "--guidance", "2"], "unrecognized argument --guidance"),
    ],
)
def test_drawing_options_are_rejected_for_a_classifier(
    options: list[str], sentence: str, tmp_path: Path, capsys: Output
) -> None:
    untrained_classifier().save(tmp_path / "model")
    code = code_of("evaluate", tmp_path / "model", *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_a_classifier_of_scenes_is_evaluated_on_scenes(tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "model"
    assert code_of("train", "vit", "--scenes", "100", "--out", out, *VIT, "--patch", "8") == 0
    capsys.readouterr()
    assert code_of("evaluate", out, "--scenes", "40", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["part"], found["images"]) == ("test", 40)
    classifier = load(out)
    assert isinstance(classifier, ImageClassifier)
    judged = evaluation_scenes(40, classifier._form).with_class_order(classifier.classes)
    assert found["accuracy"] == pytest.approx(classifier._accuracy(judged))


def test_a_blank_line_is_not_an_image_path(tmp_path: Path, capsys: Output) -> None:
    untrained_classifier().save(tmp_path / "model")
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    (tmp_path / "paths").write_text(f"{tmp_path / 'a.png'}\n\n")
    code = code_of("classify", tmp_path / "model", "--input", tmp_path / "paths")
    shown = capsys.readouterr()
    assert "line 2 is empty" in refused(shown.err, shown.out, code)


def test_the_best_classes_of_an_image_are_on_one_line(tmp_path: Path, capsys: Output) -> None:
    untrained_classifier().save(tmp_path / "model")
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    assert code_of("classify", tmp_path / "model", tmp_path / "a.png") == 0
    cells = capsys.readouterr().out.strip().split("\t")
    assert sorted(cells[::2]) == ["ant", "bee", "cow"]
    assert [float(each) for each in cells[1::2]] == sorted(map(float, cells[1::2]), reverse=True)
    Image.new("RGBA", (9, 11), "red").save(tmp_path / "b.png")
    assert code_of("classify", tmp_path / "model", tmp_path / "b.png", "--fit", "--top-k", "1") == 0
    assert len(capsys.readouterr().out.strip().split("\t")) == 2


def test_each_line_starts_with_the_file_if_there_are_several_images(tmp_path: Path, capsys: Output) -> None:
    untrained_classifier().save(tmp_path / "model")
    asked = [tmp_path / "a.png", tmp_path / "b.png"]
    for path, colour in zip(asked, ("red", "blue"), strict=True):
        Image.new("RGB", (8, 8), colour).save(path)
    assert code_of("classify", tmp_path / "model", *asked, "--top-k", "1") == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == [str(path) for path in asked]
    assert all(line[1] in ("ant", "bee", "cow") and len(line) == 3 for line in lines)


def animated(path: Path) -> None:
    Image.new("RGB", (8, 8), "red").save(
        path, save_all=True, append_images=[Image.new("RGB", (8, 8), "blue")]
    )


BAD_PICTURES = {
    "another size": ("a.png", lambda path: Image.new("RGB", (9, 8)).save(path), "is 9 × 8 pixels instead of"),
    "another mode": ("a.png", lambda path: Image.new("CMYK", (8, 8)).save(path, "TIFF"), "has the mode CMYK"),
    "truncated": ("a.png", lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0"), "cannot be read|damaged"),
    "animated": ("a.gif", animated, "is animated"),
    "no picture": ("a.png", lambda path: path.write_text("text"), "cannot be read as an image"),
    "not there": ("a.png", lambda path: None, "there is no file"),
}


@pytest.mark.parametrize("fault", BAD_PICTURES)
def test_an_image_that_cannot_be_classified_is_one_error_message(
    fault: str, tmp_path: Path, capsys: Output
) -> None:
    name, make, sentence = BAD_PICTURES[fault]
    untrained_classifier().save(tmp_path / "model")
    make(tmp_path / name)
    code = code_of("classify", tmp_path / "model", tmp_path / name)
    captured = capsys.readouterr()
    assert any(each in refused(captured.err, captured.out, code) for each in sentence.split("|"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "vit", "--out", "OUT"], "give either --images with a folder, or --scenes"),
        (["train", "vit", "--scenes", "3", "--out", "OUT"], "--scenes must be from 100 to 1,000,000"),
        (["train", "vit", "--scenes", "100", "--size", "40", "--out", "OUT"], "or a multiple of that"),
        (["train", "vit", "--scenes", "100", "--colours", "grey", "--out", "OUT"], "leave out --colours"),
        (["train", "vit", "--images", "one", "--out", "OUT"], "has one class"),
    ],
)
def test_invalid_options_are_one_error_message(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one" / "cat").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(tmp_path / "one" / "cat" / "a.png")
    code = code_of(*(each if each != "OUT" else str(tmp_path / "out") for each in arguments))
    captured = capsys.readouterr()
    assert sentence in refused(captured.err, captured.out, code)
