"""The options of classifiers of texts and images, each stated once. Without NumPy, for `--help`."""

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


@dataclass(frozen=True, kw_only=True)
class ClassificationOptions(PredictionOptions):
    """How images are classified, and how many classes a prediction has.

    Example:
        >>> options = qkv.ClassificationOptions(top_k=2, fit=True)
        >>> len(qkv.load("runs/shapes").classify("picture.png", options).probabilities)
        2
    """

    fit: bool = False
    """Resize and convert images of another size or mode instead of rejecting them."""


ALL_CLASSES = PredictionOptions()
