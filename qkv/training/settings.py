"""Settings that all training runs share, with their checks. Importing this needs no torch."""

import difflib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from qkv.configs import from_dict
from qkv.errors import QkvError, Rule, check_rules
from qkv.flags import Flag

Precision = Literal["auto", "float32", "bf16", "int16"]
FLAT = Flag(name="")
"""For a group of settings whose names need no prefix on the command line."""
Recipe = TypeVar("Recipe", bound=Callable[..., Any])


def share_below_one(name: str, value: float) -> Rule:
    return name, "must be at least 0 and below 1", 0 <= value < 1


def size_rule(size: str) -> Rule:
    """The size of a validation part is a number of examples or a share such as 5%; see `qkv.data.holding_out`."""
    number, percent = size.removesuffix("%"), size.endswith("%")
    try:
        holds = 0 < float(number) <= 50 if percent else int(number) >= 1
    except ValueError:
        holds = False
    return "valid_size", "must be a number of at least 1, or a share of at most 50%, such as 5%", holds


def size_from_number(value: object) -> object:
    """Version 0.1 stored a number of examples, or a share below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return f"{100 * value:g}%" if isinstance(value, float) else str(value)


@dataclass(frozen=True, kw_only=True)
class BlockSettings:
    """Settings of a model that is one stack of blocks."""

    OLD_NAMES: ClassVar = {"hidden": "ffn_width", "smoothing": "label_smoothing", "context": "max_length"}

    depth: int
    """Blocks (N)."""
    width: int
    """Width of the vector at each position (d_model)."""
    heads: int
    """Attention heads; the width is divided among them."""
    ffn_width: int
    """Width inside the feed-forward layer (d_ff)."""
    dropout: float
    """Dropout rate."""
    attention_dropout: float = 0.0
    """Dropout rate of the attention weights."""
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"] = "gelu"
    """Activation function of the feed-forward layer."""

    def rules(self) -> list[Rule]:
        sizes = (self.width, self.depth, self.heads, self.ffn_width)
        return [
            ("width, depth, heads, ffn_width", "must be at least 1", min(sizes) >= 1),
            ("width", "must be a multiple of {heads}", self.heads < 1 or self.width % self.heads == 0),
            share_below_one("dropout", self.dropout),
            share_below_one("attention_dropout", self.attention_dropout),
        ]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    OLD_NAMES: ClassVar = {
        "rate": "learning_rate",
        "warmup": "warmup_steps",
        "clip": "max_grad_norm",
        "accumulate": "gradient_accumulation_steps",
        "optimiser": "optimizer",
        "betas": "adam_betas",
        "epsilon": "adam_epsilon",
    }

    batch_tokens: int
    """Batch size in tokens, including padding."""
    learning_rate: float
    """Peak learning rate, reached after the warm-up."""
    warmup_steps: int
    """Steps in which the learning rate rises to its peak."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW for all weights, or Muon for the matrices of linear layers: fewer steps, each slightly slower."""
    schedule: Literal["linear", "inverse-root", "constant"] = "linear"
    """Learning rate after the warm-up: linear to zero at the end, 1/√step as in the paper, or constant."""
    adam_betas: tuple[float, float] = (0.9, 0.98)
    """Adam's two decay rates."""
    adam_epsilon: float = 1e-9
    """Adam's ε."""
    weight_decay: float = 0.0
    """Weight decay of the matrices of linear layers. Embeddings, biases and norms have none."""
    max_grad_norm: float = 1.0
    """Gradient clipping: the largest norm of the gradient; 0 for no limit."""
    validate_every: int
    """Steps between two validations. Each keeps a snapshot of the weights."""
    average: int = 5
    """Number of snapshots that are averaged at the end."""
    keep: Literal["best", "last"] = "best"
    """Which weights to keep: "best" is the snapshot with the lowest validation loss, or the average of the last ones if
    that is better; "last" is for models that should memorize their training data."""
    patience: int = 0
    """Early stopping: stop after this many validations without improvement; 0 for never."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to train. auto: a GPU if torch finds one, otherwise the CPU."""
    processes: int = 0
    """Processes that share every batch on this machine; 0 chooses the number."""
    gradient_accumulation_steps: int = 0
    """Gradient accumulation: compute each batch in this many parts, with less memory and the same result.
    0 is one part on a GPU; on a CPU it chooses parts that fit its caches."""
    precision: Precision = "auto"
    """Mixed precision: the number format of matrix products. auto chooses bf16 or, on a CPU, int16 if that is faster.
    Weights, sums and updates are always float32."""
    sharded: bool = False
    """With torchrun: divide weights and optimizer state among the processes instead of copying them (FSDP)."""
    log_every: int = 25
    """Steps between two lines in log.jsonl."""
    milestones: bool = False
    """Also keep the weights of steps 8, 16, 32, 64 …, so that the explorer can show how the model learned."""

    def rules(self) -> list[Rule]:
        return [
            ("batch_tokens", "must be at least 1", self.batch_tokens >= 1),
            ("learning_rate", "must be more than 0", self.learning_rate > 0),
            ("warmup_steps", "must not be negative", self.warmup_steps >= 0),
            ("adam_betas", "must be at least 0 and below 1", all(0 <= beta < 1 for beta in self.adam_betas)),
            ("adam_epsilon", "must be more than 0", self.adam_epsilon > 0),
            ("weight_decay", "must not be negative", self.weight_decay >= 0),
            ("max_grad_norm", "must not be negative", self.max_grad_norm >= 0),
            ("validate_every", "must be at least 1", self.validate_every >= 1),
            ("average", "must be at least 1", self.average >= 1),
            ("patience", "must not be negative", self.patience >= 0),
            ("processes", "must not be negative", self.processes >= 0),
            ("gradient_accumulation_steps", "must not be negative", self.gradient_accumulation_steps >= 0),
            ("log_every", "must be at least 1", self.log_every >= 1),
        ]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of every run. Each family adds its own."""

    steps: int | None
    """Training steps."""
    minutes: float | None = None
    """Time limit in minutes. The learning-rate schedule ends with the limit that is reached first."""
    seed: int = 1
    """Random seed. The same seed gives the same run."""
    training: Annotated[TrainingSettings, FLAT]

    def rules(self) -> list[Rule]:
        """Checks of the values. Subclasses add theirs."""
        return [
            ("steps", "must be at least 1", self.steps is None or self.steps >= 1),
            ("minutes", "must be more than 0", self.minutes is None or self.minutes > 0),
            *self.training.rules(),
        ]

    def check(self) -> None:
        """Reject values that would fail, or be useless, after minutes of work."""
        check_rules(self.rules())


@dataclass(frozen=True, kw_only=True)
class TuningSettings(RunSettings):
    """Settings of every run that fine-tunes a model."""

    epochs: float = 3
    """Passes over the data, if neither steps nor minutes are given."""

    def rules(self) -> list[Rule]:
        finite = 0 < self.epochs < math.inf
        return [*super().rules(), ("epochs", "must be more than 0, and finite", finite)]


@dataclass(frozen=True, kw_only=True)
class ContinueSettings(TuningSettings):
    """Settings of a run that continues with the model's own task."""

    dropout: float | None = None
    """Dropout rate; by default the model's."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), share_below_one("dropout", self.dropout or 0)]


@dataclass(frozen=True, kw_only=True)
class SmoothedContinueSettings(ContinueSettings):
    """The same for a model with label smoothing."""

    OLD_NAMES: ClassVar = {"smoothing": "label_smoothing"}

    label_smoothing: float | None = None
    """Label smoothing; by default the model's."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), share_below_one("label_smoothing", self.label_smoothing or 0)]


@dataclass(frozen=True)
class SettingsTable:
    """A recipe that is given as settings, in the groups of run.json. They are exact; the automatic recipe chooses the rest."""

    chosen: Mapping[str, Any]

    def recipe(self, automatic: Recipe) -> Recipe:
        def own(amount: int) -> Any:
            settings = automatic(amount)
            return from_dict(type(settings), merge(asdict(settings), self.chosen), "recipe")

        return cast(Recipe, own)


def parse_recipe(text: str) -> str | SettingsTable:
    """The name of a recipe, or a table of settings as JSON: `--recipe` and run.json hold either as a text."""
    if not text.startswith("{"):
        return text
    try:
        return SettingsTable(json.loads(text))
    except json.JSONDecodeError:
        raise QkvError("the settings of the recipe are not valid JSON.") from None


def find_recipe(text: str, recipes: Mapping[str, Recipe]) -> Recipe:
    """The recipe of this name, or the one of a table of settings."""
    recipe = parse_recipe(text)
    if isinstance(recipe, SettingsTable):
        return recipe.recipe(recipes["automatic"])
    if recipe not in recipes:
        near = difflib.get_close_matches(recipe, recipes, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(recipes)}."
        raise QkvError(f"there is no recipe '{recipe}'; {hint}")
    return recipes[recipe]


def merge(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings with some of them replaced."""
    found = dict(settings)
    for name, value in changes.items():
        inner = found.get(name)
        found[name] = merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return found


def for_width(
    recipe: Callable[[int, int], RunSettings], width: int
) -> dict[str, Callable[[int], RunSettings]]:
    """Recipes for a model of this width."""

    def automatic(amount: int) -> RunSettings:
        return recipe(amount, width)

    automatic.__doc__ = recipe.__doc__
    return {"automatic": automatic}
