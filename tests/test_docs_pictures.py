"""The commands in docs/vit.md and docs/dalle.md work. They are run as written, with tiny models and few images."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from commands import code_of
from drawings import SHORT_RUN, TINY_BLOCKS, halves
from PIL import Image

DOCS = Path(__file__).parents[1] / "docs"
SMALLER = {
    "train vit --fine-tune": SHORT_RUN,
    "train vit": [*TINY_BLOCKS, *SHORT_RUN],
    "train codebook": ["--width", "8", "--patch", "8", *SHORT_RUN],
    "train dalle": [*TINY_BLOCKS, *SHORT_RUN, "--measured-captions", "2", "--measured-candidates", "2"],
    "evaluate": [],
    "draw": [],
    "classify": [],
}


def blocks(page: str) -> list[list[str]]:
    """The command blocks of a page, without the ones that take minutes."""
    found = re.findall(r"```\n(qkv .*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    return [block.strip().splitlines() for block in found if "--recipe" not in block]


def run(line: str) -> None:
    words = shlex.split(re.sub(r"--scenes \d+", "--scenes 100" if " train " in line else "--scenes 2", line))
    name = next(each for each in (" ".join(words[1:4]), " ".join(words[1:3]), words[1]) if each in SMALLER)
    smaller = SMALLER[name] + (["--candidates", "2"] if name == "evaluate" and "--sheet" in words else [])
    assert code_of(*words[1:], *smaller) == 0, line


def test_the_commands_on_image_classification_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    halves(tmp_path / "pictures", size=11)
    Image.new("RGBA", (40, 30), "red").save(tmp_path / "new.png")
    halves(tmp_path / "other", size=9)
    own, tuned = blocks("vit.md")
    for line in (*own, *tuned):
        run(line)
    for name in ("mine", "tuned"):
        assert (tmp_path / "runs" / name / "report.json").is_file()


def test_the_commands_on_drawing_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(1).integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
    np.savez(tmp_path / "emoji32.npz", images=pixels)
    (tmp_path / "captions.json").write_text(json.dumps([{"name": f"face {n}"} for n in range(30)]))
    scenes, emoji = blocks("dalle.md")
    assert len(scenes) == len(emoji) == 4
    for line in (*scenes, *emoji[:2]):
        run(line)
    run(emoji[2].replace("smiling cat with heart-eyes", "face 3"))
    run(emoji[3])
    for name in ("out.png", "sheet.png", "cat.png", "emoji.png"):
        with Image.open(tmp_path / name) as picture:
            assert picture.width >= 256
