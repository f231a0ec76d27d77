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
    shortlist: Dictionary | None = None
    """Only tokens on the list of a source; not with repeated n-grams or characters."""
    scored: bool = True
    """False if nobody reads scores: greedy search then leaves them 0, and takes less time."""


@dataclass(frozen=True)
class PlainRequest:
    """A source with its end token, and the maximum length of its translation."""

    source: Sequence[int]
    limit: int


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
        if min(map(min, sources)) < 0 or max(map(max, sources)) >= self.config.vocab_size:
            raise IndexError("an id is not in the vocabulary")
        return kind(self.packed, sources, threads, -1 if look is None else look.block)

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source (including its end token), best first. Equal to decoding with `begin`."""
        return self.searched(sources, limits, plain, self.threads)

    def search_plain(
        self, batches: Sequence[Sequence[PlainRequest]], plain: PlainSearch
    ) -> Iterator[list[list[Hypothesis]]]:
        """The same for batches of requests, one after another."""
        parts = [([each.source for each in batch], [each.limit for each in batch]) for batch in batches]
        return self.search_batches(parts, plain)

    def search_batches(
        self, batches: Sequence[Batch], plain: PlainSearch
    ) -> Iterator[list[list[Hypothesis]]]:
        """The same for several batches, each on its own thread."""
        workers = min(self.threads, len(batches))
        if workers <= 1:
            yield from (self.search(*batch, plain) for batch in batches)
            return

        def alone(batch: Batch) -> list[list[Hypothesis]]:
            sources, limits = batch
            return self.searched(sources, limits, plain, 1)

        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(workers) as pool:  # the compiled code releases the GIL
            yield from pool.map(alone, batches)

    def searched(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch, threads: int
    ) -> list[list[Hypothesis]]:
        longest, count, config = max(limits), len(sources) * plain.best, self.config
        check_position(longest, min(each.config.max_length for each in (self, *self.others)))
        if min(limits) < 1:
            raise ValueError("every row must be allowed at least one id")
        shortlist = None
        if plain.shortlist is not None:
            if plain.no_repeat_ngram_size or plain.characters is not None:
                raise ValueError("a search with rules cannot use a shortlist")
            shortlist = self.compiled_shortlist(plain.shortlist)  # lives as long as this call
        session = self.session(sources, threads, plain.look, Session)
        for other in self.others:
            session.join(other.session(sources, threads, None, Session))
        if self.drafter is not None and self.can_draft(len(sources), longest, plain):
            session.draft_with(self.drafter.session(sources, threads, None, Session))
        if plain.look is not None:
            session.watch(plain.look.heads)
        room = longest + 1
        limit, penalty = array("i", limits), array("d", [1.0, *map(plain.penalty, range(1, room))])
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
            shortlist=None if shortlist is None else shortlist.handle,
            scored=plain.scored,
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

    def batches(self, lengths: Sequence[int], width: int, most: int = TOGETHER) -> list[list[int]]:
        """Group sources of similar length into batches for this beam width.

        Batches that run at the same time get sources in turn, so that all threads finish together.
        """
        threads = self.threads if len(lengths) >= FEW * self.threads else 1
        order = sorted(range(len(lengths)), key=lambda row: lengths[row])
        rounds = equal_parts(order, lengths, threads * max(1, min(most, TOGETHER) // width))
        return [each[hand::threads] for each in rounds for hand in range(threads) if each[hand:]]


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
