"""Products in 16 bits are those of the numbers rounded to them, whatever the sizes, the layout and the numbers."""

import json
import time
from pathlib import Path

import pytest
import torch
from engine_levels import folder_of_all_levels
from torch import Tensor

from qkv.core.loss import output_cross_entropy
from qkv.core.products import ByTorch, multiplied_by
from qkv.engine import int16
from qkv.engine.int16 import Int16, gain, int16_pays, three_products
from qkv.engine.library import CACHE, LEVEL, NoEngineError, library

DEPTH, LIMIT = 512, 2047  # of int16.h

try:
    PRODUCTS = Int16()
except NoEngineError as error:
    pytest.skip(f"no products in 16 bits here: {error}", allow_module_level=True)

# rows, numbers that are added up, columns: single ones, odd ones, none a multiple of a panel, and more than a block
SIZES = [(1, 1, 1), (2, 5, 3), (7, 11, 13), (6, 16, 16), (97, 33, 65), (53, 511, 31), (13, 513, 129), (101, 1027, 17), (192, 1024, 64)]  # fmt: skip


def random(rows: int, columns: int, seed: int) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def rounded(rows: Tensor) -> Tensor:
    """Every row in float64, as 16 bits hold it: in steps of a 2047th of the largest of each 512 numbers."""
    found = rows.double()
    for start in range(0, rows.shape[1], DEPTH):
        part = found[:, start : start + DEPTH]
        step = part.abs().amax(dim=1, keepdim=True) / LIMIT
        found[:, start : start + DEPTH] = torch.where(step > 0, (part / step).round() * step, part)
    return found


def close(found: Tensor, a: Tensor, b: Tensor) -> bool:
    """found is a bᵀ of the rounded rows of both, but for what float32 adds: a half that is rounded to the other side too."""
    wanted = rounded(a) @ rounded(b).T
    one_step = a.abs().amax(dim=1)[:, None].double() * b.abs().amax(dim=1)[None].double() / LIMIT
    return bool(((found - wanted).abs() <= 2 * one_step + 1e-5 * wanted.abs()).all())


@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
def test_all_three_layouts_give_the_products_of_the_rounded_numbers(
    rows: int, inner: int, columns: int
) -> None:
    a, b = random(rows, inner, 1), random(columns, inner, 2)
    assert close(PRODUCTS.rows_with_rows(a, b), a, b)
    assert close(PRODUCTS.rows_with_columns(a, b.T.contiguous()), a, b)
    across, other = a.T.contiguous(), b.T.contiguous()
    found = PRODUCTS.columns_with_columns(across, other)
    assert close(found, a, b)
    before = random(rows, columns, 3)
    sums = before.clone()
    PRODUCTS.add_columns_with_columns(across, other, sums)
    torch.testing.assert_close(sums, before + found, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def for_avx2() -> Int16:
    """The loops of processors with AVX2 alone, which others never take."""
    products = Int16()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qkv.engine.library.PREBUILT", folder_of_all_levels())
        patch.setenv(LEVEL, "avx2")
        try:
            products.library = library.__wrapped__()
        except NoEngineError as error:
            pytest.skip(f"no loops for AVX2 here: {error}")
    return products


@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
def test_loops_for_older_processors_give_the_same(
    rows: int, inner: int, columns: int, for_avx2: Int16
) -> None:
    x, weight, by_y = random(rows, inner, 1), random(columns, inner, 2), random(rows, columns, 3)
    found, wanted = (three_products(products, x, weight, by_y) for products in (for_avx2, PRODUCTS))
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("inner", [512, 1_024, 2_048])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_sums_do_not_overflow(inner: int, sign: float) -> None:
    a, b = torch.full((7, inner), 3.0), torch.full((9, inner), sign * 0.25)
    for found in (PRODUCTS.rows_with_rows(a, b), PRODUCTS.rows_with_columns(a, b.T.contiguous())):
        torch.testing.assert_close(found, torch.full((7, 9), sign * 0.75 * inner))


def test_rows_of_very_different_size_do_not_disturb_each_other() -> None:
    sizes = torch.logspace(-25, 18, 40)[:, None]
    a, b = random(40, 300, 4) * sizes, random(23, 300, 5)
    found, wanted = PRODUCTS.rows_with_rows(a, b) / sizes, (a / sizes) @ b.T
    assert (found - wanted).norm() < 1e-3 * wanted.norm()


def test_zeros_and_numbers_too_small_to_matter_give_zeros() -> None:
    a, b = torch.zeros(5, 40), random(4, 40, 6)
    a[1] = 1e-40
    assert PRODUCTS.rows_with_rows(a, b).eq(0).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [0, 8, 19, 36])
def test_nan_stays_in_its_row(bad: float, place: int) -> None:
    a, b = random(11, 37, 7), random(5, 37, 8)
    clean = PRODUCTS.rows_with_rows(a, b)
    a[3, place] = bad
    found = PRODUCTS.rows_with_rows(a, b)
    assert found[3].isnan().all()
    others = [row for row in range(11) if row != 3]
    assert torch.equal(found[others], clean[others])
    assert PRODUCTS.columns_with_columns(a.T.contiguous(), b.T.contiguous())[3].isnan().all()


def test_nothing_outside_of_the_matrices_is_read_or_written() -> None:
    """Numbers that are none lie all around them."""
    big = torch.full((60, 90), float("nan"))
    big[10:33, 20:57] = random(23, 37, 9)
    a = big[10:33, 20:57]  # (23, 37), rows 90 apart
    found = torch.full((50, 50), -1.0)
    sums = found[5:42, 7:44]  # (37, 37)
    PRODUCTS.multiply(a, False, a, False, sums, 23, add=False)
    assert close(sums, a.T.contiguous(), a.T.contiguous())
    untouched = torch.ones(50, 50, dtype=torch.bool)
    untouched[5:42, 7:44] = False
    assert found[untouched].eq(-1).all()


def test_the_same_numbers_give_the_same_products() -> None:
    x, weight, by_y = random(130, 200, 10), random(77, 200, 11), random(130, 77, 12)
    first, second = (three_products(PRODUCTS, x, weight, by_y) for _ in range(2))
    assert all(map(torch.equal, first, second))


class Wrong(Int16):
    def rows_with_columns(self, a: Tensor, b: Tensor) -> Tensor:
        return super().rows_with_columns(a, b) * 1.01


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path))
    monkeypatch.setattr(int16, "Int16", lambda: PRODUCTS)  # which is built already
    return tmp_path


def test_a_row_of_one_number_is_a_row_however_it_lies() -> None:
    """torch calls it contiguous whatever the distance to a second number would be."""
    by_y = torch.randn(50, 2, 1).transpose(1, 2)[:, :, 0]  # (50, 1), with a stride that means nothing
    weight = random(1, 33, 18)
    torch.testing.assert_close(PRODUCTS.rows_with_columns(by_y, weight), by_y @ weight, rtol=2e-3, atol=2e-3)


def test_without_a_home_there_are_no_products_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (CACHE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    monkeypatch.setattr(int16, "library", library.__wrapped__)
    with pytest.raises(NoEngineError, match=r"no home folder .* set QKV_CACHE"):
        Int16()
    assert not int16_pays.__wrapped__()


def test_products_that_are_wrong_are_not_used() -> None:
    assert gain(Wrong()) == 0


@pytest.mark.parametrize(("measured", "pays"), [(1.5, True), (1.01, False), (0.0, False)])
def test_it_is_measured_once_and_then_known(
    measured: float, pays: bool, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(int16, "gain", lambda products: asked.append(products) or measured)
    assert [int16_pays.__wrapped__() for _ in range(2)] == [pays, pays]
    assert len(asked) == 1
    [kept] = empty_cache.glob("int16-*.json")
    assert json.loads(kept.read_text())["gain"] == measured
    kept.write_text("{")
    assert int16_pays.__wrapped__() == pays
    assert len(asked) == 2, "what is damaged is measured again"
    kept.write_text(json.dumps({"gain": measured}))
    assert int16_pays.__wrapped__() == pays
    assert len(asked) == 3, "so is what an earlier version has written, which does not say when"


def test_a_negative_int16_decision_expires_after_a_day_and_a_positive_one_after_a_month(
    tmp_path: Path,
) -> None:
    path, day = tmp_path / "gain.json", 86_400
    for measured, days in ((1.0, 1), (1.5, 30)):
        path.write_text(json.dumps({"gain": measured, "measured": 5 * day}))
        assert int16.known_gain(path, (5 + days) * day - 1) == measured
        assert int16.known_gain(path, (5 + days) * day) is None
        assert int16.known_gain(path, 5 * day - 1) is None, "a clock that was wrong"


def test_time_that_other_programs_take_does_not_count_in_a_trial() -> None:
    class Waiting(ByTorch):
        def rows_with_rows(self, a: Tensor, b: Tensor) -> Tensor:
            time.sleep(0.2)
            return super().rows_with_rows(a, b)

    few = torch.ones(4, 4)
    assert int16.seconds_of(Waiting(few.dtype, few.dtype), few, few, few) < 0.1


def test_confident_and_unconfident_rows_have_the_gradients_of_the_loss() -> None:
    """A softmax has a few large numbers and very many small ones that matter together."""
    vocab, width, rows = 1_500, 32, 600
    words = random(vocab, width, 13)
    words = words / words.norm(dim=1, keepdim=True)
    targets = torch.arange(rows) % 300
    sure = torch.linspace(1, 30, rows)[:, None]
    hidden = sure * words[targets] + 0.5 * random(rows, width, 14)

    def gradients(kind: torch.dtype) -> list[Tensor]:
        given = [hidden.to(kind).requires_grad_(), words.to(kind).requires_grad_()]
        return list(torch.autograd.grad(output_cross_entropy(*given, targets, 0.1), given))

    wanted = gradients(torch.float64)
    with multiplied_by(PRODUCTS):
        found = gradients(torch.float32)
    for mine, right in zip(found, wanted, strict=True):
        assert (mine - right).norm() < 0.02 * right.norm()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_rare_words_are_pushed_down_as_much_as_in_float32(smoothing: float) -> None:
    """A rare word is a target once, and very unlikely in all other rows: those small gradients must not be rounded away."""
    vocab, rows = 8_000, 512
    frequency = 1 / torch.arange(1, vocab + 1)
    words, hidden = random(vocab, 8, 15) / 3, random(rows, 8, 16)
    words[:, 0], hidden[:, 0] = (frequency / frequency.sum()).log(), 1.0  # what all rows have in common
    expected = torch.softmax(hidden @ words.T, dim=1)
    targets = torch.multinomial(expected, 1, generator=torch.Generator().manual_seed(17))[:, 0]

    def in_common() -> Tensor:
        given = words.clone().requires_grad_()
        [gradient] = torch.autograd.grad(output_cross_entropy(hidden, given, targets, smoothing), given)
        return gradient[:, 0] * rows

    wanted = in_common()
    with multiplied_by(PRODUCTS):
        found = in_common()
    for ranks in (slice(100, 500), slice(500, 2_000), slice(2_000, vocab)):
        off = (found - wanted)[ranks].sum() / expected[:, ranks].sum()
        assert off.abs() < 2e-3
