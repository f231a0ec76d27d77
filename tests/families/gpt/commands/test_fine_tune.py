"""`qkv train gpt --fine-tune` with text or music: training, resuming and mistakes."""

import json
from pathlib import Path

import pytest
from commands import code_of, refused
from language_models import TEXT, save_text, untrained
from tiny_bert import tiny_classifier

from qkv import load

Output = pytest.CaptureFixture[str]
QUICK = [
    "--steps",
    "4",
    "--batch-tokens",
    "64",
    "--validate-every",
    "2",
    "--processes",
    "1",
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "model"
    untrained("subwords").save(folder)
    return folder


def chorales(path: Path) -> Path:
    frames = [[60 + n % 5, 55, 52, 48 - n % 3] for n in range(12)]
    path.write_text(json.dumps({"train": [frames] * 4, "valid": [frames] * 2, "test": [frames]}))
    return path


def test_a_model_is_fine_tuned_on_text_used_and_resumed_without_its_options(
    base: Path, tmp_path: Path, capsys: Output
) -> None:
    out, text = tmp_path / "out", save_text(tmp_path / "a.txt")
    rate = ["--learning-rate", "0.02", "--dropout", "0"]
    assert code_of("train", "gpt", "--fine-tune", base, "--text", text, "--out", out, *QUICK, *rate) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "bits per byte before: " in shown.err
    assert load(out).tokenizer.text() == load(base).tokenizer.text()
    found = {}
    for model in (base, out):
        assert code_of("evaluate", model, "--text", text, "--json") == 0
        found[model] = json.loads(capsys.readouterr().out)["bits_per_byte"]
    assert found[out] < found[base]
    assert code_of("generate", out, "one two", "--max-new-tokens", "5") == 0
    assert code_of("info", out) == 0
    assert "a.txt, on top of model" in capsys.readouterr().out
    assert code_of("train", "gpt", "--resume", "--out", out) == 0
    assert "this run is already complete" in capsys.readouterr().err
    assert code_of("train", "gpt", "--resume", "--out", out, "--dropout", "0.5") == 2
    assert "these differ: --dropout" in capsys.readouterr().err


def test_a_music_model_is_fine_tuned_and_composes(tmp_path: Path, capsys: Output) -> None:
    untrained("notes").save(tmp_path / "model")
    music, out = chorales(tmp_path / "a.json"), tmp_path / "out"
    given = ["--fine-tune", tmp_path / "model", "--music", music, "--transpose", "2"]
    assert code_of("train", "gpt", *given, "--out", out, *QUICK) == 0
    assert "test, negative log-likelihood before: " in capsys.readouterr().err
    assert code_of("generate", out, "-o", tmp_path / "a.mid", "--max-new-tokens", "16") == 0
    assert code_of("train", "gpt", "--resume", "--out", out) == 0
    assert "this run is already complete" in capsys.readouterr().err


def test_the_same_command_with_resume_starts_and_resumes_fine_tuning(
    base: Path, tmp_path: Path, capsys: Output
) -> None:
    given = ["--fine-tune", base, "--text", save_text(tmp_path / "a.txt"), "--resume", *QUICK]
    for told in ("starting a new one", "already complete"):
        assert code_of("train", "gpt", *given, "--out", tmp_path / "out") == 0
        assert told in capsys.readouterr().err


def test_two_processes_share_fine_tuning(base: Path, tmp_path: Path) -> None:
    given = ["--fine-tune", base, "--text", save_text(tmp_path / "a.txt"), *QUICK]
    for processes in ("1", "2"):
        out = tmp_path / processes
        assert code_of("train", "gpt", *given, "--out", out, "--processes", processes) == 0
    reports = [json.loads((tmp_path / each / "report.json").read_text()) for each in ("1", "2")]
    assert [report["made_with"]["processes"] for report in reports] == [1, 2]
    one, two = (report["validation"]["loss"] for report in reports)
    assert two == pytest.approx(one, abs=1e-3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--width", "32", "--vocab-size", "300"],
            "--vocab-size cannot be combined with --fine-tune.",
        ),
        (["--token-type=characters"], "--token-type cannot be combined with --fine-tune."),
        (["--label-smoothing", "0.1"], "unrecognized argument --label-smoothing"),
        (["--epochs", "0"], "--epochs must be more than 0"),
        (["--dropout", "1"], "--dropout must be at least 0 and below 1"),
        (["--valid-size", "0.9"], "--valid-size must be a number of at least 1, or a share"),
        (["--recipe", "gpt2"], "there is no recipe 'gpt2'"),
        (["--labels", "a.tsv"], "--text cannot be combined with --labels."),
        (["--music", "a.json"], "--music cannot be combined with --text."),
    ],
)
def test_options_that_the_model_fixes_are_rejected(
    options: list[str], sentence: str, base: Path, tmp_path: Path, capsys: Output
) -> None:
    text, out = save_text(tmp_path / "a.txt"), tmp_path / "out"
    code = code_of("train", "gpt", "--fine-tune", base, "--text", text, "--out", out, *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)
    assert not out.exists()


def test_options_that_do_not_fit_together_are_rejected(base: Path, tmp_path: Path, capsys: Output) -> None:
    text, music = save_text(tmp_path / "a.txt"), chorales(tmp_path / "a.json")
    short = tmp_path / "short.txt"
    short.write_text("one two")
    untrained("notes").save(tmp_path / "notes")
    untrained("characters").save(tmp_path / "characters")
    tiny_classifier().save(tmp_path / "classifier")
    for given, sentence in (
        ([tmp_path / "notes", "--text", text], "is a model of music. Fine-tune it on music."),
        ([base, "--music", music], "is a model of text. Fine-tune it on text."),
        ([tmp_path / "classifier", "--text", text], "not for `qkv train gpt --fine-tune`"),
        ([tmp_path / "nowhere", "--text", text], "nowhere"),
        ([base], "--fine-tune needs --labels, --music or --text."),
        ([base, "--valid-text", text], "--fine-tune needs --labels, --music or --text."),
        ([base, "--text"], "--text"),
        ([base, "--text", short], "fewer than the model's context length of 9: give more text."),
        ([tmp_path / "characters", "--text", text], "knows only the 14 characters of its training text"),
    ):
        code = code_of("train", "gpt", "--fine-tune", *given, "--out", tmp_path / "out")
        shown = capsys.readouterr()
        assert sentence in refused(shown.err, shown.out, code)
        assert not (tmp_path / "out").exists()


def test_characters_that_the_model_knows_are_enough(tmp_path: Path) -> None:
    untrained("characters").save(tmp_path / "model")
    (tmp_path / "a.txt").write_text(TEXT.replace("cat", "dog"), encoding="utf-8")
    given = ["--fine-tune", tmp_path / "model", "--text", tmp_path / "a.txt"]
    assert code_of("train", "gpt", *given, "--out", tmp_path / "out", *QUICK) == 0
    assert load(tmp_path / "out")._defaults.token_type == "characters"


def test_a_run_of_another_kind_is_not_resumed(base: Path, tmp_path: Path, capsys: Output) -> None:
    text, out = save_text(tmp_path / "a.txt"), tmp_path / "out"
    sizes = "--vocab-size 290 --width 12 --heads 2 --ffn-width 16 --depth 1 --max-length 9"
    assert code_of("train", "gpt", "--text", text, "--out", out, *sizes.split(), *QUICK) == 0
    capsys.readouterr()
    code = code_of("train", "gpt", "--fine-tune", base, "--resume", "--out", out)
    shown = capsys.readouterr()
    assert "was started without --fine-tune: leave it out." in refused(shown.err, shown.out, code)


def test_fine_tune_can_be_written_with_an_underscore(base: Path, tmp_path: Path) -> None:
    """Otherwise the learning rate would be that of another width."""
    text, rates = save_text(tmp_path / "a.txt"), []
    for number, name in enumerate(("--fine-tune", "--fine_tune")):
        out = tmp_path / str(number)
        assert code_of("train", "gpt", name, base, "--text", text, "--out", out, *QUICK) == 0
        rates.append(json.loads((out / "report.json").read_text())["settings"]["training"]["learning_rate"])
    assert rates[0] == rates[1]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--labels", "a.tsv", "--valid-text", "b.txt"], "--valid-text cannot be combined with --labels."),
        (["--text", "a.txt", "--valid-labels", "b.tsv"], "--valid-labels cannot be combined with --text."),
    ],
)
def test_a_validation_part_of_another_kind_is_named(
    given: list[str], sentence: str, base: Path, tmp_path: Path, capsys: Output
) -> None:
    code = code_of("train", "gpt", "--fine-tune", base, *given, "--out", tmp_path / "out")
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)
