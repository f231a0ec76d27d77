"""A language model fine-tuned for a task (GPT-1): texts in, predictions out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.batching import token_batches
from qkv.errors import InputError, UserError
from qkv.families.gpt.config import TaskConfig
from qkv.families.gpt.model import GPTForTask, TaskBatch
from qkv.families.gpt.product import TokenType, facts_of_gpt, tokenizer_for
from qkv.runtime.compute import silent
from qkv.runtime.predictions import Prediction, check_inputs
from qkv.runtime.weights import build_model
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


class GPTClassifier:
    def __init__(self, model: GPTForTask, tokenizer: Tokenizer, defaults: ClassifierDefaults):
        self.model, self.tokenizer, self.defaults = model, tokenizer, defaults

    def __repr__(self) -> str:
        return f"GPTClassifier({self.defaults.form}, {', '.join(self.classes) or self.model.config.task})"

    @property
    def reads(self) -> Literal["text", "pairs", "choices"]:
        return READS[self.defaults.form]

    @property
    def classes(self) -> tuple[str, ...]:
        return self.defaults.classes

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(TaskConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(ClassifierDefaults, config, f"{where}/config.json")
        if len(defaults.classes) != (architecture.classes if architecture.task == "classes" else 0):
            raise UserError(
                f"{where}/config.json: {len(defaults.classes)} classes do not belong to this model."
            )
        for token in (defaults.start, defaults.last or 0):
            if not 0 <= token < architecture.gpt.vocab_size:
                raise UserError(f"{where}/config.json: {token} is not a token id of this model.")
        tokenizer = tokenizer_for(defaults.token_type, where / TOKENIZER_FILE, architecture.gpt)
        model = build_model(GPTForTask, architecture, bundle)
        return cls(model, tokenizer, defaults)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.model.config), **to_dict(self.defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "gpt-classifier", config, self.model.state_dict(), files)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        return {
            "kind": f"gpt, fine-tuned for {self.defaults.form}",
            **({"classes": ", ".join(self.classes)} if self.classes else {}),
            **facts_of_gpt(self.model.gpt, self.defaults.token_type),
            "parameters": f"{sum(p.numel() for p in self.model.parameters()):,}",
        }

    def readings(self, texts: Sequence[str]) -> list[Tensor]:
        """The token ids of every reading of an example."""
        start, last = self.defaults.start, self.defaults.last
        last = self.tokenizer.end if last is None else last
        context = self.model.config.gpt.max_length
        each = [self.tokenizer.encode(text) for text in texts]
        ways = orders(self.defaults.form, each)
        return [torch.tensor(laid_out(way, start, last, context)) for way in ways]

    @torch.inference_mode()
    def classify(
        self, inputs: Sequence[tuple[str, ...]], *, done: Callable[[int], None] = silent
    ) -> list[Prediction]:
        """A prediction for each input: a class, a number, or the best choice."""
        self.model.eval()
        check_inputs(inputs, self.reads)
        refuse_empty(inputs)
        device = self.model.gpt.tokens.weight.device
        examples = [self.readings(texts) for texts in inputs]
        predictions: list[Prediction | None] = [None] * len(inputs)
        for rows in batches_of(examples, TOKENS_AT_ONCE, seed=None):
            answer = torch.zeros(len(rows))
            batch = TaskBatch.of([examples[row] for row in rows], answer, self.tokenizer.pad).to(device)
            scores = self.model(batch.text.ids, batch.last).float().cpu()
            for row, own in zip(rows, scores, strict=True):
                predictions[row] = self.prediction(inputs[row], own)
            done(len(rows))
        return [prediction for prediction in predictions if prediction is not None]

    def prediction(self, texts: tuple[str, ...], scores: Tensor) -> Prediction:
        if self.model.config.task == "value":
            middle, spread = self.defaults.scale
            return Prediction.on_scale(middle + spread * float(scores[0]))
        names = self.classes or texts[1:]
        return Prediction.of(names, scores.softmax(-1).tolist())


def refuse_empty(inputs: Sequence[tuple[str, ...]]) -> None:
    for number, texts in enumerate(inputs):
        if not all(text.strip() for text in texts):
            raise InputError(number, "has an empty text. Give some text.", "input")


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
            raise UserError(f"a context of {context} is too short for {len(texts)} texts.")
        del longest[len(longest) - cut :]
        over -= cut
    return [token for text in kept for token in (start, *text)] + [last]


def batches_of(examples: Sequence[Sequence[Tensor]], budget: int, seed: int | None) -> list[list[int]]:
    """Batches of examples of similar length with the same number of readings."""
    groups: dict[int, list[int]] = {}
    for row, readings in enumerate(examples):
        groups.setdefault(len(readings), []).append(row)
    return [
        [rows[place] for place in batch]
        for ways, rows in sorted(groups.items())
        for batch in token_batches([ways * max(map(len, examples[row])) for row in rows], budget, seed)
    ]
