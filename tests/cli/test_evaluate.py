"""`qkv evaluate` finds the evaluator of a model."""

import json
from pathlib import Path

import pytest
from commands import code_of, refused
from family_bundles import save_bert, save_gpt, save_vit

import qkv

FORMAT_1 = Path(__file__).parents[1] / "compatibility" / "format-1"
Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ("--text", ["--music"]),
        ("--labels", ["--columns", "text classifier"]),
        ("--images", ["--scenes", "--sheet"]),
        ("", ["--reference"]),
    ],
)
def test_help_shows_the_options_that_belong_together(option: str, shown: list[str], capsys: Output) -> None:
    assert code_of("evaluate", *([option] if option else []), "--help") == 0
    told = capsys.readouterr().out
    assert all(name in told for name in shown)
    assert ("--reference" in told) == (not option)


@pytest.mark.parametrize("kind", ["bert-classifier", "gpt-classifier"])
def test_a_text_classifier_is_evaluated_on_labels_as_in_python(kind: str, capsys: Output) -> None:
    labels = FORMAT_1 / "data" / "labels.tsv"
    assert code_of("evaluate", FORMAT_1 / kind, "--labels", labels, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == qkv.evaluate(FORMAT_1 / kind, labels=labels).to_dict()
    assert told["accuracy"] is not None


def test_help_for_a_model_is_that_of_its_kind(tmp_path: Path, capsys: Output) -> None:
    save_gpt(tmp_path / "model")
    assert code_of("evaluate", tmp_path / "model", "--help") == 0
    told = capsys.readouterr().out
    assert "--music" in told
    assert "--reference" not in told


def test_the_model_may_follow_the_options(tmp_path: Path, capsys: Output) -> None:
    save_gpt(tmp_path / "model")
    (tmp_path / "a.txt").write_text("one two three\n")
    assert (
        code_of("evaluate", "--json", "--text", tmp_path / "a.txt", "--part", "test", tmp_path / "model") == 0
    )
    assert "perplexity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("save", "options", "sentence"),
    [
        (save_gpt, ["--images", "x"], "kind 'gpt'. To evaluate it, give --text or --music."),
        (
            save_vit,
            ["--source", "a", "--reference", "b"],
            "kind 'vit'. To evaluate it, give --images or --scenes.",
        ),
        (save_bert, ["--text", "x"], "kind 'bert'. It is for `qkv fill`"),
    ],
)
def test_a_model_is_not_evaluated_as_another_kind(
    save: object, options: list[str], sentence: str, tmp_path: Path, capsys: Output
) -> None:
    assert callable(save)
    save(tmp_path / "model")
    code = code_of("evaluate", tmp_path / "model", *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_an_option_of_another_kind_is_named_for_a_translator(model: Path, capsys: Output) -> None:
    code = code_of("evaluate", model, "--text", "a.txt")
    shown = capsys.readouterr()
    assert "kind 'translator'. Leave out --text, which is for gpt." in refused(shown.err, shown.out, code)


def test_a_missing_model_is_named(tmp_path: Path, capsys: Output) -> None:
    code = code_of("evaluate", tmp_path / "nowhere", "--images", "x", "--sheet", "a.png")
    shown = capsys.readouterr()
    assert "there is no folder" in refused(shown.err, shown.out, code)
