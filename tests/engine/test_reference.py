"""The NumPy models equal the torch models in float32 and the compiled engine in int8, for every architecture."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
import torch

from qkv.core.block import ACTIVATIONS as IN_TORCH
from qkv.core.pairs import TranslationModel
from qkv.core.stack_config import StackConfig
from qkv.core.translation import CrossHeads
from qkv.engine import Engine, GPTEngine
from qkv.engine.library import NoEngineError, library
from qkv.engine.reference.codebook import NumpyCodebook
from qkv.engine.reference.dalle import NumpyDalle
from qkv.engine.reference.encoder import NumpyEncoder
from qkv.engine.reference.functions import ACTIVATIONS
from qkv.engine.reference.gpt import NumpyGPT
from qkv.engine.reference.translators import open_reference
from qkv.engine.reference.vit import NumpyVit
from qkv.engine.texts import TextEngine
from qkv.errors import QkvError
from qkv.families.bert.config import EncoderConfig
from qkv.families.bert.model import Encoder
from qkv.families.dalle.codebook import CodebookModel
from qkv.families.dalle.config import CodebookConfig, DalleConfig
from qkv.families.dalle.model import Dalle
from qkv.families.gpt.config import GPTConfig
from qkv.families.gpt.model import GPT
from qkv.families.translator.config import OneStreamConfig, RecurrentConfig, TranslatorConfig
from qkv.families.translator.model import OneStream, Translator
from qkv.families.translator.recurrent import Recurrent
from qkv.families.vit.config import VitConfig
from qkv.families.vit.model import Vit

PAD, START, END = 0, 1, 2
STACK = StackConfig(depth=2, width=12, heads=3, ffn_width=13, norm="post", activation="relu", dropout=0.0)
PRE = replace(STACK, norm="pre", activation="gelu")
TRANSLATOR = TranslatorConfig(
    vocab_size=37, max_length=29, pad=PAD, start=START, end=END, positions="interleaved", encoder=STACK,
    decoder=replace(STACK, depth=3, ffn_width=17),
)  # fmt: skip
ONE_STREAM = OneStreamConfig(
    vocab_size=37, max_length=29, pad=PAD, start=START, end=END, positions="halves", decoder=STACK
)
RECURRENT = RecurrentConfig(
    vocab_size=37, max_length=29, pad=PAD, start=START, end=END, width=10, hidden=12, encoder_depth=2, decoder_depth=3,
    heads=3, dropout=0.0,
)  # fmt: skip
TRANSLATORS: dict[str, Any] = {
    "post, interleaved": TRANSLATOR,
    "post, halves, swish": replace(
        TRANSLATOR, positions="halves", encoder=replace(STACK, activation="swish")
    ),
    "pre, learned, gelu": replace(TRANSLATOR, positions="learned", encoder=PRE, decoder=PRE),
    "pre, rotary, gelu_tanh, one head": replace(
        TRANSLATOR, positions="rotary", encoder=PRE, decoder=replace(PRE, heads=1, activation="gelu_tanh")
    ),
    "no positions, an output bias": replace(TRANSLATOR, positions="none", output_bias=True),
    "SSRU": replace(TRANSLATOR, decoder_cell="ssru"),
    "pre, learned, SSRU": replace(
        TRANSLATOR, positions="learned", encoder=PRE, decoder=PRE, decoder_cell="ssru"
    ),
    "one stream": ONE_STREAM,
    "one stream, pre, rotary": replace(ONE_STREAM, positions="rotary", decoder=PRE),
    "recurrent": RECURRENT,
    "recurrent, one layer": replace(RECURRENT, encoder_depth=1, decoder_depth=1, heads=1),
}
SOURCES = [[3, 4, 5, 6, 7, 8, END], [9, 10, 3, END], [5, END]]
every_translator = pytest.mark.parametrize("config", TRANSLATORS.values(), ids=TRANSLATORS.keys())
every_stack = pytest.mark.parametrize("stack", [STACK, PRE], ids=["post", "pre"])


def random_model(model: Any) -> Any:
    """Weights large enough for every part to matter."""
    torch.manual_seed(1)
    model.eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def weights_of(model: torch.nn.Module) -> Mapping[str, Any]:
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def torch_translator(config: Any) -> TranslationModel:
    models: dict[type, Any] = {
        TranslatorConfig: Translator,
        OneStreamConfig: OneStream,
        RecurrentConfig: Recurrent,
    }
    model: TranslationModel = random_model(models[type(config)](config))
    return model


def assert_close(found: Any, wanted: torch.Tensor) -> None:
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5, atol=2e-5)


def test_activations_are_torchs_to_seven_digits() -> None:
    x = np.linspace(-12, 12, 20_001, dtype=np.float32)
    assert ACTIVATIONS.keys() == IN_TORCH.keys()
    for name, activation in ACTIVATIONS.items():
        np.testing.assert_allclose(
            activation(x), IN_TORCH[name](torch.tensor(x)).numpy(), atol=1e-6, rtol=3e-7
        )


@every_translator
@torch.inference_mode()
def test_steps_equal_the_torch_model_also_after_rows_are_reordered(config: Any) -> None:
    model = torch_translator(config)
    look = CrossHeads(block=0, heads=(0,) if config.cross_attention_shape[1] == 1 else (0, 2))
    steps = (
        open_reference(config, weights_of(model), int8=False).begin(SOURCES, look),
        model.begin(SOURCES, look),
    )
    ids = [[START, 5], [START, 6], [START, 7]]
    for place, rows in enumerate([None, [2, 0, 0, 1], None, [3, 1], None]):
        found, wanted = (step(make(ids)) for step, make in zip(steps, (np.array, torch.tensor), strict=True))
        assert_close(found, wanted)
        assert_close(steps[0].attention, steps[1].attention)
        ids = [[4 + place + row] for row in range(len(ids))]
        if rows is not None:
            steps[0].select(np.array(rows))
            steps[1].select(torch.tensor(rows))
            ids = [[9 + row] for row in rows]


def greedy_ids(step: Any, rows: int, make: Any) -> list[list[int]]:
    newest, found = [START] * rows, []
    for _ in range(12):
        newest = [int(row.argmax()) for row in step(make([[token] for token in newest]))]
        found.append(newest)
    return found


@every_translator
@torch.inference_mode()
def test_greedy_decoding_gives_the_same_tokens(config: Any) -> None:
    model = torch_translator(config)
    found = greedy_ids(open_reference(config, weights_of(model), int8=False).begin(SOURCES), 3, np.array)
    assert found == greedy_ids(model.begin(SOURCES), 3, torch.tensor)


@every_translator
def test_int8_is_near_float32_and_not_the_same(config: Any) -> None:
    model = torch_translator(config)
    exact, rounded = (
        open_reference(config, weights_of(model), int8=int8).begin(SOURCES)(np.full((3, 1), START))
        for int8 in (False, True)
    )
    assert 0 < np.abs(exact - rounded).mean() < 0.1 * exact.std()


@pytest.fixture
def compiled() -> None:
    try:
        library()
    except NoEngineError as reason:
        pytest.skip(f"the engine cannot be built here: {reason}")


INT8 = [config for config in TRANSLATORS.values() if type(config) is TranslatorConfig]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("config", INT8, ids=[name for name, each in TRANSLATORS.items() if each in INT8])
def test_int8_gives_the_tokens_of_the_compiled_engine(config: TranslatorConfig) -> None:
    model = torch_translator(config)
    weights = weights_of(model)
    own = open_reference(config, weights, int8=True).begin(SOURCES)
    engine = Engine(config, weights, int8=True, threads=1).begin(SOURCES)
    assert greedy_ids(own, 3, np.array) == greedy_ids(engine, 3, np.array)


def gpt_config(stack: StackConfig, positions: Literal["learned", "rotary"]) -> GPTConfig:
    return GPTConfig(vocab_size=31, max_length=9, end=END, positions=positions, stack=stack)


@every_stack
@pytest.mark.parametrize("positions", ["learned", "rotary"])
@torch.inference_mode()
def test_a_gpt_equals_torch_at_all_positions_and_beyond_its_window(
    stack: StackConfig, positions: Literal["learned", "rotary"]
) -> None:
    model = random_model(GPT(gpt_config(stack, positions)))
    own = NumpyGPT(model.config, weights_of(model), int8=False)
    ids = np.arange(18).reshape(2, 9)
    assert_close(own.states(ids), model.read(torch.tensor(ids)))
    assert_close(own.logits(ids), model(torch.tensor(ids)))
    steps = own.begin(), model.begin()
    new = ids[:, :4]
    for place in range(14):
        assert_close(steps[0](new), steps[1](torch.tensor(new)))
        new = np.array([[place], [place + 3]])
        if place == 6:
            for step, rows in zip(steps, (np.array([1, 0]), torch.tensor([1, 0])), strict=True):
                step.select(rows)
    assert steps[0].slid


@pytest.mark.usefixtures("compiled")
@every_stack
def test_an_int8_gpt_gives_the_tokens_of_the_compiled_engine(stack: StackConfig) -> None:
    config = gpt_config(stack, "rotary")
    weights = weights_of(random_model(GPT(config)))
    found, wanted = (
        greedy_ids(engine.begin(), 2, np.array)
        for engine in (
            NumpyGPT(config, weights, int8=True),
            GPTEngine(config, weights, int8=True, threads=1),
        )
    )
    assert found == wanted


LENGTHS = [5, 1, 9, 3]
IDS = [1 + number * 7 % 49 for number in range(sum(LENGTHS))]
SEGMENTS = [number % 2 for number in range(sum(LENGTHS))]


def encoder_config(stack: StackConfig) -> EncoderConfig:
    return EncoderConfig(vocab_size=50, max_length=12, pad=PAD, segments=2, stack=stack)


@every_stack
@torch.inference_mode()
def test_every_text_is_encoded_as_if_it_were_alone(stack: StackConfig) -> None:
    model = random_model(Encoder(encoder_config(stack)))
    own = NumpyEncoder(model.config, weights_of(model), int8=False, prefix="")
    parts = torch.tensor([IDS, SEGMENTS]).split(LENGTHS, dim=1)
    wanted = [model(ids[None], segments[None])[0] for ids, segments in parts]
    assert_close(own(IDS, SEGMENTS, LENGTHS), torch.cat(wanted))
    assert_close(own(IDS, SEGMENTS, LENGTHS, "mean"), torch.stack([each.mean(0) for each in wanted]))
    assert_close(own(IDS, SEGMENTS, LENGTHS, "first"), torch.stack([each[0] for each in wanted]))


@pytest.mark.usefixtures("compiled")
@every_stack
def test_int8_texts_are_encoded_as_by_the_compiled_engine(stack: StackConfig) -> None:
    config = encoder_config(stack)
    weights = weights_of(random_model(Encoder(config)))
    own = NumpyEncoder(config, weights, int8=True, prefix="")(IDS, SEGMENTS, LENGTHS)
    engine = TextEngine(config, weights, int8=True, threads=1, prefix="")(IDS, SEGMENTS, LENGTHS)
    # If a number is halfway between two whole ones, its last digit decides.
    assert np.abs(own - engine).mean() < 0.01 * own.std()


@every_stack
@torch.inference_mode()
def test_a_vit_equals_torch(stack: StackConfig) -> None:
    config = VitConfig(height=8, width=12, channels=3, patch=4, classes=5, stack=stack)
    model = random_model(Vit(config))
    pictures = torch.rand(2, 3, 8, 12, generator=torch.Generator().manual_seed(1)) * 2 - 1
    assert_close(NumpyVit(config, weights_of(model)).logits(pictures.numpy()), model(pictures))


@every_stack
@torch.inference_mode()
def test_a_dalle_equals_torch_all_at_once_and_code_by_code(stack: StackConfig) -> None:
    config = DalleConfig(
        vocab_size=23, places=6, codes=11, grid=3, pad=PAD, start=START, end=END, stack=stack
    )
    model = random_model(Dalle(config))
    own = NumpyDalle(config, weights_of(model))
    captions = np.array([[3, 4, 5, END, PAD, PAD], [6, END, PAD, PAD, PAD, PAD]])
    codes = np.arange(18).reshape(2, 9) % 11
    whole = own.logits(captions, codes)
    assert_close(whole, model(torch.tensor(captions), torch.tensor(codes)))
    step, new = own.begin(captions), captions[:, -1:]
    for place in range(9):
        np.testing.assert_allclose(step(new), whole[:, place], rtol=1e-5, atol=2e-5)
        new = codes[:, place : place + 1]
        if place == 4:
            step.select(np.array([1, 0]))
            codes, whole, new = codes[::-1], whole[::-1], new[::-1]


@pytest.mark.parametrize("quantizer", ["lattice", "gumbel"])
@torch.inference_mode()
def test_a_codebook_equals_torch(quantizer: Literal["lattice", "gumbel"]) -> None:
    config = CodebookConfig(
        side=12, channels=3, patch=4, width=10, depth=2, quantizer=quantizer, levels=(4, 3, 2)
    )
    model = random_model(CodebookModel(config))
    own = NumpyCodebook(config, weights_of(model))
    pictures = torch.rand(3, 3, 12, 12, generator=torch.Generator().manual_seed(1)) * 2 - 1
    codes = own.codes_of(pictures.numpy())
    assert codes.tolist() == model.encode(pictures).tolist()
    assert_close(own.pictures_of(codes), model.decode(torch.tensor(codes)))


@pytest.mark.parametrize(
    ("sources", "error"), [([[3], []], ValueError), ([[3] * 30], ValueError), ([[-1]], IndexError)]
)
def test_a_source_that_does_not_fit_the_model_is_rejected(
    sources: list[list[int]], error: type[Exception]
) -> None:
    for config in (TRANSLATOR, RECURRENT):
        model = torch_translator(config)
        with pytest.raises(error):
            open_reference(config, weights_of(model), int8=False).begin(sources)


def test_broken_weights_are_rejected() -> None:
    model = torch_translator(TRANSLATOR)
    weights = {**weights_of(model), "decoder.blocks.0.attention.norm.weight": np.full(12, np.nan)}
    with pytest.raises(QkvError, match="NaN or infinite"):
        open_reference(TRANSLATOR, weights, int8=False)
