"""The search of an adaptation: successive halving within a limit, on curves instead of models."""

from collections.abc import Callable
from dataclasses import replace

from qkv.families.translator.adaptation.search import Limits, Snapshot, best, search

LIMITS = Limits(least_general=59.0, least_domain=40.0, first_steps=10, most_steps=1_000)
RATES = (0.1, 1.0, 10.0, 100.0)
Call = tuple[float, int]


def curve(calls: list[Call]) -> Callable[[float, int], Snapshot]:
    """The gain grows with rate and steps and then falls, and so does the loss, which is faster for high rates."""

    def train(rate: float, steps: int) -> Snapshot:
        calls.append((rate, steps))
        amount = rate * steps / 100
        return Snapshot(
            rate=rate, steps=steps, domain=40 + 20 * amount / (1 + amount) - amount / 50, general=60 - amount * rate**0.5 / 10,
            loss=2 / (1 + amount) + amount / 10,
        )  # fmt: skip

    return train


def test_half_of_the_rates_are_dropped_and_the_best_within_the_limit_is_chosen() -> None:
    calls: list[Call] = []
    snapshots = search(RATES, LIMITS, curve(calls), lambda steps: True)
    assert calls[:6] == [*((rate, 10) for rate in RATES), (10.0, 20), (1.0, 20)]
    chosen = best(snapshots, LIMITS)
    assert chosen is not None
    assert chosen.general >= LIMITS.least_general
    assert chosen.domain == max(each.domain for each in snapshots if each.general >= 59)
    assert {each.rate for each in snapshots[6:]} == {chosen.rate}
    assert len(snapshots) < 12  # it ends when longer training no longer helps


def test_the_limits_of_steps_and_time_are_kept_and_there_may_be_no_result() -> None:
    calls: list[Call] = []
    short = replace(LIMITS, most_steps=25)
    snapshots = search(RATES, short, curve(calls), lambda steps: True)
    assert max(each.steps for each in snapshots) == 25
    stopped = search(RATES, LIMITS, curve([]), lambda steps: False)
    assert len(stopped) == 1  # one is always trained
    assert best(snapshots, replace(LIMITS, least_general=60.0)) is None
    assert best(snapshots, replace(LIMITS, least_domain=90.0)) is None


def test_if_all_lose_too_much_the_gentlest_rate_goes_on() -> None:
    calls: list[Call] = []
    search(RATES, replace(LIMITS, least_general=61.0), curve(calls), lambda steps: True)
    assert calls[-1][0] == 0.1
