"""Word-level distillation: a student learns from the probabilities of its teachers, and from the reference.

The loss of a token is (1 − w) · CE + w · T² · KL(q ‖ p), where q is the mean of the teachers' softmax(z / T) and p the student's
(Hinton et al., 2015; Kim and Rush, 2016). T² keeps the size of the gradient independent of T. Like the plain loss, it is
computed in chunks together with its gradient: the logits of a batch are never held in full, neither the student's nor a
teacher's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.core.loss import ROWS_AT_ONCE, in_output_precision
from qkv.core.products import Products

Rows = tuple[Tensor, Tensor]  # states before the output layer, (N, D), and the output layer, (V, D)


@dataclass(frozen=True)
class Distillation:
    """What a model learns from apart from its targets. `teachers` are models of the same vocabulary."""

    teachers: Sequence[Any]  # TranslationModel
    weight: float
    temperature: float = 1.0

    def __deepcopy__(self, memo: object) -> "Distillation":
        return self  # training copies a model; its teachers never change

    @torch.no_grad()
    def rows(self, batch: Any) -> list[Rows]:
        return [teacher.to(batch.source.device).eval().output_rows(batch) for teacher in self.teachers]


def distilled_cross_entropy(
    student: Rows,
    targets: Tensor,
    label_smoothing: float,
    teachers: Sequence[Rows],
    distillation: Distillation,
) -> Tensor:
    """The mean over the rows. Rows of student and teachers are the same tokens; targets (N)."""
    hidden, weight = student
    flat = [each.detach() for rows in teachers for each in rows]
    weights = (label_smoothing, distillation.weight, distillation.temperature)

    def compute(hidden: Tensor, products: Products) -> Tensor:
        loss: Tensor = DistilledCrossEntropy.apply(hidden, weight, targets, weights, products, *flat)  # type: ignore[no-untyped-call]
        return loss

    return in_output_precision(hidden, weight, compute)


class DistilledCrossEntropy(torch.autograd.Function):
    """The gradient by the logits is (1 − w) (softmax(z) − [target]) + w T (softmax(z / T) − q).

    As in the plain loss, the target's term is multiplied separately and exactly.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        weights: tuple[float, float, float],
        products: Products,
        *teachers: Tensor,
    ) -> Tensor:
        label_smoothing, share, temperature = weights
        on_target, on_every = 1 - label_smoothing, label_smoothing / len(weight)
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(weight)
        words = products.prepared(weight)  # (V, D)
        taught = [
            (rows, products.prepared(each)) for rows, each in zip(teachers[::2], teachers[1::2], strict=True)
        ]
        total = hidden.new_zeros(())
        for start in range(0, len(targets), ROWS_AT_ONCE):
            rows, column = slice(start, start + ROWS_AT_ONCE), targets[start : start + ROWS_AT_ONCE, None]
            own = products.prepared(hidden[rows])
            logits = products.rows_with_rows(own, words)  # (rows, V)
            q = mean_probabilities(taught, rows, products, temperature).to(logits.dtype)
            soft = (logits / temperature).log_softmax(dim=1)
            hard = soft if temperature == 1 else logits.log_softmax(dim=1)
            total += (1 - share) * -(on_target * hard.gather(1, column).sum() + on_every * hard.sum())
            total += share * temperature**2 * (torch.xlogy(q, q) - q * soft).sum()
            by_logits = (soft.exp() - q).mul_(share * temperature)
            by_logits.add_(hard.exp().sub_(on_every), alpha=1 - share)
            by_target = by_logits.gather(1, column) - (1 - share) * on_target  # (rows, 1)
            by_logits = products.prepared(by_logits.scatter_(1, column, 0.0))
            hidden_gradient[rows] = products.rows_with_columns(by_logits, words)
            hidden_gradient[rows] += by_target * weight[column[:, 0]]
            products.add_columns_with_columns(by_logits, own, weight_gradient)
            weight_gradient.index_add_(0, column[:, 0], by_target * hidden[rows])
        ctx.save_for_backward(hidden_gradient.div_(len(targets)), weight_gradient.div_(len(targets)))
        return total / len(targets)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        none = (None,) * (len(ctx.needs_input_grad) - 2)
        return hidden_gradient * upstream, weight_gradient * upstream, *none


def mean_probabilities(taught: Sequence[Rows], rows: slice, products: Products, temperature: float) -> Tensor:
    """The teachers' mean probabilities of every word, (rows, V)."""
    each = (
        products.rows_with_rows(products.prepared(hidden[rows]), words).div_(temperature).softmax(dim=1)
        for hidden, words in taught
    )
    return torch.stack(list(each)).mean(dim=0)
