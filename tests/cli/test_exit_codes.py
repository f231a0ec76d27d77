"""Every documented exit code, by a command in a process of its own."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import language_models
import pytest
from commands import code_of, process, refused

from qkv.cli import DATA, USAGE

FULL = Path("/dev/full")
LIMIT = 4 << 30  # bytes of memory


def ended(started: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, error = started.communicate()
    return started.returncode, error.decode()


def test_2_is_a_mistake_in_the_command() -> None:
    code, error = ended(process("info", "a", "b"))
    assert (code, error.startswith("error: unrecognized argument b")) == (2, True)


def test_3_is_bad_data_or_a_bad_model(tmp_path: Path) -> None:
    code, error = ended(process("info", str(tmp_path / "nowhere")))
    assert (code, error.startswith("error: there is no folder")) == (3, True)


CODES = {
    "an empty file": ("evaluate MODEL --source empty.xx --reference a.xx", DATA),
    "an empty text": ("train gpt --text empty.xx -o new", DATA),
    "a file that is not UTF-8": ("train gpt --text latin1.xx -o new", DATA),
    "a line that is not UTF-8": ("translate MODEL --input latin1.xx", DATA),
    "a bad line of a glossary": ("translate MODEL one --glossary a.xx", DATA),
    "a model of an unknown kind": ("info unknown", DATA),
    "no model": ("evaluate nomodel", DATA),
    "files of unequal length": ("evaluate MODEL --source a.en --reference shorter.xx", DATA),
    "translations of unequal length": ("evaluate a.xx --reference a.en --against shorter.xx", DATA),
    "no file to clean": ("clean --pairs nofile.tsv", DATA),
    "a missing extra": ("evaluate a.xx --reference a.en --config x.yaml", USAGE),
    "an existing file": ("evaluate a.xx --reference a.en --output there", USAGE),
    "an existing corpus": ("clean --pairs a.en-xx.tsv --language-confidence 0 --output there.tsv", USAGE),
    "an existing report": ("clean --pairs a.en-xx.tsv --language-confidence 0 --report there", USAGE),
    "an existing folder": ("import MODEL -o MODEL", USAGE),
    "an existing run": ("train translator --source a.en --target a.xx -o MODEL", USAGE),
    "an existing output of a file job": ("translate MODEL --input a.en --output there", USAGE),
    "an output below a file": ("train gpt --text a.en -o there/new", USAGE),
    "an input to overwrite": ("evaluate a.xx --reference a.en --output a.en --overwrite", USAGE),
}


@pytest.mark.parametrize(("command", "code"), CODES.values(), ids=CODES)
def test_an_error_has_the_code_of_its_kind(
    command: str, code: int, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    monkeypatch.chdir(files)
    monkeypatch.setitem(sys.modules, "yaml", None)
    for name in ("there", "there.tsv", "x.yaml"):
        (files / name).write_text("mine")
    (files / "a.en-xx.tsv").write_text("one\tone\n")
    shutil.copytree(model, files / "unknown")
    config = json.loads((model / "config.json").read_text())
    (files / "unknown" / "config.json").write_text(json.dumps({**config, "kind": "nonsense"}))
    assert code_of(*command.replace("MODEL", str(model)).split()) == code
    refused(*reversed(capsys.readouterr()), code)
    assert (files / "there").read_text() == "mine"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_4_is_a_full_disk(model: Path) -> None:
    with FULL.open("w") as full:
        code, error = ended(process("translate", str(model), "one", stdout=full))
    assert (code, error.startswith("error: No space left on device")) == (4, True)


def test_5_is_too_little_memory(tmp_path: Path) -> None:
    language_models.untrained("subwords").save(tmp_path / "gpt")
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(4 * LIMIT)  # takes no space on the disk
    with huge.open("rb") as prompt:
        started = process("generate", str(tmp_path / "gpt"), "-", stdin=prompt, preexec_fn=limit_memory)
        code, error = ended(started)
    assert (code, error.splitlines()[-1].startswith("error: out of memory")) == (5, True)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def test_130_is_an_interrupt(model: Path) -> None:
    started = process("translate", str(model))
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write(b"one\n")
    started.stdin.flush()
    assert started.stdout.readline()  # it works, and waits for more
    os.kill(started.pid, signal.SIGINT)
    code, error = ended(started)
    assert (code, error) == (130, "error: interrupted.\n")
