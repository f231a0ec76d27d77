"""Every command that runs a model works where torch is not installed, and gives what torch gives."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from drawings import untrained_classifier, untrained_codes, untrained_painter
from language_models import TEXT, untrained
from PIL import Image
from tiny_bert import tiny_bert, tiny_classifier
from without_torch import end_without_torch, run_without_torch

import qkv
from qkv.cli import main
from qkv.data.captioned import scene_pictures
from qkv.families.dalle.codes import reconstruction
from qkv.families.dalle.options import DrawingOptions
from qkv.families.gpt.options import GenerationOptions
from qkv.runtime.running import Running

CAPTION = "a red circle above a blue square"


def test_texts_are_continued_and_scored_without_torch(tmp_path: Path) -> None:
    generator, model = untrained("subwords"), str(tmp_path / "model")
    generator.save(tmp_path / "model")
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    options = ["--max-new-tokens", "30", "--temperature", "0"]
    lines = run_without_torch(
        ["generate", model, "the dog", *options, "--compute-type", "float32"],
        ["generate", model, "the dog", *options],
        ["evaluate", model, "--text", str(tmp_path / "text.txt"), "--json"],
    )
    greedy = GenerationOptions(max_new_tokens=30, temperature=0)
    wanted = [
        f"the dog{each.generate('the dog', greedy)}" for each in (generator, generator._running(Running()))
    ]
    said = "\n".join(lines)
    assert said.startswith("\n".join(wanted))
    nats = -generator.log_probabilities(TEXT).sum()  # in torch
    scores = json.loads(said[said.index("{", len("\n".join(wanted))) :])
    assert scores["loss_per_token"] == pytest.approx(nats / scores["tokens"], abs=2e-4)


def test_texts_are_embedded_compared_filled_and_classified_without_torch(tmp_path: Path) -> None:
    bert, classifier = tiny_bert(), tiny_classifier()
    model, classes = str(tmp_path / "bert"), str(tmp_path / "classifier")
    bert.save(tmp_path / "bert")
    classifier.save(tmp_path / "classifier")
    exact = ["--compute-type", "float32"]
    lines = run_without_torch(
        ["embed", model, "the cat sat", *exact],
        ["embed", model, "the cat sat"],
        ["similar", model, "the cat sat", "a dog barked", *exact],
        ["fill", model, "the [MASK] sat", "--json", *exact],
        ["classify", classes, "the cat sat", "--json", *exact],
    )
    [wanted], [rounded] = (each.embed(["the cat sat"]) for each in (bert, bert._running(Running())))
    assert json.loads(lines[0])["vector"] == pytest.approx(wanted.tolist(), abs=1e-5)
    assert json.loads(lines[1])["vector"] == pytest.approx(rounded.tolist(), abs=1e-5)
    assert float(lines[2]) == pytest.approx(bert.similar("the cat sat", "a dog barked"), abs=1e-5)
    [guesses] = bert.fill("the [MASK] sat")
    words = {guess.word: guess.probability for guess in guesses}
    assert json.loads(lines[3])["words"] == pytest.approx(words, abs=1e-5)
    [prediction] = classifier.classify([("the cat sat",)])
    found = json.loads(lines[4])["probabilities"]
    assert found == pytest.approx(dict(prediction.probabilities), abs=1e-5)


def test_images_are_classified_without_torch(tmp_path: Path) -> None:
    classifier, model, picture = untrained_classifier(), str(tmp_path / "model"), str(tmp_path / "a.png")
    classifier.save(tmp_path / "model")
    pixels = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(picture)
    for label in classifier.classes:
        (tmp_path / "images" / label).mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / "images" / label / "1.png")
    lines = run_without_torch(
        ["classify", model, picture, "--json"],
        ["classify", model, picture, "--json", "--compute-type", "int8"],
        ["evaluate", model, "--images", str(tmp_path / "images"), "--json"],
        ["info", model],
    )
    [wanted] = classifier.classify([(picture,)])  # in torch
    exact, rounded = map(json.loads, lines[:2])
    assert exact["probabilities"] == pytest.approx(dict(wanted.probabilities), abs=1e-5)
    assert rounded["probabilities"] == pytest.approx(dict(wanted.probabilities), abs=0.05)
    assert json.loads(lines[2])["accuracy"] == pytest.approx(1 / 3, abs=1e-4)
    assert "image classifier" in "\n".join(lines[3:])


def test_captions_are_drawn_without_torch(tmp_path: Path) -> None:
    painter, model, drawing = untrained_painter(), str(tmp_path / "model"), str(tmp_path / "drawing.png")
    painter.save(tmp_path / "model")
    untrained_codes().save(tmp_path / "codes")
    lines = run_without_torch(
        ["draw", model, CAPTION, "-o", drawing, "--candidates", "3", "--seed", "5", "--scale", "1"],
        ["evaluate", model, "--scenes", "2", "--candidates", "1", "--json"],
        ["evaluate", str(tmp_path / "codes"), "--scenes", "4", "--json"],
    )
    wanted = painter.draw(CAPTION, DrawingOptions(candidates=3, seed=5))  # in torch
    assert np.array_equal(np.asarray(Image.open(drawing)), wanted.pixels.transpose(1, 2, 0))
    assert lines[0] == drawing
    drawn, rebuilt = (json.loads(line) for line in lines[1:])
    assert drawn["captions"] == 2
    images = scene_pictures("valid", 4, 32).pictures
    assert rebuilt["reconstruction"] == pytest.approx(reconstruction(untrained_codes(), images), abs=1e-4)


FORMAT_1 = Path(__file__).parents[1] / "compatibility" / "format-1"
TRANSLATING = [
    "one two three",
    "one two three --beam-size 4 --num-hypotheses 3 --json",
    "one two three --sample --seed 3 --temperature 1.5",
    "one two three --prefix two --scores",
    "one two three --contain four --alignments",
    "one two three --avoid two --coverage-penalty 0.3",
    "one,{name},<b>two</b>,https://example.com --beam-size 2",
    f"one two three --ensemble {FORMAT_1 / 'translator'}",
    "one two three --no-repeat-ngram-size 2 --repetition-penalty 1.2 --patience 1",
]


@pytest.mark.parametrize(
    "kind", ["translator", "translator-marian", "translator-one-stream", "translator-recurrent"]
)
def test_every_way_to_translate_gives_the_same_without_torch(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(FORMAT_1 / kind)
    own = [each for each in TRANSLATING if kind == "translator" or "--ensemble" not in each]
    commands = [["translate", model, *each.replace(",", " ").split()] for each in own]
    found = run_without_torch(*([*each, "--compute-type", "float32"] for each in commands))
    for command in commands:
        main([*command, "--engine", "torch"])
    wanted = capsys.readouterr().out.splitlines()
    assert [without_numbers(line) for line in found] == [without_numbers(line) for line in wanted]


def test_files_are_translated_and_scored_without_torch(tmp_path: Path) -> None:
    model, lines = str(FORMAT_1 / "translator"), ["one two three", "{name} two", "three one"]
    source, reference = tmp_path / "source.txt", tmp_path / "reference.txt"
    source.write_text("".join(f"{line}\n" for line in lines))
    found = {name: tmp_path / f"{name}.txt" for name in ("int8", "float32")}
    wanted = {  # in torch for float32; the engine defines int8
        "int8": qkv.load(model).translate(lines),
        "float32": qkv.load(model, compute_type="float32", engine="torch").translate(lines),
    }
    reference.write_text("".join(f"{line}\n" for line in wanted["float32"]))
    printed = run_without_torch(
        *(
            ["translate", model, "--input", str(source), "-o", str(path), "--compute-type", name]
            for name, path in found.items()
        ),
        ["translate", model, "--compute-type", "int8", *lines],
        ["evaluate", model, "--source", str(source), "--reference", str(reference), "--json"],
    )
    assert {name: path.read_text().splitlines() for name, path in found.items()} == wanted
    assert printed[: len(lines)] == wanted["int8"]
    scores = json.loads("".join(printed[len(lines) :]))
    assert (scores["sentences"], scores["scores"]["exact_match"]) == (3, 100.0)


def without_numbers(line: str) -> str:
    """Scores differ in their last digits."""
    return re.sub(r"-?\d+\.\d+(e-\d+)?", "#", line)


TEXT_COMMANDS = {
    "gpt": "generate M one --max-new-tokens 8 --temperature 0",
    "gpt-characters": "generate M one --max-new-tokens 8 --seed 4",
    "gpt-published": "generate M one --max-new-tokens 8 --temperature 0",
    "gpt-classifier": "classify M one,two",
    "bert": "fill M one,[MASK],three",
    "bert-sentences": "embed M one,two",
    "bert-classifier": "classify M one,two",
    "bert-classifier-numbers": "classify M one two",
}


@pytest.mark.parametrize("kind", TEXT_COMMANDS)
def test_texts_are_generated_embedded_filled_and_classified_without_torch(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = TEXT_COMMANDS[kind].split()
    command = [str(FORMAT_1 / kind) if word == "M" else word.replace(",", " ") for word in words]
    found = run_without_torch([*command, "--compute-type", "float32"], ["info", command[1]])
    main([*command, "--engine", "torch"])
    wanted = capsys.readouterr().out.splitlines()
    assert [without_numbers(line) for line in found[: len(wanted)]] == [
        without_numbers(line) for line in wanted
    ]
    assert len(found) > len(wanted)


def test_what_needs_torch_is_one_error_message(tmp_path: Path) -> None:
    for command in (
        ["explore", str(FORMAT_1 / "translator")],
        ["translate", str(FORMAT_1 / "translator"), "a", "--engine", "torch"],
    ):
        ended = end_without_torch(command)
        assert ended.returncode == 2
        assert ended.stderr.startswith("error: ")
        assert "needs torch, which is not installed. Install qkv with its extra `train`." in ended.stderr
