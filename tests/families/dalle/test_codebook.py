"""Images to codes and back, for any weights."""

from typing import Literal

import pytest
import torch

from qkv.families.dalle.codebook import CodebookModel, Lattice, Pixels
from qkv.families.dalle.config import CodebookConfig

QUANTIZERS = pytest.mark.parametrize("quantizer", ["lattice", "gumbel"])
Quantizer = Literal["lattice", "gumbel"]


def model(quantizer: Quantizer) -> CodebookModel:
    torch.manual_seed(3)
    return CodebookModel(
        CodebookConfig(side=12, channels=3, patch=4, width=10, depth=1, quantizer=quantizer, levels=(4, 3, 2))
    ).eval()


def pictures() -> torch.Tensor:
    return torch.rand(2, 3, 12, 12, generator=torch.Generator().manual_seed(1)) * 2 - 1


@QUANTIZERS
def test_decoding_the_codes_equals_the_full_pass(quantizer: Quantizer) -> None:
    own = model(quantizer)
    with torch.no_grad():
        codes = own.encode(pictures())
        assert codes.shape == (2, 9)
        assert set(codes.flatten().tolist()) <= set(range(24))
        torch.testing.assert_close(own.decode(codes), own(pictures()).clamp(-1, 1))


@QUANTIZERS
def test_the_choice_of_a_code_has_a_gradient(quantizer: Quantizer) -> None:
    own = model(quantizer).train()
    own.loss(Pixels(pictures())).backward()
    first = next(own.encoder.parameters()).grad
    assert first is not None
    assert first.abs().max() > 0


def test_every_point_of_the_lattice_is_a_code_and_comes_back() -> None:
    lattice = Lattice((4, 3, 2))
    ids = torch.arange(24)
    values = lattice.values(ids)
    assert len({tuple(row) for row in values.tolist()}) == 24
    assert values.min() == -1
    assert values.max() == 1
    before = torch.atanh(values.clamp(-0.999, 0.999))
    assert torch.equal(lattice.ids(before), ids)
    torch.testing.assert_close(lattice(before), values)


def test_the_noisy_choice_is_by_chance_in_training_alone() -> None:
    own = model("gumbel")
    with torch.no_grad():
        assert torch.equal(own(pictures()), own(pictures()))
        own.train()
        assert not torch.equal(own(pictures()), own(pictures()))


@pytest.mark.parametrize(
    "change", [{"patch": 5}, {"levels": ()}, {"levels": (4, 1)}, {"temperature": 0.0}, {"depth": -1}]
)
def test_an_invalid_config_is_rejected(change: dict[str, object]) -> None:
    given = {
        "side": 12,
        "channels": 3,
        "patch": 4,
        "width": 10,
        "depth": 1,
        "quantizer": "lattice",
        "levels": (4, 3),
    }
    with pytest.raises(ValueError, match=r"pixels|levels|temperature"):
        CodebookConfig(**{**given, **change})  # type: ignore[arg-type]
