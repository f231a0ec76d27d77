"""qkv.clean: the same decisions for lists, iterators, tables and files."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import ENVIRONMENT, code_of

import qkv
from qkv.api.cleaning import CleanOptions
from qkv.cli.fields import option_fields
from qkv.data.worlds import pairs as built_in

GOOD = list(dict.fromkeys((pair.source, pair.target) for pair in built_in("en", "de", 60, part="train")))[:40]
PAIRS = [*GOOD, GOOD[3], ("a", "b"), ("The cat sleeps today.", "Le chat dort aujourd'hui dans la maison.")]
LANGUAGES = {"source_language": "en", "target_language": "de"}
QUICK: dict[str, Any] = {**LANGUAGES, "near_duplicates": 0.0, "min_alignment": None, "processes": 1}


def test_every_option_is_a_keyword_with_the_same_default() -> None:
    parameters = inspect.signature(qkv.clean).parameters
    for option in option_fields(CleanOptions):
        assert parameters[option.path[-1]].default == option.default


def test_lists_iterators_tables_and_files_are_cleaned_alike(tmp_path: Path) -> None:
    first = qkv.clean(PAIRS, **QUICK)
    assert first.total == len(PAIRS)
    assert first.pairs == GOOD
    assert first.dropped == {"too short": 1, "other language": 1, "duplicate": 1}
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    sources, targets = (list(side) for side in zip(*PAIRS, strict=True))
    for again in (
        qkv.clean(iter(PAIRS), **QUICK),
        qkv.clean({"en": sources, "de": targets}, **QUICK),
        qkv.clean(source=sources, target=targets, **QUICK),
        qkv.clean(tmp_path / "a.tsv", **QUICK),
        qkv.clean([tmp_path / "a.tsv"], **QUICK),
    ):
        assert again == first


def test_the_report_and_the_files_are_those_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    flags = [
        "--source-language",
        "en",
        "--target-language",
        "de",
        "--near-duplicates",
        "0",
        "--min-alignment",
        "None",
    ]
    out = ["--output", tmp_path / "b.tsv", "--report", tmp_path / "b.json"]
    assert code_of("clean", "--pairs", tmp_path / "a.tsv", *flags, "--processes", "1", *out) == 0
    shown = capsys.readouterr().out
    cleaned = qkv.clean(PAIRS, output=tmp_path / "c.tsv", report=tmp_path / "c.json", **QUICK)
    assert f"{cleaned}\n" == shown
    assert cleaned.pairs is None
    assert (tmp_path / "c.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    assert json.loads((tmp_path / "b.json").read_text()) == cleaned.to_dict()
    assert cleaned.to_dict() == json.loads((tmp_path / "c.json").read_text())


def test_held_out_sentences_and_pairs_are_dropped() -> None:
    for held_out in ([GOOD[0][0], GOOD[1][1]], GOOD[:2]):
        assert qkv.clean(GOOD, held_out=held_out, **QUICK).dropped == {"in a test set": 2}


def test_html_has_no_markup_of_the_data() -> None:
    shown = qkv.clean([*GOOD, ("<b>x y z</b> cat", "x y z")], **QUICK)._repr_html_()
    assert "&lt;b&gt;x y z" in shown
    assert "<b>" not in shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: qkv.clean([("a", "b"), ("a",)], **QUICK), "pairs[1] has 1 item; expected a source and a target."),
        (lambda: qkv.clean([("a", None)], **QUICK), "pairs[0][1] is None; expected str."),
        (lambda: qkv.clean(GOOD), "give `source_language` and `target_language`"),
        (lambda: qkv.clean(), "give the corpus: either `pairs`, or both `source` and `target`."),
        (lambda: qkv.clean(GOOD, max_ratio=0.5, **LANGUAGES), "max_ratio must be at least 1."),
        (lambda: qkv.clean([("a", "b")], **QUICK), "no pairs are left"),
        (lambda: qkv.clean(source=["a"], target=["a", "b"], **QUICK), "target has 2 elements, but source has 1"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_element(call: Callable[[], object], message: str) -> None:
    with pytest.raises(qkv.QkvError) as raised:
        call()
    assert message in str(raised.value)


SCRIPT = """
print("started")
import qkv, qkv.corpus.clean
qkv.corpus.clean.CHUNK = 10
pairs = [(f"The cat number {n} danced.", f"Die Katze Nummer {n} tanzte.") for n in range(30)]
print(qkv.clean(pairs, language_confidence=0, near_duplicates=0, min_alignment=None, processes=2))
"""


def test_processes_do_not_run_the_script_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert ran.stdout == "started\nkept 30 of 30 pairs (100.00 %)\n", ran.stderr
