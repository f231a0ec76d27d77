"""`paper-base` and `paper-big` are the settings of "Attention Is All You Need", and have its sizes."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from qkv.errors import QkvError
from qkv.families.translator.architectures import build
from qkv.families.translator.model import Translator
from qkv.families.translator.recipes import RECIPES, RECURRENT_RECIPES
from qkv.families.translator.task import architecture, recurrent_architecture
from qkv.training.distributed import SingleProcess
from qkv.training.optimizer import Optimizer
from qkv.training.schedule import rate_at
from qkv.training.settings import find_recipe
from qkv.training.spread import Shared

ANY_NUMBER_OF_PAIRS = 4_500_000
PAPER: dict[str, dict[str, Any]] = {  # table 3 and sections 5 and 6.1
    "paper-base": {
        "width": 512,
        "ffn_width": 2048,
        "heads": 8,
        "dropout": 0.1,
        "steps": 100_000,
        "average": 5,
    },
    "paper-big": {
        "width": 1024,
        "ffn_width": 4096,
        "heads": 16,
        "dropout": 0.3,
        "steps": 300_000,
        "average": 20,
    },
}
both = pytest.mark.parametrize("name", PAPER)


def model_of(name: str) -> Translator:
    """The recipe's model, by the function that training uses, without memory for its weights."""
    settings = find_recipe(name, RECIPES)(ANY_NUMBER_OF_PAIRS)
    tokenizer = cast(Any, SimpleNamespace(pad=0, start=1, end=2))
    with torch.device("meta"):
        return Translator(architecture(settings.model, settings.vocab_size, tokenizer))


@both
def test_sizes_are_those_of_table_3(name: str) -> None:
    settings, paper = find_recipe(name, RECIPES)(ANY_NUMBER_OF_PAIRS), PAPER[name]
    model = settings.model
    assert (model.encoder_depth, model.decoder_depth) == (6, 6)
    assert (model.width, model.ffn_width, model.heads) == (paper["width"], paper["ffn_width"], paper["heads"])
    assert model.width // model.heads == 64  # d_k and d_v
    assert (model.dropout, model.label_smoothing) == (paper["dropout"], 0.1)
    assert settings.vocab_size == 37_000
    assert settings.steps == paper["steps"]


@both
def test_the_architecture_is_the_papers_figure_1(name: str) -> None:
    config = model_of(name).config
    assert (config.encoder.norm, config.encoder.activation) == ("post", "relu")
    assert config.encoder == config.decoder
    assert config.positions == "interleaved"
    assert config.encoder.attention_dropout == 0
    assert config.label_smoothing == 0.1


@both
def test_training_is_that_of_section_5(name: str) -> None:
    settings = find_recipe(name, RECIPES)(ANY_NUMBER_OF_PAIRS)
    training = settings.training
    assert training.batch_tokens == 25_000
    assert (training.adam_betas, training.adam_epsilon) == ((0.9, 0.98), 1e-9)
    assert training.warmup_steps == 4000
    assert training.weight_decay == 0
    assert training.max_grad_norm == 0
    assert training.patience == 0
    assert training.average == PAPER[name]["average"]
    assert settings.minutes is None


@both
def test_the_optimiser_gets_the_papers_adam(name: str) -> None:
    training = find_recipe(name, RECIPES)(ANY_NUMBER_OF_PAIRS).training
    model = torch.nn.Linear(3, 4)
    optimiser = Optimizer(Shared(model, SingleProcess(), training), training)
    assert not optimiser.muon
    for group in optimiser.adamw.fused.param_groups:  # AdamW without decay is Adam
        assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.9, 0.98), 1e-9, 0)


@both
@pytest.mark.parametrize("step", [1, 100, 4000, 50_000])
def test_the_learning_rate_is_equation_3(name: str, step: int) -> None:
    settings = find_recipe(name, RECIPES)(ANY_NUMBER_OF_PAIRS)
    width: int = PAPER[name]["width"]
    equation = width**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert rate_at(settings.training, step, step / PAPER[name]["steps"]) == pytest.approx(equation, rel=1e-9)


@both
def test_decoding_is_that_of_section_6_1(name: str) -> None:
    decoding = find_recipe(name, RECIPES)(ANY_NUMBER_OF_PAIRS).decoding
    assert (decoding.beam_size, decoding.length_penalty) == (4, 0.6)


@both
def test_the_papers_settings_do_not_depend_on_the_amount_of_data(name: str) -> None:
    assert find_recipe(name, RECIPES)(10) == find_recipe(name, RECIPES)(10**8)


@pytest.mark.parametrize(
    ("name", "exact", "rounded", "within"),
    [("paper-base", 63_082_496, 65_000_000, 0.03), ("paper-big", 214_245_376, 213_000_000, 0.01)],
)
def test_the_number_of_parameters_is_the_papers(name: str, exact: int, rounded: int, within: float) -> None:
    model = model_of(name)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == exact
    assert abs(count / rounded - 1) < within
    by_hand = parameters_by_hand(PAPER[name]["width"], PAPER[name]["ffn_width"])
    assert count == by_hand


def parameters_by_hand(width: int, hidden: int) -> int:
    attention = 4 * width * (width + 1)
    feed_forward = width * hidden + hidden + hidden * width + width
    norm = 2 * width
    encoder_block = attention + feed_forward + 2 * norm
    decoder_block = 2 * attention + feed_forward + 3 * norm
    return 37_000 * width + 6 * (encoder_block + decoder_block)


def test_table_3_rows_that_change_one_thing_have_the_papers_sizes_too() -> None:
    """Row C: 2, 4 and 8 blocks, widths of 256 and 1024, hidden widths of 1024 and 4096."""
    base = find_recipe("paper-base", RECIPES)(ANY_NUMBER_OF_PAIRS).model
    tokenizer = cast(Any, SimpleNamespace(pad=0, start=1, end=2))
    rows: list[tuple[dict[str, int], int]] = [
        ({"encoder_depth": 2, "decoder_depth": 2}, 36),
        ({"encoder_depth": 4, "decoder_depth": 4}, 50),
        ({"encoder_depth": 8, "decoder_depth": 8}, 80),
        ({"width": 256}, 28),
        ({"width": 1024}, 168),
        ({"ffn_width": 1024}, 53),
        ({"ffn_width": 4096}, 90),
    ]
    for change, millions in rows:
        with torch.device("meta"):
            model = Translator(architecture(replace(base, **change), 37_000, tokenizer))
        count = sum(parameter.numel() for parameter in model.parameters())
        assert abs(count / millions / 1e6 - 1) < 0.08, (change, count)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("pairs", [1, 300, 20_000, 200_000, 5_000_000])
def test_every_recipe_can_be_built_for_any_amount_of_data(name: str, pairs: int) -> None:
    settings = find_recipe(name, RECIPES)(pairs)
    assert settings.steps is not None
    assert settings.training.validate_every < settings.steps
    assert settings.training.warmup_steps < settings.steps
    tokenizer = cast(Any, SimpleNamespace(pad=0, start=1, end=2))
    with torch.device("meta"):
        Translator(architecture(settings.model, settings.vocab_size, tokenizer))


def test_the_error_for_a_misspelt_recipe_suggests_the_nearest_name() -> None:
    with pytest.raises(QkvError, match="did you mean paper-base"):
        find_recipe("paper-bas", RECIPES)


@pytest.mark.parametrize("name", RECURRENT_RECIPES)
def test_with_lstms_a_recipe_has_about_as_many_weights(name: str) -> None:
    blocks, lstms = (find_recipe(name, recipes)(30_000) for recipes in (RECIPES, RECURRENT_RECIPES))
    assert (lstms.model.architecture, lstms.model.width, lstms.steps) == (
        "recurrent",
        blocks.model.width,
        blocks.steps,
    )
    lstms.check()
    tokenizer = cast(Any, SimpleNamespace(pad=0, start=1, end=2))
    with torch.device("meta"):
        sizes = [
            sum(p.numel() for n, p in build(config).named_parameters() if n != "tokens.weight")
            for config in (
                architecture(blocks.model, 100, tokenizer),
                recurrent_architecture(lstms.model, 100, tokenizer),
            )
        ]
    assert 0.93 < sizes[1] / sizes[0] < 1.07


@pytest.mark.parametrize(
    ("name", "depths", "width", "ffn_width"),
    [
        ("student-tiny", (6, 2), 256, 1_536),
        ("student-6-2", (6, 2), 512, 2_048),
        ("student-12-1", (12, 1), 512, 2_048),
    ],
)
def test_students_have_a_deep_encoder_and_a_shallow_recurrent_decoder(
    name: str, depths: tuple[int, int], width: int, ffn_width: int
) -> None:
    model = find_recipe(name, RECIPES)(ANY_NUMBER_OF_PAIRS).model
    assert (model.encoder_depth, model.decoder_depth) == depths
    assert (model.width, model.ffn_width, model.decoder_cell) == (width, ffn_width, "ssru")
    assert name not in RECURRENT_RECIPES
