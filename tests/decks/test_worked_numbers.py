"""Every worked number of the five lecture decks, through qkv's own functions.

The letters A to F and the file numbers are those of the page that lists the decks. Where a deck's arithmetic is
off, one test shows which mistaken step gives the printed value and another what the formula gives.
"""

from math import inf, sqrt

import pytest
import torch
from torch import Tensor

from qkv.core.attention import attend
from qkv.core.masks import causal_mask
from qkv.core.positions import SinusoidalPositions, sinusoid
from qkv.core.tape import Tape

Rows = list[list[float]]


def matrix(rows: Rows) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def check(actual: Tensor, printed: Rows, within: float = 5.1e-5) -> None:
    """Equal to what is printed: to four places unless told otherwise."""
    torch.testing.assert_close(actual.double(), matrix(printed), atol=within, rtol=0)


def attention_steps(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tape, Tensor]:
    tape = Tape()
    return tape, attend(q, k, v, mask, tape)


def with_divisor(q: Tensor, divisor: float) -> Tensor:
    """Queries for which `attend`, which divides by √2 here, divides the scores of q by something else."""
    return q * sqrt(2) / divisor


# A. "I like cats" (deck 001) ------------------------------------------------------------------------------

CATS_Q = matrix([[1.3, 0.8], [0.7, 3.5], [1.9, 0.1]])
CATS_K = matrix([[0.6, 2.4], [0.8, 1.7], [2.5, 0.3]])
CATS_V = matrix([[0.4, 1.0], [1.2, 2.8], [1.7, 0.2]])
CATS_SCORES = [[2.7, 2.4, 3.49], [8.82, 6.51, 2.8], [1.38, 1.69, 4.78]]
CATS_MADE_UP = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.4, 0.1, 0.5]]


def test_deck_001_scores_of_i_like_cats_are_as_printed() -> None:
    tape, _ = attention_steps(CATS_Q, CATS_K, CATS_V)
    check(tape["scores"], CATS_SCORES, within=1e-12)
    check(tape["scaled"] * sqrt(2), CATS_SCORES, within=1e-12)


def test_deck_001_weights_and_z_of_i_like_cats_by_the_formula() -> None:
    tape, z = attention_steps(CATS_Q, CATS_K, CATS_V)
    check(tape["weights"], [[0.2811, 0.2274, 0.4915], [0.8268, 0.1614, 0.0117], [0.0751, 0.0935, 0.8314]])
    check(z, [[1.2208, 1.0161], [0.5444, 1.2812], [1.5556, 0.5032]])


def test_deck_001_printed_z_follows_from_the_weights_it_says_are_made_up() -> None:
    # Keys of one unit vector each and queries of √3·log(weight): the softmax is the made-up matrix itself.
    q = matrix(CATS_MADE_UP).log() * sqrt(3)
    tape, z = attention_steps(q, torch.eye(3, dtype=torch.float64), CATS_V)
    check(tape["weights"], CATS_MADE_UP, within=1e-12)
    check(z, [[0.69, 1.28], [1.14, 1.92], [1.13, 0.78]], within=1e-12)


def test_deck_001_made_up_weights_are_not_those_of_its_own_scores() -> None:
    tape, _ = attention_steps(CATS_Q, CATS_K, CATS_V)
    assert (tape["weights"] - matrix(CATS_MADE_UP)).abs().max() > 0.3


# B. Adding positions (deck 001) ---------------------------------------------------------------------------


def test_deck_001_positions_are_added_to_the_input() -> None:
    positions = SinusoidalPositions(3, 2, "interleaved")
    positions.table = matrix([[0.5, 1.0], [2.5, 1.3], [1.1, 0.3]])  # the deck's example, not the sinusoid
    words = matrix([[0.2, 1.2], [0.5, 4.1], [2.1, 0.4]])
    check(words + positions(0, 3), [[0.7, 2.2], [3.0, 5.4], [3.2, 0.7]], within=1e-12)


# C. The sinusoid (decks 001 and 004) ----------------------------------------------------------------------


def test_deck_001_sinusoid_of_three_dimensions_by_its_formula() -> None:
    check(
        sinusoid(4, 3, "interleaved"),
        [[0, 1, 0], [0.8415, 0.5403, 0.0022], [0.9093, -0.4161, 0.0043], [0.1411, -0.9900, 0.0065]],
    )


def test_deck_001_printed_sinusoid_of_three_dimensions_is_not_its_own_formula() -> None:
    # Erratum: the table has the exponents 2·0/3, 2·1/2 and 2·2/3; the formula's are 0/3, 0/3 and 2/3.
    position = torch.arange(4, dtype=torch.float64)
    printed = torch.stack(
        [
            (position / 10_000 ** (2 * 0 / 3)).sin(),
            (position / 10_000 ** (2 * 1 / 2)).cos(),
            (position / 10_000 ** (2 * 2 / 3)).sin(),
        ],
        dim=1,
    )
    table = sinusoid(4, 3, "interleaved").double()
    torch.testing.assert_close(table[:, 0], printed[:, 0], atol=1e-6, rtol=0)  # the first column is right
    assert (table[1:, 1] - printed[1:, 1]).abs().min() > 0.4
    torch.testing.assert_close(table[1:, 2] / printed[1:, 2], matrix([[464.16] * 3])[0], atol=0.01, rtol=0)


def test_deck_004_sinusoid_of_four_dimensions() -> None:
    check(
        sinusoid(4, 4, "interleaved"),
        [
            [0, 1, 0, 1],
            [0.8415, 0.5403, 0.0100, 1.0000],
            [0.9093, -0.4161, 0.0200, 0.9998],
            [0.1411, -0.9900, 0.0300, 0.9996],
        ],
    )


@pytest.mark.parametrize("width", [4, 512])
def test_deck_004_the_two_layouts_of_july_2020_are_permutations_of_each_other(width: int) -> None:
    columns = [*range(0, width, 2), *range(1, width, 2)]
    assert torch.equal(sinusoid(7, width, "halves"), sinusoid(7, width, "interleaved")[:, columns])
    assert not torch.equal(sinusoid(7, width, "halves"), sinusoid(7, width, "interleaved"))


# D. The future mask (deck 002) ----------------------------------------------------------------------------


def test_deck_002_softmax_under_the_future_mask() -> None:
    scores = matrix([[0.7, 9, 9, 9], [0.1, 0.6, 9, 9], [0.1, 0.3, 0.6, 9], [0.1, 0.3, 0.3, 0.3]])
    identity = torch.eye(4, dtype=torch.float64)
    tape, _ = attention_steps(scores * 2, identity, identity, causal_mask(4, 4))  # 2 is √4
    check(
        tape["masked"],
        [[0.7, -inf, -inf, -inf], [0.1, 0.6, -inf, -inf], [0.1, 0.3, 0.6, -inf], [0.1, 0.3, 0.3, 0.3]],
        within=1e-12,
    )
    check(
        tape["weights"],
        [[1, 0, 0, 0], [0.3775, 0.6225, 0, 0], [0.2584, 0.3156, 0.4260, 0], [0.2144, 0.2619, 0.2619, 0.2619]],
    )
    # The deck prints two places, some of them cut off and some rounded.
    check(
        tape["weights"],
        [[1, 0, 0, 0], [0.37, 0.62, 0, 0], [0.26, 0.31, 0.43, 0], [0.21, 0.26, 0.26, 0.26]],
        within=0.01,
    )


# E. "die Katze" looks at "the cat danced" (deck 003) ------------------------------------------------------

KATZE_Q = matrix([[-1, -2.5], [4, 3]])
CAT_K = matrix([[-2, -4], [-2.5, -0.5], [4.5, 2.5]])


def test_deck_003_scores_of_die_katze_are_as_printed() -> None:
    tape, _ = attention_steps(KATZE_Q, CAT_K, CAT_K)
    check(tape["scores"], [[12, 3.75, -10.75], [-20, -11.5, 25.5]], within=1e-12)


def test_deck_003_printed_values_of_die_katze_follow_from_dividing_by_three() -> None:
    # Erratum: the deck's code says √D, and D is 2; its numbers are the scores divided by 3.
    tape, out = attention_steps(with_divisor(KATZE_Q, 3), CAT_K, CAT_K)
    check(tape["scaled"], [[4, 1.25, -3.5833], [-6.6667, -3.8333, 8.5]])
    check(tape["weights"], [[0.9395, 0.0601, 0.0005], [0, 0, 1]])
    check(tape["weights"], [[0.94, 0.06, 0.00], [0.00, 0.00, 0.99]], within=0.01)
    check(out, [[-2.0269, -3.7867], [4.5, 2.5]], within=1e-4)
    check((out * 100).trunc() / 100, [[-2.02, -3.78], [4.49, 2.49]], within=1e-9)  # the deck cuts off


def test_deck_003_values_of_die_katze_by_the_formula() -> None:
    tape, out = attention_steps(KATZE_Q, CAT_K, CAT_K)
    check(tape["scaled"], [[8.4853, 2.6517, -7.6014], [-14.1421, -8.1317, 18.0312]])
    check(tape["weights"], [[0.9971, 0.0029, 0], [0, 0, 1]])
    check(out, [[-2.0015, -3.9898], [4.5, 2.5]])


# F. Masked self-attention (deck 003) ----------------------------------------------------------------------

MASKED_Q = matrix([[1, 1], [-1, -2.5], [4, 3], [2, -3]])


def test_deck_003_scores_of_masked_self_attention_are_as_printed() -> None:
    tape, _ = attention_steps(MASKED_Q, MASKED_Q, MASKED_Q, causal_mask(4, 4))
    check(
        tape["scores"],
        [[2, -3.5, 7, -1], [-3.5, 7.25, -11.5, 5.5], [7, -11.5, 25, -1], [-1, 5.5, -1, 13]],
        within=1e-12,
    )


def test_deck_003_printed_scaled_scores_follow_from_dividing_by_four() -> None:
    # Erratum: again the code says √D with D = 2.
    tape, _ = attention_steps(with_divisor(MASKED_Q, 4), MASKED_Q, MASKED_Q, causal_mask(4, 4))
    check(
        tape["masked"],
        [
            [0.5, -inf, -inf, -inf],
            [-0.875, 1.8125, -inf, -inf],
            [1.75, -2.875, 6.25, -inf],
            [-0.25, 1.375, -0.25, 3.25],
        ],
        within=1e-12,
    )
    assert tape["weights"][3, 1] > 0.1  # where the deck prints 0.0006: it did not go on from these


def test_deck_003_printed_output_follows_from_not_scaling_at_all() -> None:
    # Erratum: the deck's code masks `scores`, not `scaled`.
    tape, out = attention_steps(with_divisor(MASKED_Q, 1), MASKED_Q, MASKED_Q, causal_mask(4, 4))
    check(tape["weights"], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0.0006, 0, 0.9994]])
    check(out, [[1, 1], [-0.9999571, -2.499925], [4, 3], [1.9983424, -2.9997153]], within=1e-6)


def test_deck_003_values_of_masked_self_attention_by_the_formula() -> None:
    tape, out = attention_steps(MASKED_Q, MASKED_Q, MASKED_Q, causal_mask(4, 4))
    check(tape["weights"], [[1, 0, 0, 0], [0.0005, 0.9995, 0, 0], [0, 0, 1, 0], [0, 0.0050, 0, 0.9950]])
    check(out, [[1, 1], [-0.9990, -2.4983], [4, 3], [1.9852, -2.9970]])


@pytest.mark.parametrize("row", range(4))
def test_deck_003_a_masked_row_is_the_attention_over_its_prefix_alone(row: int) -> None:
    out = attend(MASKED_Q, MASKED_Q, MASKED_Q, causal_mask(4, 4))
    prefix = MASKED_Q[: row + 1]
    torch.testing.assert_close(out[row], attend(MASKED_Q[row : row + 1], prefix, prefix)[0])
