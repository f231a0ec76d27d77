"""What the benchmark asks and how it scores. It is a script, not a package."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from qkv.data.worlds import Pair, deck_pairs, words
from qkv.errors import QkvError

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def scripts() -> Iterator[None]:
    """Its files find each other as they do where the script is run."""
    sys.path.insert(0, str(FOLDER))
    before = set(sys.modules)
    yield
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if name.split(".")[0] in (
            "recurrence",
            "against_recurrent",
            "curves",
            "multi30k",
            "multi30k_systems",
        ):
            del sys.modules[name]


@pytest.fixture(scope="module")
def damage(scripts: None) -> Any:
    return importlib.import_module("recurrence.damage")


@pytest.fixture(scope="module")
def speed(scripts: None) -> Any:
    return importlib.import_module("recurrence.speed")


@pytest.fixture(scope="module")
def languages(scripts: None) -> Any:
    return importlib.import_module("recurrence.languages")


def crossing() -> Pair:
    """the animal didn't cross the street because it was too tired"""
    return deck_pairs("en", "de")[-2]


def test_damage_trims_leaves_out_and_permutes(damage: Any) -> None:
    random, whole = Random(1), list(range(30))
    assert damage.original(random, 30) == whole
    assert damage.trimmed(random, 30) == whole[:20]
    left = damage.omitted(random, 30)
    assert left == sorted(left)
    assert 15 < len(left) < 30
    near = damage.neighbours(random, 30)
    assert sorted(near) == whole != near
    assert max(abs(here - place) for here, place in enumerate(near)) == 1
    far = damage.shuffled(random, 30)
    assert sorted(far) == whole
    assert max(abs(here - place) for here, place in enumerate(far)) > 10


@pytest.mark.parametrize("count", [1, 2])
def test_something_is_left_of_the_shortest_sentence(damage: Any, count: int) -> None:
    for seed in range(20):
        assert all(harm(Random(seed), count) for harm in damage.DAMAGES.values())


def test_only_information_in_the_remaining_words_can_be_recovered(damage: Any) -> None:
    pair = crossing()
    source = words(pair.source)
    everything = damage.knowable(pair, range(len(source)))
    assert everything == [word.lower() for word in words(pair.target) if word.isalpha()]
    animal, street = source.index("animal"), source.index("street")
    assert damage.knowable(pair, [street, animal]) == ["tier", "straße"]


def test_a_word_too_many_and_a_word_too_few_cost_the_same(damage: Any) -> None:
    wanted = ["das", "tier"]
    assert damage.f1([damage.overlap("das Tier", wanted)]) == 100
    assert damage.f1([damage.overlap("das Tier schläft", wanted)]) == pytest.approx(80)
    assert damage.f1([damage.overlap("Tier", wanted)]) == pytest.approx(200 / 3)
    assert damage.f1([damage.overlap("das das", wanted)]) == pytest.approx(50)


def test_both_models_have_about_as_many_weights_and_the_same_work(speed: Any) -> None:
    models = speed.both_models()
    sizes = {kind: speed.blocks_of(model) for kind, model in models.items()}
    assert 0.95 < sizes["transformer"] / sizes["recurrent"] < 1.05
    before = {kind: model.tokens.weight.clone() for kind, model in models.items()}
    for kind, model in models.items():
        assert speed.training(model, 4, sentences=2)() == speed.saying(model, 4)() // 8 == 8
        assert not torch.equal(model.tokens.weight, before[kind]), "a step was made"


def test_a_pronoun_that_agrees_counts_though_the_sentence_is_not_exact(languages: Any) -> None:
    pair = crossing()
    answers = [pair.target, pair.target.replace("das Tier", "ein Tier"), "…, weil sie zu müde war"]
    found = languages.distance_of(0, [pair] * 3, answers)
    assert (found.pronouns, found.contested) == (pytest.approx(200 / 3), pytest.approx(200 / 3))
    assert found.exact == pytest.approx(100 / 3)
    assert found.words == 6


def test_the_commands_differ_in_the_model_alone(languages: Any, tmp_path: Path) -> None:
    plain, *others = (
        languages.command_for(name, languages.FULL, tmp_path, seed=3)
        for name in ("sinusoidal", "recurrent", "none")
    )
    for command, change in zip(
        others, (["--architecture", "recurrent"], ["--positions", "none"]), strict=True
    ):
        same = [word for word in command if word not in change and str(tmp_path) not in word]
        assert same == [
            word for word in plain if word not in ("--positions", "interleaved") and str(tmp_path) not in word
        ]


def test_results_are_shown_and_drawn_again(
    scripts: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = importlib.import_module("against_recurrent")
    row = {"clauses": 0, "words": 5.0, "pronouns": 90.0, "contested": 80.0, "exact": 70.0}
    whole = {"words": 99.0, "exact": 70.0, "unchanged": 100.0}
    rates = {"transformer": 3_000.0, "recurrent": 1_000.0}
    results = {
        "speed": {"weights": {"transformer": 5, "recurrent": 5}, "works": {"training": [{"length": 8, "tokens_per_second": rates}]}},
        "distance": {"shown": [0, 1], "models": {"recurrent": [row], "none": [row]}},
        "damage": {"models": {"recurrent": {"original": whole, "trimmed": whole}}},
    }  # fmt: skip
    script.write_json(tmp_path / "results.json", results)
    script.run(script.Options(out=tmp_path, report=True))
    shown = capsys.readouterr().out
    assert "3.00 ×" in shown
    assert "80.0" in shown
    assert "99.0" in shown
    for name in results:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"only": "sped"}, "--only knows speed, distance, damage, quality"),
        ({"only": "quality"}, "needs --data"),
        ({"models": "rotry"}, "--models knows recurrent, sinusoidal, learned, rotary, none, not rotry"),
        ({"report": True}, "measure something first"),
    ],
    ids=str,
)
def test_a_mistake_is_one_sentence(
    scripts: None, tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    script = importlib.import_module("against_recurrent")
    with pytest.raises(QkvError, match=sentence):
        script.run(script.Options(out=tmp_path, **options))
