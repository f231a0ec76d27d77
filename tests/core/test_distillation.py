"""Word-level distillation: the loss in chunks equals the formula spelled out, in value and gradient."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.core.distillation import Distillation, distilled_cross_entropy
from qkv.core.loss import ROWS_AT_ONCE, output_cross_entropy
from qkv.core.pairs import TranslationBatch
from qkv.core.products import ByTorch, multiplied_by
from qkv.core.stack_config import StackConfig
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

V = 29


def output_layer(rows: int, width: int, seed: int) -> tuple[Tensor, Tensor]:
    chance = torch.Generator().manual_seed(seed)
    return (
        torch.randn(rows, width, generator=chance, requires_grad=True),
        torch.randn(V, width, generator=chance, requires_grad=True),
    )


def spelled_out(
    student: tuple[Tensor, Tensor],
    targets: Tensor,
    smoothing: float,
    teachers: list[tuple[Tensor, Tensor]],
    how: Distillation,
) -> Tensor:
    logits = student[0] @ student[1].T
    hard = F.cross_entropy(logits, targets, label_smoothing=smoothing)
    q = torch.stack([((h @ w.T) / how.temperature).softmax(-1) for h, w in teachers]).mean(0).detach()
    log_p = (logits / how.temperature).log_softmax(-1)
    soft = F.kl_div(log_p, q, reduction="batchmean")
    return (1 - how.weight) * hard + how.weight * how.temperature**2 * soft


@pytest.mark.parametrize("rows", [5, ROWS_AT_ONCE + 7])
@pytest.mark.parametrize(
    ("weight", "temperature", "smoothing"), [(0.5, 1.0, 0.1), (0.3, 2.5, 0.0), (1.0, 0.7, 0.1)]
)
@pytest.mark.parametrize("products", [False, True])
def test_value_and_gradients_equal_the_formula(
    rows: int, weight: float, temperature: float, smoothing: float, products: bool
) -> None:
    student, teachers = output_layer(rows, 12, 1), [output_layer(rows, 7, 2), output_layer(rows, 9, 3)]
    targets = torch.randint(V, (rows,), generator=torch.Generator().manual_seed(4))
    how = Distillation([], weight, temperature)
    theirs = spelled_out(student, targets, smoothing, teachers, how)
    if products:
        with multiplied_by(ByTorch(torch.float32, torch.float32)):
            ours = distilled_cross_entropy(student, targets, smoothing, teachers, how)
    else:
        ours = distilled_cross_entropy(student, targets, smoothing, teachers, how)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    found, wanted = (torch.autograd.grad(loss * 3, student) for loss in (ours, theirs))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


def test_without_teachers_share_it_is_the_plain_loss() -> None:
    student, teacher = output_layer(9, 12, 1), output_layer(9, 7, 2)
    targets = torch.arange(9)
    ours = distilled_cross_entropy(student, targets, 0.1, [teacher], Distillation([], 0.0))
    torch.testing.assert_close(ours, output_cross_entropy(*student, targets, 0.1))


def translator(width: int, seed: int) -> Translator:
    torch.manual_seed(seed)
    stack = StackConfig(
        depth=1, width=width, heads=2, ffn_width=16, norm="pre", activation="relu", dropout=0.0
    )
    return Translator(
        TranslatorConfig(
            vocab_size=V, max_length=9, pad=0, start=1, end=2, positions="rotary", encoder=stack, decoder=stack,
            output_bias=True,
        )
    )  # fmt: skip


def test_teachers_count_in_training_only_and_are_no_part_of_the_model() -> None:
    student, teachers = translator(16, 1), [translator(8, 2), translator(12, 3)]
    names, plain = set(student.state_dict()), student.eval()
    source, target = torch.tensor([[5, 6, 2], [7, 2, 0]]), torch.tensor([[8, 9, 2], [10, 2, 0]])
    batch = TranslationBatch.of(source, torch.tensor([[1, 8, 9], [1, 10, 0]]), target, pad=0)
    before, alone = plain.loss(batch), student.train().loss(batch)
    student.distillation = Distillation(teachers, 0.5)
    assert set(student.state_dict()) == names
    assert student.loss(batch) != alone
    torch.testing.assert_close(student.eval().loss(batch), before)
    student.train().loss(batch).backward()
    assert all(parameter.grad is None for teacher in teachers for parameter in teacher.parameters())


def test_a_student_approaches_its_teacher() -> None:
    student, teacher = translator(16, 1), translator(8, 2).eval()
    source = torch.tensor([[5, 6, 7, 2]])
    shifted = torch.tensor([[1, 8, 9, 10]])
    batch = TranslationBatch.of(source, shifted, torch.tensor([[8, 9, 10, 2]]), pad=0)
    student.distillation = Distillation([teacher], 1.0)
    optimizer = torch.optim.Adam(student.train().parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        student.loss(batch).backward()
        optimizer.step()
    with torch.no_grad():
        found, wanted = (model.eval()(source, shifted).softmax(-1) for model in (student, teacher))
    torch.testing.assert_close(found, wanted, atol=0.02, rtol=0)
