"""What must hold of the picture classifier whatever its weights are; its equality with another library's is in parity/."""

import pytest
import torch
import torch.nn.functional as F

from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape
from qkv.families.vit.config import VitConfig
from qkv.families.vit.model import PictureBatch, Vit, patches_of

B, CHANNELS, PATCH, HEIGHT, WIDTH, CLASSES = 2, 3, 2, 4, 6, 5
STACK = StackConfig(depth=2, width=12, heads=3, ffn_width=7, norm="pre", activation="gelu", dropout=0.0)


def config(**changes: object) -> VitConfig:
    given = {
        "height": HEIGHT,
        "width": WIDTH,
        "channels": CHANNELS,
        "patch": PATCH,
        "classes": CLASSES,
        "stack": STACK,
    }
    return VitConfig(**{**given, **changes})  # type: ignore[arg-type]


def model(**changes: object) -> Vit:
    torch.manual_seed(5)
    made = Vit(config(**changes))
    torch.nn.init.normal_(made.head.weight)
    return made.eval()


def pictures() -> torch.Tensor:
    return torch.randn(B, CHANNELS, HEIGHT, WIDTH, generator=torch.Generator().manual_seed(1))


def test_patches_are_cut_row_by_row() -> None:
    picture = torch.arange(HEIGHT * WIDTH).view(1, 1, HEIGHT, WIDTH)
    patches = patches_of(picture, PATCH)
    assert patches.shape == (1, 6, 4)
    assert patches[0, 0].tolist() == [0, 1, 6, 7]
    assert patches[0, 1].tolist() == [2, 3, 8, 9]
    assert patches[0, 3].tolist() == [12, 13, 18, 19]


def test_the_map_of_patches_is_a_convolution_that_never_overlaps() -> None:
    own = model()
    kernel = own.patches.weight.view(-1, CHANNELS, PATCH, PATCH)
    wanted = F.conv2d(pictures(), kernel, own.patches.bias, stride=PATCH).flatten(2).transpose(1, 2)
    torch.testing.assert_close(own.patches(patches_of(pictures(), PATCH)), wanted)


def test_every_patch_can_change_the_prediction() -> None:
    own, picture = model(), pictures().requires_grad_()
    own(picture)[0, 2].backward()
    assert picture.grad is not None
    assert (picture.grad[0].abs().sum(0) > 0).all()
    assert not picture.grad[1].any()


def test_where_a_patch_lies_matters() -> None:
    own = model()
    with torch.no_grad():
        assert (own(pictures()) - own(pictures().flip(3))).abs().max() > 1e-3


def test_recording_changes_nothing() -> None:
    own, tape = model(), Tape()
    torch.testing.assert_close(own(pictures(), tape), own(pictures()))
    assert tape["stack.1.attention.weights"].shape == (B, 3, 7, 7)


def test_labels_are_smoothed_in_validation_too() -> None:
    own = model(label_smoothing=0.2)
    batch = PictureBatch(pictures(), torch.tensor([1, 3]))
    smooth = F.cross_entropy(own(batch.pictures), batch.classes, label_smoothing=0.2)
    torch.testing.assert_close(own.eval().loss(batch), smooth)
    torch.testing.assert_close(own.train().loss(batch), smooth)


def test_with_label_smoothing_higher_confidence_is_not_a_lower_loss() -> None:
    """The same correct predictions, with more confidence than the smoothed labels."""
    own = model(label_smoothing=0.2).eval()
    shown = pictures()
    batch = PictureBatch(shown, own(shown).argmax(-1))
    before = own.loss(batch)
    scale = 40 / own(shown).std().detach()
    with torch.no_grad():
        own.head.weight *= scale
        own.head.bias *= scale
    assert own(shown).argmax(-1).equal(batch.classes)
    assert own.loss(batch) > before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"patch": 4}, "cannot be split"),
        ({"classes": 1}, "2 classes"),
        ({"label_smoothing": 1.0}, "smoothing"),
    ],
)
def test_an_invalid_config_is_rejected(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        config(**change)
