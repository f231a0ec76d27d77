"""Through the real command, a small model learns to copy and to reverse within seconds, and is then usable."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from digits import digit_lines

import qkv
from qkv.families.translator.guarantees.repetition import is_loop
from qkv.families.translator.product import Translator

TINY_OPTIONS = """--steps 400 --beam-size 1 --width 64 --encoder-depth 1 --decoder-depth 1
    --heads 4 --ffn-width 128 --dropout 0 --batch-tokens 768 --learning-rate 0.005
    --warmup-steps 50 --validate-every 200"""
TINY = TINY_OPTIONS.split()


def command(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "qkv", *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=240,
        check=False,
    )


def reverse(line: str) -> str:
    return " ".join(reversed(line.split()))


TASKS = {"copy": str, "reverse": reverse}
PROCESSES = {"copy": "1", "reverse": "2"}  # alone, and sharing every batch


@pytest.fixture(scope="module", params=TASKS)
def learned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The name of the task, and the folder of a model trained on it."""
    folder = tmp_path_factory.mktemp(request.param)
    lines = digit_lines(3_000, seed=1, shortest=2)
    (folder / "train.en").write_text("\n".join(lines) + "\n")
    (folder / "train.xx").write_text("\n".join(map(TASKS[request.param], lines)) + "\n")
    files = ["--source", f"{folder}/train.en", "--target", f"{folder}/train.xx", "--out", f"{folder}/model"]
    result = command("train", "translator", *files, *TINY, "--processes", PROCESSES[request.param])
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    return request.param, folder / "model"


def test_it_is_learned(learned: tuple[str, Path]) -> None:
    _, model = learned
    report = json.loads((model / "report.json").read_text(encoding="utf-8"))
    assert report["validation"]["sentences"] >= 200  # a tenth, without duplicates of training pairs
    assert report["validation"]["exact_match"] >= 90
    assert report["validation"]["bleu"]["value"] >= 90


def test_evaluate_reports_the_same_quality_on_new_sentences(
    learned: tuple[str, Path], tmp_path: Path
) -> None:
    task, model = learned
    lines = digit_lines(200, seed=2, shortest=2)
    (tmp_path / "source").write_text("\n".join(lines) + "\n")
    (tmp_path / "reference").write_text("\n".join(map(TASKS[task], lines)) + "\n")
    files = ["--source", f"{tmp_path}/source", "--reference", f"{tmp_path}/reference"]
    result = command("evaluate", str(model), *files)
    assert result.returncode == 0, result.stderr
    assert "200" in result.stdout.splitlines()[0]
    assert "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a" in result.stdout, "BLEU's signature"
    assert "nc:6|nw:0" in result.stdout, "chrF comes with its signature"
    exact = re.search(r"exact match +([\d.]+) %", result.stdout)
    assert exact is not None
    assert float(exact[1]) >= 90


def test_translate_answers_line_by_line(learned: tuple[str, Path]) -> None:
    task, model = learned
    lines = ["one two three", "", "seven nine", "👍", "four four five eight"]
    result = command("translate", str(model), text="\n".join(lines))
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


def shown_up_to(model: Path, max_source_length: int) -> Translator:
    """The model, with sources cut at the length that its training has shown: here that is far below the least."""
    translator: Translator = qkv.load(model)
    translator.defaults = replace(translator.defaults, max_source_length=max_source_length)
    return translator


def test_what_nobody_would_translate_is_copied(learned: tuple[str, Path]) -> None:
    assert qkv.load(learned[1]).translate(COPIED) == COPIED


def test_one_word_is_translated_and_nothing_made_up(learned: tuple[str, Path]) -> None:
    assert qkv.load(learned[1]).translate(["one", " nine "]) == ["one", " nine "]


def test_nothing_of_a_long_text_without_an_end_is_dropped(learned: tuple[str, Path]) -> None:
    translator = shown_up_to(learned[1], max_source_length=5)
    pieces = translator.segments(WITHOUT_END)
    said, expected = translator.translate(WITHOUT_END).split(), WITHOUT_END.split()
    assert len(expected) > 400
    assert len(pieces) > 5
    assert abs(len(said) - len(expected)) <= 0.05 * len(expected)
    assert abs(Counter(said)["seven"] - Counter(expected)["seven"]) <= 0.15 * Counter(expected)["seven"]


@pytest.mark.parametrize("name", STRANGE)
def test_strange_input_gets_a_short_answer_that_does_not_turn_in_circles(
    name: str, learned: tuple[str, Path]
) -> None:
    translator, text = qkv.load(learned[1]), STRANGE[name]
    answer = translator.translate(text)
    assert answer.strip()
    assert "\n" not in answer
    read, said = translator.tokenizer.encode(text), translator.tokenizer.encode(answer)
    assert len(answer) <= 8 * len(text) + 100
    assert not is_loop(said, read), answer


def test_python_gives_the_answers_of_the_command(learned: tuple[str, Path]) -> None:
    task, model = learned
    translator = qkv.load(model)
    assert translator.translate("one two three") == TASKS[task]("one two three")
    assert translator.translate(["seven nine"], beam=4) == [TASKS[task]("seven nine")]


def test_cross_attention_looks_at_the_word_that_is_said(learned: tuple[str, Path]) -> None:
    """On average over sentences, the word that is copied gets more attention than any other word would."""
    task, model = learned
    translator = qkv.load(model)
    share = []
    for line in digit_lines(20, seed=3, shortest=2):
        attention = translator.attention(line)
        words = len(line.split())
        assert len(attention.source) == words + 1
        weights = attention.weights[-1].amax(dim=0)  # (T, S)
        for said in range(min(words, len(attention.target) - 1)):
            read = said if task == "copy" else words - 1 - said
            share.append(float(weights[said, read] / weights[said].mean()))
    assert sum(share) / len(share) > 1.2


def test_info_says_what_the_model_is(learned: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    from qkv.cli import main

    _, model = learned
    pairs = json.loads((model / "report.json").read_text(encoding="utf-8"))["data"]["pairs"]
    main(["info", str(model)])
    shown = capsys.readouterr().out
    assert pairs > 2_600
    for fact in (
        "translator, en → xx",
        "1 blocks, width 64, 4 heads",
        "400 steps",
        f"{pairs:,} pairs",
        "beam 1",
    ):
        assert fact in shown
