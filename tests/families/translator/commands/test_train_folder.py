"""`qkv train translator --data FOLDER`: parts by file name, test scores, and published scores."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from commands import code_of
from digits import digit_lines

from qkv.checkpoint.files import read_json
from qkv.cli import DATA, USAGE
from qkv.families.translator.recipes import RECIPES, published_rows
from qkv.training.settings import find_recipe

TINY_OPTIONS = """--width 16 --encoder-depth 1 --decoder-depth 1 --heads 2 --ffn-width 16
    --batch-tokens 256 --validate-every 3 --steps 3"""
TINY = TINY_OPTIONS.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    parts = {"train": 60, "val": 6, "test_2016_flickr": 8, "test_2018": 5}
    sentences = iter(digit_lines(sum(parts.values())))
    for part, count in parts.items():
        lines = list(islice(sentences, count))
        for variant in ("", ".lc.norm.tok"):
            for language in ("en", "de", "fr"):
                (tmp_path / f"{part}{variant}.{language}").write_text("\n".join(lines) + "\n")
    return tmp_path


def train(folder: Path, *options: str) -> dict[str, Any]:
    named = [] if "--recipe" in options else ["--recipe", "multi30k-tiny"]
    recipe = [*named, "--vocab-size", "290", *TINY]
    beam = [] if "--beam-size" in options else ["--beam-size", "1"]
    out = folder / "out"
    assert code_of("train", "translator", "--data", folder, "--out", out, *recipe, *beam, *options) == 0
    return read_json(folder / "out" / "report.json")


@pytest.mark.usefixtures("real_learning_curves")
def test_published_scores_are_shown_next_to_ours(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.progress.terminal.err.width", 200)
    report = train(folder, "--beam-size", "5")
    shown = capsys.readouterr().err
    lines = [line for line in shown.splitlines() if "│ test_2016_flickr" in line]
    assert len(lines) == 2
    assert f"{report['tests']['test_2016_flickr']['bleu']['value']:.2f}" in lines[0]
    assert f"{report['parameters']:,}" in lines[0]
    assert "Wu et al." in lines[1]
    assert "41.02" in lines[1]
    assert (folder / "out" / "learning-curve.png").read_bytes().startswith(b"\x89PNG")
    assert "tok:none" in shown


def test_the_report_holds_what_evaluate_finds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = train(folder)
    capsys.readouterr()
    files = [folder / f"test_2018.lc.norm.tok.{language}" for language in ("en", "de")]
    assert code_of("evaluate", folder / "out", "--source", files[0], "--reference", files[1], "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sentences"] == 5
    assert found["measured"]["tokenize"] == "none"
    assert found["scores"]["bleu"]["value"] == pytest.approx(report["tests"]["test_2018"]["bleu"]["value"])
    assert found["scores"]["chrf"]["value"] == pytest.approx(report["tests"]["test_2018"]["chrf"]["value"])


def test_options_choose_other_languages_and_raw_text(folder: Path) -> None:
    report = train(folder, "--languages", "fr", "en", "--variant", "")
    assert report["languages"] == {"source": "fr", "target": "en"}
    assert report["data"]["origin"] == "train.fr and train.en"


def test_the_raw_recipe_reads_and_scores_raw_text(folder: Path) -> None:
    report = train(folder, "--recipe", "multi30k-raw")
    assert report["data"]["origin"] == "train.en and train.de"
    assert "|case:mixed|eff:no|tok:13a|" in report["tests"]["test_2016_flickr"]["bleu"]["signature"]


def test_the_tatoeba_recipe_reads_its_tables(tmp_path: Path) -> None:
    lines = iter(digit_lines(71))
    for part, count in {"train": 60, "valid": 6, "test": 5}.items():
        rows = [f"{line}\t{line.upper()}\n" for line in islice(lines, count)]
        (tmp_path / f"{part}.eng-deu.tsv").write_text("".join(rows))
    report = train(tmp_path, "--recipe", "tatoeba")
    assert report["languages"] == {"source": "eng", "target": "deu"}
    assert report["data"]["origin"] == "train.eng-deu.tsv"
    assert report["tests"]["test"]["sentences"] == 5


def test_a_data_set_in_a_subfolder_is_suggested(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = folder / "repository" / "data" / "task1"
    deep.mkdir(parents=True)
    for path in folder.glob("*.*"):
        path.rename(deep / path.name)
    options = ["--recipe", "multi30k-tiny", "--out", folder / "out"]
    assert code_of("train", "translator", "--data", folder / "repository", *options) == DATA
    assert f"but {deep} does: give that folder." in capsys.readouterr().err


def test_a_run_with_a_folder_can_be_resumed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = train(folder)
    (folder / "out" / "report.json").unlink()
    assert code_of("train", "translator", "--resume", "--out", folder / "out") == 0
    assert "this run is already complete" in capsys.readouterr().err
    after = read_json(folder / "out" / "report.json")
    assert after["tests"]["test_2018"] == before["tests"]["test_2018"]
    assert after["training"]["epochs"] == before["training"]["epochs"]


def test_a_run_is_not_resumed_with_other_test_sentences(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(folder)
    changed = next(path for path in folder.iterdir() if "2018" in path.name and path.name.endswith(".de"))
    changed.write_text("\n".join(reversed(changed.read_text().splitlines())) + "\n")
    assert code_of("train", "translator", "--resume", "--out", folder / "out") == 2
    assert "the data changed since the run was started: the test data." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--source", "a.en"], "give either --data or single files"),
        (["--source-language", "xx"], "neither train.lc.norm.tok.xx and train.lc.norm.tok.de nor"),
        (["--recipe", "automatic"], "--data needs --source-language"),
    ],
)
def test_contradictory_options_are_rejected(
    folder: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = [] if "--recipe" in options else ["--recipe", "multi30k-tiny"]
    out = folder / "out"
    assert code_of("train", "translator", "--data", folder, "--out", out, *recipe, *options) in (USAGE, DATA)
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.splitlines()) == 1
    assert not out.exists()


def test_published_scores_are_shown_only_if_ours_are_measured_the_same_way() -> None:
    alike: dict[str, Any] = {
        "languages": {"source": "en", "target": "de"},
        "settings": {
            "data": {"variant": "lc.norm.tok"},
            "scoring": {"tokenize": "none"},
            "decoding": {"beam_size": 5},
        },
    }
    assert [row.bleu for row in published_rows(alike, "test_2016_flickr")] == ["41.02"]
    assert published_rows(alike, "test_2017_flickr") == []
    assert published_rows({**alike, "languages": {"source": "de", "target": "en"}}, "test_2016_flickr") == []
    for change in (
        {"data": {"variant": ""}},
        {"scoring": {"tokenize": "13a"}},
        {"decoding": {"beam_size": 1}},
    ):
        other = {**alike, "settings": {**alike["settings"], **change}}
        assert published_rows(other, "test_2016_flickr") == []


def test_the_published_size_is_not_exceeded() -> None:
    from types import SimpleNamespace
    from typing import cast

    import torch

    from qkv.families.translator.model import Translator
    from qkv.families.translator.task import architecture

    settings = find_recipe("multi30k-tiny", RECIPES)(29_000)
    tokenizer = cast(Any, SimpleNamespace(pad=0, start=1, end=2))
    with torch.device("meta"):
        model = Translator(architecture(settings.model, settings.vocab_size, tokenizer))
    assert sum(parameter.numel() for parameter in model.parameters()) <= 2_600_000


def test_test_sentences_in_the_training_data_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.progress.terminal.err.width", 200)
    for language, lines in {"en": "seven kings\nnew", "de": "sieben könige\nneu"}.items():
        with open(folder / f"train.lc.norm.tok.{language}", "a") as file:
            file.write(lines.splitlines()[0] + "\n")
        (folder / f"test_2018.lc.norm.tok.{language}").write_text(lines + "\n")
    tests = train(folder)["tests"]
    overlap = tests["test_2018"]["overlap"]
    assert (overlap["sentences"], overlap["same_translation"]) == (1, 1)
    assert overlap["scores_without"]["sentences"] == 1
    without = f"{overlap['scores_without']['bleu']['value']:.2f}"
    assert (
        f"1 of 2 sentences of test_2018 occur in the training data; without them BLEU is {without}"
        in capsys.readouterr().err
    )
    assert "| test_2018 | 2 | 1 |" in (folder / "out" / "README.md").read_text()
