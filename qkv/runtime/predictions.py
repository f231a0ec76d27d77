"""What a classifier says, whatever it reads: `qkv classify` knows no more of one than this."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from qkv.errors import InputError, UserError

ReadsTexts = Literal["text", "pairs", "choices"]


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The likeliest class with the probabilities of all, best first; or, on a scale, a number alone."""

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
    """A loaded bundle that can be asked which class something belongs to."""

    @property
    def reads(self) -> ReadsTexts | Literal["pictures"]: ...  # pictures by the names of their files

    @property
    def classes(self) -> tuple[str, ...]: ...  # none where it gives numbers, or chooses

    def classify(
        self, inputs: Sequence[tuple[str, ...]], *, done: Callable[[int], None] = ...
    ) -> list[Prediction]:
        """A prediction for each input, which is one text, two of a pair, a text and answers, or the path of a picture; `done` counts along."""
        ...


HOW = {
    "text": "give one text for each",
    "pairs": "give two texts for each",
    "choices": "give a text and at least two answers to choose from",
}
EXAMPLES: dict[ReadsTexts, str] = {"text": '"…"', "pairs": '"…" "…"', "choices": '"…" "…" "…"'}
"""What `qkv classify` is given, for hints."""


def check_inputs(inputs: Sequence[tuple[str, ...]], reads: ReadsTexts) -> None:
    """As many texts in each input as the model reads.

    A string is a sequence of strings as well, of letters, which nobody means.
    """
    if isinstance(inputs, str) or any(isinstance(each, str) for each in inputs):
        raise UserError("classify takes a list of inputs, and each is a tuple of its texts: [(text,)].")
    for number, texts in enumerate(inputs):
        if not fits(len(texts), reads):
            count = "1 text" if len(texts) == 1 else f"{len(texts)} texts"
            raise InputError(number, f"has {count}, and this model reads {reads}: {HOW[reads]}.", "input")
        if reads == "choices" and len(set(texts[1:])) < len(texts) - 1:
            raise InputError(number, "has the same answer twice: give different ones.", "input")


def fits(count: int, reads: ReadsTexts) -> bool:
    return count >= 3 if reads == "choices" else count == (2 if reads == "pairs" else 1)
