"""The interface of all classifiers, of text or images."""

import html
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack, overload

from qkv.errors import ItemError
from qkv.runtime.asynchronous import Work, in_thread
from qkv.runtime.inputs import Accepts, Column, Done
from qkv.runtime.model import Model
from qkv.runtime.prediction_options import ALL_CLASSES, PredictionOptions
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.keywords import ClassifyTextsKeywords

ReadsTexts = Literal["text", "pairs", "choices"]
Reads = Literal["text", "pairs", "choices", "images"]


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The likeliest class and the probabilities of all classes, best first; or a number.

    Example:
        >>> prediction = qkv.load("runs/sentiment").classify("one two three")
        >>> prediction.label == max(prediction.probabilities, key=prediction.probabilities.get)
        True
    """

    label: str
    """The likeliest class; the number as text if the model predicts numbers."""
    probabilities: Mapping[str, float]
    """The probability of each class, the likeliest first."""
    number: float | None = None
    """The prediction of a model that predicts numbers."""

    @classmethod
    def of(cls, classes: Sequence[str], probabilities: Sequence[float]) -> "Prediction":
        """The prediction for these probabilities.

        Args:
            classes: Names.
            probabilities: One for each class.

        Returns:
            The classes, ranked.

        Example:
            >>> qkv.Prediction.of(["no", "yes"], [0.2, 0.8]).label
            'yes'
        """
        ranked = sorted(zip(classes, probabilities, strict=True), key=lambda pair: -pair[1])
        return cls(label=ranked[0][0], probabilities=dict(ranked))

    @classmethod
    def on_scale(cls, number: float) -> "Prediction":
        """The prediction of a number.

        Args:
            number: The number.

        Returns:
            A prediction without classes.

        Example:
            >>> qkv.Prediction.on_scale(2.5).label
            '2.5000'
        """
        return cls(label=f"{number:.4f}", probabilities={}, number=number)

    def _best(self, count: int | None) -> "Prediction":
        if count is None:
            return self
        return replace(self, probabilities=dict(list(self.probabilities.items())[:count]))

    def _repr_html_(self) -> str:
        """For notebooks: a bar for each class."""
        rows = "".join(
            f"<tr><td style='text-align: left'>{html.escape(label)}</td><td>{probability:.4f}</td>"
            f"<td><div style='background: steelblue; height: 0.8em; width: {100 * probability:.0f}px'></div></td></tr>"
            for label, probability in self.probabilities.items()
        )
        return f"<p><b>{html.escape(self.label)}</b></p><table>{rows}</table>"


class Classifier(Protocol):
    """A loaded bundle that classifies."""

    @property
    def reads(self) -> Reads: ...

    @property
    def classes(self) -> tuple[str, ...]: ...  # empty for models that predict numbers or choose

    def classify(self, inputs: Any, *, done: Done = ..., **keywords: Any) -> Any: ...


class TextInputs(Model):
    """A classifier of texts, pairs of texts, or answers to choose from."""

    _what = "a classifier"
    _does = ("classify",)

    @property
    def reads(self) -> ReadsTexts:
        """What an input is: a text, a pair of texts, or a text with answers to choose from.

        Example:
            >>> qkv.load("runs/sentiment").reads
            'text'
        """
        raise NotImplementedError

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; none if the model predicts numbers or chooses an answer.

        Example:
            >>> qkv.load("runs/sentiment").classes
            ('bad', 'good')
        """
        raise NotImplementedError

    def _classify(
        self, inputs: Sequence[tuple[str, ...]], done: Done, options: PredictionOptions
    ) -> list[Prediction]:
        raise NotImplementedError

    @overload
    def classify(
        self,
        inputs: str | tuple[str, str],
        options: PredictionOptions = ...,
        **keywords: "Unpack[ClassifyTextsKeywords]",
    ) -> Prediction: ...

    @overload
    def classify(
        self,
        inputs: Iterator[Any],
        options: PredictionOptions = ...,
        **keywords: "Unpack[ClassifyTextsKeywords]",
    ) -> Iterator[Prediction]: ...

    @overload
    def classify(
        self, inputs: Column, options: PredictionOptions = ..., **keywords: "Unpack[ClassifyTextsKeywords]"
    ) -> list[Prediction]: ...

    @with_options(PredictionOptions)
    def classify(
        self,
        inputs: str | tuple[str, ...] | Iterator[Any] | Column,
        options: PredictionOptions = ALL_CLASSES,
        *,
        done: Done = lambda count: None,
        **keywords: Any,
    ) -> Any:
        """Predict the class of one input or many.

        Args:
            inputs: A text, a list of texts or an iterator of texts. For a model of pairs, tuples of two texts; for a model
                that chooses, tuples of a text and the answers to choose from.
            options: Options as an object. Keywords replace its fields.
            done: Called with the number of inputs that were newly classified, for progress.

        Returns:
            A prediction for one input, a list for many, a lazy iterator for an iterator.

        Example:
            >>> classifier = qkv.load("runs/sentiment")
            >>> classifier.classify("one two three").label in classifier.classes
            True
            >>> len(classifier.classify(["one", "two"]))
            2
        """
        chosen = replace_options(options, keywords)
        reads = self.reads

        def many(part: list[tuple[str, ...]]) -> list[Prediction]:
            check_inputs(part, reads)
            found = self._classify(part, done, chosen) if part else []
            return [each._best(chosen.top_k) for each in found]

        return INPUTS[reads].apply(inputs, many)

    @overload
    def aclassify(
        self,
        inputs: str | tuple[str, str],
        options: PredictionOptions = ...,
        **keywords: "Unpack[ClassifyTextsKeywords]",
    ) -> Work[Prediction]: ...

    @overload
    def aclassify(
        self,
        inputs: Iterator[Any],
        options: PredictionOptions = ...,
        **keywords: "Unpack[ClassifyTextsKeywords]",
    ) -> AsyncIterator[Prediction]: ...

    @overload
    def aclassify(
        self, inputs: Column, options: PredictionOptions = ..., **keywords: "Unpack[ClassifyTextsKeywords]"
    ) -> Work[list[Prediction]]: ...

    @with_options(PredictionOptions)
    def aclassify(
        self,
        inputs: str | tuple[str, ...] | Iterator[Any] | Column,
        options: PredictionOptions = ALL_CLASSES,
        *,
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Like `classify`, for asyncio: other tasks run while it works.

        Args:
            inputs: One input, a list of inputs or an iterator of inputs.
            options: Options as an object. Keywords replace its fields.
            done: Called with the number of inputs that were newly classified, in another thread.

        Returns:
            What `classify` returns, to be awaited. For an iterator, an asynchronous iterator.

        Example:
            >>> classifier = qkv.load("runs/sentiment")
            >>> asyncio.run(classifier.aclassify("one two")) == classifier.classify("one two")
            True
        """
        return in_thread(self.classify, inputs, options, done=done, **keywords)


def strings(value: Any) -> tuple[str, ...] | None:
    """A text or several texts that belong together, as a tuple."""
    together = (value,) if isinstance(value, str) else value
    if isinstance(together, tuple | list) and all(isinstance(each, str) for each in together):
        return tuple(together)
    return None


def strings_together(value: Any) -> tuple[str, ...] | None:
    return None if isinstance(value, str) else strings(value)


def is_together(value: Any) -> bool:
    return isinstance(value, tuple) and strings(value) is not None


def accepts(reads: ReadsTexts, what: str, item: str) -> Accepts[tuple[str, ...]]:
    alone = reads == "text"
    return Accepts(
        method="classify",
        argument="inputs",
        what=what,
        item=item,
        is_one=(lambda value: isinstance(value, str)) if alone else is_together,
        read=strings if alone else strings_together,
        kind="input",
    )


INPUTS: dict[ReadsTexts, Accepts[tuple[str, ...]]] = {
    "text": accepts("text", "a text, a list of texts or an iterator of texts", "str"),
    "pairs": accepts(
        "pairs", "a pair of texts (a tuple), a list of pairs or an iterator of pairs", "a pair of texts"
    ),
    "choices": accepts(
        "choices",
        "a text and its answers (a tuple), a list of such tuples or an iterator of them",
        "a text and the answers to choose from, as a tuple",
    ),
}
HOW = {
    "text": "give one text for each input",
    "pairs": "give two texts for each input",
    "choices": "give a text and at least two choices",
}
EXAMPLES: dict[ReadsTexts, str] = {"text": '"…"', "pairs": '"…" "…"', "choices": '"…" "…" "…"'}
"""Inputs as written in a shell, for hints."""


def check_inputs(inputs: Sequence[tuple[str, ...]], reads: ReadsTexts) -> None:
    """Check that each input has as many texts as the model reads."""
    for number, texts in enumerate(inputs):
        if not fits(len(texts), reads):
            count = "1 text" if len(texts) == 1 else f"{len(texts)} texts"
            raise ItemError(number, f"has {count}, but this model reads {reads}: {HOW[reads]}.", "input")
        if reads == "choices" and len(set(texts[1:])) < len(texts) - 1:
            raise ItemError(number, "has the same choice twice. Give different choices.", "input")


def fits(count: int, reads: ReadsTexts) -> bool:
    return count >= 3 if reads == "choices" else count == (2 if reads == "pairs" else 1)
