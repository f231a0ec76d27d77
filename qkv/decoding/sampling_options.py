"""How tokens are sampled. Without torch, so that options and `--help` can use it."""

from dataclasses import dataclass

COLDEST, HOTTEST = 1e-6, 1e6  # beyond these, scores divided by the temperature overflow in float32


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """By default, tokens are drawn from the whole vocabulary with the model's probabilities."""

    temperature: float = 1.0
    """For sampling: below 1 likely tokens become likelier, above 1 the distribution becomes flatter."""
    top_k: int = 0
    """For sampling: only the k likeliest tokens; 0 for all."""
    top_p: float = 1.0
    """For sampling: nucleus sampling, the smallest set of tokens whose probabilities add up to this."""
    min_p: float = 0.0
    """For sampling: only tokens with at least this share of the probability of the likeliest one."""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError("the temperature must be above 0")
        if not COLDEST <= self.temperature <= HOTTEST:
            raise ValueError(f"the temperature must be between {COLDEST:.6f} and {HOTTEST:,.0f}")
        if self.top_k < 0:
            raise ValueError("top-k must not be negative")
        if not 0 < self.top_p <= 1 or not 0 <= self.min_p <= 1:
            raise ValueError("top-p must be in (0, 1] and min-p in [0, 1]")
