"""Beam search: exact where it is wide enough, and its early stop loses nothing where it is narrow."""

import math
from typing import Any

import pytest
import torch
from tables import END, START, TableStep, in_both, log_probability_after
from torch import Tensor

from qkv.core.pairs import TranslationStep
from qkv.core.stack_config import StackConfig
from qkv.decoding.arrays import Array, Arrays, arrays_for, arrays_of
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, paper_penalty, power_penalty
from qkv.decoding.greedy import greedy
from qkv.decoding.hypothesis import Hypothesis
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

Answer = tuple[float, list[int], bool]  # score, ids without the end, whether the end was reached

alphas = pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])


def search(
    sentences: list[int], limits: list[int], *, vocab: int = 5, step: TableStep | None = None, **options: Any
) -> list[list[Hypothesis]]:
    settings = beam(**options)

    def found(arrays: Arrays) -> list[list[Hypothesis]]:
        own = TableStep(sentences, vocab) if step is None else step
        return beam_search(own, arrays.full((len(sentences),), START), END, arrays.asarray(limits), settings)

    return in_both(found) if step is None else found(arrays_for("cpu"))


def beam(width: int, alpha: float, **options: Any) -> Beam:
    return Beam(width=width, penalty=paper_penalty(alpha), **options)


def length_penalty(length: int, alpha: float) -> float:
    return paper_penalty(alpha)(length)


def exhaustive(sentence: int, vocab: int, limit: int, alpha: float) -> list[Answer]:
    """Every sequence there is, best first."""
    answers: list[Answer] = []

    def grow(prefix: tuple[int, ...], score: float) -> None:
        length = len(prefix)  # with the newest word, without the start
        values = log_probability_after(sentence, (START, *prefix), vocab).tolist()
        for token, value in enumerate(values):
            total = score + value
            if token == END or length + 1 == limit:
                ids = list(prefix) if token == END else [*prefix, token]
                answers.append((total / length_penalty(length + 1, alpha), ids, token == END))
            else:
                grow((*prefix, token), total)

    grow((), 0.0)
    return sorted(answers, key=lambda answer: -answer[0])


def to_the_limit(sentence: int, vocab: int, limit: int, alpha: float, width: int) -> list[Answer]:
    """Beam search of one sentence, in plain Python, that never stops early."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    answers: list[Answer] = []
    for length in range(1, limit + 1):
        grown = [
            (score + value, (*prefix, token))
            for score, prefix in live
            for token, value in enumerate(log_probability_after(sentence, (START, *prefix), vocab).tolist())
        ]
        grown = sorted(grown, reverse=True)
        for score, ids in grown[:width]:
            if ids[-1] == END or length == limit:
                complete = ids[-1] == END
                said = list(ids[:-1] if complete else ids)
                answers.append((score / length_penalty(length, alpha), said, complete))
        live = [(score, ids) for score, ids in grown if ids[-1] != END][:width]
    return sorted(answers, key=lambda answer: -answer[0])


def check(found: list[Hypothesis], wanted: list[Answer]) -> None:
    assert [hypothesis.ids for hypothesis in found] == [ids for _, ids, _ in wanted]
    assert [hypothesis.finished for hypothesis in found] == [complete for _, _, complete in wanted]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([s for s, _, _ in wanted], abs=1e-5)


# Against exhaustive search --------------------------------------------------------------------------------


@alphas
@pytest.mark.parametrize("vocab", [4, 5])
def test_a_full_width_beam_is_exhaustive_search(vocab: int, alpha: float) -> None:
    sentences, limits = list(range(20)), [1 + row % 4 for row in range(20)]
    width = (vocab - 1) ** 3 * vocab  # every sequence of four words whose first three have not ended
    answers = search(sentences, limits, vocab=vocab, width=width, alpha=alpha)
    for sentence, limit, found in zip(sentences, limits, answers, strict=True):
        check(found, exhaustive(sentence, vocab, limit, alpha)[:1])


@alphas
def test_the_hypotheses_of_a_full_width_beam_are_the_best_there_are_in_order(alpha: float) -> None:
    sentences, limits = list(range(10)), [2 + row % 3 for row in range(10)]
    answers = search(sentences, limits, vocab=4, width=108, alpha=alpha, best=6)
    for sentence, limit, found in zip(sentences, limits, answers, strict=True):
        check(found, exhaustive(sentence, 4, limit, alpha)[:6])


def test_the_best_sequence_is_not_always_the_greedy_one() -> None:
    """Or the tests above would prove little."""
    wide = search(list(range(20)), [4] * 20, width=320, alpha=0.0)
    narrow = search(list(range(20)), [4] * 20, width=1, alpha=0.0)
    pairs = list(zip(wide, narrow, strict=True))
    assert sum(one[0].ids != other[0].ids for one, other in pairs) >= 3
    assert all(one[0].score >= other[0].score - 1e-6 for one, other in pairs)


# Early stopping -------------------------------------------------------------------------------------------


@alphas
@pytest.mark.parametrize(("width", "best"), [(1, 1), (2, 1), (3, 1), (3, 3), (4, 2)])
def test_stopping_early_loses_nothing(alpha: float, width: int, best: int) -> None:
    sentences, limits = list(range(40)), [3 + row % 10 for row in range(40)]
    step = TableStep(sentences, 5)
    answers = search(sentences, limits, step=step, width=width, alpha=alpha, best=best)
    for sentence, limit, found in zip(sentences, limits, answers, strict=True):
        check(found, to_the_limit(sentence, 5, limit, alpha, width)[:best])
    rows_without_stopping = 40 + width * sum(limit - 1 for limit in limits)
    assert sum(step.batch_sizes) < rows_without_stopping * 0.9


def test_a_sentence_that_is_decided_leaves_the_batch() -> None:
    def certain(sentence: int, prefix: tuple[int, ...]) -> Tensor:
        """Sentence n says n words of id 2 and then ends, with near certainty."""
        wanted = END if len(prefix) > sentence else 2
        return torch.where(torch.arange(5) == wanted, 20.0, 0.0)

    class CertainStep(TableStep):
        def __call__(self, ids: Array) -> Array:
            super().__call__(ids)
            return torch.stack([certain(*row) for row in self.rows])

    step = CertainStep([0, 2, 5], 5)
    answers = search([0, 2, 5], [9, 9, 9], step=step, width=3, alpha=0.6)
    assert [found[0].ids for found in answers] == [[], [2] * 2, [2] * 5]
    assert step.batch_sizes == [3, 6, 6, 3, 3, 3]  # one row a sentence at first, then three beams each


# Width one, neighbours, limits ----------------------------------------------------------------------------


def test_a_beam_of_one_is_greedy() -> None:
    sentences, limits = list(range(40)), [1 + row % 9 for row in range(40)]
    answers = search(sentences, limits, width=1, alpha=0.0)
    start = torch.full((40,), START)
    expected = greedy(TableStep(sentences, 5), start, END, torch.tensor(limits))
    for found, wanted in zip(answers, expected, strict=True):
        check(found, [(wanted.score, wanted.ids, wanted.finished)])


@alphas
def test_hypotheses_do_not_depend_on_batch_neighbours(alpha: float) -> None:
    sentences, limits = list(range(15)), [1 + row % 9 for row in range(15)]
    together = search(sentences, limits, width=3, alpha=alpha, best=2)
    backwards = search(sentences[::-1], limits[::-1], width=3, alpha=alpha, best=2)
    for sentence in sentences:
        (alone,) = search([sentence], [limits[sentence]], width=3, alpha=alpha, best=2)
        wanted = [(hypothesis.score, hypothesis.ids, hypothesis.finished) for hypothesis in alone]
        check(together[sentence], wanted)
        check(backwards[-1 - sentence], wanted)


@alphas
def test_hypotheses_are_sorted_distinct_and_within_their_limits(alpha: float) -> None:
    sentences, limits = list(range(30)), [1 + row % 9 for row in range(30)]
    for limit, found in zip(limits, search(sentences, limits, width=4, alpha=alpha, best=4), strict=True):
        assert 1 <= len(found) <= 4
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        assert len({(tuple(h.ids), h.finished) for h in found}) == len(found)
        for hypothesis in found:
            assert END not in hypothesis.ids
            assert len(hypothesis.ids) + hypothesis.finished <= limit
            assert hypothesis.finished or len(hypothesis.ids) == limit


def test_longer_hypotheses_are_preferred_as_alpha_grows() -> None:
    lengths = [
        sum(len(found[0].ids) for found in search(list(range(40)), [8] * 40, width=5, alpha=alpha))
        for alpha in (0.0, 0.6, 1.0, 3.0)
    ]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_a_beam_wider_than_the_vocabulary_is_fine() -> None:
    (found,) = search([3], [3], vocab=4, width=50, alpha=0.6)
    check(found, exhaustive(3, 4, 3, 0.6)[:1])


def test_the_length_penalty_is_equation_14_of_wu_and_others() -> None:
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 1.0) == 2
    assert length_penalty(19, 0.5) == 2
    assert length_penalty(50, 0.0) == 1


@pytest.mark.parametrize("wrong", [{"width": 0}, {"best": 0}, {"alpha": -0.1}, {"width": -3}], ids=str)
def test_bad_arguments_raise_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|must not be negative"):
        search([0], [3], **{"width": 2, "alpha": 0.6, "best": 1, **wrong})


def test_a_limit_that_allows_nothing_raises_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        search([0, 1], [3, 0], width=2, alpha=0.6)


# Over a real model ----------------------------------------------------------------------------------------

SOURCE = torch.tensor([[3, 4, 5, 6, 7, 8, 2], [9, 10, 3, 2, 0, 0, 0], [5, 5, 2, 0, 0, 0, 0]])
MODEL_START, MODEL_END = torch.tensor([1, 1, 1]), 2
MODEL_LIMITS = torch.tensor([8, 5, 9])


def translator(seed: int) -> Translator:
    torch.manual_seed(seed)
    stack = StackConfig(depth=2, width=12, heads=3, ffn_width=13, norm="post", activation="relu", dropout=0.1)
    config = TranslatorConfig(
        vocab_size=11,
        max_length=9,
        pad=0,
        start=1,
        end=2,
        positions="interleaved",
        encoder=stack,
        decoder=stack,
    )
    model = Translator(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


@alphas
@pytest.mark.parametrize("seed", [1, 2, 3])
@torch.no_grad()
def test_scores_equal_those_of_a_full_forward_pass_over_the_output(seed: int, alpha: float) -> None:
    model = translator(seed)
    answers = beam_search(
        TranslationStep(model, SOURCE), MODEL_START, MODEL_END, MODEL_LIMITS, beam(4, alpha, best=3)
    )
    for row, found in enumerate(answers):
        assert len(found) == 3
        for hypothesis in found:
            said = [*hypothesis.ids, MODEL_END] if hypothesis.finished else hypothesis.ids
            logits = model(SOURCE[row : row + 1], torch.tensor([[1, *said[:-1]]]))[0]
            total = logits.log_softmax(-1)[range(len(said)), said].sum().item()
            assert hypothesis.score == pytest.approx(total / length_penalty(len(said), alpha), abs=1e-4)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hypotheses_of_a_model_do_not_depend_on_batch_neighbours(seed: int) -> None:
    model = translator(seed)
    together = beam_search(TranslationStep(model, SOURCE), MODEL_START, MODEL_END, MODEL_LIMITS, beam(3, 0.6))
    for row in range(3):
        one = slice(row, row + 1)
        step = TranslationStep(model, SOURCE[one, : int((SOURCE[row] != 0).sum())])
        (alone,) = beam_search(step, MODEL_START[one], MODEL_END, MODEL_LIMITS[one], beam(3, 0.6))
        assert alone[0].ids == together[row][0].ids
        assert alone[0].score == pytest.approx(together[row][0].score, abs=1e-5)


@torch.no_grad()
def test_a_full_width_beam_over_a_model_finds_the_best_of_all_sequences() -> None:
    model, limit, vocab = translator(1), 3, 11
    (found,) = beam_search(
        TranslationStep(model, SOURCE[:1]), MODEL_START[:1], MODEL_END, torch.tensor([limit]), beam(1100, 0.6)
    )
    every = torch.cartesian_prod(*[torch.arange(vocab)] * limit)  # (V³, 3)
    read = torch.cat([torch.ones(len(every), 1, dtype=torch.long), every[:, :-1]], dim=1)
    log_probability = model(SOURCE[:1].expand(len(every), -1), read).log_softmax(-1)
    totals = log_probability.gather(2, every[..., None])[..., 0].cumsum(1)  # (V³, 3)
    ends = every == MODEL_END
    lengths = torch.where(ends.any(1), ends.int().argmax(1) + 1, limit)
    penalties = torch.tensor([length_penalty(length, 0.6) for length in range(1, limit + 1)])
    scores = totals.gather(1, lengths[:, None] - 1)[:, 0] / penalties[lengths - 1]
    best = int(scores.argmax())
    assert found[0].score == pytest.approx(scores[best].item(), abs=1e-5)
    assert found[0].ids == [token for token in every[best, : lengths[best]].tolist() if token != MODEL_END]


# What else a search can be told ---------------------------------------------------------------------------


def test_patience_stops_when_enough_have_ended_and_never_finds_better_than_without() -> None:
    sentences, limits = list(range(40)), [12] * 40
    steps = {patience: TableStep(sentences, 5) for patience in (0.5, 1.0, 3.0, None)}
    best = {
        patience: search(sentences, limits, step=step, width=4, alpha=1.0, patience=patience)
        for patience, step in steps.items()
    }
    rows = [sum(step.batch_sizes) for step in steps.values()]
    assert rows == sorted(rows)
    assert rows[0] < rows[-1]
    for impatient, patient in zip(best[0.5], best[None], strict=True):
        assert impatient[0].score <= patient[0].score + 1e-6
    assert any(one[0].score < other[0].score - 1e-6 for one, other in zip(best[0.5], best[None], strict=True))


@pytest.mark.parametrize("wrong", [{"patience": 0.0}, {"coverage": -0.1}], ids=str)
def test_other_bad_arguments_raise_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="patience must be above 0"):
        search([0], [3], width=2, alpha=0.6, **wrong)


def test_log_probabilities_add_up_to_the_score() -> None:
    for found in search(list(range(20)), [6] * 20, width=3, alpha=0.7, best=3):
        for each in found:
            assert len(each.log_probabilities) == len(each.ids) + each.finished
            expected = sum(each.log_probabilities) / length_penalty(len(each.log_probabilities), 0.7)
            assert each.score == pytest.approx(expected, abs=1e-5)


def test_the_coverage_penalty_is_that_of_wu_and_others_and_can_change_the_winner() -> None:
    """Two words are as likely; one looks at both places of the source, the other twice at the first."""

    class Looking:
        def __init__(self, arrays: Arrays) -> None:
            self.arrays = arrays
            self.said: list[list[int]] = [[]]

        def __call__(self, ids: Array) -> Array:
            self.said = [[*said, new] for said, new in zip(self.said, ids[:, 0].tolist(), strict=True)]
            first = torch.tensor([-30.0, -30.0, 0.0, 0.1, -30.0])  # 3 is a little likelier than 2
            then = torch.tensor([-30.0, 0.0, -30.0, -30.0, -30.0])
            return self.arrays.asarray(torch.stack([first if len(said) == 1 else then for said in self.said]))

        @property
        def attention(self) -> Array:
            """Place 0 at first; then place 1 after a 2, and place 0 again after a 3. The third place is padding."""
            second = {2: [0.0, 1.0, 1.0], 3: [1.0, 0.0, 1.0]}
            return self.arrays.asarray(
                [
                    [1.0, 0.0, 1.0] if len(said) == 1 else second.get(said[-1], [1.0, 0.0, 1.0])
                    for said in self.said
                ]
            )

        def select(self, rows: Array) -> None:
            self.said = [self.said[row] for row in rows.tolist()]

    def found(coverage: float) -> list[Hypothesis]:
        settings = beam(2, 0.0, best=2, coverage=coverage)
        return in_both(
            lambda arrays: beam_search(
                Looking(arrays), arrays.asarray([START]), END, arrays.asarray([3]), settings
            )
        )[0]

    assert [each.ids for each in found(0.0)] == [[3], [2]]
    both = found(0.1)
    assert [each.ids for each in both] == [[2], [3]]
    assert both[0].score == pytest.approx(sum(both[0].log_probabilities), abs=1e-5)  # all places were seen
    unseen = 0.1 * torch.tensor(1e-4).log().item()
    assert both[1].score == pytest.approx(sum(both[1].log_probabilities) + unseen, abs=1e-4)


# What fairseq's own tests of its generator expect ---------------------------------------------------------

W1, W2 = 2, 3
FAIRSEQ: dict[tuple[int, tuple[int, ...]], list[float]] = {  # (sentence, words said): P(end), P(w1), P(w2)
    (0, ()): [0.0, 0.9, 0.1],
    (1, ()): [0.0, 0.7, 0.3],
    (0, (W1,)): [1.0, 0.0, 0.0],
    (0, (W2,)): [0.0, 0.9, 0.1],
    (1, (W1,)): [0.25, 0.35, 0.4],
    (1, (W2,)): [0.0, 0.1, 0.9],
    (0, (W2, W1)): [0.0, 0.1, 0.9],
    (0, (W2, W2)): [0.6, 0.2, 0.2],
    (1, (W1, W2)): [0.6, 0.4, 0.0],
    (1, (W2, W2)): [0.01, 0.0, 0.99],
    (0, (W2, W1, W2)): [1.0, 0.0, 0.0],
    (0, (W2, W1, W1)): [1.0, 0.0, 0.0],
    (1, (W2, W2, W2)): [0.1, 0.5, 0.4],
    (1, (W1, W2, W1)): [1.0, 0.0, 0.0],
}


class FairseqStep(TableStep):
    def __call__(self, ids: Array) -> Array:
        super().__call__(ids)
        rows = [FAIRSEQ.get((sentence, said[1:]), [1.0, 0.0, 0.0]) for sentence, said in self.rows]
        return arrays_of(ids).asarray(torch.tensor([[0.0, *row] for row in rows]).log())


def fairseq_answers(penalty: Any, **options: Any) -> list[list[tuple[list[int], list[float]]]]:
    settings = Beam(width=2, penalty=penalty, best=2, patience=1.0, **options)
    found = in_both(
        lambda arrays: beam_search(
            FairseqStep([0, 1], 4), arrays.full((2,), START), END, arrays.full((2,), 200), settings
        )
    )
    return [
        [(each.ids, [round(math.exp(p), 4) for p in each.log_probabilities]) for each in row] for row in found
    ]


SHORT, LONG = ([W1], [0.9, 1.0]), ([W2, W1, W2], [0.1, 0.9, 0.9, 1.0])
SECOND_SHORT, SECOND_LONG = ([W1, W2], [0.7, 0.4, 0.6]), ([W1, W2, W1], [0.7, 0.4, 0.4, 1.0])


@pytest.mark.parametrize(
    ("alpha", "first", "second"),
    [
        (1.0, [SHORT, LONG], [SECOND_LONG, SECOND_SHORT]),
        (0.0, [SHORT, LONG], [SECOND_SHORT, SECOND_LONG]),
        (0.6, [SHORT, LONG], [SECOND_SHORT, SECOND_LONG]),
        (5.0, [LONG, SHORT], [SECOND_LONG, SECOND_SHORT]),
    ],
    ids=["normalised", "not normalised", "favouring short", "favouring long"],
)
def test_length_normalisation_and_order_are_as_fairseq_publishes_them(
    alpha: float, first: list[Any], second: list[Any]
) -> None:
    assert fairseq_answers(power_penalty(alpha)) == [first, second]
