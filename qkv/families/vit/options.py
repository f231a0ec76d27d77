"""The options of classification, each stated once.

The fields are the flags of `qkv classify` and the keyword arguments of `ImageClassifier.classify`.
"""

from dataclasses import dataclass

from qkv.runtime.prediction_options import PredictionOptions


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
