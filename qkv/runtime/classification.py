"""The options of classification, each stated once, for texts and images.

The fields are flags of `qkv classify`; `fit` is an argument of `ImageClassifier`.
"""

from dataclasses import dataclass

from qkv.errors import check_rules


@dataclass(frozen=True, kw_only=True)
class ClassificationOptions:
    """How inputs are classified and how many classes are shown."""

    top_k: int | None = None
    """Classes to show, the likeliest first. By default 1, and 3 for images."""
    fit: bool = False
    """Resize and convert images of another size or mode instead of rejecting them."""

    def __post_init__(self) -> None:
        check_rules([("top_k", "must be at least 1", self.top_k is None or self.top_k >= 1)])
