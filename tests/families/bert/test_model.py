"""What BERT promises whatever its weights are."""

import pytest
import torch

from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape
from qkv.families.bert.config import BertClassifierConfig, BertConfig, EncoderConfig
from qkv.families.bert.model import Bert, BertClassifier, LabelBatch, MaskedBatch

PAD = 0
STACK = StackConfig(depth=2, width=12, heads=3, ffn_width=17, norm="post", activation="gelu", dropout=0.1)
ENCODER = EncoderConfig(vocab_size=23, max_length=9, pad=PAD, segments=2, stack=STACK)
IDS = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 9, 3, PAD]])


def bert() -> Bert:
    torch.manual_seed(3)
    model = Bert(BertConfig(encoder=ENCODER)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return model


@torch.no_grad()
def test_padding_changes_nothing() -> None:
    model = bert()
    alone, padded = model(IDS[1:, :4]), model(IDS)[1:, :4]
    torch.testing.assert_close(alone, padded)
    longer = torch.cat([IDS, torch.full((2, 3), PAD)], dim=1)
    torch.testing.assert_close(model(longer)[:1, :5], model(IDS)[:1])


@torch.no_grad()
def test_every_place_sees_both_sides() -> None:
    model, changed_first, changed_last = bert(), IDS[:1].clone(), IDS[:1].clone()
    changed_first[0, 1], changed_last[0, 3] = 11, 11
    middle = model(IDS[:1])[0, 2]
    assert (model(changed_first)[0, 2] - middle).abs().max() > 1e-3
    assert (model(changed_last)[0, 2] - middle).abs().max() > 1e-3


@torch.no_grad()
def test_segments_and_order_matter() -> None:
    model = bert()
    ones = torch.ones_like(IDS)
    assert (model(IDS, ones) - model(IDS)).abs().max() > 1e-3
    torch.testing.assert_close(model(IDS, torch.zeros_like(IDS)), model(IDS))
    assert (model(IDS[:1].flip(1)).flip(1) - model(IDS[:1])).abs().max() > 1e-3


@torch.no_grad()
def test_the_tape_records_every_value_and_changes_nothing() -> None:
    model, tape = bert(), Tape()
    torch.testing.assert_close(model(IDS, tape=tape), model(IDS))
    weights = tape["encoder.1.attention.weights"]
    assert weights.shape == (2, 3, 5, 5)
    assert weights[1, :, :, 4].abs().max() == 0  # nobody looks at padding
    assert tape["logits"].shape == (2, 5, 23)


def test_the_loss_of_a_batch_is_that_of_its_parts_by_masked_words() -> None:
    model = bert()
    places, words, follows = torch.tensor([1, 3, 6]), torch.tensor([4, 9, 10]), torch.tensor([0, 1])
    segments = torch.zeros_like(IDS)
    whole = model.loss(MaskedBatch(IDS, segments, places, words, follows))
    first = model.loss(MaskedBatch(IDS[:1], segments[:1], places[:2], words[:2], follows[:1]))
    second = model.loss(MaskedBatch(IDS[1:], segments[1:], places[2:] - 5, words[2:], follows[1:]))
    torch.testing.assert_close(whole, (2 * first + second) / 3)


def test_next_sentence_prediction_is_learned() -> None:
    torch.manual_seed(4)
    model = Bert(BertConfig(encoder=ENCODER))
    batch = MaskedBatch(
        IDS, torch.zeros_like(IDS), torch.tensor([1, 6]), torch.tensor([5, 8]), torch.tensor([0, 1])
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        optimiser.zero_grad()
        model.loss(batch).backward()
        optimiser.step()
    states = model.eval().encoder(IDS)
    assert model.next_logits(states).argmax(1).tolist() == [0, 1]


def test_a_classifier_learns_to_tell_two_texts_apart() -> None:
    torch.manual_seed(4)
    model = BertClassifier(BertClassifierConfig(encoder=ENCODER, outputs=2))
    batch = LabelBatch(IDS, torch.zeros_like(IDS), torch.tensor([0, 1]))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    before = model.loss(batch).item()
    for _ in range(40):
        optimiser.zero_grad()
        model.loss(batch).backward()
        optimiser.step()
    assert model.loss(batch).item() < 0.2 < before
    assert model.eval()(IDS).argmax(1).tolist() == [0, 1]


def test_a_number_on_a_scale_has_one_output_and_squared_error() -> None:
    model = BertClassifier(BertClassifierConfig(encoder=ENCODER, outputs=1, numbers=True)).eval()
    loss = model.loss(LabelBatch(IDS, torch.zeros_like(IDS), torch.tensor([1.0, -2.0])))
    said = model(IDS)[:, 0]
    torch.testing.assert_close(loss, ((said[0] - 1) ** 2 + (said[1] + 2) ** 2) / 2)


def test_heads_that_are_not_there_are_rejected() -> None:
    with pytest.raises(ValueError, match="needs the pooler"):
        BertConfig(encoder=ENCODER, pooler=False)
    with pytest.raises(ValueError, match="a regression model exactly 1"):
        BertClassifierConfig(encoder=ENCODER, outputs=3, numbers=True)
    bare = Bert(BertConfig(encoder=ENCODER, words=False, next_sentence=False))
    with pytest.raises(ValueError, match="no head for words"):
        bare(IDS)
    with pytest.raises(ValueError, match="no head for the next sentence"):
        bare.next_logits(torch.zeros(1, 2, 12))


def test_more_tokens_than_positions_raise_an_error() -> None:
    with pytest.raises(ValueError, match="beyond the context of 9"):
        bert()(torch.ones(1, 10, dtype=torch.long))
