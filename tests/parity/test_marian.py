"""The translator equals Hugging Face's Marian model (post-norm, halves, tied embeddings) on random weights."""

from functools import cache
from typing import Any, Literal

import pytest
import torch
from torch import Tensor
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from qkv.core.pairs import TranslationBatch, TranslationStep
from qkv.core.positions import sinusoid
from qkv.core.stack_config import StackConfig
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, power_penalty
from qkv.decoding.greedy import greedy
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

B, T, S, H, K = 2, 5, 7, 3, 4
D, V = H * K, 23
END, PAD = 0, 22  # Marian's decoder starts with the padding id
ENCODER_DEPTH, DECODER_DEPTH, ENCODER_HIDDEN, DECODER_HIDDEN = 2, 3, 13, 17
Activation = Literal["relu", "swish"]

activations = pytest.mark.parametrize("activation", ["relu", "swish"])
SOURCE = torch.tensor([[3, 4, 5, 6, 7, 8, END], [9, 10, 3, END, PAD, PAD, PAD]])
SHIFTED = torch.tensor([[PAD, 5, 6, 7, 8], [PAD, 9, 10, 11, 12]])


def marian(activation: Activation) -> MarianMTModel:
    torch.manual_seed(2)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=V,
            d_model=D,
            encoder_layers=ENCODER_DEPTH,
            decoder_layers=DECODER_DEPTH,
            encoder_attention_heads=H,
            decoder_attention_heads=H,
            encoder_ffn_dim=ENCODER_HIDDEN,
            decoder_ffn_dim=DECODER_HIDDEN,
            max_position_embeddings=30,
            activation_function=activation,
            scale_embedding=True,
            dropout=0.1,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=PAD,
            forced_eos_token_id=None,
        )
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.copy_(torch.randn_like(parameter) * 0.4)
    return model.eval()


def stack(depth: int, hidden: int, activation: Activation) -> StackConfig:
    return StackConfig(
        depth=depth, width=D, heads=H, ffn_width=hidden, norm="post", activation=activation, dropout=0.1
    )


def translator(activation: Activation) -> Translator:
    return Translator(
        TranslatorConfig(
            vocab_size=V,
            max_length=30,
            pad=PAD,
            start=PAD,
            end=END,
            positions="halves",
            encoder=stack(ENCODER_DEPTH, ENCODER_HIDDEN, activation),
            decoder=stack(DECODER_DEPTH, DECODER_HIDDEN, activation),
        )
    ).eval()


NAMES = {
    "self_attn_layer_norm": "attention.norm",
    "encoder_attn_layer_norm": "cross_attention.norm",
    "final_layer_norm": "feed_forward.norm",
    "self_attn": "attention.sublayer",
    "encoder_attn": "cross_attention.sublayer",
    "q_proj": "query",
    "k_proj": "key",
    "v_proj": "value",
    "out_proj": "output",
    "fc1": "feed_forward.sublayer.expand",
    "fc2": "feed_forward.sublayer.contract",
    "layers": "blocks",
}


def weights_of(model: MarianMTModel) -> dict[str, Tensor]:
    """Marian's weights under our names."""
    weights = {"tokens.weight": model.model.shared.weight}
    for name, tensor in model.model.state_dict().items():
        if ".layers." in name:
            weights[".".join(NAMES.get(part, part) for part in name.split("."))] = tensor
    return weights


def pair(activation: Activation) -> tuple[Translator, MarianMTModel]:
    ours, theirs = translator(activation), marian(activation)
    ours.load_state_dict(weights_of(theirs), strict=True)  # every weight has a place, every place a weight
    return ours, theirs


def marian_logits(model: MarianMTModel) -> Tensor:
    answer: Any = model(
        input_ids=SOURCE, attention_mask=(SOURCE != PAD).long(), decoder_input_ids=SHIFTED, use_cache=False
    )
    return answer.logits


@activations
@torch.no_grad()
def test_logits_equal_marians(activation: Activation) -> None:
    ours, theirs = pair(activation)
    logits = ours(SOURCE, SHIFTED)
    assert logits.std() > 0.3  # not a comparison of zeros
    torch.testing.assert_close(logits, marian_logits(theirs), atol=1e-5, rtol=1e-5)


def test_marian_has_as_many_parameters() -> None:
    ours, theirs = pair("swish")
    trained = sum(p.numel() for name, p in theirs.named_parameters() if "embed_positions" not in name)
    assert sum(p.numel() for p in ours.parameters()) == trained


def test_the_table_of_positions_equals_marians() -> None:
    embed = marian("swish").model.encoder.embed_positions
    torch.testing.assert_close(sinusoid(30, D, "halves"), embed.weight.data, atol=1e-6, rtol=0)


def test_interleaved_positions_do_not_match_marian() -> None:
    embed = marian("swish").model.encoder.embed_positions
    assert not torch.allclose(sinusoid(30, D, "interleaved"), embed.weight.data, atol=0.1)


# TranslationOptions. Random weights say one word for ever, so these models have first learned a little.

LENGTHS = [1, 6, 3, 2, 5, 4]
LIMIT = 7


def sentences(seed: int) -> Tensor:
    """Six sentences of different lengths, each with its end and its padding."""
    ids = torch.randint(1, PAD, (len(LENGTHS), S), generator=torch.Generator().manual_seed(seed))
    length, column = torch.tensor(LENGTHS)[:, None], torch.arange(S)
    return torch.where(column < length, ids, torch.where(column == length, END, PAD))


SOURCES, TARGETS = sentences(1), sentences(2).flip(0)
ASKED = torch.cat([SOURCES, *map(sentences, range(3, 8))])  # what it was taught, and what it must guess
STARTS, LIMITS = torch.full((36,), PAD), torch.full((36,), LIMIT)


@cache
def taught_pair(activation: Activation) -> tuple[Translator, MarianMTModel]:
    torch.manual_seed(3)
    ours, theirs = translator(activation), marian(activation)
    start = torch.full((len(LENGTHS), 1), PAD)
    batch = TranslationBatch.of(SOURCES, torch.cat([start, TARGETS[:, :-1]], dim=1), TARGETS, PAD)
    optimiser = torch.optim.Adam(ours.parameters(), lr=0.01)
    for _ in range(60):
        optimiser.zero_grad()
        ours.loss(batch).backward()
        optimiser.step()
    learned = ours.state_dict()
    for name, tensor in weights_of(theirs).items():
        tensor.data.copy_(learned[name])
    return ours, theirs


def generated(model: MarianMTModel, beams: int) -> list[list[int]]:
    of_beams = {"length_penalty": 0.0, "early_stopping": "never"} if beams > 1 else {}
    settings = GenerationConfig(
        num_beams=beams,
        do_sample=False,
        max_new_tokens=LIMIT,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=PAD,
        **of_beams,
    )
    rows = model.generate(
        input_ids=ASKED, attention_mask=(ASKED != PAD).long(), generation_config=settings
    ).tolist()
    return [cut_at_end(row[1:]) for row in rows]


def generated_with_scores(
    model: MarianMTModel, beams: int, penalty: float
) -> list[list[tuple[list[int], float]]]:
    """All hypotheses of every row, best first."""
    settings = GenerationConfig(
        num_beams=beams,
        num_return_sequences=beams,
        length_penalty=penalty,
        early_stopping="never",
        do_sample=False,
        max_new_tokens=LIMIT,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=PAD,
        return_dict_in_generate=True,
        output_scores=True,
    )
    found = model.generate(input_ids=ASKED, attention_mask=(ASKED != PAD).long(), generation_config=settings)
    flat = [
        (cut_at_end(row[1:]), score)
        for row, score in zip(found.sequences.tolist(), found.sequences_scores.tolist(), strict=True)
    ]
    return [flat[start : start + beams] for start in range(0, len(flat), beams)]


def cut_at_end(ids: list[int]) -> list[int]:
    return ids[: ids.index(END)] if END in ids else ids


@activations
def test_greedy_output_equals_generate(activation: Activation) -> None:
    ours, theirs = taught_pair(activation)
    wanted = generated(theirs, beams=1)
    assert len({tuple(ids) for ids in wanted}) > 8  # they are not all alike, and of several lengths
    assert {len(ids) for ids in wanted} >= {1, 2, 3, 4, 5, 6}
    assert [answer.ids for answer in greedy(TranslationStep(ours, ASKED), STARTS, END, LIMITS)] == wanted


@activations
@pytest.mark.parametrize("width", [2, 4])
def test_beam_output_equals_generate(activation: Activation, width: int) -> None:
    ours, theirs = taught_pair(activation)
    answers = beam_search(
        TranslationStep(ours, ASKED), STARTS, END, LIMITS, Beam(width=width, penalty=power_penalty(0.0))
    )
    wanted = generated(theirs, beams=width)
    assert [answer[0].ids for answer in answers] == wanted
    assert wanted != generated(theirs, beams=1)


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("width", [2, 4])
def test_all_hypotheses_of_a_beam_and_their_scores_equal_those_of_generate(
    width: int, penalty: float
) -> None:
    ours, theirs = taught_pair("relu")
    settings = Beam(width=width, penalty=power_penalty(penalty), best=width)
    answers = beam_search(TranslationStep(ours, ASKED), STARTS, END, LIMITS, settings)
    wanted = generated_with_scores(theirs, width, penalty)
    assert [[each.ids for each in row] for row in answers] == [[ids for ids, _ in row] for row in wanted]
    scores = [each.score for row in answers for each in row]
    assert scores == pytest.approx([score for row in wanted for _, score in row], abs=1e-4)
