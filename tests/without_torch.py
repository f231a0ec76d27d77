"""Run commands in a process that cannot find torch, as if it were not installed."""

import json
import subprocess
import sys

from commands import ENVIRONMENT

# None in sys.modules would not do: libraries look there to see whether torch is in use.
HIDE_TORCH = """
import importlib.machinery, json, sys

class Hiding(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "torch" else super().find_spec(name, path, target)

sys.meta_path = [Hiding if each is importlib.machinery.PathFinder else each for each in sys.meta_path]
"""
WITHOUT_TORCH = f"""{HIDE_TORCH}
from qkv.cli import main
for arguments in json.loads(sys.argv[1]):
    main(arguments)
"""


def run_without_torch(*commands: list[str]) -> list[str]:
    """The lines that these commands print, one after another."""
    ended = end_without_torch(*commands)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def end_without_torch(*commands: list[str]) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-c", WITHOUT_TORCH, json.dumps(commands)]
    return subprocess.run(given, capture_output=True, text=True, check=False, env=ENVIRONMENT)
