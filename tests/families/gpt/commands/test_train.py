"""`qkv train gpt`, `qkv generate`, `qkv evaluate --text` and `qkv classify`, and their error messages."""

import io
import json
from pathlib import Path

import pytest
from commands import code_of, refused
from language_models import counting_text, save_text, untrained

from qkv.checkpoint.files import read_json
from qkv.data.chorales import read_midi, write_midi
from qkv.data.documents import Documents

TINY_OPTIONS = """--width 16 --depth 1 --heads 2 --ffn-width 32 --max-length 16 --dropout 0
    --batch-tokens 128 --steps 12"""
TINY = TINY_OPTIONS.split()
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, hardly trained."""
    folder = tmp_path_factory.mktemp("gpt")
    text = save_text(folder / "text.txt")
    assert (
        code_of("train", "gpt", "--text", text, "--vocab-size", "300", "--out", folder / "model", *TINY) == 0
    )
    return folder / "model"


@pytest.fixture(scope="module")
def music(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("music")
    untrained("notes").save(folder)
    return folder


def chorales(path: Path) -> Path:
    frames = [[60 + n % 5, 55, 52, 48 - n % 3] for n in range(12)]
    path.write_text(json.dumps({"train": [frames] * 4, "valid": [frames] * 2, "test": [frames]}))
    return path


# Training ---------------------------------------------------------------------------------------------------


def test_a_trained_model_is_a_bundle_with_its_report(base: Path) -> None:
    report = read_json(base / "report.json")
    assert report["training"]["steps"] == 12
    assert set(report["results"]) == {"validation loss", "perplexity", "bits per byte"}
    assert "qkv generate" in (base / "README.md").read_text(encoding="utf-8")


def test_info_describes_the_model(base: Path, capsys: Output) -> None:
    assert code_of("info", base) == 0
    shown = capsys.readouterr().out
    assert "gpt, a language model" in shown
    assert "subwords" in shown
    assert "bits per byte" in shown


def test_an_interrupted_run_on_characters_is_resumed(tmp_path: Path, capsys: Output) -> None:
    text = save_text(tmp_path / "a.txt")
    options = ["--text", text, "--out", tmp_path / "m", "--token-type", "characters", *TINY]
    assert code_of("train", "gpt", *options) == 0
    assert code_of("train", "gpt", "--resume", "--out", tmp_path / "m") == 0
    assert "already complete" in capsys.readouterr().err


def test_the_same_command_with_resume_starts_and_resumes_a_run_on_built_in_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    built_in = Documents(texts=[counting_text(30)] * 12, origin="a library")
    monkeypatch.setattr("qkv.data.documents.python_source", lambda: built_in)
    command = ["train", "gpt", "--vocab-size", "300", "--resume", "--out", tmp_path / "m", *TINY]
    for told in ("starting a new one", "already complete"):
        assert code_of(*command) == 0
        assert told in capsys.readouterr().err


def test_without_text_it_learns_from_the_source_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    source = tmp_path / "library"
    source.mkdir()
    for number in range(12):
        (source / f"{number}.py").write_text(counting_text(30))
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"stdlib": str(source)})
    options = ["--out", tmp_path / "m", *TINY, "--vocab-size", "300", "--processes", "1"]
    assert code_of("train", "gpt", *options) == 0
    assert "training on the source code of Python's standard library" in capsys.readouterr().err
    assert read_json(tmp_path / "m" / "report.json")["data"]["origin"].startswith("the source of Python")


def test_music_is_learned_and_composed(tmp_path: Path, capsys: Output) -> None:
    options = ["--music", chorales(tmp_path / "a.json"), "--out", tmp_path / "m", *TINY]
    assert code_of("train", "gpt", *options) == 0
    results = read_json(tmp_path / "m" / "report.json")["results"]
    assert "12 frames" in results["test, negative log-likelihood"]
    assert code_of("generate", tmp_path / "m", "-o", tmp_path / "a.mid", "--max-new-tokens", "32") == 0
    assert read_midi(tmp_path / "a.mid")
    capsys.readouterr()
    assert code_of("evaluate", tmp_path / "m", "--music", tmp_path / "a.json", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (
        f"{facts['negative_log_likelihood_per_frame']:.4f} per frame"
        in results["test, negative log-likelihood"]
    )


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("", [], "is empty"),
        ("too short", [], "fewer than the context length of 16"),
        (None, [], "there is no file"),
        ("fine " * 99, ["--heads", "3"], "must be a multiple of"),
        ("fine " * 99, ["--max-length", "4"], "--max-length must be at least 8"),
        ("fine " * 99, ["--valid-size", "0.9"], "--valid-size must be a number of at least 1, or a share"),
        ("fine " * 99, ["--vocab-size", "100"], "is too small"),
        ("fine " * 99, ["--recipe", "shakespeare"], "there is no recipe 'shakespeare'"),
    ],
)
def test_a_mistake_in_training_is_one_error_message(
    text: str | None, options: list[str], sentence: str, tmp_path: Path, capsys: Output
) -> None:
    if text is not None:
        (tmp_path / "a.txt").write_text(text)
    code = code_of("train", "gpt", "--text", tmp_path / "a.txt", "--out", tmp_path / "m", *TINY, *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_a_rejected_text_leaves_no_run_behind(tmp_path: Path, capsys: Output) -> None:
    given = ["--vocab-size", "300", "--out", tmp_path / "m", *TINY]
    (tmp_path / "short.txt").write_text("too short")
    assert code_of("train", "gpt", "--text", tmp_path / "short.txt", *given) == 2
    assert code_of("train", "gpt", "--text", save_text(tmp_path / "a.txt"), *given) == 0, (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(("length", "code"), [(15, 2), (16, 0)])
def test_a_part_may_be_just_as_long_as_the_context(length: int, code: int, tmp_path: Path) -> None:
    text, valid = save_text(tmp_path / "a.txt"), tmp_path / "valid.txt"
    valid.write_text(counting_text(9)[:length])
    given = [
        "--text",
        text,
        "--valid-text",
        valid,
        "--token-type",
        "characters",
        "--out",
        tmp_path / "m",
        *TINY,
    ]
    assert code_of("train", "gpt", *given) == code


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--labels a.tsv", "--labels needs --fine-tune."),
        ("--music a.json --text a.txt", "--text cannot be combined with --music."),
        ("--resume", "no run found in"),
        ("--text", "--text needs at least one file"),
        ("--text= --steps 2", "--text needs at least one file"),
        ("--music --steps 2", "--music needs at least one file"),
        ("--text a.txt --valid-text", "--valid-text needs at least one file"),
    ],
)
def test_options_that_need_another_option_name_it(
    options: str, sentence: str, tmp_path: Path, capsys: Output
) -> None:
    code = code_of("train", "gpt", "--out", tmp_path / "m", *options.split())
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", b'{"train": [[[60', "not valid JSON"),
        ("a.mid", b"MThd\0\0\0\6", "not a valid MIDI file (it ends too early)"),
        ("a.json", b'{"train": [[[60]]]}', "too few to train on"),
    ],
)
def test_a_corrupt_music_file_is_one_error_message(
    name: str, content: bytes, sentence: str, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / name).write_bytes(content)
    code = code_of("train", "gpt", "--music", tmp_path / name, "--out", tmp_path / "m", *TINY)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


# Generating -------------------------------------------------------------------------------------------------


def test_the_prompt_and_its_continuation_are_printed_with_one_warning_about_the_context(
    tmp_path: Path, capsys: Output
) -> None:
    untrained("subwords").save(tmp_path)
    options = ["--max-new-tokens", "40", "--temperature", "0.8", "--top-k", "40", "--top-p", "0.95"]
    arguments = ["generate", tmp_path, "one two", *options]
    assert code_of(*arguments, "--seed", "1") == 0
    first = capsys.readouterr()
    assert first.out.startswith("one two")
    assert len(first.out) > 20
    assert first.err.count("context of 9 tokens") == 1
    assert code_of(*arguments, "--seed", "1") == 0
    assert capsys.readouterr().out == first.out
    assert code_of(*arguments, "--seed", "2") == 0
    assert capsys.readouterr().out != first.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["one", "--temperature", "-1"], "--temperature must be 0 or more"),
        (["one", "--max-new-tokens", "0"], "--max-new-tokens must be from 1 to"),
        (["one", "-o", "a.mid"], "--output is for music"),
        (["\udcff bad"], "the text is not UTF-8"),
    ],
)
def test_a_mistake_in_generating_text_is_one_error_message(
    options: list[str], sentence: str, base: Path, capsys: Output
) -> None:
    code = code_of("generate", base, *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_a_prompt_from_standard_input_is_read_like_a_document(
    base: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    for raw, shown in ((b"one\r\ntwo", "one\ntwo"), (b"one two\n", "one two\n")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        assert code_of("generate", base, "-", "--max-new-tokens", "1") == 0
        assert capsys.readouterr().out.startswith(shown)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\nb\xe4d")))
    code = code_of("generate", base, "-")
    told = capsys.readouterr()
    assert "line 2 of standard input is not UTF-8" in refused(told.err, told.out, code)


def test_a_mistake_in_composing_is_one_error_message(music: Path, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "bad.mid").write_bytes(b"MThd\0\0\0\6")
    out = ["-o", tmp_path / "a.mid"]
    for options, sentence in (
        ([], "give --output NAME.mid"),
        ([tmp_path / "bad.mid", *out], "not a valid MIDI file"),
        ([tmp_path / "none.mid", *out], "there is no file"),
        (["--stop", "x", *out], "--stop is for text"),
        (["--max-new-tokens", "1000000", "-o", tmp_path / "none" / "a.mid"], "there is no folder"),
        (["--max-new-tokens", "1000000", "-o", tmp_path], "is a folder: give a file name"),
    ):
        code = code_of("generate", music, *options)
        shown = capsys.readouterr()
        assert sentence in refused(shown.err, shown.out, code)


def test_a_midi_file_is_continued(music: Path, tmp_path: Path) -> None:
    beginning = [(60, 55, 52, 48), (62, 55, 53, 47)]
    write_midi(tmp_path / "a.mid", beginning)
    assert (
        code_of("generate", music, tmp_path / "a.mid", "-o", tmp_path / "b.mid", "--max-new-tokens", "24")
        == 0
    )
    assert read_midi(tmp_path / "b.mid")[:2] == beginning


def test_a_model_that_cannot_generate_names_its_commands(model: Path, capsys: Output) -> None:
    code = code_of("generate", model, "one")
    shown = capsys.readouterr()
    assert "It is for `qkv translate`" in refused(shown.err, shown.out, code)


# Evaluating -------------------------------------------------------------------------------------------------


def test_perplexity_is_printed_in_all_units(base: Path, tmp_path: Path, capsys: Output) -> None:
    text = save_text(tmp_path / "new.txt", lines=5)
    assert code_of("evaluate", base, "--text", text, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["words"] == 30
    assert facts["bytes"] == len(counting_text(5))
    assert code_of("evaluate", base, "--text", text) == 0
    assert f"bits per byte         {facts['bits_per_byte']}" in capsys.readouterr().out


def test_a_mistake_in_evaluating_is_one_error_message(
    base: Path, music: Path, tmp_path: Path, capsys: Output
) -> None:
    text, empty = save_text(tmp_path / "new.txt"), tmp_path / "empty.txt"
    empty.write_text("\n")
    for arguments, sentence in (
        ([base, "--text", empty], "is empty"),
        ([base], "kind 'gpt'. To evaluate it, give --text or --music."),
        ([base, "--source", text, "--reference", text], "give --text or --music"),
        ([music, "--text", text], "needs --music"),
        ([base, "--music", text], "needs --text"),
        ([music, "--music", chorales(tmp_path / "a.json"), "--text", text], "give either"),
    ):
        code = code_of("evaluate", *arguments)
        shown = capsys.readouterr()
        assert sentence in refused(shown.err, shown.out, code)


# Fine-tuning ------------------------------------------------------------------------------------------------

ONCE = ["--epochs", "1", "--processes", "1"]
PARITY = ["even" if number % 2 == 0 else "odd" for number in range(10)]


def labelled(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def examples(form: str) -> list[str]:
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    each = [(n, words[n], words[(n + 1) % 10]) for n in range(10)] * 3
    return {
        "classification": [f"{word} {word}\t{PARITY[n]}" for n, word, _ in each],
        "entailment": [f"{word}\t{other}\t{PARITY[n]}" for n, word, other in each],
        "similarity": [f"{word}\t{other}\t{n / 2}" for n, word, other in each],
        "choice": [f"{word}\t{other}\t{word}\t{n % 2 + 1}" for n, word, other in each],
    }[form]


@pytest.mark.parametrize("form", ["classification", "entailment", "similarity", "choice"])
def test_every_form_is_fine_tuned_and_classifies(
    form: str, base: Path, tmp_path: Path, capsys: Output
) -> None:
    labels = labelled(tmp_path / "a.tsv", examples(form))
    options = ["--form", "choice"] if form == "choice" else []
    out = tmp_path / "m"
    code = code_of("train", "gpt", "--fine-tune", base, "--labels", labels, "--out", out, *ONCE, *options)
    assert code == 0, capsys.readouterr().err
    report = read_json(out / "report.json")
    assert report["data"]["form"] == form
    assert "examples_per_second" in report["training"]
    hint = {"classification": '"…"', "choice": '"…" "…" "…"'}.get(form, '"…" "…"')
    assert capsys.readouterr().err.rstrip().endswith(f"classify {out} {hint}")
    given = {"classification": ["one one"], "choice": ["one", "two", "three"]}.get(form, ["one", "two"])
    assert code_of("classify", out, *given, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    if form == "similarity":
        assert 0 < said["number"] < 5
    else:
        assert sum(said["probabilities"].values()) == pytest.approx(1, abs=1e-5)
        names = {"choice": {"two", "three"}}.get(form, {"even", "odd"})
        assert set(said["probabilities"]) == names
    assert code_of("classify", out, "--labels", labels) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 30


def test_fine_tuning_can_be_resumed_and_can_start_without_the_weights(
    base: Path, tmp_path: Path, capsys: Output
) -> None:
    labels = labelled(tmp_path / "a.tsv", examples("classification"))
    given = ["--fine-tune", base, "--labels", labels, *ONCE, "--no-pretrained", "--auxiliary-weight", "0"]
    assert code_of("train", "gpt", *given, "--out", tmp_path / "m") == 0
    assert code_of("train", "gpt", "--resume", "--out", tmp_path / "m") == 0
    assert "already complete" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        (["fine\tgood", "bad\t"], [], "line 2 has no label"),
        (["fine\tgood"] * 12, [], "every label is 'good'"),
        (["fine\tgood", "bad\tbad"], [], "too few to hold some out"),
        (["no tab at all"], [], "has no tab"),
        (
            ["one\ttwo\tgood", "one\ttwo\tbad"] * 6,
            ["--form", "classification"],
            "needs one text and a label per line",
        ),
        (["one\ttwo\tthree\t3"] * 12, ["--form", "choice"], "is not the number of one of its 2 answers"),
        (["one\tthree\t1"] * 12, ["--form", "choice"], "has 3 columns"),
        (["one\ttwo\ttwo\t1"] * 12, ["--form", "choice"], "line 1 has the same answer twice"),
        (["one\ttwo\tsix\t1"] * 12, ["--form", "choice", "--columns", "1,2"], "columns cannot be chosen"),
        (["one\t1.5", "two\t1.50"] * 6, [], "every label is 1.5"),
        (["one\tgood", "two\tbad"] * 6, ["--width", "32"], "--width cannot be combined with --fine-tune"),
    ],
)
def test_a_mistake_in_labels_is_one_error_message(
    rows: list[str], options: list[str], sentence: str, base: Path, tmp_path: Path, capsys: Output
) -> None:
    labels = labelled(tmp_path / "a.tsv", rows)
    code = code_of("train", "gpt", "--fine-tune", base, "--labels", labels, "--out", tmp_path / "m", *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_a_music_model_is_not_fine_tuned_on_texts(music: Path, tmp_path: Path, capsys: Output) -> None:
    labels = labelled(tmp_path / "a.tsv", examples("classification"))
    code = code_of("train", "gpt", "--fine-tune", music, "--labels", labels, "--out", tmp_path / "m", *ONCE)
    shown = capsys.readouterr()
    assert "is a music model, but labels need a text model" in refused(shown.err, shown.out, code)


def test_an_unknown_label_is_named(base: Path, tmp_path: Path, capsys: Output) -> None:
    labels = labelled(tmp_path / "a.tsv", examples("classification"))
    other = labelled(tmp_path / "b.tsv", ["one\teven", "two\tprime"])
    given = ["--fine-tune", base, "--labels", labels, "--valid-labels", other]
    code = code_of("train", "gpt", *given, "--out", tmp_path / "m")
    shown = capsys.readouterr()
    assert "line 2: the label 'prime' is unknown" in refused(shown.err, shown.out, code)
