"""The demo with few sentences and steps, and in full as a slow test."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import qkv
from qkv.cli import main
from qkv.data.worlds import deck_pairs
from qkv.families.translator import recipes
from qkv.families.translator.settings import TranslatorSettings
from qkv.pictures import learning_curve_picture
from qkv.training import loop

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def short() -> Iterator[None]:
    """Few sentences, few steps and a small model."""
    whole = recipes.built_in

    def built_in(pairs: int) -> TranslatorSettings:
        settings = whole(pairs)
        model = replace(settings.model, width=32, heads=2, ffn_width=64)
        training = replace(settings.training, validate_every=10, processes=1)
        return replace(settings, vocab_size=600, steps=20, model=model, training=training)

    with pytest.MonkeyPatch.context() as patch:
        for name, count in [("TRAINED_ON", 300), ("VALIDATED_ON", 30), ("TESTED_ON", 40)]:
            patch.setattr(f"qkv.families.translator.commands.demo.{name}", count)
        # A helper is another process, in which nothing is patched.
        patch.setattr("qkv.training.distributed.processes_for", lambda *_: 1)
        patch.setattr("qkv.families.translator.recipes.built_in", built_in)
        yield


@pytest.fixture(scope="module")
def finished(short: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The folder of a Spanish-German demo, and what it printed on standard output and standard error."""
    out = tmp_path_factory.mktemp("finished") / "demo"
    stdout, stderr = StringIO(), StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        patch.setattr("qkv.pictures.learning_curve_picture", learning_curve_picture)
        main(["demo", "--out", str(out), "--source-language", "es", "--target-language", "de"])
    return out, stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def earlier(finished: tuple[Path, str, str], tmp_path: Path) -> Path:
    """A folder with a finished demo, and nothing else beside it."""
    return Path(shutil.copytree(finished[0], tmp_path / "demo"))


def test_the_demo_writes_a_bundle_a_report_and_two_plots(finished: tuple[Path, str, str]) -> None:
    out, printed, messages = finished
    assert printed == ""
    for pair in deck_pairs("es", "de"):
        assert pair.source.split()[0] in messages
    assert "exact match" in messages
    assert "pronoun agrees" in messages
    assert "<end>" in messages  # the attention's last column
    for picture in ("attention.png", "learning-curve.png"):
        assert (out / picture).read_bytes().startswith(PNG)
    report = json.loads((out / "report.json").read_text())
    assert report["test"]["sentences"] == 40
    assert 0 <= report["test"]["pronoun_agreement"] <= 100
    assert report["training"]["steps"] == 20, "all steps, however long they take"
    assert f"explore {out}" in messages.replace("\n", "")
    assert isinstance(qkv.load(out).translate("el gato bailó"), str)


@pytest.mark.usefixtures("short")
def test_a_second_demo_replaces_the_first_and_nothing_else(earlier: Path) -> None:
    (earlier / "mark").touch()
    main(["demo", "--out", str(earlier), "--seed", "2"])
    assert not (earlier / "mark").exists()
    assert [path.name for path in earlier.parent.iterdir()] == ["demo"]


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


@pytest.mark.usefixtures("short")
def test_an_interrupted_demo_restores_the_earlier_one(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = (earlier / "model.safetensors").read_bytes()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("qkv.training.runs.train", interrupted)
    with pytest.raises(SystemExit) as exit:
        main(["demo", "--out", str(earlier)])
    assert exit.value.code == 130
    assert (earlier / "model.safetensors").read_bytes() == weights
    assert [path.name for path in earlier.parent.iterdir()] == ["demo"]


@pytest.mark.usefixtures("short")
def test_an_interrupted_demo_is_resumed_by_the_command_that_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    with monkeypatch.context() as interrupting:
        train: Any = loop.Run.go

        def stopped(self: Any, stop: Any) -> Any:
            stop.received = signal.SIGINT
            return train(self, stop)

        interrupting.setattr(loop.Run, "go", stopped)
        with pytest.raises(SystemExit) as exit:
            main(["demo", "--output", str(out)])
    assert exit.value.code == 130
    command = capsys.readouterr().err.replace("\n", " ").split("To resume: ")[1].split()
    assert command[-3:] == ["--output", str(out), "--resume"]
    main(command[command.index("demo") :])
    assert json.loads((out / "report.json").read_text())["training"]["steps"] == 20
    with pytest.raises(SystemExit):
        main(["demo", "--output", str(tmp_path / "none"), "--resume"])
    assert "there is no demo to resume" in capsys.readouterr().err


def test_a_folder_beside_the_demo_is_not_taken_for_an_earlier_demo(
    earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    letter = earlier.with_name("demo.previous") / "letter.txt"
    letter.parent.mkdir()
    letter.write_text("mine")
    with pytest.raises(SystemExit) as exit:
        main(["demo", "--out", str(earlier)])
    assert exit.value.code == 2
    assert str(letter.parent) in capsys.readouterr().err
    assert letter.read_text() == "mine"
    assert (earlier / "model.safetensors").exists()


@pytest.mark.usefixtures("short")
def test_a_demo_after_a_killed_one_replaces_both(earlier: Path) -> None:
    previous = Path(shutil.copytree(earlier, earlier.with_name("demo.previous")))
    (earlier / "model.safetensors").unlink()
    main(["demo", "--out", str(earlier), "--seed", "2"])
    assert not previous.exists()
    assert (earlier / "model.safetensors").exists()


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
