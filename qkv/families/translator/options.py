"""How a translator is asked to translate."""

import math
from dataclasses import dataclass, field

from qkv.decoding.sampling import Sampling
from qkv.errors import UserError
from qkv.text.glossary import Glossary
from qkv.text.protect import BY_DEFAULT, KINDS, Kind

PROTECTED = KINDS  # all that can be
WIDEST_BEAM = 1_000  # a slip of the finger would take all memory
STRONGEST_PENALTY = 50.0  # on length: to this power the length of any text is still a number
BATCH_TOKENS = 4_096  # source tokens times beams decoded together


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """What is wanted of translations; None means what the model has as its default."""

    beam: int | None = None
    """Hypotheses kept at every step; 1 is greedy."""
    length_penalty: float | None = None
    """Exponent of the length penalty; 0 for none."""
    nbest: int = 1
    """Answers for each text, best first."""
    patience: float | None = None
    """Stop when so many times the beam have ended; without it, when no better answer can come."""
    coverage_penalty: float = 0.0
    """Weight of a penalty for source words that were hardly looked at."""
    sampling: Sampling | None = None
    """Draw words by chance instead of searching for the likeliest."""
    seed: int = 1
    """Of the chance: the same seed and text give the same answer, whatever stands beside it."""
    repetition_penalty: float = 1.0
    """Above 1, what was said already becomes less likely."""
    no_repeat: int = 0
    """No sequence of so many pieces is said twice; 0 for no such rule."""
    prefix: str = ""
    """Every answer begins with this."""
    contain: tuple[str, ...] = ()
    """Phrases that every answer contains."""
    avoid: tuple[str, ...] = ()
    """Phrases that no answer contains."""
    glossary: Glossary = field(default_factory=Glossary)
    """Terms whose translation is fixed."""
    protect: tuple[Kind, ...] = BY_DEFAULT
    """What is kept as it is."""
    language: str | None = None
    """Target language, for a model of several; a text that begins with >>its code<< asks for it as well."""
    batch_tokens: int = BATCH_TOKENS
    """Source tokens times beams that are decoded together."""
    alignments: bool = False
    """Which word comes from which: tell it with every answer."""

    def __post_init__(self) -> None:
        beam, alpha = self.beam, self.length_penalty
        if (beam is not None and beam < 1) or (alpha is not None and not 0 <= alpha <= STRONGEST_PENALTY):
            raise UserError(
                f"--beam must be at least 1, and the length penalty from 0 to {STRONGEST_PENALTY:g}."
            )
        if self.nbest < 1 or self.batch_tokens < 1:
            raise UserError("the number of answers and the tokens decoded together must be at least 1.")
        if max(beam or 1, self.nbest) > WIDEST_BEAM:
            raise UserError(f"--beam and --nbest can be at most {WIDEST_BEAM:,}: more finds nothing more.")
        if not self.repetition_penalty > 0 or self.no_repeat < 0:
            raise UserError("the repetition penalty must be above 0, and --no-repeat not negative.")
        if (self.patience is not None and not self.patience > 0) or not 0 <= self.coverage_penalty < math.inf:
            raise UserError("patience must be above 0 and the coverage penalty not negative.")
        for avoided in self.avoid:
            if avoided and avoided in self.prefix:
                raise UserError(f"a translation cannot begin with '{self.prefix}' and avoid '{avoided}'.")
        if not all(map(str.strip, self.contain)) or not all(self.avoid):
            raise UserError("a phrase to contain or to avoid must not be empty.")
