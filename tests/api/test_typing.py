"""A program of a user passes `mypy --strict`, and a mistake in it is found."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("user_program.py")
WRONG = """
import qkv

number: int = qkv.load("runs/en-de", kind=qkv.Translator).translate("Hello.")
qkv.Translator.load("runs/en-de").generate("Hello.")


async def served(translator: qkv.Translator) -> int:
    return await translator.atranslate("Hello.")


qkv.fine_tune(qkv.Translator.load("runs/en-de"), output="runs/tuned").generate("Hello.")
"""


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
    assert len(found) == 4, ran.stdout
    assert 'expression has type "str"' in found[0]
    assert '"Translator" has no attribute "generate"' in found[1]
    assert 'got "str", expected "int"' in found[2]
    assert '"Translator" has no attribute "generate"' in found[3]
