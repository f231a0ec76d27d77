"""Cross-entropy over a large vocabulary that never builds the logits of a whole batch."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from qkv.core.products import ByTorch, FusedProducts, Products, products_for

SAFE_LOGIT = 60.0  # exp(±60) times any vocabulary is well inside the range of float32
ROWS_AT_ONCE = 512  # this many rows of logits fit the CPU's caches for common vocabularies


def output_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor, label_smoothing: float) -> Tensor:
    """Mean over the rows of the cross-entropy of softmax(hidden weightᵀ) against the targets.

    hidden (N, D), weight (V, D), targets (N). With label_smoothing ε the target distribution is 1 − ε on the
    target plus ε/V on every word (section 5.4 of the paper). Equal to torch's cross_entropy with
    label_smoothing, but the gradient is computed in chunks during the forward pass.
    """
    if len(targets) == 0:
        raise ValueError("there is no target to compute a loss on")
    if not torch.is_grad_enabled():  # requires_grad stays true for weights even then
        hidden, weight = hidden.detach(), weight.detach()

    def compute(hidden: Tensor, products: Products) -> Tensor:
        loss: Tensor = OutputCrossEntropy.apply(hidden, weight, targets, label_smoothing, products)  # type: ignore[no-untyped-call]
        return loss

    return in_output_precision(hidden, weight, compute)


def in_output_precision(
    hidden: Tensor, weight: Tensor, compute: Callable[[Tensor, Products], Tensor]
) -> Tensor:
    """Compute with the products of this context. Only products use a narrow type, not sums and exponentials."""
    device, own = hidden.device.type, weight.dtype
    if (asked_for := products_for(hidden)) is not None:
        return compute(hidden, asked_for)
    if not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)):
        return compute(hidden, ByTorch(own, own))
    with torch.autocast(device, enabled=False):
        return compute(hidden.to(own), ByTorch(torch.get_autocast_dtype(device), own))


class OutputCrossEntropy(torch.autograd.Function):
    """The gradient of a row's loss by its logits is softmax − (1 − ε) [target] − ε/V.

    Softmax and label smoothing nearly cancel for most words, so they are subtracted before the product, which may
    round. The target's term is a thousand times as large as the others in its row and column. It is multiplied
    separately and exactly, because rounding would erase the others next to it.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        label_smoothing: float,
        products: Products,
    ) -> Tensor:
        count = len(targets)
        on_target, on_every = 1 - label_smoothing, label_smoothing / len(weight)
        wants_gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        compute = (
            products.output_loss if isinstance(products, FusedProducts) else partial(in_chunks, products)
        )
        total, gradients = compute(hidden, weight, targets, on_target, on_every, gradients=wants_gradient)
        of_targets = (hidden * weight[targets]).sum()
        of_all = hidden.sum(dim=0).dot(weight.sum(dim=0))
        if gradients is not None:
            ctx.save_for_backward(*gradients)
        return (total - on_target * of_targets - on_every * of_all) / count

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * upstream, weight_gradient * upstream, None, None, None


def in_chunks(
    products: Products,
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    on_target: float,
    on_every: float,
    *,
    gradients: bool,
) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
    """Sum of the log-normalizers, and the gradients of the mean loss by hidden and weight."""
    count = len(targets)
    hidden_gradient = torch.empty_like(hidden) if gradients else None
    weight_gradient = torch.zeros_like(weight) if gradients else None
    words = products.prepared(weight)  # (V, D)
    safe = exponentials_are_safe(hidden, weight)
    total = hidden.new_zeros(())
    for start in range(0, count, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        logits = products.rows_with_rows(products.prepared(hidden[rows]), words)  # (rows, V)
        if not safe:
            largest = logits.amax(dim=1, keepdim=True)  # (rows, 1)
            total += largest.sum()
            logits -= largest
        exponentials = logits.exp_()  # in place of the logits
        normaliser = exponentials.sum(dim=1, keepdim=True)  # (rows, 1)
        total += normaliser.log().sum()
        if hidden_gradient is not None and weight_gradient is not None:
            by_logits = exponentials.mul_(1 / normaliser).sub_(on_every)
            own, column = hidden[rows], targets[rows][:, None]
            by_target = by_logits.gather(1, column) - on_target  # (rows, 1)
            by_logits = products.prepared(by_logits.scatter_(1, column, 0.0))
            hidden_gradient[rows] = products.rows_with_columns(by_logits, words)
            hidden_gradient[rows] += by_target * weight[targets[rows]]
            products.add_columns_with_columns(by_logits, products.prepared(own), weight_gradient)
            weight_gradient.index_add_(0, targets[rows], by_target * own)
    if hidden_gradient is None or weight_gradient is None:
        return total, None
    return total, (hidden_gradient.div_(count), weight_gradient.div_(count))


def exponentials_are_safe(hidden: Tensor, weight: Tensor) -> bool:
    """Whether exp(logits) can neither overflow nor vanish, which saves two passes over all logits.

    No logit exceeds the norm of the longest row of hidden times that of the longest word. Checked on a CPU only:
    other devices would have to synchronize.
    """
    if hidden.device.type != "cpu" or hidden.dtype not in (torch.float32, torch.float64):
        return False
    longest = [torch.linalg.vector_norm(rows, dim=1).max() for rows in (hidden, weight)]
    return bool(longest[0] * longest[1] < SAFE_LOGIT)
