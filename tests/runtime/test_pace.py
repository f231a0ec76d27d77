"""Results are printed while later ones are computed."""

from qkv.runtime.pace import FEWEST, LATE, SOON, Pace


def sizes(seconds_per_item: float, items: int, most: int) -> list[int]:
    """The sizes of the portions if each item takes this long."""
    now, found = 0.0, []
    pace = Pace(most, clock=lambda: now)
    for portion in pace.portions(range(items)):
        now += seconds_per_item * len(portion)
        found.append(portion)
    assert [item for portion in found for item in portion] == list(range(items))
    return [len(portion) for portion in found]


def test_portions_grow_while_they_finish_quickly() -> None:
    assert sizes(0.0, 700, 600) == [8, 64, 512, 116]
    assert sizes(0.0, 100, 40) == [8, 40, 40, 12]
    assert max(sizes(SOON / 20, 400, 1_000)) <= 40


def test_slow_work_has_small_portions() -> None:
    assert sizes(LATE, 24, 1_000) == [FEWEST] * 3
    assert sizes(LATE, 3, 2) == [2, 1]
