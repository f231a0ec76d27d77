"""The general search: any model, with sampling, rules and required phrases. `search.py` chooses what needs it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from qkv.core.translation import CrossHeads
from qkv.decoding.arrays import arrays_for
from qkv.decoding.beam import beam_search
from qkv.decoding.constraints import MustContain
from qkv.decoding.greedy import greedy, likeliest
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import Forbidden, NoRepeat, NotEmpty, Prefixes, RepetitionPenalty, Rule, under
from qkv.decoding.sampling import Draw, sample
from qkv.decoding.step import Ensemble, Listed, Step, Without
from qkv.decoding.walk import walk
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.search import Request, Search, Searcher, beam_of, uses_shortlist


class GeneralSearch:
    """The part of a searcher that decodes token by token on the arrays of its models."""

    def __init__(self, searcher: Searcher):
        self.searcher, self.runners, self.config = searcher, searcher.runners, searcher.config
        self.arrays = arrays_for(self.runners[0].device)

    def decode(self, batch: Sequence[Request], search: Search) -> list[list[Hypothesis]]:
        config, asarray = self.config, self.arrays.asarray
        start = self.arrays.full((len(batch),), config.start)
        limits = asarray([self.searcher.limit(request) for request in batch])
        step = self.begin([config.complete_source(request.source) for request in batch], search.look)
        step = self.listed(step, batch, search.options)
        rules = self.rules(batch, search.options)
        constrained = any(request.contain for request in batch)
        sampling = search.options.sampling
        if sampling is not None and not constrained:
            seeds = [request.seed for request in batch]
            walked = sample(step, start, config.end, limits, sampling, seeds, rules)
            return [[normalised(each, search)] for each in walked]
        if search.beam == 1 and not constrained:
            return [[normalised(each, search)] for each in greedy(step, start, config.end, limits, rules)]
        contain = None
        if constrained:
            phrases = [request.contain for request in batch]
            boundary = asarray(self.searcher.boundary())  # (V)
            contain = MustContain(phrases, limits, config.end, boundary, batch[0].once)
        return beam_search(step, start, config.end, limits, beam_of(search), rules, contain)

    def begin(self, sources: Sequence[Sequence[int]], look: CrossHeads | None) -> Step:
        if len(self.runners) == 1:
            return self.allowed(self.runners[0].begin(sources, look))
        return Ensemble([self.allowed(runner.begin(sources)) for runner in self.runners])

    def allowed(self, step: Step) -> Step:
        """Mask padding before the softmax: Marian's models give it a large share of the probability."""
        return step if self.searcher.never is None else Without(step, self.searcher.never)

    def listed(self, step: Step, batch: Sequence[Request], options: TranslationOptions) -> Step:
        """The step under the shortlist of every request that may use it."""
        shortlist, each = self.searcher.shortlist, [uses_shortlist(request, options) for request in batch]
        if shortlist is None or not any(each):
            return step
        allowed = self.arrays.full((len(batch), self.config.vocab_size), 1) > 0  # (B, V)
        for row, request in enumerate(batch):
            if each[row]:
                allowed[row] = False
                allowed[
                    row, self.arrays.asarray(shortlist.ids(self.config.complete_source(request.source)))
                ] = True
        return Listed(step, allowed)

    def rules(self, batch: Sequence[Request], options: TranslationOptions) -> list[Rule]:
        rules: list[Rule] = [NotEmpty(self.config.end)]
        if options.repetition_penalty != 1.0:
            rules.append(RepetitionPenalty(options.repetition_penalty))
        if batch[0].no_repeat_ngram_size:
            rules.append(NoRepeat(batch[0].no_repeat_ngram_size))
        if self.searcher.automata is not None and any(request.avoid for request in batch):
            automata = self.arrays.asarray(self.searcher.automata)
            rules.append(Forbidden(automata, [request.avoid for request in batch]))
        characters = self.searcher.characters() if any(request.whole for request in batch) else None
        if characters is not None:
            automata = self.arrays.asarray(characters[None])
            rules.append(Forbidden(automata, [(0,) if each.whole else () for each in batch]))
        if any(request.prefix for request in batch):
            rules.append(Prefixes([request.prefix for request in batch]))
        return rules

    def one_by_one(self, request: Request, search: Search) -> Iterator[int]:
        """Yield the ids of one translation as they are chosen, greedily or by sampling."""
        config, asarray = self.config, self.arrays.asarray
        step = self.begin([config.complete_source(request.source)], None)
        start, limits = asarray([config.start]), asarray([self.searcher.limit(request)])
        sampling = search.options.sampling
        choose = likeliest if sampling is None else Draw(sampling, [request.seed], limits)
        rules = self.rules([request], search.options)
        for stride in walk(step, start, config.end, limits, choose, rules):
            token = int(stride.ids[0])
            if token != config.end:
                yield token

    def next_ids(self, request: Request, count: int) -> list[int]:
        """The likeliest ids after the prefix of a request, except the end."""
        config, arrays = self.config, self.arrays
        step = self.begin([config.complete_source(request.source)], None)
        output = arrays.asarray([list(request.prefix)])  # (1, T)
        logits = step(arrays.asarray([[config.start, *request.prefix]]))
        rules = self.rules([replace(request, prefix=())], TranslationOptions())
        scores = under(rules, arrays.log_softmax(logits), output, arrays.asarray([0]))
        scores[:, [config.pad, config.start, config.end]] = float("-inf")
        best, ids = arrays.top_k(scores, min(count, config.vocab_size))
        return [int(token) for token, score in zip(ids[0], best[0], strict=True) if abs(score) < float("inf")]


def normalised(hypothesis: Hypothesis, search: Search) -> Hypothesis:
    """With the length penalty, as in beam search."""
    penalty = search.penalty(len(hypothesis.log_probabilities))
    return replace(hypothesis, score=hypothesis.score / penalty)
