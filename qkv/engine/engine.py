"""The engine of translators: decoding of a batch as a Step, and compiled greedy and beam search.

The compiled search needs no NumPy. Importing it takes longer than translating a sentence.
"""

import ctypes
from array import array
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qkv.core.translation import CrossHeads
from qkv.decoding.beam_options import LengthPenalty
from qkv.decoding.hypothesis import Hypothesis
from qkv.engine.library import WishStruct, library
from qkv.engine.packed_file import pack
from qkv.engine.session import Session, SomeSession, address, check_position
from qkv.engine.shortlist import CompiledShortlist, Dictionary
from qkv.families.translator.config import TranslatorConfig

if TYPE_CHECKING:
    from qkv.engine.stepping import EngineStep

Batch = tuple[Sequence[Sequence[int]], Sequence[int]]  # sources, and the maximum length of each output

TOGETHER = 1_024  # tokens per batch, so that their data stays in a core's cache
LEAST_STEP = 4 << 20  # bytes that a step reads; the weights of a smaller decoder stay in a core's cache
CHEAPER = 4  # a drafter's step must read at most this part of the model's
FEW = 8  # sentences per thread; fewer are not worth dividing


@dataclass(frozen=True, kw_only=True)
class PlainSearch:
    """Everything that the compiled search supports: greedy for a width of 1, otherwise beam search.

    Callers convert their options to this record and use the general search for anything else.
    """

    width: int
    penalty: LengthPenalty
    best: int = 1
    patience: int = 0
    """Stop when this many have finished; 0: when nothing better is possible."""
    least: int = 1
    """The minimum number of ids."""
    never: int | None = None
    """An id that is excluded."""
    no_repeat_ngram_size: int = 0
    """No n-gram of this size occurs twice; 0: all may."""
    characters: Any = None
    """The automaton of whole characters (qkv.text.whole_characters), or None."""
    look: CrossHeads | None = None
    """Heads whose mean attention is recorded at every step, for alignments."""
    automata: Any = None
    """The automata of banned phrases, int16 (P, states, V) as in qkv.decoding.rules, or None."""
    starts: bytes | None = None
    """For every id 0 if it continues a word, otherwise 1. A search with required phrases needs it, and no other has it."""
    shortlist: Dictionary | None = None
    """Only tokens on the list of a source; not with any rule about ids."""
    scored: bool = True
    """False if nobody reads scores: greedy search then leaves them 0, and takes less time."""


@dataclass(frozen=True)
class PlainRequest:
    """A complete source, the maximum length of its translation, and the rules of this one alone."""

    source: Sequence[int]
    limit: int
    prefix: Sequence[int] = ()
    """The first ids."""
    avoid: Sequence[int] = ()
    """The numbers of automata: their phrases do not occur."""
    contain: Sequence[Sequence[int]] = ()
    """Phrases that occur."""
    once: int = 0
    """The first `once` of them occur only once."""

    @property
    def has_rules(self) -> bool:
        return bool(self.prefix or self.avoid or self.contain)


class Engine:
    """A translator's weights, packed. `threads` share one decoding. Steps take and return NumPy arrays."""

    device: None = None
    others: "Sequence[Engine]" = ()  # the other models of an ensemble, for its own search
    drafter: "Engine | None" = None  # a smaller model that drafts for greedy search

    def __init__(
        self,
        config: TranslatorConfig,
        weights: Mapping[str, Any],
        *,
        int8: bool,
        threads: int,
    ):
        library()  # fail before packing weights if it is unavailable
        self.config, self.threads = config, threads
        self.shortlists: list[CompiledShortlist] = []  # the newest one, shared with copies
        self.packed = pack("translator", config, weights, int8=int8)

    def together_with(self, others: "Sequence[Engine]") -> "Engine":
        """The same model in an ensemble with others of its vocabulary: the mean of their probabilities decides in `search`."""
        made = copy(self)
        made.others = (*self.others, *others)
        return made

    def drafted_by(self, drafter: "Engine | None") -> "Engine":
        """The same model with a smaller one of its vocabulary that drafts in `search`, where that is faster.

        The hypotheses are the same, to the last bit of their scores.
        """
        made = copy(self)
        made.drafter = drafter if drafter is not None and drafting_pays(self, drafter) else None
        return made

    def can_draft(self, sentences: int, longest: int, plain: PlainSearch) -> bool:
        """A draft is for one sentence and greedy search over all tokens, without a record of its attention."""
        alone = (
            sentences == plain.width == plain.best == 1
            and not self.others
            and plain.look is None
            and plain.shortlist is None
        )
        return alone and self.drafter is not None and longest <= self.drafter.config.max_length

    def compiled_shortlist(self, dictionary: Dictionary) -> CompiledShortlist:
        """A dictionary for the compiled search. The newest one is kept."""
        for known in self.shortlists:
            if known.dictionary is dictionary:
                return known
        made = CompiledShortlist(self.packed, dictionary)
        self.shortlists[:] = [made]
        return made

    def with_one_thread(self) -> "Engine":
        """The same engine for a caller that has threads of its own."""
        one = copy(self)
        one.threads = 1
        return one

    def begin(self, sources: Sequence[Sequence[int]], look: CrossHeads | None = None) -> "EngineStep":
        """Sources end with the end token."""
        from qkv.engine.stepping import EngineStep

        return EngineStep(self, sources, look)

    def session(
        self,
        sources: Sequence[Sequence[int]],
        threads: int,
        look: CrossHeads | None,
        kind: type[SomeSession],
    ) -> SomeSession:
        if not all(sources):
            raise ValueError("a source sentence has no tokens")
        check_position(max(map(len, sources)), self.config.max_length)
        if min(map(min, sources)) < 0 or max(map(max, sources)) >= self.config.source_size:
            raise IndexError("an id is not in the vocabulary")
        return kind(self.packed, sources, threads, -1 if look is None else look.block)

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source (including its end token), best first. Equal to decoding with `begin`."""
        return self.searched(requests_of(sources, limits), plain, self.threads)

    def search_batches(
        self, batches: Sequence[Batch], plain: PlainSearch
    ) -> Iterator[list[list[Hypothesis]]]:
        """The same for several batches, each on its own thread."""
        return self.search_plain([requests_of(*batch) for batch in batches], plain)

    def search_plain(
        self, batches: Sequence[Sequence[PlainRequest]], plain: PlainSearch
    ) -> Iterator[list[list[Hypothesis]]]:
        """The same for batches of requests, which may have their own rules."""
        workers = min(self.threads, len(batches))
        if workers <= 1:
            yield from (self.searched(batch, plain, self.threads) for batch in batches)
            return

        def alone(batch: Sequence[PlainRequest]) -> list[list[Hypothesis]]:
            return self.searched(batch, plain, 1)

        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(workers) as pool:  # the compiled code releases the GIL
            yield from pool.map(alone, batches)

    @property
    def can_force(self) -> bool:
        """Whether it searches with prefixes and required phrases.

        The sum of an ensemble's probabilities may be rounded to 0, and the general search scores such ids more exactly.
        """
        return not self.others

    def searched(
        self, requests: Sequence[PlainRequest], plain: PlainSearch, threads: int
    ) -> list[list[Hypothesis]]:
        sources, limits = [each.source for each in requests], [each.limit for each in requests]
        longest, count, config = max(limits), len(sources) * plain.best, self.config
        check_position(longest, min(each.config.max_length for each in (self, *self.others)))
        if min(limits) < 1:
            raise ValueError("every row must be allowed at least one id")
        has_own = any(each.has_rules for each in requests)
        if has_own:
            self.check_rules(requests, plain)
        shortlist = None
        if plain.shortlist is not None:
            if plain.no_repeat_ngram_size or plain.characters is not None or has_own:
                raise ValueError("a search with rules cannot use a shortlist")
            shortlist = self.compiled_shortlist(plain.shortlist)  # lives as long as this call
        session = self.session(sources, threads, plain.look, Session)
        for other in self.others:
            session.join(other.session(sources, threads, None, Session))
        if self.drafter is not None and not has_own and self.can_draft(len(sources), longest, plain):
            session.draft_with(self.drafter.session(sources, threads, None, Session))
        if plain.look is not None:
            session.watch(plain.look.heads)
        room = longest + 1
        limit, penalty = array("i", limits), array("d", [1.0, *map(plain.penalty, range(1, room))])
        own = own_rules(requests) if has_own else None
        ids, gains = zeros("i", count * room), zeros("f", count * room)
        counts, scores, finished = zeros("i", count * 2), zeros("d", count), zeros("i", count)
        wish = WishStruct(
            limits=address(limit),
            penalty=address(penalty),
            start=config.start,
            end=config.end,
            least=plain.least,
            never=-1 if plain.never is None else plain.never,
            width=plain.width,
            best=plain.best,
            patience=plain.patience,
            no_repeat=plain.no_repeat_ngram_size,
            automaton=None if plain.characters is None else plain.characters.ctypes.data,
            shortlist=None if shortlist is None else shortlist.handle.pointer,
            scored=plain.scored,
            automata=None if plain.automata is None else plain.automata.ctypes.data,
            states=0 if plain.automata is None else plain.automata.shape[1],
            own=None if own is None else address(own),
            starts=None
            if plain.starts is None
            else ctypes.cast(ctypes.c_char_p(plain.starts), ctypes.c_void_p),
        )
        results = map(address, (ids, gains, counts, scores, finished))
        session.library.qkv_search(session.handle, ctypes.byref(wish), longest, *results)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for at in range(count):
            words, steps = counts[2 * at], counts[2 * at + 1]
            if steps:
                place, row = divmod(at, plain.best), at * room
                attention = None
                if plain.look is not None:
                    attention = session.attention_of(*place, (steps, len(sources[place[0]])))
                output, each = ids[row : row + words].tolist(), gains[row : row + steps].tolist()
                hypothesis = Hypothesis(output, scores[at], bool(finished[at]), each, attention)
                found[place[0]].append(hypothesis)
        return found

    def check_rules(self, requests: Sequence[PlainRequest], plain: PlainSearch) -> None:
        """The compiled code reads tables at these places without a check."""
        vocab, automata = self.config.vocab_size, plain.automata
        if automata is not None and (
            automata.dtype != "int16" or not automata.flags.c_contiguous or automata.shape[2] != vocab
        ):
            raise ValueError("the automata are not a contiguous table of int16 for this vocabulary")
        for each in requests:
            if not self.can_force and (each.prefix or each.contain):
                raise ValueError("an ensemble cannot search with prefixes or required phrases")
            if not all(0 <= token < vocab for ids in (each.prefix, *each.contain) for token in ids):
                raise IndexError("an id is not in the vocabulary")
            if not all(0 <= phrase < (0 if automata is None else len(automata)) for phrase in each.avoid):
                raise IndexError("a banned phrase has no automaton")
            if not all(each.contain):
                raise ValueError("a phrase must have at least one id")
            if each.contain and sum(map(len, each.contain)) + 1 > each.limit:
                raise ValueError("the phrases of a sentence do not fit into its length limit")
            if each.contain and (plain.starts is None or len(plain.starts) != vocab):
                raise ValueError("required phrases need to know which ids continue a word")

    def batches(self, lengths: Sequence[int], width: int, most: int = TOGETHER) -> list[list[int]]:
        """Group sources of similar length into batches for this beam width.

        Batches that run at the same time get sources in turn, so that all threads finish together.
        """
        threads = self.threads if len(lengths) >= FEW * self.threads else 1
        order = sorted(range(len(lengths)), key=lambda row: lengths[row])
        rounds = equal_parts(order, lengths, threads * max(1, min(most, TOGETHER) // width))
        return [each[hand::threads] for each in rounds for hand in range(threads) if each[hand:]]


def requests_of(sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[PlainRequest]:
    return [PlainRequest(*each) for each in zip(sources, limits, strict=True)]


def own_rules(requests: Sequence[PlainRequest]) -> "array[int]":
    """The rules of each request as `OwnRules` in rules.h reads them: every list after its length."""
    rules = array("i")
    for each in requests:
        for ids in (each.prefix, each.avoid):
            rules.extend((len(ids), *ids))
        rules.extend((each.once, len(each.contain)))
        for phrase in each.contain:
            rules.extend((len(phrase), *phrase))
    return rules


def drafting_pays(engine: Engine, drafter: Engine) -> bool:
    """Whether drafts save time: a step of the model reads much, and one of the drafter a small part of that."""
    own = step_bytes(engine)
    return own >= LEAST_STEP and step_bytes(drafter) * CHEAPER <= own


def step_bytes(engine: Engine) -> int:
    """The weights that a decoding step reads."""
    config = engine.config
    decoder, width = config.decoder, config.decoder.width
    squares = (
        2 if config.decoder_cell == "ssru" else 4
    ) + 2  # own, and the queries and outputs of cross-attention
    block = squares * width**2 + 2 * width * decoder.ffn_width
    return (decoder.depth * block + config.vocab_size * width) * (1 if engine.packed.struct.rounded else 4)


def equal_parts(order: Sequence[int], lengths: Sequence[int], most: int) -> list[list[int]]:
    """Split neighbors into parts of about the same number of tokens, at most slightly above `most`."""
    total = sum(lengths)
    parts: list[list[int]] = [[] for _ in range(-(-total // most))]
    before = 0
    for row in order:
        parts[before * len(parts) // total].append(row)
        before += lengths[row]
    return [part for part in parts if part]


def zeros(kind: str, count: int) -> "array[Any]":
    return array(kind, bytes(array(kind).itemsize * count))
