"""Choose the learning rate and the duration of an adaptation on held-out data: successive halving, then as long as it helps."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

PATIENCE = 2  # stages without improvement that end the search


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A model after some steps with a learning rate."""

    rate: float
    steps: int
    domain: float
    """chrF on the project's pairs to choose by."""
    general: float
    """chrF on the general ones."""
    loss: float
    """Per token of the project's pairs. It falls before chrF rises, so it shows early which rate is good."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Limits:
    least_general: float
    """General chrF below which a snapshot is not used."""
    least_domain: float
    """That of the base model: a snapshot must be better."""
    first_steps: int
    most_steps: int

    def allows(self, snapshot: Snapshot) -> bool:
        return snapshot.general >= self.least_general and snapshot.domain > self.least_domain


Train = Callable[[float, int], Snapshot]
"""Train with a rate up to this many steps, from where it stands, and measure."""


def search(
    rates: Sequence[float], limits: Limits, train: Train, has_time: Callable[[int], bool]
) -> list[Snapshot]:
    """All snapshots, in the order in which they were made. `has_time` says whether so many more steps may begin."""
    snapshots: list[Snapshot] = []
    alive, steps, before = list(rates), limits.first_steps, 0
    while steps <= limits.most_steps:
        stage: list[Snapshot] = []
        for rate in alive:
            if snapshots and not has_time(steps - before):
                return snapshots
            stage.append(train(rate, steps))
            snapshots.append(stage[-1])
        ranked = sorted(stage, key=lambda each: rank(each, limits), reverse=True)
        if len(alive) == 1 and not improves(snapshots, limits):
            return snapshots
        alive = [each.rate for each in ranked[: (len(ranked) + 1) // 2]]
        if steps == limits.most_steps:
            return snapshots
        before, steps = steps, min(2 * steps, limits.most_steps)
    return snapshots


def rank(snapshot: Snapshot, limits: Limits) -> tuple[bool, float]:
    """Those within the limit come first. Outside, what counts is how much they lose: it only grows."""
    within = snapshot.general >= limits.least_general
    return within, -snapshot.loss if within else snapshot.general


def improves(snapshots: Sequence[Snapshot], limits: Limits) -> bool:
    """Whether one of the last stages of the remaining rate was the best so far, by loss or by chrF."""
    own = [each for each in snapshots if each.rate == snapshots[-1].rate]
    scores = [[(limits.allows(each), each.domain) for each in own], [rank(each, limits) for each in own]]
    return len(own) <= PATIENCE or any(max(each[-PATIENCE:]) > max(each[:-PATIENCE]) for each in scores)


def best(snapshots: Sequence[Snapshot], limits: Limits) -> Snapshot | None:
    """The best on the project's text among those within the limit."""
    return max(filter(limits.allows, snapshots), key=lambda each: each.domain, default=None)
