"""Guidance: two steps of one model as one, which exaggerates what the condition changes."""

import torch
from tables import START, TableStep

from qkv.decoding.guidance import Guided

VOCAB = 6
FIRST = torch.full((2, 1), START)


def guided(weight: float) -> Guided:
    return Guided(TableStep([3, 4], VOCAB), TableStep([7, 8], VOCAB), weight)


def test_with_a_weight_of_one_only_the_condition_counts_and_with_none_only_its_absence() -> None:
    given, free = (TableStep(sentences, VOCAB)(FIRST).softmax(-1) for sentences in ([3, 4], [7, 8]))
    torch.testing.assert_close(guided(1.0)(FIRST).softmax(-1), given)
    torch.testing.assert_close(guided(0.0)(FIRST).softmax(-1), free)


def test_guidance_amplifies_the_effect_of_the_condition() -> None:
    given, free, more = (guided(weight)(FIRST) for weight in (1.0, 0.0, 3.0))
    torch.testing.assert_close(more - free, 3 * (given - free))


def test_guidance_is_the_same_with_numpy() -> None:
    torch.testing.assert_close(torch.from_numpy(guided(3.0)(FIRST.numpy())), guided(3.0)(FIRST))


def test_both_follow_when_rows_are_chosen() -> None:
    both = guided(2.0)
    before = both(FIRST)
    both.select(torch.tensor([1]))
    alone = Guided(TableStep([4], VOCAB), TableStep([8], VOCAB), 2.0)
    torch.testing.assert_close(alone(FIRST[:1]), before[1:])
    torch.testing.assert_close(both(FIRST[:1]).softmax(-1), alone(FIRST[:1]).softmax(-1))
