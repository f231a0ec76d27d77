"""How tokens are sampled. Without torch, so that options and `--help` can use it."""

from dataclasses import dataclass

Rule = tuple[str, str, bool]
"""The name of an option, what it must be, and whether it is."""
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
        for name, must, holds in sampling_rules(self.temperature, self.top_k, self.top_p, self.min_p):
            if not holds:
                raise ValueError(f"{name} {must}")


def sampling_rules(temperature: float, top_k: int, top_p: float, min_p: float) -> list[Rule]:
    """NaN breaks every rule."""
    return [
        temperature_rule(temperature),
        ("top_k", "must not be negative", top_k >= 0),
        top_p_rule(top_p),
        ("min_p", "must be in [0, 1]", 0 <= min_p <= 1),
    ]


def temperature_rule(temperature: float) -> Rule:
    warm = f"must be between {COLDEST:.6f} and {HOTTEST:,.0f}" if temperature > 0 else "must be above 0"
    return "temperature", warm, COLDEST <= temperature <= HOTTEST


def top_p_rule(top_p: float) -> Rule:
    return "top_p", "must be in (0, 1]", 0 < top_p <= 1
