"""The package qkv-starter: two models in float16 with their sources and scores, in a wheel without code."""

import importlib.util
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import qkv

ROOT = Path(__file__).parent.parent
BUILD = "import setuptools.build_meta as b, sys; print(b.build_wheel(sys.argv[1]))"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"starter_{name}", ROOT / "starter" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scores(chrf: float) -> str:
    found = {"everyday": {"sentences": 2, "bleu": 30.0, "chrf": chrf}}
    return json.dumps({"en-de": found, "de-en": found})


@pytest.fixture
def trained(model: Path, tmp_path: Path) -> Path:
    """Models with the part of a training report that a card shows."""
    for pair in ("en-de", "de-en"):
        shutil.copytree(model, tmp_path / "runs" / pair)
        report = {"parameters": 1_000, "data": {"pairs": 50}, "training": {"steps": 10, "minutes": 1.5}}
        (tmp_path / "runs" / pair / "report.json").write_text(json.dumps(report))
    return tmp_path / "runs"


def test_the_package_holds_the_models_in_half_the_size(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = script("build")
    project = tmp_path / "starter"
    shutil.copytree(ROOT / "starter", project, ignore=shutil.ignore_patterns("*-*"))
    monkeypatch.setattr(build, "PACKAGE", project / "qkv_starter")
    (tmp_path / "scores.json").write_text(scores(55.0))
    monkeypatch.setattr(
        sys, "argv", ["build", "--models", str(trained), "--scores", str(tmp_path / "scores.json")]
    )
    build.main()
    made = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)], cwd=project, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(tmp_path / made.stdout.splitlines()[-1]) as wheel:
        wheel.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("QKV_MODELS", str(tmp_path))
    package = tmp_path / "site" / "qkv_starter"
    sizes = [
        (folder / "model.safetensors").stat().st_size for folder in (package / "en-de", trained / "en-de")
    ]
    assert sizes[0] < 0.6 * sizes[1]
    assert {each.suffix for each in package.rglob("*") if each.is_file()} == {
        ".py",
        ".json",
        ".md",
        ".safetensors",
    }
    card = (package / "de-en" / "README.md").read_text(encoding="utf-8")
    assert all(
        source in card
        for source in ("Tatoeba", "Microsoft", "European Parliament", "LibreOffice", "| 55.0 |")
    )
    [listed] = qkv.models("de-en", installed=True)
    assert listed.scores == {"everyday": {"bleu": 30.0, "chrf": 55.0}}
    exact = qkv.load(trained / "en-de", compute_type="float32").translate(["one two", "three"])
    assert qkv.load("en-de", compute_type="float32").translate(["one two", "three"]) == exact


def test_a_model_that_helps_nobody_is_not_packaged(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = script("build")
    monkeypatch.setattr(build, "PACKAGE", tmp_path / "package")
    (tmp_path / "scores.json").write_text(scores(49.9))
    monkeypatch.setattr(
        sys, "argv", ["build", "--models", str(trained), "--scores", str(tmp_path / "scores.json")]
    )
    with pytest.raises(SystemExit, match=r"not packaged: everyday sentences reach chrF .*49\.9"):
        build.main()
    assert not (tmp_path / "package").exists()


def test_training_pairs_are_short_aligned_and_written_in_both_directions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    select = script("select_pairs")
    words = [(f"word{n} stays", f"wort{n} bleibt") for n in range(20)]
    aligned = [(f"{words[n % 20][0]} here", f"{words[n % 20][1]} hier", "office") for n in range(100)]
    wrong = [
        (f"{words[n % 20][0]} here", f"{words[(n + 7 + n // 20) % 20][1]} da", "office") for n in range(100)
    ]
    long = [("word " * 30, "wort " * 30, "office")]
    (tmp_path / "general.tsv").write_text("".join("\t".join(row) + "\n" for row in aligned + wrong + long))
    (tmp_path / "everyday.tsv").write_text("Hello.\tHallo.\n")
    names = {"everyday": "everyday.tsv", "general": "general.tsv", "valid-everyday": "everyday.tsv"}
    given = [each for name, file in names.items() for each in (f"--{name}", str(tmp_path / file))]
    monkeypatch.setattr(sys, "argv", ["select", *given, "--repeat", "3", "--output", str(tmp_path / "data")])
    select.main()
    forward = (tmp_path / "data" / "train.en-de.tsv").read_text().splitlines()
    backward = (tmp_path / "data" / "train.de-en.tsv").read_text().splitlines()
    assert forward.count("Hello.\tHallo.") == 3
    assert [line.split("\t")[::-1] for line in forward] == [line.split("\t") for line in backward]
    kept = [line for line in forward if "word" in line]
    assert len(kept) == 100
    assert all(line.endswith("hier") for line in kept)
