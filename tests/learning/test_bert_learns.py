"""BERT must learn, through the real command and in seconds, what its text shows on both sides of a hidden word."""

import json
import random
from pathlib import Path

import pytest
from commands import code_of

OPTIONS = """--steps 120 --no-next-sentence --width 32 --depth 1 --heads 2 --ffn-width 64 --max-length 12
    --dropout 0 --vocab-size 120 --batch-tokens 512 --learning-rate 5e-3 --processes 1"""
SOUNDS = {"cat": "purrs", "dog": "barks", "bird": "sings", "horse": "neighs"}


def sentence(generator: random.Random) -> str:
    """What an animal does stands after it and before when it does so: only one side tells the verb."""
    animal = generator.choice(list(SOUNDS))
    return f"The {animal} {SOUNDS[animal]} in the {generator.choice(['morning', 'evening'])}."


def test_masked_words_are_predicted_from_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = random.Random(1)
    documents = ["\n".join(sentence(generator) for _ in range(6)) for _ in range(100)]
    (tmp_path / "text.txt").write_text("\n\n".join(documents) + "\n")
    out = tmp_path / "bert"
    assert code_of("train", "bert", "--text", tmp_path / "text.txt", "--out", out, *OPTIONS.split()) == 0
    results = json.loads((out / "report.json").read_text())["results"]
    # Always saying "the", the commonest word, is right for two of seven.
    assert float(results["masked-token accuracy"].split()[0]) > 60
    capsys.readouterr()
    for hidden, wanted in [
        ("The dog [MASK] in the evening.", "barks"),
        ("The [MASK] sings in the morning.", "bird"),
    ]:
        assert code_of("fill", out, hidden, "--top-k", "1") == 0
        assert capsys.readouterr().out.split("\t")[0] == wanted
