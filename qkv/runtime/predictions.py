"""The interface of all classifiers, of text or images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from qkv.errors import ItemError, QkvError

ReadsTexts = Literal["text", "pairs", "choices"]


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The likeliest class and the probabilities of all classes, best first; or a number."""

    label: str
    probabilities: Mapping[str, float]
    number: float | None = None

    @classmethod
    def of(cls, classes: Sequence[str], probabilities: Sequence[float]) -> "Prediction":
        ranked = sorted(zip(classes, probabilities, strict=True), key=lambda pair: -pair[1])
        return cls(label=ranked[0][0], probabilities=dict(ranked))

    @classmethod
    def on_scale(cls, number: float) -> "Prediction":
        return cls(label=f"{number:.4f}", probabilities={}, number=number)


class Classifier(Protocol):
    """A loaded bundle that classifies."""

    @property
    def reads(self) -> ReadsTexts | Literal["pictures"]: ...  # "pictures": paths of image files

    @property
    def classes(self) -> tuple[str, ...]: ...  # empty for models that predict numbers or choose

    def classify(
        self, inputs: Sequence[tuple[str, ...]], *, done: Callable[[int], None] = ...
    ) -> list[Prediction]:
        """A prediction for each input: a text, a pair, a text with choices, or the path of an image.

        `done` is called with the number of inputs finished.
        """
        ...


HOW = {
    "text": "give one text for each input",
    "pairs": "give two texts for each input",
    "choices": "give a text and at least two choices",
}
EXAMPLES: dict[ReadsTexts, str] = {"text": '"…"', "pairs": '"…" "…"', "choices": '"…" "…" "…"'}
"""Inputs as written in a shell, for hints."""


def check_inputs(inputs: Sequence[tuple[str, ...]], reads: ReadsTexts) -> None:
    """Check that each input has as many texts as the model reads, and that none is a bare string."""
    if isinstance(inputs, str) or any(isinstance(each, str) for each in inputs):
        raise QkvError("classify takes a list of tuples of texts: [(text,)].")
    for number, texts in enumerate(inputs):
        if not fits(len(texts), reads):
            count = "1 text" if len(texts) == 1 else f"{len(texts)} texts"
            raise ItemError(number, f"has {count}, but this model reads {reads}: {HOW[reads]}.", "input")
        if reads == "choices" and len(set(texts[1:])) < len(texts) - 1:
            raise ItemError(number, "has the same choice twice. Give different choices.", "input")


def fits(count: int, reads: ReadsTexts) -> bool:
    return count >= 3 if reads == "choices" else count == (2 if reads == "pairs" else 1)
