"""Through the real command, a small model learns to copy and to reverse within seconds, and is then usable."""

import json
import re
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from commands import code_of
from digits import digit_lines

import qkv
from qkv.families.translator.guarantees.repetition import is_loop
from qkv.families.translator.product import Translator

TINY_OPTIONS = """--steps 400 --beam-size 1 --width 64 --encoder-depth 1 --decoder-depth 1
    --heads 4 --ffn-width 128 --dropout 0 --batch-tokens 768 --learning-rate 0.005
    --warmup-steps 50 --validate-every 200"""
TINY = TINY_OPTIONS.split()


def reverse(line: str) -> str:
    return " ".join(reversed(line.split()))


TASKS = {"copy": str, "reverse": reverse}
LINES = digit_lines(3_000, seed=1, shortest=2)
PROCESSES = {"copy": "1", "reverse": "2"}  # alone, and sharing every batch


@pytest.fixture(scope="module", params=TASKS)
def learned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The name of the task, and the folder of a model trained on it."""
    folder = tmp_path_factory.mktemp(request.param)
    lines = LINES
    (folder / "train.en").write_text("\n".join(lines) + "\n")
    (folder / "train.xx").write_text("\n".join(map(TASKS[request.param], lines)) + "\n")
    files = ["--source", f"{folder}/train.en", "--target", f"{folder}/train.xx", "--out", f"{folder}/model"]
    options = [*files, *TINY, "--processes", PROCESSES[request.param]]
    with redirect_stdout(StringIO()) as printed:
        assert code_of("train", "translator", *options) == 0
    assert printed.getvalue() == ""
    return request.param, folder / "model"


def test_it_is_learned(learned: tuple[str, Path]) -> None:
    _, model = learned
    report = json.loads((model / "report.json").read_text(encoding="utf-8"))
    assert report["validation"]["sentences"] == len(set(LINES)) // 10  # duplicates are held out once
    assert report["validation"]["exact_match"] >= 90
    assert report["validation"]["bleu"]["value"] >= 90


def test_evaluate_reports_the_same_quality_on_new_sentences(
    learned: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, model = learned
    lines = digit_lines(200, seed=2, shortest=2)
    (tmp_path / "source").write_text("\n".join(lines) + "\n")
    (tmp_path / "reference").write_text("\n".join(map(TASKS[task], lines)) + "\n")
    files = ["--source", f"{tmp_path}/source", "--reference", f"{tmp_path}/reference"]
    assert code_of("evaluate", model, *files) == 0
    shown = capsys.readouterr().out
    assert "200" in shown.splitlines()[0]
    assert "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a" in shown, "BLEU's signature"
    assert "nc:6|nw:0" in shown, "chrF's signature"
    exact = re.search(r"exact match +([\d.]+) %", shown)
    assert exact is not None
    assert float(exact[1]) >= 90


def test_translate_prints_one_line_per_line(learned: tuple[str, Path]) -> None:
    task, model = learned
    lines = ["one two three", "", "seven nine", "👍", "four four five eight"]
    command = [sys.executable, "-m", "qkv", "translate", str(model)]
    result = subprocess.run(command, input="\n".join(lines), capture_output=True, encoding="utf-8")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [TASKS[task](line) for line in lines]


COPIED = [" ", "-", "…", "12 345", "👍 🎉", "  \t", "?!"]
WITHOUT_END = " ".join(digit_lines(100, seed=5, shortest=4))  # some 500 words and no full stop
STRANGE = {
    "one letter": "a",
    "another language": "das hat hier niemand gelernt und keiner versteht es",
    "other letters": "猫はどこですか",
    "all capitals": "ONE TWO THREE",
    "one word again and again": "seven " * 30,
    "no spaces": "onetwothree" * 8,
}


def with_max_source_length(model: Path, longest: int) -> Translator:
    """The model, with longer sources split at a length far below the usual minimum."""
    translator: Translator = qkv.load(model)
    translator._defaults = replace(translator._defaults, max_source_length=longest)
    return translator


def test_lines_without_words_are_copied(learned: tuple[str, Path]) -> None:
    assert qkv.load(learned[1]).translate(COPIED) == COPIED


def test_a_single_word_gets_no_additions(learned: tuple[str, Path]) -> None:
    assert qkv.load(learned[1]).translate(["one", " nine "]) == ["one", " nine "]


def test_a_long_text_without_a_full_stop_is_translated_completely(learned: tuple[str, Path]) -> None:
    translator = with_max_source_length(learned[1], longest=5)
    segments = translator._pipeline.segments(WITHOUT_END)
    said, expected = translator.translate(WITHOUT_END).split(), WITHOUT_END.split()
    assert len(expected) > 400
    assert len(segments) > 5
    assert abs(len(said) - len(expected)) <= 0.05 * len(expected)
    assert abs(Counter(said)["seven"] - Counter(expected)["seven"]) <= 0.15 * Counter(expected)["seven"]


@pytest.mark.parametrize("name", STRANGE)
def test_strange_input_gets_a_short_translation_without_loops(name: str, learned: tuple[str, Path]) -> None:
    translator, text = qkv.load(learned[1]), STRANGE[name]
    answer = translator.translate(text)
    assert answer.strip()
    assert "\n" not in answer
    read, said = translator.tokenizer.encode(text), translator.tokenizer.encode(answer)
    assert len(answer) <= 8 * len(text) + 100
    assert not is_loop(said, read), answer


def test_python_translates_as_the_command_does(learned: tuple[str, Path]) -> None:
    task, model = learned
    translator = qkv.load(model)
    assert translator.translate("one two three") == TASKS[task]("one two three")
    assert translator.translate(["seven nine"], beam=4) == [TASKS[task]("seven nine")]


def test_cross_attention_is_highest_on_the_word_that_is_translated(learned: tuple[str, Path]) -> None:
    """On average over sentences, that word gets more attention than the other words."""
    task, model = learned
    translator = qkv.load(model)
    share = []
    for line in digit_lines(20, seed=3, shortest=2):
        attention = translator._pipeline.attention(line)
        words = len(line.split())
        assert len(attention.source) == words + 1
        weights = attention.weights[-1].max(axis=0)  # (T, S)
        for said in range(min(words, len(attention.target) - 1)):
            read = said if task == "copy" else words - 1 - said
            share.append(float(weights[said, read] / weights[said].mean()))
    assert sum(share) / len(share) > 1.2


def test_info_describes_the_model(learned: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    from qkv.cli import main

    _, model = learned
    main(["info", str(model)])
    shown = capsys.readouterr().out
    pairs = json.loads((model / "report.json").read_text(encoding="utf-8"))["data"]["pairs"]
    assert pairs <= len(LINES) - len(set(LINES)) // 10
    facts = ("translator, en → xx", "1 block, width 64, 4 heads", "400 steps", f"{pairs:,} pairs", "beam 1")
    for fact in facts:
        assert fact in shown
