"""The commands in docs/import-export.md work. They are run as written, on tiny models."""

import re
import shlex
from pathlib import Path

import pytest
import torch
from commands import code_of
from published import WORDS, write_marian

PAGE = (Path(__file__).parents[1] / "docs" / "import-export.md").read_text(encoding="utf-8")
QUICK = ["--steps", "2", "--batch-tokens", "256", "--processes", "1"]
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")


def lines() -> list[list[str]]:
    """All commands of the page, in order."""
    found = re.findall(r"^qkv .*$", PAGE, flags=re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in found]


def write_files() -> None:
    """Write every file that the page names. A folder stands for a model on the hub."""
    write_marian(Path("Helsinki-NLP/opus-mt-en-de"))
    write_marian(Path("Helsinki-NLP/opus-mt-en-ROMANCE"), ("fr", "es", "pt"))
    write_marian(Path("path/to/folder"))
    older = Path("somebody/older-model")
    torch.save(write_marian(older).state_dict(), older / "pytorch_model.bin")
    (older / "model.safetensors").unlink()
    texts = [" ".join(WORDS[(n + k * k) % 40] for k in range(3)) for n in range(30)]
    for name in ("mine.en", "mine.de", "mine.fr", "test.en", "test.de"):
        Path(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def test_the_commands_and_the_python_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ctranslate2")
    monkeypatch.chdir(tmp_path)
    write_files()
    commands = [command for command in lines() if command[0] != "push"]  # tests/hub/test_publishing.py
    assert {command[0] for command in commands} == {"import", "translate", "train", "export"}
    for command in commands:
        more = QUICK if command[0] == "train" else []
        assert code_of(*command, *more) == 0, (command, capsys.readouterr().err)
    assert "BLEU" in capsys.readouterr().err
    # The page tokenizes with our vocabulary; an imported Marian model has another one.
    names = run_python_of_the_page(tmp_path / "ours")
    assert names["result"].hypotheses  # type: ignore[attr-defined]


def run_python_of_the_page(folder: Path) -> dict[str, object]:
    """Run it with a model that has learned its own vocabulary, and return the variables."""
    from commands import save_untrained

    from qkv.hub.exporting_ctranslate2 import export_to_ctranslate2

    save_untrained(folder / "runs/mine", ["a cat sleeps"] * 3, beam=1, length_penalty=1.0)
    export_to_ctranslate2(folder / "runs/mine", folder / "mine-ct2")
    [program] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    program = program.replace('"runs/mine"', repr(str(folder / "runs/mine")))
    program = program.replace('"mine-ct2"', repr(str(folder / "mine-ct2")))
    shorter = "([tokens], max_decoding_length=20)"  # the tiny model has 40 positions
    program = program.replace("([tokens])", shorter)
    names: dict[str, object] = {}
    exec(program, names)
    return names
