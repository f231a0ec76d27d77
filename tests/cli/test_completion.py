"""Completion in real shells. Each test asks the same questions."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import code_of, refused

from qkv.cli.completion import all_words
from qkv.cli.completion_scripts import SCRIPTS

QUESTIONS = {
    ("qkv", "evalu"): {"evaluate"},
    ("qkv", "--quiet", "train", "cod"): {"codebook"},
    ("qkv", "train", "translator", "--pa"): {"--pairs", "--patience"},
    ("qkv", "--config", "info", "translate", "M", "--beam"): {"--beam", "--beam-size"},
    ("qkv", "translate", "M", "--compute-type", "f"): {"float32"},
    ("qkv", "evaluate", "M", "--im"): {"--images"},
    ("qkv", "completion", "z"): {"zsh"},
    ("qkv", "clean", "--dup"): {"--duplicates"},
    ("qkv", "clean", "--no-"): {"--no-duplicates"},
    ("qkv", "memory", "exp"): {"export"},
    ("qkv", "memory", "search", "M", "--con"): {"--config", "--context"},
    ("qkv", "memory", "add", "a"): {"a file", "a-folder"},
    ("qkv", "help", "conv"): {"conventions"},
    ("qkv", "translate", "a"): {"a file", "a-folder"},
    ("qkv", "translate", "--input", "a"): {"a file", "a-folder"},
    ("qkv", "export", "M", "--output", "a"): {"a-folder"},
    ("qkv", "translate", "M", "--beam-size", ""): set(),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    (folder / "a file").write_text("")
    (folder / "a-folder").mkdir()
    words = all_words()
    for shell, script in SCRIPTS.items():
        (folder / f"qkv.{shell}").write_text(script(words))
    return folder


def require(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def answers(command: list[str], folder: Path) -> list[str]:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=home(folder))
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def home(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "TERM": "dumb"}


@pytest.mark.parametrize("words", QUESTIONS, ids=" ".join)
def test_bash_completes(words: tuple[str, ...], folder: Path) -> None:
    require("bash")
    script = (
        'source qkv.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _qkv; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    found = answers(["bash", "--norc", "-c", script, "bash", *words], folder)
    assert set(filter(None, found)) == QUESTIONS[words]


@pytest.mark.parametrize("words", QUESTIONS, ids=" ".join)
def test_fish_completes(words: tuple[str, ...], folder: Path) -> None:
    require("fish")
    line = " ".join(words)
    found = answers(["fish", "--no-config", "-c", "source qkv.fish; complete -C $argv", line], folder)
    names = {each.split("\t")[0].rstrip("/").replace("\\ ", " ") for each in found}
    assert names == QUESTIONS[words]


def test_zsh_completes(folder: Path) -> None:
    """Zsh completes only what is typed: it runs in a terminal of its own, where each answer is inserted or listed."""
    require("zsh")
    terminal = Terminal(["zsh", "-f", "-i"], folder)
    terminal.send("PS1='> '; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -D -u\r")
    terminal.send(
        "zstyle ':completion:*' menu no; setopt auto_list no_list_ambiguous; source qkv.zsh; echo rea''dy\r"
    )
    terminal.until("ready")
    try:
        for words, wanted in QUESTIONS.items():
            terminal.send(" ".join(words) + "\t")
            for each in wanted:
                terminal.until(each.replace(" ", "\\ "))
            terminal.send("\x15")  # clear the line
    finally:
        terminal.close()


class Terminal:
    """A program that believes in a terminal."""

    def __init__(self, command: list[str], folder: Path):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, home(folder))
        self.seen = ""

    def send(self, text: str) -> None:
        self.seen = ""
        os.write(self.terminal, text.encode())

    def until(self, text: str) -> None:
        """Wait until the program shows this."""
        end = time.monotonic() + 60
        while text not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen):
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} is not in {self.seen!r}"
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")

    def close(self) -> None:
        os.close(self.terminal)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def test_the_scripts_know_every_flag_of_every_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words, known in all_words().items():
        if words in ("", "help", "train", "completion"):
            continue
        flags = {name for option in known.options for name in option.names}
        assert code_of(*words.split(), "--help-all") == 0
        shown = set(re.findall(r"^  (--[a-z][a-z-]+)", capsys.readouterr().out, flags=re.MULTILINE))
        assert shown <= flags, words


def test_printing_a_script_imports_neither_torch_nor_numpy() -> None:
    program = (
        "import sys; from qkv.cli import main; main(['completion', 'bash']);"
        "print([name for name in ('torch', 'numpy', 'rich') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("# Completion of qkv")
    assert result.stdout.endswith("complete -F _qkv qkv\n[]\n")


def test_an_unknown_shell_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    code = code_of("completion", "csh")
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code).startswith(
        "error: SHELL must be one of bash, zsh, fish, not 'csh'."
    )
