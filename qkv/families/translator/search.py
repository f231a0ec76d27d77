"""From source ids to hypotheses: in batches of similar length, each under its own rules."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from qkv.core.translation import CrossHeads, TranslationRunner
from qkv.decoding.beam_options import PENALTIES, Beam, LengthNorm, LengthPenalty
from qkv.decoding.hypothesis import Hypothesis
from qkv.engine import Engine, PlainRequest, PlainSearch
from qkv.errors import QkvError
from qkv.families.translator.options import WIDEST_BEAM, TranslationOptions
from qkv.families.translator.shortlist import Shortlist

if TYPE_CHECKING:
    import numpy as np

    from qkv.families.translator.general_search import GeneralSearch

WIDEST = 16  # beams for required phrases: more cost more than they gain


@dataclass(frozen=True, kw_only=True)
class Request:
    """The ids of one source, and the rules for its translation."""

    source: Sequence[int]
    prefix: tuple[int, ...] = ()
    contain: tuple[tuple[int, ...], ...] = ()
    once: int = 0  # the first `once` phrases may occur only once
    avoid: tuple[int, ...] = ()  # indices of automata
    no_repeat_ngram_size: int = 0
    whole: bool = False  # no incomplete characters
    seed: int = 0
    limit: int = 0  # the most tokens; 0 for twice the source and a little more
    beams: int = 0  # the most beams; 0 for as many as the search has


@dataclass(frozen=True, kw_only=True)
class Search:
    """Options with the beam size and the length penalty filled in."""

    options: TranslationOptions
    beam: int
    length_penalty: float
    length_norm: LengthNorm = "paper"
    look: CrossHeads | None = None
    """Heads whose attention the coverage penalty counts."""
    align: CrossHeads | None = None
    """Heads whose attention the engine records for alignments. Other searches leave it out."""
    scored: bool = True
    """False if nobody reads the scores of free translations; the engine's greedy search then leaves them out."""

    @property
    def best(self) -> int:
        return self.options.num_hypotheses

    @property
    def penalty(self) -> LengthPenalty:
        return PENALTIES[self.length_norm](self.length_penalty)


# Options that the engine's own search implements, that it may ignore because other code implements them, and that it
# supports only at their default. Any other field goes to the general search, whatever its value.
OBEYED = frozenset({"beam_size", "length_penalty", "num_hypotheses", "patience"})
BY_REQUESTS = frozenset(
    {"prefix", "contain", "avoid", "no_repeat_ngram_size", "seed", "shortlist"}
)  # see plain_request and uses_shortlist
BY_THE_CALLER = frozenset(
    {"target_language", "glossary", "protect", "protect_pattern", "alignments", "batch_tokens", "draft"}
)
ONLY_BY_DEFAULT = frozenset(
    {"coverage_penalty", "repetition_penalty", "sample", "temperature", "top_k", "top_p", "min_p"}
)
# Fields of a request: `seed` has no effect without sampling. Any other field goes to the general search, whatever its value.
OBEYED_OF_A_REQUEST = frozenset(
    {
        *("source", "limit", "seed", "no_repeat_ngram_size", "whole"),
        *("prefix", "avoid", "beams", "contain", "once"),
    }
)


def plain_search(search: Search, never: int | None) -> PlainSearch | None:
    """The same for the engine's own search; None if it does not support one of the options."""
    known = OBEYED | BY_REQUESTS | BY_THE_CALLER
    if not asks_only_for(search.options, known, ONLY_BY_DEFAULT):
        return None
    if not asks_only_for(
        search, frozenset({"options", "beam", "length_penalty", "length_norm", "look", "align", "scored"})
    ):
        return None
    beam = beam_of(replace(search, beam=max(search.beam, search.best)))  # see also `kind_of`
    return PlainSearch(
        width=beam.width,
        penalty=beam.penalty,
        best=beam.best,
        patience=beam.enough_ended or 0,
        never=never,
        look=search.align,
        scored=search.scored,
    )


def plain_request(request: Request, source: Sequence[int], limit: int) -> PlainRequest | None:
    """The same for the engine's own search; None if the request has a rule that it does not know. `source` is complete."""
    if not asks_only_for(request, OBEYED_OF_A_REQUEST):
        return None
    rules = request.prefix, request.avoid, request.contain
    return PlainRequest(source, limit, *rules, once=request.once)


def uses_shortlist(request: Request, options: TranslationOptions) -> bool:
    """Whether a request may use a shortlist: only one without rules, which could need tokens that are not on it."""
    ruled = (
        request.prefix or request.contain or request.avoid or request.whole or request.no_repeat_ngram_size
    )
    return options.shortlist and not options.sample and not ruled


def asks_only_for(record: Any, obeyed: frozenset[str], by_default: frozenset[str] = frozenset()) -> bool:
    """Whether every field of a dataclass is obeyed, or is in `by_default` and has its default."""
    kind: Any = type(record)
    checked = defaults_to_check(kind, obeyed)
    return checked.keys() <= by_default and all(
        getattr(record, name) == default for name, default in checked.items()
    )


@cache
def defaults_to_check(kind: Any, obeyed: frozenset[str]) -> dict[str, Any]:
    """The fields of a dataclass that are not obeyed, and their defaults."""
    return {
        each.name: each.default if each.default_factory is MISSING else each.default_factory()
        for each in fields(kind)
        if each.name not in obeyed
    }


@dataclass(frozen=True)
class Plain:
    """The requests that the engine can search by itself, by row."""

    search: PlainSearch | None
    requests: dict[int, PlainRequest]


@dataclass(frozen=True)
class Kind:
    """What the requests of one compiled search have in common."""

    no_repeat_ngram_size: int
    whole: bool
    listed: bool
    constrained: bool
    width: int


def kind_of(request: Request, search: Search) -> Kind:
    listed, width = uses_shortlist(request, search.options), width_for(request, search)
    return Kind(request.no_repeat_ngram_size, request.whole, listed, bool(request.contain), width)


class Searcher:
    """Searches with models of one vocabulary.

    `boundary` returns for every id whether it does not continue a word. `automata` are phrases to avoid, (P, states, V).
    `characters` returns the automaton of whole characters, or None if every token is made of whole characters. `drafter` is a
    smaller model that drafts where that is faster; it changes no hypothesis. `shortlist` is used for a single model, if its
    loss is known.
    """

    def __init__(
        self,
        runners: Sequence[TranslationRunner],
        boundary: Callable[[], Sequence[bool]],
        automata: "np.ndarray | None" = None,
        characters: Callable[[], "np.ndarray | None"] = lambda: None,
        drafter: Engine | None = None,
        shortlist: Shortlist | None = None,
    ):
        self.runners = runners
        engines = [each for each in runners if isinstance(each, Engine)]
        all_compiled = len(engines) == len(runners)
        self.engine = engines[0].together_with(engines[1:]).drafted_by(drafter) if all_compiled else None
        self.boundary, self.automata, self.characters = boundary, automata, characters
        usable = shortlist is not None and shortlist.is_trusted and len(runners) == 1
        self.shortlist = shortlist if usable else None
        self.config = runners[0].config
        # Marian's models begin with padding, which must not occur again
        self.never = self.config.pad if self.config.pad == self.config.start else None
        self.context = min(runner.config.max_length for runner in runners)

    @cached_property
    def general(self) -> "GeneralSearch":
        """What decodes everything that the engine's own search does not. It imports NumPy."""
        from qkv.families.translator.general_search import GeneralSearch

        return GeneralSearch(self)

    def find(
        self, requests: Sequence[Request], search: Search, done: Callable[[int], None]
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each request, best first."""
        if search.options.sample and search.best > 1 and not any(each.contain for each in requests):
            return self.find_samples(requests, search, done)  # each sample is drawn on its own
        found: list[list[Hypothesis]] = [[] for _ in requests]
        for rows, results in self.decoded(requests, search):
            for row, hypotheses in zip(rows, results, strict=True):
                found[row] = hypotheses
            done(len(rows))
        if not all(each and all(abs(h.score) < float("inf") for h in each) for each in found):
            if any(each.prefix or each.contain or each.avoid for each in requests):
                raise QkvError(
                    "no translation satisfies the prefix and the phrases to contain and avoid together: relax one of them."
                )
            raise QkvError("the model's scores are NaN or infinite: its weights are broken. Train it again.")
        return found

    def decoded(
        self, requests: Sequence[Request], search: Search
    ) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """The rows of each batch and their hypotheses. The engine searches by itself where it can."""
        plain = self.plain(requests, search)
        others = [row for row in range(len(requests)) if row not in plain.requests]
        for rows, width in self.batches(others, requests, search):
            yield rows, self.general.decode([requests[row] for row in rows], replace(search, beam=width))
        if self.engine is None or plain.search is None:
            return
        alike: dict[Kind, list[int]] = {}
        for row in plain.requests:
            alike.setdefault(kind_of(requests[row], search), []).append(row)
        for kind, members in alike.items():
            rules = self.rules_of(kind, plain.search, search)
            batches = [rows for rows, _ in self.batches(members, requests, search)]
            batches.reverse()  # the longest first, so that all threads finish together
            sources = [[plain.requests[row] for row in rows] for rows in batches]
            yield from zip(batches, self.engine.search_plain(sources, rules), strict=True)

    def rules_of(self, kind: "Kind", plain: PlainSearch, search: Search) -> PlainSearch:
        """The engine's search for requests of one kind."""
        beam = beam_of(replace(search, beam=kind.width))
        return replace(
            plain,
            width=kind.width,
            best=beam.best if kind.width > 1 or kind.constrained else 1,  # greedy search finds one
            patience=beam.enough_ended or 0,
            no_repeat_ngram_size=kind.no_repeat_ngram_size,
            characters=self.characters() if kind.whole else None,
            automata=self.automata,
            starts=bytes(self.boundary()) if kind.constrained else None,
            shortlist=self.shortlist if kind.listed else None,
        )

    def plain(self, requests: Sequence[Request], search: Search) -> "Plain":
        """The part that the engine's own search can handle."""
        supported = None if self.engine is None else plain_search(search, self.never)
        if self.engine is None or supported is None:
            return Plain(None, {})
        each = {
            row: plain_request(request, self.config.complete_source(request.source), self.limit(request))
            for row, request in enumerate(requests)
            if self.engine.can_force or not (request.prefix or request.contain)
        }
        return Plain(supported, {row: request for row, request in each.items() if request is not None})

    def find_samples(
        self, requests: Sequence[Request], search: Search, done: Callable[[int], None]
    ) -> list[list[Hypothesis]]:
        each = range(search.best)
        drawn = [replace(request, seed=request.seed + number) for request in requests for number in each]
        one = replace(search, options=replace(search.options, num_hypotheses=1))
        found = self.find(drawn, one, lambda _: None)
        done(len(requests))
        rows = [found[start : start + search.best] for start in range(0, len(found), search.best)]
        return [sorted((row[0] for row in group), key=lambda h: -h.score) for group in rows]

    def batches(
        self, rows: Sequence[int], requests: Sequence[Request], search: Search
    ) -> Iterator[tuple[list[int], int]]:
        """Group rows into batches, each with its beam size."""
        alike: dict[tuple[bool, int, int, int], list[int]] = {}
        for row in rows:
            request = requests[row]
            width = width_for(request, search)
            alike.setdefault(
                (bool(request.contain), request.once, request.no_repeat_ngram_size, width), []
            ).append(row)
        for (*_, width), members in alike.items():
            lengths = [len(requests[row].source) + 1 for row in members]
            if self.engine is not None:
                batches = self.engine.batches(lengths, width, search.options.batch_tokens)
            else:
                from qkv.data.batching import token_batches

                batches = list(
                    token_batches(lengths, max(1, search.options.batch_tokens // width), seed=None)
                )
            yield from (([members[place] for place in batch], width) for batch in batches)

    def limit(self, request: Request) -> int:
        """The most tokens of a translation: twice the source and a little more, within the model's positions."""
        needed = len(request.prefix) + sum(map(len, request.contain)) + 1
        if needed > self.context:
            raise QkvError(
                f"the prefix and the phrases to contain need {needed} tokens, but this model has only {self.context} "
                "positions: shorten them."
            )
        usual = 2 * len(request.source) + 20 + needed - 1
        return min(max(needed, request.limit) if request.limit else usual, self.context)


def beam_of(search: Search) -> Beam:
    return Beam(
        width=search.beam,
        penalty=search.penalty,
        best=search.best,
        patience=search.options.patience,
        coverage=search.options.coverage_penalty,
    )


def width_for(request: Request, search: Search) -> int:
    """The beam size for a request. With required phrases, every number of completed phrase tokens needs its own beams."""
    width = max(search.beam, search.best)
    most = request.beams or WIDEST_BEAM
    if not request.contain:
        return 1 if search.options.sample else min(width, most)
    levels = sum(map(len, request.contain)) + 1
    return min(max(width, min(2 * levels, WIDEST)), most)
