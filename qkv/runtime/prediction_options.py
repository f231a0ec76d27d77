"""The options of all classifiers. Without NumPy, for `--help`."""

from dataclasses import dataclass

from qkv.errors import check_rules


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """How many classes a prediction has.

    Example:
        >>> len(qkv.load("runs/sentiment").classify("one two", qkv.PredictionOptions(top_k=1)).probabilities)
        1
    """

    top_k: int | None = None
    """Classes to show, the likeliest first."""

    def __post_init__(self) -> None:
        check_rules([("top_k", "must be at least 1", self.top_k is None or self.top_k >= 1)])


ALL_CLASSES = PredictionOptions()
