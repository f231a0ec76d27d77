"""The options of a translation, each stated once.

The fields of `TranslationOptions` are the flags of `qkv translate` and the keyword arguments of `Translator.translate`. A new
option is a field here, with its docstring and its check, and a rule in decoding that implements it. The engine's own
search passes every option that it does not know to the general search (see `plain_search`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

from qkv.decoding.sampling_options import Sampling, sampling_rules
from qkv.documents.reading import ReadingOptions
from qkv.errors import InputError, check_rules
from qkv.flags import Flag, OptionMessageError, OrData
from qkv.text.glossary import Glossary
from qkv.text.patterns import MOST_PATTERNS, compile_pattern
from qkv.text.protect import BY_DEFAULT, KINDS, Kind, Protection

PROTECTED = KINDS  # everything that can be protected
WIDEST_BEAM = 1_000  # a typo must not use up all memory
STRONGEST_PENALTY = 50.0  # an exponent: the length of any text to this power is still finite
BATCH_TOKENS = 4_096
SEED = 1


@dataclass(frozen=True, kw_only=True)
class TranslationOptions(Sampling):
    """How texts are translated. None means the model's own default.

    Example:
        >>> options = qkv.TranslationOptions(beam_size=4, length_penalty=0.6)
        >>> translator = qkv.load("runs/en-de")
        >>> translator.translate("one two", options) == translator.translate("one two", beam=4, length_penalty=0.6)
        True
    """

    beam_size: Annotated[int | None, Flag(aliases=["--beam"])] = None
    """Hypotheses kept at every step; 1 is greedy. By default, the model's own setting."""
    length_penalty: float | None = None
    """Exponent of the length penalty; 0 for none."""
    num_hypotheses: int = 1
    """Translations of each text, best first."""
    patience: float | None = None
    """Stop when this many times the beam size have finished; by default, when no better one is possible."""
    coverage_penalty: float = 0.0
    """Weight of a penalty for source words that got little attention."""
    sample: bool = False
    """Sample tokens instead of searching for the likeliest."""
    seed: int | None = None
    """For sampling: the same seed and text give the same translation; 1 if none is given."""
    repetition_penalty: float = 1.0
    """Above 1, tokens that occurred before become less likely."""
    no_repeat_ngram_size: int = 0
    """No sequence of this many tokens occurs twice; 0 turns this off."""
    prefix: str = ""
    """Every translation begins with this."""
    contain: tuple[str, ...] = ()
    """A phrase that every translation contains; case matters. Several are allowed."""
    avoid: tuple[str, ...] = ()
    """A phrase that no translation contains, not even inside a word; case matters. Several are allowed."""
    glossary: OrData[Glossary] = field(default_factory=Glossary)
    """Terms with a fixed translation: a file with a source term, a tab and its translation on each line."""
    protect: tuple[Kind, ...] = BY_DEFAULT
    """What is copied unchanged: placeholders, tags, urls, emails, numbers; or none. Instead of placeholders in general,
    those of c-format, python-format, python-brace-format, qt-format, ruby-format, i18next-format or icu-format."""
    protect_pattern: tuple[str, ...] = ()
    """A regular expression whose matches are copied unchanged, in addition to the kinds above. Several are allowed. It must not
    match an empty text. A slow expression makes the translation slow."""
    target_language: str | None = None
    """Target language, for a model with several. A text that begins with >>code<< overrides it."""
    draft: str | None = None
    """Folder of a smaller model with the same vocabulary, such as a student, that drafts for single sentences. The model checks
    several tokens at once, so greedy search (beam size 1) is faster. The translations are the same."""
    shortlist: bool = True
    """Use the model's vocabulary shortlist, if it has one whose loss was measured."""
    batch_tokens: int = BATCH_TOKENS
    """Source tokens times beam size per batch: more is faster and takes more memory."""
    alignments: bool = False
    """Also report word alignments: 0-0 1-2 …"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "glossary", Glossary.from_any(self.glossary))
        check_rules(sampling_rules(self.temperature, self.top_k, self.top_p, self.min_p))
        check_search(self)
        check_sampling(self)
        check_phrases(self)
        check_patterns(self.protect_pattern)

    @property
    def protected(self) -> tuple[Protection, ...]:
        """Everything that is copied unchanged: patterns of the caller first."""
        return (*map(compile_pattern, self.protect_pattern), *self.protect)

    @property
    def sampling(self) -> Sampling | None:
        """How tokens are sampled; None if they are not."""
        return self if self.sample else None

    def likeliest(self) -> "TranslationOptions":
        """The same options for the single best translation, without sampling."""
        unchanged: dict[str, Any] = {each.name: each.default for each in fields(Sampling)}
        return replace(self, num_hypotheses=1, sample=False, seed=None, **unchanged)


def check_search(options: TranslationOptions) -> None:
    beam, penalty, patience = options.beam_size, options.length_penalty, options.patience
    widest = f"must be from 1 to {WIDEST_BEAM:,}"
    strongest = f"must be from 0 to {STRONGEST_PENALTY:g}"
    check_rules(
        [
            ("beam_size", widest, beam is None or 1 <= beam <= WIDEST_BEAM),
            ("num_hypotheses", widest, 1 <= options.num_hypotheses <= WIDEST_BEAM),
            ("length_penalty", strongest, penalty is None or 0 <= penalty <= STRONGEST_PENALTY),
            ("batch_tokens", "must be at least 1", options.batch_tokens >= 1),
            ("repetition_penalty", "must be more than 0", options.repetition_penalty > 0),
            ("no_repeat_ngram_size", "must not be negative", options.no_repeat_ngram_size >= 0),
            ("patience", "must be more than 0", patience is None or patience > 0),
            ("coverage_penalty", "must not be negative", 0 <= options.coverage_penalty < math.inf),
        ]
    )


def check_sampling(options: TranslationOptions) -> None:
    given = [each.name for each in fields(Sampling) if getattr(options, each.name) != each.default]
    if options.seed is not None:
        given.append("seed")
    if given and not options.sample:
        names = " and ".join(f"{{{name}}}" for name in given)
        raise OptionMessageError(f"{names} can only be used with {{sample}}.")


def check_phrases(options: TranslationOptions) -> None:
    if not all(map(str.strip, options.contain)) or not all(options.avoid):
        raise InputError("a phrase to contain or to avoid must not be empty.")
    for avoided in options.avoid:
        if avoided in options.prefix:
            raise InputError(f"a translation cannot begin with {options.prefix!r} and avoid {avoided!r}.")
        for phrase in options.contain:
            if avoided in f" {phrase}":  # a phrase follows a space
                raise InputError(f"a translation cannot contain {phrase!r} and avoid {avoided!r}.")


def check_patterns(patterns: Sequence[str]) -> None:
    check_rules(
        [("protect_pattern", f"can be given {MOST_PATTERNS} times at most", len(patterns) <= MOST_PATTERNS)]
    )
    for pattern in patterns:
        try:
            compile_pattern(pattern)
        except ValueError as error:
            raise OptionMessageError(
                "{protect_pattern} {pattern} cannot be used: {error}.",
                pattern=repr(pattern[:80]),
                error=error,
            ) from None


@dataclass(frozen=True, kw_only=True)
class ConfidenceOptions:
    """What happens to translations that are probably bad."""

    min_confidence: float | None = None
    """Mark translations whose probability of being good is lower than this."""
    withhold: bool = False
    """Give an empty text instead of a translation below the minimum confidence."""

    def __post_init__(self) -> None:
        least = self.min_confidence
        check_rules(
            [
                ("min_confidence", "must be in [0, 1]", least is None or 0 <= least <= 1),
                ("withhold", "needs {min_confidence}", not self.withhold or least is not None),
            ]
        )


@dataclass(frozen=True, kw_only=True)
class LineOptions:
    """What is written for each line of a file."""

    scores: bool = False
    """After each translation write a tab, its log-probability, a tab, and the probability that it is good. The latter is
    empty for copied lines and for models without calibration. Tabs in the translation become spaces."""
    json: bool = False
    """Write one JSON object per line, with scores, words and alignments."""


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """Translations by people that are used again."""

    memory: str | None = None
    """Translation memory: a file of `qkv memory`, or a .tmx, .tsv, .jsonl or .po file. A text that it has, also with other numbers and
    placeholders, is not translated by the model. Similar texts are reported."""


Format = Literal[
    "txt", "po", "pot", "json", "arb", "xliff", "xlf", "xml", "resx", "ts", "html", "htm", "srt", "vtt", "properties", "strings",
    "yaml", "yml", "md", "markdown", "mdx", "ipynb", "docx", "pptx", "xlsx", "odt", "epub", "csv", "tsv", "jsonl",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FileOptions(ReadingOptions):
    """How a file is read, and what is translated in it."""

    format: Format | None = None
    """Format of the input file; by default, by its name. txt is plain text, line by line."""
    all: bool = False
    """In catalogs such as .po, also translate what has a translation."""
    also_fuzzy: bool = False
    """In catalogs such as .po, also translate again what is marked as fuzzy."""
    accelerator: Literal["&", "_", "~"] | None = None
    """The sign of accelerators, as in &File or _Open. In Qt's files it is &."""
    max_length_ratio: float | None = None
    """The most characters of a translation, relative to its source: 1.5 for half as many again. Longer ones are replaced by a shorter
    translation if there is one, and otherwise doubtful."""

    def __post_init__(self) -> None:
        super().__post_init__()
        ratio = self.max_length_ratio
        check_rules([("max_length_ratio", "must be more than 0", ratio is None or 0 < ratio < math.inf)])


DEFAULTS = TranslationOptions()
ANY_CONFIDENCE = ConfidenceOptions()
PLAIN_LINES = LineOptions()
NO_MEMORY = MemoryOptions()
ANY_FILE = FileOptions()
