"""The options of text and music generation, each stated once.

The fields are the flags of `qkv generate` and the keyword arguments of `LanguageModel.generate`.
"""

from dataclasses import dataclass

from qkv.decoding.sampling_options import Sampling, sampling_rules
from qkv.errors import check_rules

MOST_TOKENS = 1_000_000_000
LARGEST_SEED = 10**18  # torch's limit has 18 digits


@dataclass(frozen=True, kw_only=True)
class GenerationOptions:
    """How text or music is generated.

    Example:
        >>> options = qkv.GenerationOptions(max_new_tokens=5, temperature=0)
        >>> model = qkv.load("runs/gpt")
        >>> model.generate("one", options) == model.generate("one", max_new_tokens=5, temperature=0)
        True
    """

    max_new_tokens: int = 200
    """Most tokens to generate. In music, four tokens are a sixteenth note."""
    temperature: float = 0.8
    """Sampling temperature. Below 1 favors likely tokens, above 1 evens them out; 0 always takes the likeliest."""
    top_k: int = 0
    """Sample from the k likeliest tokens; 0 for all."""
    top_p: float = 0.95
    """Nucleus sampling: the smallest set of tokens whose probabilities add up to this."""
    min_p: float = 0.0
    """Sample from tokens at least this share as likely as the likeliest."""
    seed: int = 1
    """The same seed gives the same output."""
    stop: str = ""
    """Stop before this text."""

    def __post_init__(self) -> None:
        count = self.max_new_tokens
        check_rules(
            [
                ("max_new_tokens", f"must be from 1 to {MOST_TOKENS:,}", 1 <= count <= MOST_TOKENS),
                ("seed", "must have at most 18 digits", abs(self.seed) < LARGEST_SEED),
                (
                    "temperature",
                    "must be 0 or more; 0 always takes the likeliest token",
                    self.temperature >= 0,
                ),
                *sampling_rules(
                    self.temperature if self.temperature > 0 else 1.0, self.top_k, self.top_p, self.min_p
                ),
            ]
        )

    @property
    def sampling(self) -> Sampling:
        """With temperature 0 nothing is sampled, but the other options are checked."""
        temperature = self.temperature or 1.0
        return Sampling(temperature=temperature, top_k=self.top_k, top_p=self.top_p, min_p=self.min_p)


DEFAULTS = GenerationOptions()
