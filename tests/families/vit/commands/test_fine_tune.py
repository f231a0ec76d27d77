"""`qkv train vit --fine-tune`: training, resuming and mistakes."""

import json
from pathlib import Path

import pytest
from commands import code_of, refused
from drawings import SHORT_RUN, halves, untrained_classifier
from tiny_bert import tiny_classifier

from qkv import load

Output = pytest.CaptureFixture[str]
LEARNING = [
    "--epochs",
    "12",
    "--learning-rate",
    "0.02",
    "--batch-tokens",
    "60",
    "--processes",
    "1",
    "--valid-size",
    "6",
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "model"
    untrained_classifier().save(folder)
    return folder


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of another size than those of the model."""
    return halves(tmp_path_factory.mktemp("images") / "halves", each=30, size=11)


def test_a_model_is_fine_tuned_used_and_resumed_without_its_options(
    base: Path, images: Path, tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "out"
    given = ["train", "vit", "--fine-tune", base, "--images", images, "--fit", "--out", out]
    assert code_of(*given, *LEARNING) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "fine-tuned from model; other classes, so its head is new" in shown.err
    assert code_of("evaluate", out, "--images", images, "--json") == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.9
    assert load(out)._form == load(base)._form
    assert code_of("train", "vit", "--resume", "--out", out) == 0
    assert "this run is already complete" in capsys.readouterr().err
    assert code_of("train", "vit", "--resume", "--out", out, "--dropout", "0.5") == 2
    assert "these differ: --dropout" in capsys.readouterr().err


def test_a_fine_tuned_model_keeps_its_head_when_fine_tuned_again(
    base: Path, images: Path, tmp_path: Path, capsys: Output
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    given = ["--images", images, "--fit", *SHORT_RUN, "--batch-tokens", "60"]
    assert code_of("train", "vit", "--fine-tune", base, *given, "--out", first) == 0
    assert code_of("train", "vit", "--fine-tune", first, *given, "--out", second) == 0
    assert "fine-tuned from first; same classes, so its head is kept" in capsys.readouterr().err
    report = json.loads((second / "report.json").read_text())
    assert report["settings"]["training"]["learning_rate"] == pytest.approx(
        0.064 / 12, abs=1e-6
    )  # its width is 12
    measured = json.loads((first / "report.json").read_text())["results"]["validation accuracy"]
    assert report["results"]["validation accuracy before"] == measured


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--fit", "--width", "32", "--patch", "2"], "--patch cannot be combined with --fine-tune."),
        (["--size", "8"], "--size cannot be combined with --fine-tune."),
        (["--colours=grey"], "--colours cannot be combined with --fine-tune."),
        (["--recipe", "mnist"], "there is no recipe 'mnist'"),
        (["--fit", "--epochs", "-1"], "--epochs must be more than 0"),
        ([], "is 11 × 11 pixels instead of 8 × 8: convert it, fit images to the model"),
        (["--fit", "--scenes", "100"], "give either --images with a folder, or --scenes"),
    ],
)
def test_options_that_the_model_fixes_are_rejected(
    options: list[str], sentence: str, base: Path, images: Path, tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "out"
    code = code_of("train", "vit", "--fine-tune", base, "--images", images, "--out", out, *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)
    assert not out.exists()


def test_only_an_image_classifier_can_be_fine_tuned(images: Path, tmp_path: Path, capsys: Output) -> None:
    tiny_classifier().save(tmp_path / "texts")
    out = tmp_path / "out"
    code = code_of("train", "vit", "--fine-tune", tmp_path / "texts", "--images", images, "--out", out)
    shown = capsys.readouterr()
    assert "kind 'bert-classifier'" in refused(shown.err, shown.out, code)
    code = code_of("train", "vit", "--fine-tune", tmp_path / "nowhere", "--images", images, "--out", out)
    shown = capsys.readouterr()
    refused(shown.err, shown.out, code)
    assert not out.exists()
