"""The image classifier equals Hugging Face's ViT on random weights."""

from functools import cache

import pytest
import torch
from transformers import ViTConfig, ViTForImageClassification

from qkv.errors import QkvError
from qkv.families.vit.hub import own_name, reshape, vit_config
from qkv.families.vit.model import Vit
from qkv.hub.naming import check_weights, rename_weights

B, H, K, F, DEPTH, CHANNELS, PATCH, SIDE, CLASSES = 2, 3, 4, 17, 2, 5, 4, 12, 7


def vit_weights(weights: dict[str, torch.Tensor], model: Vit, where: str) -> dict[str, torch.Tensor]:
    """The weights under our names, checked against the model."""
    renamed = rename_weights({name: reshape(name, each) for name, each in weights.items()}, own_name, where)
    check_weights(model.state_dict(), renamed, where)
    return dict(renamed)


@cache
def both() -> tuple[ViTForImageClassification, Vit]:
    torch.manual_seed(3)
    theirs = ViTForImageClassification(
        ViTConfig(
            hidden_size=H * K,
            num_hidden_layers=DEPTH,
            num_attention_heads=H,
            intermediate_size=F,
            image_size=SIDE,
            patch_size=PATCH,
            num_channels=CHANNELS,
            num_labels=CLASSES,
        )
    ).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    ours = Vit(vit_config(theirs.config.to_dict(), CLASSES, "tiny")).eval()
    ours.load_state_dict(vit_weights(theirs.state_dict(), ours, "tiny"))
    return theirs, ours


def pictures() -> torch.Tensor:
    return torch.randn(B, CHANNELS, SIDE, SIDE, generator=torch.Generator().manual_seed(4))


def test_the_logits_are_those_of_hugging_face() -> None:
    theirs, ours = both()
    with torch.no_grad():
        torch.testing.assert_close(ours(pictures()), theirs(pictures()).logits, atol=1e-5, rtol=1e-5)


def test_the_gradients_of_the_loss_are_those_of_hugging_face() -> None:
    theirs, ours = both()
    classes = torch.tensor([5, 1])
    torch.nn.functional.cross_entropy(ours(pictures()), classes).backward()
    theirs(pictures(), labels=classes).loss.backward()
    wanted = vit_weights(
        {name: p.grad for name, p in theirs.named_parameters() if p.grad is not None}, ours, "tiny"
    )
    assert wanted.keys() == dict(ours.named_parameters()).keys()
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name], atol=1e-5, rtol=1e-4)


def test_the_names_in_published_files_are_known_too() -> None:
    theirs, ours = both()
    older = {
        "layers.": "encoder.layer.",
        "attention.q_proj": "attention.attention.query",
        "attention.k_proj": "attention.attention.key",
        "attention.v_proj": "attention.attention.value",
        "attention.o_proj": "attention.output.dense",
        "mlp.fc1": "intermediate.dense",
        "mlp.fc2": "output.dense",
    }
    published = {}
    for name, tensor in theirs.state_dict().items():
        for new, old in older.items():
            name = name.replace(new, old)
        published[name] = tensor
    renamed = vit_weights(published, ours, "tiny")
    assert published.keys() != theirs.state_dict().keys()
    assert renamed.keys() == ours.state_dict().keys()
    assert all(torch.equal(renamed[name], tensor) for name, tensor in ours.state_dict().items())


def test_an_unexpected_weight_is_named() -> None:
    with pytest.raises(QkvError, match=r"left over: vit\.pooler\.dense\.weight"):
        vit_weights({"vit.pooler.dense.weight": torch.zeros(2, 2)}, both()[1], "tiny")
