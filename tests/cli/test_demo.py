"""The demo with few sentences and steps, and in full as a slow test."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import qkv
from qkv.cli import main
from qkv.data.worlds import deck_pairs
from qkv.families.translator import recipes

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in [("TRAINED_ON", 300), ("VALIDATED_ON", 30), ("TESTED_ON", 40)]:
        monkeypatch.setattr(f"qkv.cli.demo.{name}", count)
    # A helper is another process, which knows nothing of what is replaced in this one.
    monkeypatch.setattr("qkv.training.distributed.processes_for", lambda *_: 1)
    whole = recipes.built_in

    def built_in(pairs: int):
        settings = whole(pairs)
        training = replace(settings.training, validate_every=10, processes=1)
        return replace(settings, vocab_size=600, steps=20, training=training)

    monkeypatch.setattr("qkv.families.translator.recipes.built_in", built_in)


def test_the_demo_writes_a_bundle_a_report_and_two_plots(
    short: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    main(["demo", "--out", str(out), "--source-language", "es", "--target-language", "de"])
    captured = capsys.readouterr()
    assert captured.out == ""
    for pair in deck_pairs("es", "de"):
        assert pair.source.split()[0] in captured.err
    assert "exact match" in captured.err
    assert "pronoun agrees" in captured.err
    assert "<end>" in captured.err  # the attention's last column
    for picture in ("attention.png", "learning-curve.png"):
        assert (out / picture).read_bytes().startswith(PNG)
    test = json.loads((out / "report.json").read_text())["test"]
    assert test["sentences"] == 40
    assert 0 <= test["pronoun_agreement"] <= 100
    training = json.loads((out / "report.json").read_text())["training"]
    assert training["steps"] == 20, "all steps, however long they take"
    assert f"explore {out}" in captured.err.replace("\n", "")
    assert isinstance(qkv.load(out).translate("el gato bailó"), str)


def test_a_second_demo_replaces_the_first_and_nothing_else(short: None, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    main(["demo", "--out", str(out)])
    (out / "mark").touch()
    main(["demo", "--out", str(out), "--seed", "2"])
    assert not (out / "mark").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


@pytest.mark.parametrize(
    "arguments", [["--out", "taken"], ["--source-language", "de"], ["--target-language", "fr"]]
)
def test_wrong_options_of_the_demo_change_no_file(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter.txt").write_text("mine")
    with pytest.raises(SystemExit) as exit:
        main(["demo", *arguments])
    assert exit.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
    assert (tmp_path / "taken" / "letter.txt").read_text() == "mine"


def test_an_interrupted_demo_restores_the_earlier_one(
    short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo"
    main(["demo", "--out", str(out)])
    weights = (out / "model.safetensors").read_bytes()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("qkv.training.runs.train", interrupted)
    with pytest.raises(SystemExit) as exit:
        main(["demo", "--out", str(out)])
    assert exit.value.code == 130
    assert (out / "model.safetensors").read_bytes() == weights
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("en", "es"), ("de", "en")])
def test_the_demo_learns_the_language_and_its_pronouns(source: str, target: str, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    command = ["demo", "--out", str(out), "--source-language", source, "--target-language", target]
    as_a_person_runs_it = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    subprocess.run([sys.executable, "-m", "qkv", *command], check=True, env=as_a_person_runs_it)
    test = json.loads((out / "report.json").read_text())["test"]
    assert test["exact_match"] >= 95
    assert test["pronoun_agreement"] >= 95
