"""Cross-entropy over a large vocabulary that never builds the logits of a whole batch."""

from typing import Any

import torch
from torch import Tensor

ROWS_AT_ONCE = 512  # the logits of so many rows stay in the processor's caches for common vocabularies


def output_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Mean over the rows of the cross-entropy of softmax(hidden weightᵀ) against the targets.

    hidden (N, D), weight (V, D), targets (N). With smoothing ε the wanted distribution is 1 − ε on the
    target plus ε/V on every word (section 5.4 of the paper). Equal to torch's cross_entropy with
    label_smoothing, but the gradient is worked out piece by piece in the forward pass.
    """
    if len(targets) == 0:
        raise ValueError("there is no target to compute a loss on")
    if not torch.is_grad_enabled():  # torch calls the weights in need of a gradient even then
        hidden, weight = hidden.detach(), weight.detach()
    loss: Tensor = OutputCrossEntropy.apply(hidden, weight, targets, smoothing)  # type: ignore[no-untyped-call]
    return loss


class OutputCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        count, vocab = len(targets), len(weight)
        wants_gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        hidden_gradient = torch.empty_like(hidden) if wants_gradient else None
        weight_gradient = torch.zeros_like(weight) if wants_gradient else None
        total = hidden.new_zeros(())
        for start in range(0, count, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            logits = hidden[rows] @ weight.T  # (rows, V)
            largest = logits.amax(dim=1, keepdim=True)  # (rows, 1): taken off, no exponential overflows
            wanted = targets[rows, None]
            total += largest.sum() - (1 - smoothing) * logits.gather(1, wanted).sum()
            if smoothing:
                total -= smoothing / vocab * logits.sum()
            exponentials = logits.sub_(largest).exp_()  # in place of the logits
            normaliser = exponentials.sum(dim=1, keepdim=True)
            total += normaliser.log().sum()
            if hidden_gradient is None or weight_gradient is None:
                continue
            gradient = exponentials.div_(normaliser)  # the softmax
            gradient.scatter_add_(1, wanted, gradient.new_full(wanted.shape, smoothing - 1))
            if smoothing:
                gradient -= smoothing / vocab
            torch.mm(gradient, weight, out=hidden_gradient[rows])
            weight_gradient.addmm_(gradient.T, hidden[rows])
        if hidden_gradient is not None and weight_gradient is not None:
            ctx.save_for_backward(hidden_gradient.div_(count), weight_gradient.div_(count))
        return total / count

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * upstream, weight_gradient * upstream, None, None
