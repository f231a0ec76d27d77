"""Commands in docs/import-export.md work: they are run as they stand there, on tiny models under the names they use."""

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
    """All commands of the page, in their order."""
    found = re.findall(r"^qkv .*$", PAGE, flags=re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in found]


def write_files() -> None:
    """In the current folder, all that the page names; a folder of that name stands for a model on the hub."""
    write_marian(Path("Helsinki-NLP/opus-mt-en-de"))
    write_marian(Path("Helsinki-NLP/opus-mt-en-ROMANCE"), ("fr", "es", "pt"))
    write_marian(Path("path/to/folder"))
    older = Path("somebody/older-model")
    torch.save(write_marian(older).state_dict(), older / "pytorch_model.bin")
    (older / "model.safetensors").unlink()
    texts = [" ".join(WORDS[(n + k * k) % 40] for k in range(3)) for n in range(30)]
    for name in ("mine.en", "mine.de", "mine.fr", "test.en", "test.de"):
        Path(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def test_every_command_of_the_page_and_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ctranslate2")
    monkeypatch.chdir(tmp_path)
    write_files()
    commands = lines()
    assert {command[0] for command in commands} == {"import", "translate", "train", "export"}
    for command in commands:
        more = QUICK if command[0] == "train" else []
        assert code_of(*command, *more) == 0, (command, capsys.readouterr().err)
    assert "BLEU" in capsys.readouterr().err
    # The page shows how CTranslate2 is asked with pieces of ours; Marian's own have other names.
    names = vocabulary_names(tmp_path / "ours")
    assert names["answer"].hypotheses  # type: ignore[attr-defined]


def vocabulary_names(folder: Path) -> dict[str, object]:
    """The Python of the page, run with a model that has learned its pieces here."""
    from commands import save_untrained

    from qkv.hub.exporting_ctranslate2 import export_to_ctranslate2

    save_untrained(folder / "runs/mine", ["a cat sleeps"] * 3, beam=1, length_penalty=1.0)
    export_to_ctranslate2(folder / "runs/mine", folder / "mine-ct2")
    [program] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    program = program.replace('"runs/mine"', repr(str(folder / "runs/mine")))
    program = program.replace('"mine-ct2"', repr(str(folder / "mine-ct2")))
    program = program.replace(
        "([pieces])", "([pieces], max_decoding_length=20)"
    )  # the tiny one has 40 positions
    names: dict[str, object] = {}
    exec(program, names)
    return names
