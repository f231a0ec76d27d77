"""Evaluate a language model: perplexity on text, or likelihood of music."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from qkv.data.chorales import VOICES, Chorale, frame_of, is_midi, read_chorales, read_midi
from qkv.data.documents import normalize_line_ends, read_documents
from qkv.data.given import items_of, texts_of
from qkv.data.python_rows import as_path, is_path
from qkv.errors import DataError, InputError, InputTypeError, QkvError, type_name
from qkv.evaluation.display import SILENT, Display
from qkv.evaluation.evaluator import NOTHING, Evaluator
from qkv.evaluation.perplexity import TextLoss
from qkv.evaluation.report import Report
from qkv.families.gpt.evaluation_options import LanguageModelEvaluation
from qkv.families.gpt.product import LanguageModel
from qkv.families.products import open_to_evaluate
from qkv.flags import OptionMessageError
from qkv.runtime.running import EXACT, Running

LARGE, HUGE = 1e4, 1e9  # numbers without decimals, and numbers as powers of ten


class FactsReport(Report):
    """A report whose page is a table of facts."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload]

    def __str__(self) -> str:
        facts = self.to_dict()
        width = max(map(len, facts)) + 2
        return "".join(
            f"{name.replace('_', ' '):<{width}}{shown_fact(value)}\n" for name, value in facts.items()
        )


def shown_fact(value: float | None) -> str:
    if value is None:
        return "infinite"
    if isinstance(value, int) or value < LARGE:
        return f"{value:,}"
    return f"{value:,.0f}" if value < HUGE else f"{value:.2e}"


@dataclass(frozen=True, kw_only=True, repr=False)
class LanguageModelReport(FactsReport):
    """How well a language model predicts text. Bits per byte can be compared between any two models.

    Example:
        >>> report = qkv.evaluate("runs/gpt", text=["the cat danced"])
        >>> report.words
        3
        >>> report.perplexity == report.perplexity_per_token
        True
    """

    tokens: int
    words: int
    bytes: int
    loss_per_token: float
    perplexity_per_token: float | None
    """None if it is too large for a number."""
    perplexity_per_word: float | None
    bits_per_byte: float

    @property
    def perplexity(self) -> float | None:
        """The perplexity per token."""
        return self.perplexity_per_token


@dataclass(frozen=True, kw_only=True, repr=False)
class MusicReport(FactsReport):
    """How well a music model predicts chorales, in nats. `qkv.evaluate(model, music="chorales.json")` returns one.

    Example:
        >>> report = qkv.MusicReport(
        ...     chorales=1,
        ...     frames=8,
        ...     negative_log_likelihood_per_frame=4.0,
        ...     negative_log_likelihood_per_note=1.0,
        ... )
        >>> report.frames
        8
    """

    chorales: int
    frames: int
    negative_log_likelihood_per_frame: float
    negative_log_likelihood_per_note: float


def evaluate_language_model(
    model: Any,
    options: LanguageModelEvaluation = LanguageModelEvaluation(),  # noqa: B008  (it is frozen)
    running: Running = EXACT,
    display: Display = SILENT,
    _given: Mapping[str, Any] = NOTHING,
) -> LanguageModelReport | MusicReport:
    """Score unseen text, or music."""
    has_text, has_music = (not is_missing(each) for each in (options.text, options.music))
    if has_text == has_music:
        raise OptionMessageError("give either {text} or {music}.")
    opened, name = open_to_evaluate(model, LanguageModel, running, display.warn)
    if (opened._defaults.token_type == "notes") != has_music:
        wanted = "{music}, because it is a music model" if has_text else "{text}, because it is a text model"
        raise OptionMessageError(f"{{name}} needs {wanted}.", name=name)
    if has_text:
        return score_text(opened, texts_in(options.text), display)
    return score_music(opened, chorales_in(options.music, options.part, display), display)


EVALUATOR = Evaluator(options=LanguageModelEvaluation, evaluate=evaluate_language_model, positional=("text",))


def is_missing(given: Any) -> bool:
    return given is None or (isinstance(given, tuple) and not given)


def files_in(given: Any, name: str) -> list[Any]:
    """The paths, if these are files; otherwise none."""
    if is_path(given):
        return [as_path(given)]
    if isinstance(given, tuple | list) and all(isinstance(each, os.PathLike) for each in given):
        return [as_path(each) for each in given]
    return []


def texts_in(given: Any) -> list[str]:
    files = files_in(given, "text")
    if files:
        return read_documents(files).texts
    texts = [normalize_line_ends(text) for text in texts_of(given, "text")]
    for place, text in enumerate(texts):
        if not text.strip():
            raise InputError(f"text[{place}] is empty: give some text, or leave it out.")
    return texts


def score_text(model: LanguageModel, texts: list[str], display: Display) -> LanguageModelReport:
    documents = [model.tokenizer.encode(text) for text in texts]
    with display.progress("reading", sum(map(len, documents))) as done:
        nats = -sum(float(model._log_probabilities_of(ids, done).sum(dtype="float64")) for ids in documents)
    return LanguageModelReport(**TextLoss.of(texts, nats, sum(map(len, documents))).to_dict())


def chorales_in(given: Any, part: str, display: Display) -> list[Chorale]:
    chorales = []
    for path in files_in(given, "music"):
        parts = {part: [read_midi(path, display.say)]} if is_midi(path) else read_chorales(path)
        if part not in parts:
            raise QkvError(f"{path} has no part {part}, only {', '.join(parts)}.")
        chorales += parts[part]
    return chorales or [
        frames_in(each, f"music[{place}]") for place, each in enumerate(items_of(given, "music", "chorales"))
    ]


def frames_in(chorale: Any, where: str) -> Chorale:
    frames = []
    for place, frame in enumerate(items_of(chorale, where, "frames")):
        if isinstance(frame, str) or not hasattr(frame, "__iter__"):
            raise InputTypeError(f"{where}[{place}] is {type_name(frame)}; expected a list of pitches.")
        try:
            frames.append(frame_of(list(frame), f"{where}[{place}]"))
        except DataError as error:
            raise InputError(str(error)) from None
    return frames


def score_music(model: LanguageModel, chorales: list[Chorale], display: Display) -> MusicReport:
    frames = sum(map(len, chorales))
    with display.progress("reading", VOICES * frames) as done:
        nats = model._nats_of_music(chorales, done)
    return MusicReport(
        chorales=len(chorales),
        frames=frames,
        negative_log_likelihood_per_frame=round(nats / frames, 4),
        negative_log_likelihood_per_note=round(nats / frames / VOICES, 4),
    )
