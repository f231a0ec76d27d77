"""`qkv evaluate` of translations: tables, JSON, warnings and error messages."""

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import commands
import pytest
from digits import digit_lines

import qkv
from qkv.checkpoint.files import write_json
from qkv.cli import main
from qkv.core.pairs import TranslationModel
from qkv.evaluation.overlap import SEEN_FILE, seen_in, write_seen
from qkv.families.translator.lines import without_line_breaks
from qkv.progress import terminal

SENTENCES = 60


def word_lines(seed: int, longest: int = 12) -> list[str]:
    return digit_lines(SENTENCES, seed, longest=longest)


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "untrained"
    commands.save_untrained(folder, word_lines(1), beam=2, length_penalty=0.5)
    return folder


@pytest.fixture
def model(untrained: Path, tmp_path: Path) -> Path:
    """A copy, which a test may add files to."""
    shutil.copytree(untrained, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Good translations, bad ones, other references, and files that nobody can use."""
    source = word_lines(1)
    reference = [line.replace("one", "uno").replace("five", "cinco") for line in source]
    good = [line.replace("seven", "siete") for line in reference]
    bad = [" ".join(reversed(line.split())) for line in good]
    second = [line.replace("two", "dos") for line in good]
    texts = {"a.en": source, "a.xx": reference, "good.xx": good, "bad.xx": bad, "second.xx": second}
    for name, lines in {**texts, "shorter.xx": good[:-1], "two.xx": ["one", "two"]}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "empty.xx").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal, "LINE_EVERY", math.inf)  # also on a busy machine
    return tmp_path


def code_of(*arguments: str | Path) -> int:
    return commands.code_of("evaluate", *arguments)


def answer_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[dict[str, Any], str]:
    """The JSON document on standard output, and what is on standard error."""
    assert code_of(*arguments, "--json") == 0
    shown = capsys.readouterr()
    return json.loads(shown.out), shown.err


# How it is done -------------------------------------------------------------------------------------------


def test_the_engine_gives_the_translations_of_the_model(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = qkv.load(model, engine="torch").translate(word_lines(1))

    def refuse(*_: object) -> None:
        raise AssertionError("torch decodes")

    monkeypatch.setattr(TranslationModel, "begin", refuse)
    answer_of(capsys, model, "--source", "a.en", "--reference", "a.xx", "--output", "said.xx")
    assert Path("said.xx").read_text().split("\n") == [*map(without_line_breaks, expected), ""]


def test_progress_is_printed_without_a_terminal(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "LINE_EVERY", 0.0)
    _, error = answer_of(capsys, model, "--source", "a.en", "--reference", "a.xx")
    assert re.search(r"^translating: \d+ of 60, about", error, re.MULTILINE)
    assert re.search(r"^scoring: \d of 5, about", error, re.MULTILINE)


# What is told ---------------------------------------------------------------------------------------------


def test_the_tables_and_the_document_hold_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["good.xx", "--source", "a.en", "--reference", "a.xx", "--against", "bad.xx"]
    found, error = answer_of(capsys, *options)
    assert error == ""
    assert code_of(*options) == 0
    shown = capsys.readouterr().out
    for key, name in (("bleu", "BLEU"), ("chrf", "chrF"), ("ter", "TER")):
        score, difference = found["scores"][key], found["against"]["differences"][key]
        interval = f"{score['interval']['low']:.2f} – {score['interval']['high']:.2f}"
        assert re.search(rf"^{name} +{score['value']:.2f} +{interval}$", shown, re.MULTILINE)
        assert f"{name:<5} {score['signature']}\n" in shown
        row = [
            f"{difference['model']:.2f}",
            f"{difference['against']:.2f}",
            f"{difference['difference']:+.2f}",
        ]
        pattern = " +".join(map(re.escape, [name, *row, f"{difference['p_value']:.3f}"]))
        assert re.search(f"^{pattern}$", shown, re.MULTILINE)
        assert f"\n{difference['meaning']}\n" in shown
        assert difference["meaning"].startswith("good.xx is better than bad.xx by")
        assert difference["against"] == found["against"]["scores"][key]["value"]
    assert re.search(rf"^exact match +{found['scores']['exact_match']:.1f} %$", shown, re.MULTILINE)
    for bucket in found["by_length"]:
        numbers = [f"{bucket['bleu']:.2f}", f"{bucket['chrf']:.2f}", f"{bucket['length_ratio']:.2f}"]
        row = [re.escape(each) for each in (bucket["words"], str(bucket["sentences"]), *numbers)]
        assert re.search(rf"^{' +'.join(row)}$", shown, re.MULTILINE)
    blocks = [
        f"line {each['line']}, {each['score']:.1f}\n  source       {each['source']}\n"
        f"  reference    {each['references'][0]}\n  translation  {each['translation']}\n"
        for each in found["worst"]
    ]
    assert "".join(blocks) in shown
    assert len(blocks) == 20


def test_the_document_states_how_it_was_measured(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sacrebleu

    options = ["--source", "a.en", "--reference", "a.xx", "second.xx", "--against", "bad.xx", "--beam", "1"]
    found, _ = answer_of(capsys, model, *options)
    assert set(found) == {"sentences", "scores", "by_length", "worst", "against", "overlap", "measured"}
    assert found["sentences"] == sum(bucket["sentences"] for bucket in found["by_length"]) == SENTENCES
    assert found["overlap"] is None, "an older bundle does not know what it has seen"
    assert found["scores"]["bleu"]["signature"].startswith("nrefs:2|bs:1000|seed:12345|")
    measured = found["measured"]
    assert measured["model"] == {"path": str(model), "kind": "model", "beam_size": 1, "length_penalty": 0.5}
    assert measured["against"] == {
        "path": "bad.xx",
        "kind": "file",
        "beam_size": None,
        "length_penalty": None,
    }
    assert (measured["source"], measured["references"]) == ("a.en", ["a.xx", "second.xx"])
    assert (measured["tokenize"], measured["lowercase"]) == ("13a", False)
    assert (measured["by_length"], measured["worst"]) == ("words of the source", "sentence chrF")
    assert (measured["qkv"], measured["sacrebleu"]) == (qkv.__version__, sacrebleu.__version__)


def test_one_file_of_pairs_is_as_good_as_two(
    files: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = (files / "a.en").read_text().splitlines(), (files / "a.xx").read_text().splitlines()
    rows = zip(source, target, strict=True)
    (files / "a.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows))
    one, _ = answer_of(capsys, model, "--pairs", "a.tsv", "--beam", "1")
    two, _ = answer_of(capsys, model, "--source", "a.en", "--reference", "a.xx", "--beam", "1")
    measured = one.pop("measured")
    assert (measured["source"], measured["references"]) == ("a.tsv", ["a.tsv"])
    assert (measured["places"], two["measured"]["places"]) == ("pair", "line")
    del two["measured"]
    assert one == two


def test_a_file_with_languages_is_read_as_the_command_says(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no model knows the languages, and where the model calls them otherwise."""
    source, target = (files / "a.en").read_text().splitlines(), (files / "a.xx").read_text().splitlines()
    rows = [json.dumps({"en": one, "de": other}) for one, other in zip(source, target, strict=True)]
    (files / "a.jsonl").write_text("\n".join(rows) + "\n")
    languages = ["--source-language", "en", "--target-language", "de"]
    found, _ = answer_of(capsys, "good.xx", "--pairs", "a.jsonl", *languages)
    expected, _ = answer_of(capsys, "good.xx", "--source", "a.en", "--reference", "a.xx")
    assert found["scores"] == expected["scores"]
    assert code_of("good.xx", "--pairs", "a.jsonl", *languages) == 0
    assert re.search(r"^pair \d+, ", capsys.readouterr().out, re.MULTILINE)
    assert code_of("good.xx", "--pairs", "a.jsonl") == 3
    assert "give the source and target languages" in capsys.readouterr().err


def test_the_languages_of_the_other_model_help_to_read_a_file(
    files: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = (files / "a.en").read_text().splitlines(), (files / "a.xx").read_text().splitlines()
    rows = [json.dumps({"xx": other, "en": one}) for one, other in zip(source, target, strict=True)]
    (files / "a.jsonl").write_text("\n".join(rows) + "\n")
    found, _ = answer_of(capsys, "good.xx", "--pairs", "a.jsonl", "--against", model, "--beam", "1")
    expected, _ = answer_of(capsys, "good.xx", "--source", "a.en", "--reference", "a.xx")
    assert found["scores"] == expected["scores"]


def test_each_translation_of_a_repeated_sentence_is_a_reference(
    files: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test set like Tatoeba's, which has the same source on several lines."""
    pairs = [
        ("one two three", "uno"),
        ("four five", "cuatro"),
        ("one two three", "un"),
        ("four five", "cuatro"),
    ]
    (files / "r.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    (files / "mine.xx").write_text("un\ncuatro\nnot counted\nnot counted\n")
    found, _ = answer_of(capsys, "mine.xx", "--pairs", "r.tsv", "--merge")
    assert (found["sentences"], found["scores"]["exact_match"]) == (2, 100)
    assert found["scores"]["chrf"]["value"] == pytest.approx(100)
    assert found["scores"]["ter"]["value"] == 0, (
        "a sentence with fewer references than others has no empty ones"
    )
    assert found["scores"]["bleu"]["signature"].startswith("nrefs:var|")
    assert (found["measured"]["references_each"], found["measured"]["places"]) == ([1, 2], "pair")
    assert found["worst"] == []
    (files / "mine.xx").write_text("u\ncuatro?\n\n\n")
    found, _ = answer_of(capsys, "mine.xx", "--pairs", "r.tsv", "--merge")
    assert [(each["line"], each["references"]) for each in found["worst"]] == [
        (1, ["uno", "un"]),
        (2, ["cuatro"]),
    ]
    (files / "mine.xx").write_text("un\ncuatro\nnot counted\nnot counted\n")
    line_by_line, _ = answer_of(capsys, "mine.xx", "--pairs", "r.tsv")
    assert (line_by_line["sentences"], line_by_line["scores"]["exact_match"]) == (4, 25)
    assert code_of("mine.xx", "--pairs", "r.tsv", "--merge") == 0
    assert "2 sentences with 1 to 2 references each" in capsys.readouterr().out
    assert code_of(model, "--pairs", "r.tsv", "--merge", "--output", "out.xx") == 0
    first, second, *again = (files / "out.xx").read_text().splitlines()
    assert again == [first, second], "every line of the file has its translation"


def test_the_same_command_gives_the_same_document(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["good.xx", "--reference", "a.xx", "--against", "second.xx"]
    assert answer_of(capsys, *options) == answer_of(capsys, *options)


def test_a_system_against_itself_is_neither_better_nor_worse(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = answer_of(capsys, "good.xx", "--reference", "a.xx", "--against", "good.xx")
    for each in found["against"]["differences"].values():
        assert (each["difference"], each["p_value"]) == (0, 1)
        assert "have the same" in each["meaning"]


def test_without_a_source_lengths_are_those_of_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = answer_of(capsys, "good.xx", "--reference", "a.xx")
    assert found["measured"]["by_length"] == "words of the reference"
    assert found["measured"]["source"] is None
    assert {each["source"] for each in found["worst"]} == {None}


def test_a_pipe_gets_no_colours_and_no_wrapped_lines(files: Path) -> None:
    """Also where a sentence is wider than any terminal, and holds what looks like markup or drives a terminal."""
    long = "[bold]one[/bold] :cat: \x1b[31m " + "two " * 200
    (files / "odd.xx").write_text((long + "\n") * 3)
    (files / "odd-reference.xx").write_text("one\n" * 3)
    running = subprocess.run(
        [sys.executable, "-m", "qkv", "evaluate", "odd.xx", "--reference", "odd-reference.xx"],
        capture_output=True,
        check=True,
    )
    shown = running.stdout.decode()
    assert "\x1b" not in shown
    assert f"  translation  {long.replace(chr(27), '·').rstrip()}\n" in shown
    assert "Fewer than 50 sentences" in shown
    assert running.stderr == b""


# Models ---------------------------------------------------------------------------------------------------


def test_the_output_of_a_model_scores_like_the_model(
    model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = ["--source", "a.en", "--reference", "a.xx"]
    first, _ = answer_of(capsys, model, *rest, "--output", "out.xx")
    lines = (files / "out.xx").read_text().split("\n")[:-1]  # no other character ends a line
    assert lines == qkv.load(model, compute_type="float32").translate(
        (files / "a.en").read_text().splitlines()
    )
    second, _ = answer_of(capsys, "out.xx", *rest)
    assert {**first, "measured": None} == {**second, "measured": None}
    assert not list(files.glob(".tmp-*"))


def test_a_model_is_scored_as_its_report_says_unless_the_command_says_otherwise(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(model / "report.json", {"settings": {"scoring": {"tokenize": "none", "lowercase": True}}})
    rest = ["--source", "a.en", "--reference", "a.xx"]
    found, _ = answer_of(capsys, model, *rest)
    assert "|case:lc|eff:no|tok:none|" in found["scores"]["bleu"]["signature"]
    assert (found["measured"]["tokenize"], found["measured"]["lowercase"]) == ("none", True)
    found, _ = answer_of(capsys, model, *rest, "--tokenize", "char")
    assert "|tok:char|" in found["scores"]["bleu"]["signature"]
    found, _ = answer_of(capsys, "good.xx", *rest, "--against", model)
    assert "|tok:none|" in found["scores"]["bleu"]["signature"], "a file has no report of its own"
    found, _ = answer_of(capsys, "good.xx", *rest)
    assert "|case:mixed|eff:no|tok:13a|" in found["scores"]["bleu"]["signature"]
    found, _ = answer_of(capsys, "good.xx", *rest, "--tokenize", "none", "--lowercase")
    assert "|case:lc|eff:no|tok:none|" in found["scores"]["bleu"]["signature"]


@pytest.mark.parametrize("report", [[], {"settings": 3}, {"settings": {"scoring": 3}}])
def test_an_incomplete_report_is_rejected(
    report: object, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(model / "report.json", report)
    assert code_of(model, "--source", "a.en", "--reference", "a.xx") == 3
    assert "is incomplete: restore it" in capsys.readouterr().err


def test_sentences_in_the_training_data_are_counted_and_excluded(
    model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, reference = ((files / name).read_text().splitlines() for name in ("a.en", "a.xx"))
    rows = sorted({source.index(source[row]) for row in (3, 7, 8, 30)})
    write_seen(model, seen_in([source[row].upper() for row in rows], [reference[3], "x", "x", "x"]))
    options = [model, "--source", "a.en", "--reference", "a.xx"]
    found, error = answer_of(capsys, *options)
    seen = [line for line, text in enumerate(source, 1) if text in {source[row] for row in rows}]
    overlap = found["overlap"]
    assert (overlap["lines"], overlap["sentences"]) == (seen, len(seen))
    assert overlap["same_translation_lines"] == [line for line in seen if source[line - 1] == source[3]]
    without = overlap["scores_without"]
    assert without["sentences"] == SENTENCES - len(seen)
    first = ", ".join(map(str, seen[:3]))
    assert error.startswith(
        f"warning: {len(seen)} of {SENTENCES} test sentences occur in the training data of model "
        f"({overlap['same_translation']} with the same translation; lines {first}, …): "
    )
    assert error.endswith(f"without them BLEU is {without['bleu']['value']:.2f}.\n")

    assert code_of(*options, "--output", "out.xx") == 0
    assert re.search(rf"BLEU .* {without['bleu']['value']:.2f}$", capsys.readouterr().out, re.MULTILINE)
    for name in ("a.en", "a.xx", "out.xx"):
        lines = (files / name).read_text().split("\n")[:-1]
        kept = [text for line, text in enumerate(lines, 1) if line not in seen]
        (files / f"kept-{name}").write_text("\n".join(kept) + "\n")
    alone, _ = answer_of(capsys, "kept-out.xx", "--source", "kept-a.en", "--reference", "kept-a.xx")
    assert {"sentences": alone["sentences"], **alone["scores"]} == without


def test_a_model_that_has_seen_nothing_or_everything(
    model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [model, "--source", "a.en", "--reference", "a.xx"]
    write_seen(model, seen_in(["something else"], ["x"]))
    found, error = answer_of(capsys, *options)
    assert (found["overlap"]["sentences"], found["overlap"]["scores_without"], error) == (0, None, "")
    assert code_of(*options) == 0
    assert "None of the sentences occurs in the training data." in capsys.readouterr().out
    source, reference = ((files / name).read_text().splitlines() for name in ("a.en", "a.xx"))
    write_seen(model, seen_in(source, reference))
    found, error = answer_of(capsys, *options)
    assert found["overlap"]["same_translation"] == SENTENCES
    assert found["overlap"]["scores_without"] is None
    assert "no sentence is left without them" in error


def test_the_training_data_of_the_other_model_are_checked_too(
    model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_seen(model, seen_in((files / "a.en").read_text().splitlines()[:1], ["x"]))
    found, error = answer_of(capsys, "good.xx", "--source", "a.en", "--reference", "a.xx", "--against", model)
    assert found["overlap"] is None
    assert found["against"]["overlap"]["lines"][0] == 1
    assert "occur in the training data of model" in error
    assert code_of("good.xx", "--source", "a.en", "--reference", "a.xx", "--against", model) == 0
    told = "The comparison counts 1 sentence that one of the two saw in training."
    assert told in capsys.readouterr().out


def test_models_that_are_scored_differently_are_compared_with_a_warning(
    model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(model, files / "tokenised")
    report = {"settings": {"scoring": {"tokenize": "none", "lowercase": False}}}
    write_json(files / "tokenised" / "report.json", report)
    options = ["--source", "a.en", "--reference", "a.xx", "--beam", "1"]
    found, error = answer_of(capsys, "tokenised", *options, "--against", model)
    assert "|tok:none|" in found["scores"]["bleu"]["signature"]
    assert "different settings: using those of tokenised for both." in error


def test_a_bundle_with_fingerprints_is_loaded_and_described_as_before(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["info", str(model)])
    before, answer = capsys.readouterr().out, qkv.load(model).translate("one two")
    write_seen(model, seen_in(["one"], ["uno"]))
    main(["info", str(model)])
    assert capsys.readouterr().out == before
    assert qkv.load(model).translate("one two") == answer


def test_training_leaves_the_fingerprints_of_its_training_part(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = """--width 16 --encoder-depth 1 --decoder-depth 1 --heads 2 --ffn-width 16
        --batch-tokens 256 --validate-every 3 --beam-size 1 --steps 3"""
    main(["train", "translator", *"--source a.en --target a.xx --out trained".split(), *tiny.split()])  # noqa: SIM905
    assert (files / "trained" / SEEN_FILE).is_file()
    capsys.readouterr()
    found, error = answer_of(capsys, "trained", "--source", "a.en", "--reference", "a.xx")
    data = json.loads((files / "trained" / "report.json").read_text())["data"]
    assert data["validation_pairs"] >= 1
    assert found["overlap"]["same_translation"] == data["pairs"] < SENTENCES
    assert f"{data['pairs']} of {SENTENCES} test sentences occur in the training data" in error


# Mistakes -------------------------------------------------------------------------------------------------

FILE_MISTAKES = {
    "a reference too short": (
        "good.xx --reference a.xx shorter.xx two.xx",
        "a.xx has 60 lines but shorter.xx has 59 and two.xx has 2; the files must match",
    ),
    "translations too short": ("shorter.xx --reference a.xx", "a.xx has 60 lines but shorter.xx has 59;"),
    "a source too short": ("good.xx --source two.xx --reference a.xx", "two.xx has 2 lines but a.xx has 60;"),
    "the other too short": ("good.xx --reference a.xx --against two.xx", "a.xx has 60 lines but two.xx has 2;"),
    "no translations": ("empty.xx --reference a.xx", "empty.xx is empty"),
    "nothing there": ("nowhere --reference a.xx", "there is no folder or file nowhere"),
    "nothing to compare": ("good.xx --reference a.xx --against nowhere", "there is no folder or file nowhere"),
    "a mistyped model with a beam": ("nowhere --source a.en --reference a.xx --beam 3", "no folder or file nowhere"),
    "languages without pairs": ("good.xx --reference a.xx --source-language en", "need --pairs"),
    "no number": ("model --source a.en --reference a.xx --length-penalty nan", "--length-penalty must be from 0 to 50"),
    "nothing to merge by": ("good.xx --reference a.xx --merge", "--merge needs --source or --pairs"),
    "no reference": ("good.xx --reference", "--reference needs a value"),
    "neither references nor pairs": ("good.xx", "give --reference (texts or files) or --pairs"),
    "references and pairs": ("good.xx --reference a.xx --pairs a.tsv", "give --reference"),
    "source and pairs": ("good.xx --source a.en --pairs a.tsv", "leave out --source"),
    "a beam for a file": ("good.xx --reference a.xx --beam 3", "leave out --beam-size and --length-penalty"),
    "a penalty for a file": ("good.xx --reference a.xx --length-penalty 1", "good.xx is a file of translations"),
    "an unknown tokenizer": ("good.xx --reference a.xx --tokenize 14a", "sacrebleu has no tokenizer '14a'"),
    "an output that is read": ("good.xx --reference a.xx --output ./a.xx", "--output would overwrite the input a.xx"),
    "an output in no folder": ("good.xx --reference a.xx --output no/where", "there is no folder no: create it, or give another --output"),
    "a model and no source": ("model --reference a.xx", "model is a model and needs sentences to translate: give --source"),
    "another model and no source": ("good.xx --reference a.xx --against model", "model is a model and needs sentences to translate: give --source"),
    "no beam": ("model --source a.en --reference a.xx --beam 0", "--beam-size must be from 1 to"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", FILE_MISTAKES)
def test_a_mistake_is_one_error_message_and_nothing_is_written(
    mistake: str, model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, sentence = FILE_MISTAKES[mistake]
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    assert code_of(*options.split(), "--json") in (2, 3), mistake
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("error: ")
    assert line.endswith(".")
    assert sentence in line
    assert before == {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}


def test_damaged_fingerprints_are_rejected(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_seen(model, seen_in(["one"], ["uno"]))
    (model / SEEN_FILE).write_bytes((model / SEEN_FILE).read_bytes()[:-1])
    assert code_of(model, "--source", "a.en", "--reference", "a.xx") == 3
    assert f"{SEEN_FILE} is damaged" in capsys.readouterr().err
