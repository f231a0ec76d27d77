"""`qkv train translator --fine-tune`: one command, resumed by another, and sentences for what cannot be."""

from pathlib import Path

import pytest
from commands import code_of, refused
from family_bundles import save_gpt

from qkv import load

QUICK = "--steps 4 --batch-tokens 256 --validate-every 2 --processes 1 --dropout 0"


def asked(model: Path, files: Path, *options: str) -> list[str]:
    named = ["--fine-tune", model, "--source", files / "a.en", "--target", files / "a.xx"]
    return ["train", "translator", *map(str, named), *options]


def test_a_model_is_fine_tuned_and_the_run_is_resumed_without_its_options(
    model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(files / "out")
    assert code_of(*asked(model, files, *QUICK.split(), "--out", out)) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "loss per token on the held-out pairs:" in shown.err
    assert load(out).tokenizer.text() == load(model).tokenizer.text()
    assert code_of("train", "translator", "--resume", "--out", out) == 0
    assert "this run is already complete" in capsys.readouterr().err
    assert code_of("train", "translator", "--resume", "--out", out, "--dropout", "0.5") == 2
    assert "these differ: --dropout" in capsys.readouterr().err
    assert code_of("translate", out, "one two", "--beam", "1") == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--width", "32", "--vocab-size", "300"], "--vocab-size cannot be combined with --fine-tune."),
        (["--architecture", "recurrent"], "--architecture cannot be combined with --fine-tune."),
        (["--beam-size=2"], "--beam-size cannot be combined with --fine-tune."),
        (["--language-token", "fra"], "this model translates into one language"),
        (["--epochs", "-1"], "--epochs must be more than 0"),
        (["--recipe", "demo"], "there is no recipe 'demo'"),
    ],
)
def test_options_that_the_model_fixes_are_rejected(
    options: list[str], sentence: str, model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(*asked(model, files, *options, "--out", str(files / "out")))
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)
    assert not (files / "out").exists()


def test_only_a_translator_can_be_fine_tuned(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = code_of(*asked(files, files, "--out", str(files / "out")))
    shown = capsys.readouterr()
    refused(shown.err, shown.out, code)
    assert not (files / "out").exists()


def test_help_needs_no_folder_and_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("train", "translator", "--fine-tune", "--help-all") == 0
    shown = capsys.readouterr().out
    for option in (
        "--fine-tune",
        "--epochs",
        "--language-token",
        "--dropout",
        "--label-smoothing",
        "--max-length-ratio",
    ):
        assert option in shown
    assert "--width" not in shown
    assert "--vocab-size" not in shown


def test_a_model_of_another_kind_is_named_with_the_commands_that_accept_it(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_gpt(tmp_path / "gpt")
    code = code_of(*asked(tmp_path / "gpt", files, "--out", str(files / "out")))
    shown = capsys.readouterr()
    wanted = (
        "kind 'gpt'. It is for `qkv generate`, `qkv evaluate` or `qkv train gpt --fine-tune`, "
        "not for `qkv train translator --fine-tune`."
    )
    assert wanted in refused(shown.err, shown.out, code)
