"""Image augmentation: what changes, what does not, and what it depends on."""

import pytest
import torch

from qkv.data.augmentation import Augmentation
from qkv.training.augment import augment, rotation

EVERYTHING = Augmentation(crop=2, flip=True, operations=2, magnitude=0.6, erase=0.5)


def pictures(count: int = 40, channels: int = 3) -> torch.Tensor:
    numbers = torch.Generator().manual_seed(2)
    return torch.randint(0, 256, (count, channels, 9, 12), generator=numbers, dtype=torch.uint8)


def draws(options: Augmentation, count: int = 40, seed: int = 3) -> torch.Tensor:
    return torch.rand(count, options.draws, generator=torch.Generator().manual_seed(seed))


def test_without_augmentation_images_are_unchanged() -> None:
    options = Augmentation()
    assert torch.equal(augment(pictures(), draws(options), options), pictures().float() / 255)


@pytest.mark.parametrize("channels", [1, 3])
def test_values_stay_between_black_and_white(channels: int) -> None:
    changed = augment(pictures(channels=channels), draws(EVERYTHING), EVERYTHING)
    assert changed.shape == (40, channels, 9, 12)
    assert changed.isfinite().all()
    assert changed.min() >= 0
    assert changed.max() <= 1


def test_an_augmented_image_does_not_depend_on_other_images() -> None:
    whole = augment(pictures(), draws(EVERYTHING), EVERYTHING)
    rows = torch.tensor([31, 4, 17])
    alone = augment(pictures()[rows], draws(EVERYTHING)[rows], EVERYTHING)
    torch.testing.assert_close(whole[rows], alone)


def test_a_flip_is_a_mirror_and_half_of_all_are_flipped() -> None:
    options = Augmentation(flip=True)
    changed, plain = augment(pictures(), draws(options), options), pictures().float() / 255
    same = [torch.equal(one, other) for one, other in zip(changed, plain, strict=True)]
    mirrored = [torch.equal(one, other.flip(2)) for one, other in zip(changed, plain, strict=True)]
    assert all(one != other for one, other in zip(same, mirrored, strict=True))
    assert 10 <= sum(mirrored) <= 30


def test_a_crop_moves_by_whole_pixels_and_draws_out_the_edge() -> None:
    options = Augmentation(crop=1)
    numbers = torch.tensor([[0.99, 0.5, 0.9], [0.5, 0.0, 0.9]])  # one row down, one column to the left
    numbers = torch.cat([numbers, torch.ones(2, options.draws - 3)], dim=1)
    plain = pictures(2).float() / 255
    changed = augment(pictures(2), numbers, options)
    assert torch.equal(changed[0], torch.cat([plain[0, :, 1:], plain[0, :, -1:]], dim=1))
    assert torch.equal(changed[1], torch.cat([plain[1, :, :, :1], plain[1, :, :, :-1]], dim=2))


def test_operations_change_most_images_and_none_at_magnitude_zero() -> None:
    strong, weak = (Augmentation(operations=2, magnitude=magnitude) for magnitude in (0.5, 0.0))
    plain = pictures().float() / 255
    changes = (augment(pictures(), draws(strong), strong) - plain).abs().amax((1, 2, 3))
    assert (changes > 0.02).sum() >= 30
    nothing = augment(pictures(), draws(weak), weak) - plain
    assert nothing.abs().max() < 5e-3  # but for rounding to fewer shades, of which there are still 256


def test_without_colours_only_the_geometry_changes() -> None:
    options = Augmentation(operations=2, magnitude=0.8, augment_colors=False)
    plain = torch.full((40, 1, 9, 12), 77, dtype=torch.uint8)
    torch.testing.assert_close(augment(plain, draws(options), options), plain.float() / 255)


def test_random_erasing_covers_the_requested_share_of_images() -> None:
    options = Augmentation(erase=0.5)
    plain = pictures().float() / 255
    changed = augment(pictures(), draws(options), options) != plain
    hit = changed.flatten(1).any(1)
    assert 10 <= hit.sum() <= 30
    area = changed[hit].float().mean((1, 2, 3))
    assert area.max() < 0.36


def test_a_rotated_square_in_a_wide_image_keeps_its_right_angles() -> None:
    """In halves of unequal sides a rotation alone would shear."""
    corners = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # right and down, in pixels
    height, width = 10, 30
    halves = torch.tensor([width / 2, height / 2])
    turned = rotation(torch.tensor([0.7]), width / height)[0, :, :2]
    one, other = ((turned @ (corner / halves)) * halves for corner in corners)
    assert one.dot(other).abs() < 1e-6
    assert torch.allclose(one.norm(), torch.tensor(1.0))
