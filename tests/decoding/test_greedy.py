"""Greedy decoding: the likeliest word at every step, whoever else is in the batch."""

import zlib
from functools import cache

import pytest
import torch
from torch import Tensor

from qkv.core.pairs import TranslationStep
from qkv.core.stack_config import StackConfig
from qkv.decoding.greedy import greedy
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

VOCAB, START, END = 5, 0, 1


@cache
def logits_after(sentence: int, prefix: tuple[int, ...]) -> Tensor:
    """A fixed random answer for every sentence and prefix."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr((sentence, prefix)).encode()))
    return 2 * torch.randn(VOCAB, generator=generator)


class TableStep:
    """A Step over fixed random logits, which notes how many rows it was asked about each time."""

    def __init__(self, sentences: list[int]):
        self.rows: list[tuple[int, tuple[int, ...]]] = [(sentence, ()) for sentence in sentences]
        self.batch_sizes: list[int] = []

    def __call__(self, ids: Tensor) -> Tensor:
        self.batch_sizes.append(len(ids))
        newest = zip(self.rows, ids.tolist(), strict=True)
        self.rows = [(sentence, (*prefix, *new)) for (sentence, prefix), new in newest]
        return torch.stack([logits_after(sentence, prefix) for sentence, prefix in self.rows])

    def select(self, rows: Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]


def by_hand(sentence: int, limit: int) -> tuple[list[int], float, bool]:
    prefix, score = (START,), 0.0
    while len(prefix) <= limit:
        log_probability = logits_after(sentence, prefix).log_softmax(-1)
        best = int(log_probability.argmax())
        score += float(log_probability[best])
        if best == END:
            return list(prefix[1:]), score, True
        prefix = (*prefix, best)
    return list(prefix[1:]), score, False


SENTENCES, LIMITS = list(range(40)), [1 + row % 9 for row in range(40)]


def run(step: TableStep, limits: list[int]) -> list[tuple[list[int], float, bool]]:
    start = torch.full((len(limits),), START)
    return [(h.ids, h.score, h.finished) for h in greedy(step, start, END, torch.tensor(limits))]


def test_every_row_takes_the_likeliest_word_until_its_end_or_its_limit() -> None:
    answers = run(TableStep(SENTENCES), LIMITS)
    wanted = [by_hand(sentence, limit) for sentence, limit in zip(SENTENCES, LIMITS, strict=True)]
    assert [answer[0] for answer in answers] == [answer[0] for answer in wanted]
    assert [answer[1] for answer in answers] == pytest.approx([answer[1] for answer in wanted], abs=1e-5)
    assert [answer[2] for answer in answers] == [answer[2] for answer in wanted]
    assert {answer[2] for answer in answers} == {True, False}  # both ways of stopping were seen


def test_limits_hold_and_the_end_is_not_part_of_the_hypothesis() -> None:
    for (ids, _, finished), limit in zip(run(TableStep(SENTENCES), LIMITS), LIMITS, strict=True):
        assert END not in ids
        assert len(ids) == limit or (finished and len(ids) < limit)


def test_hypotheses_do_not_depend_on_batch_neighbours() -> None:
    together = run(TableStep(SENTENCES), LIMITS)
    for sentence in SENTENCES:
        (alone,) = run(TableStep([sentence]), [LIMITS[sentence]])
        assert alone == together[sentence]


def test_a_row_that_has_ended_leaves_the_batch_at_once() -> None:
    step = TableStep(SENTENCES)
    steps_needed = [len(ids) + finished for ids, _, finished in run(step, LIMITS)]
    assert step.batch_sizes == [
        sum(needed >= length for needed in steps_needed) for length in range(1, max(steps_needed) + 1)
    ]
    assert step.batch_sizes[-1] < step.batch_sizes[0]


def test_a_limit_that_allows_nothing_raises_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        run(TableStep([0, 1]), [3, 0])


# Over a real model ----------------------------------------------------------------------------------------


def translator() -> Translator:
    torch.manual_seed(4)
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
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


SOURCE = torch.tensor([[3, 4, 5, 6, 7, 8, 2], [9, 10, 3, 2, 0, 0, 0], [5, 5, 2, 0, 0, 0, 0]])


@torch.no_grad()
def test_cached_greedy_decoding_equals_full_forward_passes() -> None:
    model = translator()
    answers = greedy(TranslationStep(model, SOURCE), torch.tensor([1, 1, 1]), 2, torch.tensor([8, 5, 6]))
    for row, answer in enumerate(answers):
        read = torch.tensor([[1, *answer.ids]])
        log_probability = model(SOURCE[row : row + 1], read)[0].log_softmax(-1)
        said = [*answer.ids, 2] if answer.finished else answer.ids
        assert log_probability.argmax(-1).tolist()[: len(said)] == said
        rescored = log_probability[range(len(said)), said].sum().item()
        assert answer.score == pytest.approx(rescored, abs=1e-4)


def test_a_model_may_be_decoded_to_the_last_position_of_its_context() -> None:
    model = translator()
    with torch.no_grad():
        model.tokens.weight[2] = 0  # the end is never the likeliest
    answers = greedy(TranslationStep(model, SOURCE), torch.tensor([1, 1, 1]), 2, torch.tensor([9, 9, 9]))
    assert max(len(answer.ids) for answer in answers) == 9


def test_decoding_leaves_no_gradient_behind() -> None:
    model = translator()
    greedy(TranslationStep(model, SOURCE), torch.tensor([1, 1, 1]), 2, torch.tensor([4, 4, 4]))
    assert all(parameter.grad is None for parameter in model.parameters())
