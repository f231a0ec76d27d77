"""The options of adaptation. Importing this needs no torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from qkv.errors import check_rules
from qkv.flags import Flag, OptionalFile, OptionalLanguage, OptionMessageError, OrData, SomeFiles


@dataclass(frozen=True, kw_only=True)
class AdaptOptions:
    memory: OptionalFile = None
    """The translations of the project: a translation memory of qkv, or a .tmx, .tsv, .jsonl or .po file."""
    pairs: OrData[SomeFiles] = ()
    """More of them, as files with both sides."""
    general: OptionalFile = None
    """General pairs, a file with both sides: the model keeps learning from them, and is tested on some. By default the data that
    it was trained on."""
    general_text: SomeFiles = ()
    """If there are no general pairs: text of the source language, one sentence per line, which the model translates itself. Needs a general test."""
    general_test: OptionalFile = None
    """Pairs to measure the loss of general quality on. By default some of the general pairs are held out."""
    max_loss: float = 1.0
    """The largest loss of general chrF. A model that loses more is not written."""
    learning_rates: Annotated[tuple[float, ...], Flag(metavar="RATE [RATE ...]")] = (3e-5, 1e-4, 3e-4, 1e-3)
    """Learning rates to try. The half that is worse is dropped, and the others are trained twice as long, until one is left."""
    epochs: float = 8.0
    """Most passes over the translations of the project."""
    minutes: float = 15.0
    """Time limit in minutes, including measuring. A step that has begun is completed."""
    held_out: int = 300
    """Translations of the project to choose by, and as many to test on: each at most a tenth. Twice as many general ones."""
    batch_tokens: int = 2_048
    """Tokens in a batch."""
    seed: int = 1
    """Random seed."""
    processes: int = 0
    """Processes that share every batch; 0 chooses the number."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to train."""
    source_language: OptionalLanguage = None
    """Such as en; by default that of the model."""
    target_language: OptionalLanguage = None
    """Such as de; by default that of the model."""

    def __post_init__(self) -> None:
        rates = self.learning_rates
        check_rules(
            [
                ("max_loss", "must not be negative", self.max_loss >= 0),
                ("learning_rates", "must be more than 0", bool(rates) and all(rate > 0 for rate in rates)),
                ("epochs", "must be more than 0, and finite", 0 < self.epochs < float("inf")),
                ("minutes", "must be more than 0", self.minutes > 0),
                ("held_out", "must be at least 1", self.held_out >= 1),
                ("batch_tokens", "must be at least 1", self.batch_tokens >= 1),
                ("processes", "must not be negative", self.processes >= 0),
            ]
        )

    def check(self) -> None:
        """Reject combinations that cannot work."""
        has_pairs = not (isinstance(self.pairs, tuple) and not self.pairs)
        if self.memory is None and not has_pairs:
            raise OptionMessageError("give the translations to learn: {memory} or {pairs}.")
        if self.general is not None and self.general_text:
            raise OptionMessageError("give either {general} or {general_text}, not both.")
        if self.general_text and self.general_test is None:
            raise OptionMessageError(
                "{general_text} has no translations by people, so the loss cannot be measured on it: also give {general_test}."
            )
