"""A language model fine-tuned for a task (GPT-1): texts in, predictions out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_saved
from qkv.data.batching import token_batches
from qkv.engine.reference.functions import softmax
from qkv.engine.rounding import Floats
from qkv.errors import InputError, ItemError, ModelError
from qkv.families.gpt.config import TaskConfig
from qkv.families.gpt.product import TokenType, facts_of_gpt, tokenizer_for
from qkv.families.gpt.runner import TaskRunner, build_task_model, open_classifier
from qkv.runtime.inputs import Done
from qkv.runtime.network import Network, network_of
from qkv.runtime.predictions import Prediction, PredictionOptions, ReadsTexts, TextInputs
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.text.tokenizer import Tokenizer

Form = Literal["classification", "entailment", "similarity", "choice"]
READS: dict[Form, Literal["text", "pairs", "choices"]] = {
    "classification": "text",
    "entailment": "pairs",
    "similarity": "pairs",
    "choice": "choices",
}
TOKENS_AT_ONCE = 4_096


@dataclass(frozen=True, kw_only=True)
class ClassifierDefaults:
    """What a classifier needs besides its weights."""

    OLD_NAMES: ClassVar = {"pieces": "token_type"}

    token_type: TokenType
    form: Form
    """How an example is read."""
    classes: tuple[str, ...]
    """Empty for models that predict numbers or choose."""
    scale: tuple[float, float] = (0.0, 1.0)
    """Mean and standard deviation of the numbers in training, which the model's output is scaled by."""
    start: int = Tokenizer.start
    """The token before each text. Bundles without this field were trained with the default."""
    last: int | None = None
    """The token after the last text, whose state is classified. None for the tokenizer's end."""


class GPTClassifier(TextInputs):
    """A language model fine-tuned for a task: it classifies texts or pairs, compares pairs, or chooses an answer.

    Example:
        >>> classifier = qkv.load("runs/entailment")
        >>> classifier
        GPTClassifier(entailment, no, yes)
        >>> classifier.classify(("one two", "two")).label in classifier.classes
        True
    """

    _what = "a GPT that was fine-tuned for a task"

    tokenizer: Tokenizer
    """The vocabulary: `encode(text)` gives token ids, `decode(ids)` gives text."""

    def __init__(
        self,
        runner: TaskRunner,
        tokenizer: Tokenizer,
        defaults: ClassifierDefaults,
        network: Network[TaskConfig, Any] | None = None,
    ):
        """Models are opened with `qkv.load`; this is for code that builds them.

        Args:
            runner: What computes the model: the compiled engine, NumPy, or a torch model.
            tokenizer: Its vocabulary.
            defaults: How examples are read, and the classes.
            network: Config and weights of the model; not needed if the runner is a torch model.
        """
        self._runner, self.tokenizer, self._defaults = runner, tokenizer, defaults
        self._network = Network.of(runner) if network is None else network

    def _summary(self) -> str:
        return f"{self._defaults.form}, {', '.join(self.classes) or self.config.task}"

    @property
    def reads(self) -> ReadsTexts:
        return READS[self._defaults.form]

    @property
    def classes(self) -> tuple[str, ...]:
        return self._defaults.classes

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(TaskConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(ClassifierDefaults, config, f"{where}/config.json")
        if len(defaults.classes) != (architecture.classes if architecture.task == "classes" else 0):
            raise ModelError(
                f"{where}/config.json: {len(defaults.classes)} classes do not belong to this model."
            )
        for token in (defaults.start, defaults.last or 0):
            if not 0 <= token < architecture.gpt.vocab_size:
                raise ModelError(f"{where}/config.json: {token} is not a token id of this model.")
        tokenizer = tokenizer_for(defaults.token_type, where / TOKENIZER_FILE, architecture.gpt)
        network = network_of(bundle, architecture, build_task_model)
        return cls(open_classifier(network, running, warn), tokenizer, defaults, network)

    def _running(self, running: Running, warn: Warn = silent) -> "GPTClassifier":
        """The same model with its current weights on another engine, device or number format."""
        runner = open_classifier(self._network, running, warn)
        return GPTClassifier(runner, self.tokenizer, self._defaults, self._network)

    def to_bundle(self, folder: Path) -> None:
        config = {"model": to_saved(self.config), **to_saved(self._defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "gpt-classifier", config, self._network.weights, files)

    def info(self) -> dict[str, str]:
        return {
            "kind": f"gpt, fine-tuned for {self._defaults.form}",
            **({"classes": ", ".join(self.classes)} if self.classes else {}),
            "parameters": f"{self._network.parameters:,}",
            **facts_of_gpt(self.config.gpt, self._defaults.token_type),
        }

    def _readings(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of every reading of an example."""
        start, last = self._defaults.start, self._defaults.last
        last = self.tokenizer.end if last is None else last
        context = self.config.gpt.max_length
        each = [self.tokenizer.encode(text) for text in texts]
        ways = orders(self._defaults.form, each)
        return [laid_out(way, start, last, context) for way in ways]

    def _classify(
        self, inputs: Sequence[tuple[str, ...]], done: Done, options: PredictionOptions
    ) -> list[Prediction]:
        """A prediction for each input: a class, a number, or the best choice."""
        refuse_empty(inputs)
        examples = [self._readings(texts) for texts in inputs]
        predictions: list[Prediction | None] = [None] * len(inputs)
        for rows in batches_of(examples, TOKENS_AT_ONCE, seed=None):
            scores = self._scores([examples[row] for row in rows])
            for row, own in zip(rows, scores, strict=True):
                predictions[row] = self._prediction(inputs[row], own)
            done(len(rows))
        return [prediction for prediction in predictions if prediction is not None]

    def _scores(self, examples: Sequence[Sequence[list[int]]]) -> Floats:
        """Scores of examples that have the same number of readings, W."""
        readings = [ids for each in examples for ids in each]
        ids = np.full((len(readings), max(map(len, readings))), self.tokenizer.pad)  # (B · W, T)
        for row, own in zip(ids, readings, strict=True):
            row[: len(own)] = own
        last = np.array([len(own) - 1 for own in readings]).reshape(len(examples), -1)  # (B, W)
        return self._runner.task_scores(ids, last)

    def _prediction(self, texts: tuple[str, ...], scores: Floats) -> Prediction:
        if self.config.task == "value":
            middle, spread = self._defaults.scale
            return Prediction.on_scale(middle + spread * float(scores[0]))
        names = self.classes or texts[1:]
        return Prediction.of(names, softmax(scores).tolist())


def refuse_empty(inputs: Sequence[tuple[str, ...]]) -> None:
    for number, texts in enumerate(inputs):
        if not all(text.strip() for text in texts):
            raise ItemError(number, "has an empty text. Give some text.", "input")


def orders(form: Form, texts: Sequence[list[int]]) -> list[list[list[int]]]:
    """The readings of GPT-1's figure 1: a text, a pair, a pair in both orders, or a text with each choice."""
    match form:
        case "similarity":
            return [list(texts), list(reversed(texts))]
        case "choice":
            return [[texts[0], answer] for answer in texts[1:]]
        case _:
            return [list(texts)]


def laid_out(texts: Sequence[list[int]], start: int, last: int, context: int) -> list[int]:
    """The start token before each text, and one last token, whose state is classified.

    If the texts do not fit the context, the longest is cut at its end.
    """
    kept = [list(text) for text in texts]
    over = sum(len(text) + 1 for text in kept) + 1 - context
    while over > 0:
        longest = max(kept, key=len)
        others = sorted(map(len, kept))[:-1]
        cut = min(over, max(1, len(longest) - max(others, default=0)))
        if cut >= len(longest):
            raise InputError(f"a context of {context} is too short for {len(texts)} texts.")
        del longest[len(longest) - cut :]
        over -= cut
    return [token for text in kept for token in (start, *text)] + [last]


def batches_of(examples: Sequence[Sequence[Sequence[int]]], budget: int, seed: int | None) -> list[list[int]]:
    """Batches of examples of similar length with the same number of readings."""
    groups: dict[int, list[int]] = {}
    for row, readings in enumerate(examples):
        groups.setdefault(len(readings), []).append(row)
    return [
        [rows[place] for place in batch]
        for ways, rows in sorted(groups.items())
        for batch in token_batches([ways * max(map(len, examples[row])) for row in rows], budget, seed)
    ]
