"""Configuration files, the environment and their precedence."""

import json
import tomllib
from pathlib import Path

import pytest
from commands import code_of, refused, training

from qkv.checkpoint.files import read_json
from qkv.cli.conventions import Conventions
from qkv.cli.expanding import expand

TRANSLATE = ["translate"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    capsys.readouterr()
    assert code_of(*arguments, "--print-config") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def origins(text: str) -> dict[str, str]:
    """Where each given option is from."""
    lines = [line for line in text.splitlines() if " = " in line and "  # " in line and line[0] != "#"]
    return {line.split(" = ")[0]: line.split("  # ")[1] for line in lines}


def test_the_command_line_comes_before_the_environment_before_files_before_the_recipe(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    Path("first.toml").write_text('source = "a.en"\ntarget = "a.xx"\nsteps = 1\nseed = 1\nwidth = 8\n')
    Path("second.toml").write_text("steps = 2\nseed = 2\nwidth = 16\n")
    monkeypatch.setenv("QKV_STEPS", "3")
    monkeypatch.setenv("QKV_SEED", "3")
    two = ["--config", "first.toml", "--config", "second.toml"]
    text = printed(capsys, "train", "translator", *two, "--output", "out", "--steps", "4")
    found = tomllib.loads(text)
    assert (found["steps"], found["seed"], found["width"], found["source"]) == (4, 3, 16, "a.en")
    assert found["recipe"]["optimizer"] == "muon"
    assert origins(text) == {
        "source": "first.toml",
        "target": "first.toml",
        "output": "command line",
        "steps": "command line",
        "seed": "environment: QKV_SEED",
        "width": "second.toml",
    }
    assert not Path("out").exists()


def expanded(tmp_path: Path, text: str, *arguments: str, name: str = "c.toml") -> list[str]:
    path = tmp_path / name
    path.write_text(text)
    return expand(TRANSLATE, list(arguments), Conventions(config=(path,))).arguments


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.toml", 'beam_size = 3\nlength-penalty = 0.5\navoid = ["a", "-b"]\njson = true\nprefix = ""\n'),
        ("c.yaml", "beam: 3\nlength_penalty: 5e-1\navoid: [a, -b]\nno-json: no\nprefix: ''\n"),
        (
            "c.json",
            '{"beam-size": 3, "length_penalty": "5e-1", "avoid": ["a", "-b"], "json": true, "prefix": ""}',
        ),
    ],
)
def test_toml_yaml_and_json_give_the_same_options(name: str, text: str, tmp_path: Path) -> None:
    found = expanded(tmp_path, text, "M", name=name)
    assert [each.replace("5e-1", "0.5") for each in found] == [
        *("M", "--beam-size=3", "--length-penalty=0.5", "--avoid=a", "--avoid=-b", "--json", "--prefix=")
    ]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], ["--beam-size=3", "--", "M", "x"]),
        (["--beam", "2"], ["--beam", "2", "--", "M", "x"]),
        (["N", "--", "--y"], ["N", "--beam-size=3", "--", "--y"]),
    ],
)
def test_texts_of_a_file_are_used_if_the_command_line_has_none(
    arguments: list[str], wanted: list[str], tmp_path: Path
) -> None:
    assert expanded(tmp_path, 'model = "M"\ntext = ["x"]\nbeam_size = 3\n', *arguments) == wanted


def test_a_switch_of_a_file_can_be_turned_off(tmp_path: Path) -> None:
    assert expanded(tmp_path, "json = true\nscores = false\n", "M", "--no-json") == [
        "M",
        "--no-json",
        "--no-scores",
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.toml", "beem_size = 3", "c.toml: unknown option beem_size; did you mean beam_size?"),
        ("c.toml", "[qq]\nzz = 3", "c.toml: unknown option qq.zz."),
        ("c.toml", "beam_size = 'two'", "c.toml: beam_size must be a whole number, not 'two'."),
        ("c.toml", "beam_size = [1]", "c.toml: beam_size takes one value, not a list."),
        ("c.toml", "json = 3", "c.toml: json must be true or false, not '3'."),
        ("c.toml", "beam_size = 1\nbeam = 1", "c.toml: beam and beam_size are the same option."),
        ("c.toml", "beam_size = 1\nbeam-size = 1", "c.toml: beam-size is given twice."),
        ("c.toml", "device = 'gpu'", "c.toml: device must be one of auto, cpu, cuda, mps, not 'gpu'."),
        (
            "c.yaml",
            "target_language: no",
            "c.yaml: target_language must be a text or a number, not false: write a text in quotation marks.",
        ),
        ("c.toml", "beam_size = ", "c.toml is not valid TOML:"),
        ("c.yaml", "a: [", "c.yaml is not valid YAML:"),
        ("c.json", "[1]", "c.json must hold options with their values."),
        ("nowhere.toml", None, "there is no configuration file nowhere.toml."),
    ],
)
def test_a_mistake_in_a_file_names_the_file_and_the_option(
    name: str,
    text: str | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(name).write_text(text)
    code = code_of("translate", "M", "x", "--config", name)
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code).startswith(f"error: {message}")


def test_a_mistake_in_the_environment_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QKV_BEAM_SIZE", "two")
    code = code_of("translate", "M", "x")
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code) == "error: QKV_BEAM_SIZE must be a whole number, not 'two'."


def test_a_variable_of_another_command_changes_nothing(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QKV_LEARNING_RATE", "fast")
    assert code_of("translate", model, "one") == 0


def test_a_run_is_repeated_bit_for_bit_from_its_run_file_and_from_the_printed_options(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vocabulary is smaller than the recipe's, which is an upper bound; a given size would be an error."""
    monkeypatch.chdir(files)
    assert code_of(*training(files, "--steps", "4", "--learning-rate", "0.003")) == 0
    again = ["train", "translator", "--config", files / "out" / "training" / "run.json"]
    assert code_of(*again, "--output", "again") == 0
    Path("print.toml").write_text(
        printed(capsys, *training(files, "--steps", "4", "--learning-rate", "0.003", out="third"))
    )
    assert code_of("train", "translator", "--config", "print.toml") == 0
    first, *others = (Path(name, "model.safetensors").read_bytes() for name in ("out", "again", "third"))
    assert all(each == first for each in others)
    settings = [
        read_json(Path(name, "training", "run.json"))["settings"] for name in ("out", "again", "third")
    ]
    assert settings[0] == settings[1] == settings[2]
    assert code_of(*again, "--output", "other", "--seed", "2") == 0
    assert Path("other", "model.safetensors").read_bytes() != first
    capsys.readouterr()
    code = code_of("train", "gpt", *again[2:], "--output", "gpt")
    shown = capsys.readouterr()
    assert "is of a run of `qkv train translator`" in refused(shown.err, shown.out, code)


def test_printed_options_give_the_same_command_again(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [model, "one", "--beam", "2", "--avoid=-x", "--avoid", 'a "b"\n\\', "--no-json"]
    text = printed(capsys, "translate", *arguments)
    (tmp_path / "c.toml").write_text(text)
    again = printed(capsys, "translate", "--config", tmp_path / "c.toml")
    assert tomllib.loads(again) == tomllib.loads(text)
    assert tomllib.loads(text) == {
        "model": str(model), "text": ["one"], "beam_size": 2, "avoid": ["-x", 'a "b"\n\\'], "json": False
    }  # fmt: skip


def test_a_table_of_settings_is_a_recipe(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    Path("c.toml").write_text("[recipe]\nwidth = 24\nsteps = 'None'\nminutes = 1\nadam_betas = [0.8, 0.9]\n")
    given = ["--config", "c.toml", "--source", "a.en", "--target", "a.xx", "--output", "out"]
    found = tomllib.loads(printed(capsys, "train", "translator", *given, "--width", "32"))
    assert found["width"] == 32
    assert (found["recipe"]["steps"], found["recipe"]["adam_betas"]) == ("None", [0.8, 0.9])
    code = code_of("train", "translator", *given, "--recipe", json.dumps({"wdth": 3})[:-1])
    assert code == 2
    Path("c.toml").write_text("[recipe]\nwdth = 24\n")
    capsys.readouterr()
    code = code_of("train", "translator", *given)
    shown = capsys.readouterr()
    message = refused(shown.err, shown.out, code)
    assert message == "error: c.toml: recipe: unknown option wdth; did you mean width?"
