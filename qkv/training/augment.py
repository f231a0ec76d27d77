"""Augment a batch of images with torch.

All random numbers are arguments, so the result for an image does not depend on the rest of the batch or on the process.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.data.augmentation import ERASURES, MOVES, PER_OPERATION, Augmentation


def augment(pictures: Tensor, draws: Tensor, options: Augmentation) -> Tensor:
    """Augment images (B, C, height, width) of bytes with random numbers (B, options.draws); returns values from 0 to 1.

    All geometric operations are combined into one matrix, so that pixels are interpolated only once.
    """
    x = pictures.float() / 255
    moves, drawn, erasures = draws.split([MOVES, PER_OPERATION * options.operations, ERASURES], dim=1)
    matrices = move_matrices(moves, (x.shape[2], x.shape[3]), options)  # (B, 2, 3)
    changes = [*GEOMETRIC, *(COLOUR_CHANGES if options.augment_colors else ())]
    for number in range(options.operations):
        which, strength = drawn[:, PER_OPERATION * number :][:, :PER_OPERATION].unbind(1)
        chosen = (which * (1 + len(changes))).long()  # the last choice is no operation
        strength = (2 * strength - 1) * options.magnitude  # (B)
        for index, change in enumerate(changes):
            rows = (chosen == index).nonzero()[:, 0]
            if len(rows) and index < len(GEOMETRIC):
                bend = GEOMETRIC[index](strength[rows], x.shape[3] / x.shape[2])
                matrices[rows] = compose(matrices[rows], bend)
            elif len(rows):
                x[rows] = change(x[rows], strength[rows, None, None, None]).clamp(0, 1)
    return erase_rectangle(warp(x, matrices, exact=not options.operations), erasures, options.erase)


# Geometry: matrices (B, 2, 3) from output to input coordinates, from −1 to 1


def matrix(rows: Tensor, **entries: Tensor) -> Tensor:
    """The identity with some entries replaced. Their names give row and column: e02 is row 0, column 2."""
    made = torch.eye(2, 3).repeat(len(rows), 1, 1)
    for name, values in entries.items():
        made[:, int(name[1]), int(name[2])] = values
    return made


def move_matrices(moves: Tensor, size: tuple[int, int], options: Augmentation) -> Tensor:
    down, across = ((draw * (2 * options.crop + 1)).floor() - options.crop for draw in moves[:, :2].unbind(1))
    flipped = torch.where((moves[:, 2] < 0.5) & options.flip, -1.0, 1.0)
    return matrix(moves, e02=2 * across / size[1], e12=2 * down / size[0], e00=flipped)


def compose(first: Tensor, second: Tensor) -> Tensor:
    last = torch.tensor([0.0, 0.0, 1.0]).expand(len(first), 1, 3)
    return first @ torch.cat([second, last], dim=1)


def rotation(strength: Tensor, aspect: float) -> Tensor:
    """The aspect ratio (width / height) corrects for coordinates from −1 to 1 on sides of different length."""
    angle = strength * torch.pi / 4
    sine, cosine = angle.sin(), angle.cos()
    return matrix(strength, e00=cosine, e01=-sine / aspect, e10=sine * aspect, e11=cosine)


GEOMETRIC: list[Callable[[Tensor, float], Tensor]] = [
    rotation,
    lambda strength, aspect: matrix(strength, e01=strength * 0.5),  # shear
    lambda strength, aspect: matrix(strength, e10=strength * 0.5),
    lambda strength, aspect: matrix(strength, e02=strength * 0.6),  # shift
    lambda strength, aspect: matrix(strength, e12=strength * 0.6),
    lambda strength, aspect: matrix(
        strength, e00=(0.5 * strength).exp(), e11=(0.5 * strength).exp()
    ),  # scale
]


def warp(x: Tensor, matrices: Tensor, *, exact: bool) -> Tensor:
    grid = F.affine_grid(matrices, list(x.shape), align_corners=False)
    mode = "nearest" if exact else "bilinear"
    return F.grid_sample(x, grid, mode=mode, padding_mode="border", align_corners=False)


# Colours: x (B, C, height, width) and a strength (B, 1, 1, 1) between −1 and 1


def scale_contrast(x: Tensor, middle: Tensor, strength: Tensor) -> Tensor:
    return middle + (x - middle) * (1 + strength)


def sharpen(x: Tensor, strength: Tensor) -> Tensor:
    return scale_contrast(x, F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False), strength)


COLOUR_CHANGES: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, strength: x * (1 + strength),  # brightness
    lambda x, strength: scale_contrast(x, x.mean((1, 2, 3), keepdim=True), strength),  # contrast
    lambda x, strength: scale_contrast(x, x.mean(1, keepdim=True), strength),  # saturation
    sharpen,
    lambda x, strength: torch.where(x <= 1 - strength.abs() / 2, x, 1 - x),  # solarize
    lambda x, strength: (x * (levels := 2 ** (8 - 6 * strength.abs()).round())).floor() / levels,  # posterize
]


def erase_rectangle(x: Tensor, draws: Tensor, share: float) -> Tensor:
    """Random erasing (Zhong et al., 2020): a rectangle of a tenth to a half of each side."""
    if not share:
        return x
    height, width = x.shape[2:]
    whether, *places = (draw[:, None] for draw in draws.unbind(1))  # (B, 1)
    spans = []
    for length, (start, extent) in ((height, places[:2]), (width, places[2:])):
        size = (0.1 + 0.4 * extent) * length
        first = start * (length - size)
        pixel = torch.arange(length)
        spans.append((pixel >= first) & (pixel < first + size))  # (B, length)
    inside = spans[0][:, :, None] & spans[1][:, None, :] & (whether < share)[:, :, None]  # (B, height, width)
    return torch.where(inside[:, None], x.mean((2, 3), keepdim=True), x)
