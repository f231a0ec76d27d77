"""Our GPT equals Hugging Face's OpenAI-GPT and GPT-2 on tiny random weights."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, OpenAIGPTConfig, OpenAIGPTLMHeadModel

from qkv.errors import QkvError
from qkv.families.gpt.hub import gpt_config, gpt_weights
from qkv.families.gpt.model import GPT, TextBatch

B, T, H, K = 2, 5, 3, 4
D, V, CONTEXT, DEPTH, HIDDEN = H * K, 23, 11, 2, 4 * H * K
IDS = torch.tensor([[3, 4, 5, 6, 7], [9, 10, 3, 22, 1]])
SIZES = {
    "vocab_size": V, "n_positions": CONTEXT, "n_embd": D, "n_layer": DEPTH, "n_head": H, "resid_pdrop": 0.1,
    "attn_pdrop": 0.0,
}  # fmt: skip
THEIRS: dict[str, Any] = {
    "GPT-1": lambda: OpenAIGPTLMHeadModel(OpenAIGPTConfig(**SIZES)),
    "GPT-2": lambda: GPT2LMHeadModel(GPT2Config(**SIZES, n_inner=17)),
}
both = pytest.mark.parametrize("kind", THEIRS)


def pair(kind: str) -> tuple[GPT, Any]:
    torch.manual_seed(3)
    theirs = THEIRS[kind]().eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    ours = GPT(gpt_config(theirs.config.to_dict(), end=0)).eval()
    ours.load_state_dict(gpt_weights(theirs.state_dict()), strict=True)  # every weight has its place
    return ours, theirs


def their_logits(model: Any) -> Tensor:
    return model(input_ids=IDS).logits


@both
@torch.no_grad()
def test_logits_equal_theirs(kind: str) -> None:
    ours, theirs = pair(kind)
    torch.testing.assert_close(ours(IDS), their_logits(theirs), atol=1e-4, rtol=1e-4)


@both
def test_the_loss_equals_theirs(kind: str) -> None:
    ours, theirs = pair(kind)
    batch = TextBatch.of(list(IDS), pad=0)
    torch.testing.assert_close(ours.loss(batch), theirs(input_ids=IDS, labels=IDS).loss, atol=1e-4, rtol=1e-4)


@both
@torch.no_grad()
def test_greedy_continuations_equal_theirs(kind: str) -> None:
    ours, theirs = pair(kind)
    step, said = ours.begin(), IDS
    logits = step(IDS)
    for _ in range(CONTEXT - T):
        newest = logits.argmax(-1)[:, None]
        said = torch.cat([said, newest], dim=1)
        logits = step(newest)
    expected = IDS
    for _ in range(CONTEXT - T):  # their own generate() would stop at an end
        expected = torch.cat([expected, theirs(input_ids=expected).logits[:, -1:].argmax(-1)], dim=1)
    assert said.tolist() == expected.tolist()


def test_another_kind_of_model_is_rejected_by_name() -> None:
    with pytest.raises(QkvError, match="'llama' is not supported, only gpt2 and openai-gpt"):
        gpt_config({"model_type": "llama"}, end=0)


def test_an_unknown_activation_is_rejected_by_name() -> None:
    config = GPT2Config(**SIZES).to_dict() | {"activation_function": "mish"}
    with pytest.raises(QkvError, match="activation_function is 'mish'"):
        gpt_config(config, end=0)
