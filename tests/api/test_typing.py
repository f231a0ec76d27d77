"""A program of a user passes `mypy --strict`, and a mistake in it is found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("user_program.py")
WRONG = """
import qkv

number: int = qkv.load("runs/en-de", kind=qkv.Translator).translate("Hello.")
qkv.Translator.load("runs/en-de").generate("Hello.")


async def served(translator: qkv.Translator) -> int:
    return await translator.atranslate("Hello.")


qkv.fine_tune(qkv.Translator.load("runs/en-de"), output="runs/tuned").generate("Hello.")


def misspelt(translator: qkv.Translator, bert: qkv.Bert, gpt: qkv.LanguageModel) -> None:
    translator.translate("x", beam_szie=4)
    translator.translate("x", beam_size="four")
    qkv.load("runs/en-de", compute_type="int7")
    gpt.generate("x", max_new_token=4)
    bert.fill("[MASK]", topk=3)
    qkv.train_translator([("a", "b")], output="o", learning_rat=0.1)
    qkv.fine_tune(translator, [("a", "b")], output="o", depth=4)
    qkv.fine_tune("runs/en-de", [("a", "b")], outpt="o")
    qkv.resume("o", proceses=2)
    qkv.evaluate(translator, ["a"], ["b"], beam_szie=4)
    qkv.distill("t", ["a"], output="o", teacher_model="u")
    qkv.serve("runs/en-de", prot=8080)
    qkv.explore(translator, "x", heads=2)
    qkv.clean([("a", "b")], max_lenght=4)
"""
LINES = WRONG.splitlines()
FIRST = next(number for number, line in enumerate(LINES, 1) if line.startswith("def misspelt")) + 1


@pytest.mark.slow
def test_a_program_of_a_user_is_typed(tmp_path: Path) -> None:
    """One run for both files: most of the time goes into reading the package. Errors inside qkv do not count here."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    options = [
        "--strict",
        "--follow-imports=silent",
        "--config-file=",
        f"--cache-dir={ROOT / '.mypy_cache' / 'user'}",
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(PROGRAM), str(wrong)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        check=False,
    )
    found = [line for line in ran.stdout.splitlines() if ": error: " in line]
    assert [line for line in found if "user_program" in line] == [], ran.stdout
    numbers = {int(line.split(":")[1]) for line in found}
    assert set(range(FIRST, len(LINES) + 1)) <= numbers, ran.stdout  # every line of the last function
    found = [line for line in found if int(line.split(":")[1]) < FIRST]
    assert len(found) == 4, ran.stdout
    assert 'expression has type "str"' in found[0]
    assert '"Translator" has no attribute "generate"' in found[1]
    assert 'got "str", expected "int"' in found[2]
    assert '"Translator" has no attribute "generate"' in found[3]
