"""Captions and codes as one stream, whatever the weights are."""

import pytest
import torch
import torch.nn.functional as F

from qkv.core.stack_config import StackConfig
from qkv.families.dalle.config import DalleConfig
from qkv.families.dalle.model import CaptionedBatch, Dalle

PAD, START, END = 0, 1, 2
PLACES, GRID, CODES, VOCAB = 5, 3, 7, 11
CAPTIONS = torch.tensor([[5, 6, END, PAD, PAD], [9, END, PAD, PAD, PAD]])
PICTURES = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 0, 1], [6, 5, 4, 3, 2, 1, 0, 6, 5]])


def model(**changes: object) -> Dalle:
    torch.manual_seed(4)
    stack = StackConfig(depth=2, width=12, heads=3, ffn_width=13, norm="pre", activation="gelu", dropout=0.0)
    given = {
        "vocab_size": VOCAB,
        "places": PLACES,
        "codes": CODES,
        "grid": GRID,
        "pad": PAD,
        "start": START,
        "end": END,
        "stack": stack,
    }
    made = Dalle(DalleConfig(**{**given, **changes}))  # type: ignore[arg-type]
    for table in (made.positions, made.rows, made.columns):
        torch.nn.init.normal_(table.table)
    return made.eval()


def test_drawing_code_by_code_equals_reading_the_whole_picture() -> None:
    own = model()
    with torch.no_grad():
        whole = own(CAPTIONS, PICTURES)
        step, ids = own.begin(CAPTIONS), CAPTIONS[:, -1:]
        for place in range(GRID**2):
            torch.testing.assert_close(step(ids), whole[:, place])
            ids = PICTURES[:, place : place + 1]


def test_drawing_continues_after_rows_have_changed_places() -> None:
    own, turned = model(), torch.tensor([1, 0])
    with torch.no_grad():
        step = own.begin(CAPTIONS)
        step(CAPTIONS[:, -1:])
        step(PICTURES[:, :1])
        step.select(turned)
        torch.testing.assert_close(step(PICTURES[turned, 1:2]), own(CAPTIONS, PICTURES)[turned, 2])


def test_a_code_never_sees_what_comes_after_it() -> None:
    own, changed = model(), PICTURES.clone()
    changed[:, 4] = (changed[:, 4] + 1) % CODES
    with torch.no_grad():
        before, after = own(CAPTIONS, PICTURES), own(CAPTIONS, changed)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert (before[:, 5:] - after[:, 5:]).abs().amax((0, 2)).min() > 1e-5


def test_every_code_sees_the_caption() -> None:
    own, other = model(), CAPTIONS.clone()
    other[0, 0] = 7
    with torch.no_grad():
        change = (own(CAPTIONS, PICTURES) - own(other, PICTURES)).abs().amax(2)
    assert change[0].min() > 1e-5
    assert change[1].max() == 0


def test_a_place_is_its_row_and_its_column() -> None:
    own = model()
    with torch.no_grad():
        same = own.picture_part(torch.zeros(1, GRID**2, dtype=torch.long), 0)[0].view(GRID, GRID, -1)
    torch.testing.assert_close(same[0, 1] - same[0, 0], same[2, 1] - same[2, 0])
    torch.testing.assert_close(same[1, 0] - same[0, 0], same[1, 2] - same[0, 2])


def test_the_loss_weights_words_and_codes_as_configured() -> None:
    own = model(text_share=1 / 8)
    about_words, about_codes = own.hidden(CAPTIONS, PICTURES)
    words = F.cross_entropy(
        (about_words @ own.words.weight.T).flatten(0, 1), CAPTIONS.flatten(), ignore_index=PAD
    )
    codes = F.cross_entropy((about_codes @ own.codes.weight.T).flatten(0, 1), PICTURES.flatten())
    torch.testing.assert_close(
        own.loss(CaptionedBatch.of(CAPTIONS, PICTURES, PAD)), words / 8 + 7 * codes / 8
    )


def test_a_batch_whose_captions_are_all_left_out_has_the_loss_of_its_codes() -> None:
    own, blank = model(), torch.full_like(CAPTIONS, PAD)
    codes = F.cross_entropy(own(blank, PICTURES).flatten(0, 1), PICTURES.flatten())
    torch.testing.assert_close(own.loss(CaptionedBatch.of(blank, PICTURES, PAD)), 7 * codes / 8)


@pytest.mark.parametrize("change", [{"places": 0}, {"text_share": 1.5}, {"label_smoothing": 1.0}])
def test_an_invalid_config_is_rejected(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|from 0 to 1"):
        model(**change)


def test_a_training_step_does_not_synchronize_with_the_device() -> None:
    """Tensors of the device "meta" have none: whoever asks for one gets an error."""
    own, meta = model().to("meta"), torch.device("meta")
    own.loss(CaptionedBatch.of(CAPTIONS, PICTURES, PAD).to(meta)).backward()
    assert own.words.weight.grad is not None
    assert own.words.weight.grad.device == meta
