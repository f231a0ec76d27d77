"""BERT and its heads equal Hugging Face's on random weights, all sizes different."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
)

from qkv.families.bert.hub_weights import bert_from, classifier_from

B, T, H, K = 2, 7, 3, 4
D, V, F, LAYERS = H * K, 29, 17, 2
PAD = 0
IDS = torch.tensor([[2, 4, 5, 6, 3, 8, 3], [2, 9, 10, 3, PAD, PAD, PAD]])
SEGMENTS = torch.tensor([[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]])
REAL = IDS != PAD

SETTINGS: dict[str, Any] = {
    "vocab_size": V,
    "hidden_size": D,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": H,
    "intermediate_size": F,
    "max_position_embeddings": 11,
    "type_vocab_size": 2,
    "pad_token_id": PAD,
    "layer_norm_eps": 1e-12,
}


def theirs_of(kind: type[Any], **settings: Any) -> Any:
    torch.manual_seed(2)
    model = kind(BertConfig(**{**SETTINGS, **settings}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    return model.eval()


def config_of(model: Any) -> dict[str, Any]:
    """As it stands in config.json."""
    return model.config.to_diff_dict() | {"model_type": "bert"} | SETTINGS


def asked(model: Any) -> Any:
    return model(input_ids=IDS, attention_mask=REAL.long(), token_type_ids=SEGMENTS)


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_states_and_pooled_output_equal_bert_models() -> None:
    theirs = theirs_of(BertModel)
    ours = bert_from(config_of(theirs), theirs.state_dict(), "here")
    answer, states = asked(theirs), ours.encoder(IDS, SEGMENTS)
    close(states[REAL], answer.last_hidden_state[REAL])
    assert ours.pooler is not None
    close(ours.pooler(states), answer.pooler_output)


@torch.no_grad()
@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_logits_of_masked_words_equal_theirs(activation: str) -> None:
    theirs = theirs_of(BertForMaskedLM, hidden_act=activation)
    ours = bert_from(config_of(theirs) | {"hidden_act": activation}, theirs.state_dict(), "here")
    close(ours(IDS, SEGMENTS)[REAL], asked(theirs).logits[REAL])


@torch.no_grad()
def test_logits_of_the_next_sentence_equal_theirs() -> None:
    theirs = theirs_of(BertForNextSentencePrediction)
    ours = bert_from(config_of(theirs), theirs.state_dict(), "here")
    close(ours.next_logits(ours.encoder(IDS, SEGMENTS)), asked(theirs).logits)


@torch.no_grad()
def test_both_heads_of_pre_training_equal_theirs() -> None:
    theirs = theirs_of(BertForPreTraining)
    ours = bert_from(config_of(theirs), theirs.state_dict(), "here")
    states, answer = ours.encoder(IDS, SEGMENTS), asked(theirs)
    close(ours.word_logits(states)[REAL], answer.prediction_logits[REAL])
    close(ours.next_logits(states), answer.seq_relationship_logits)


@torch.no_grad()
@pytest.mark.parametrize("labels", [1, 3])
def test_logits_of_classes_and_of_a_number_equal_theirs(labels: int) -> None:
    theirs = theirs_of(BertForSequenceClassification, num_labels=labels)
    ours = classifier_from(config_of(theirs), theirs.state_dict(), "here")
    close(ours(IDS, SEGMENTS), asked(theirs).logits)


def test_gradients_of_the_word_loss_equal_theirs() -> None:
    from qkv.families.bert.model import MaskedBatch

    theirs = theirs_of(BertForMaskedLM, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    ours = bert_from(config_of(theirs), theirs.state_dict(), "here")
    wanted = torch.full_like(IDS, -100)
    wanted[0, 2], wanted[1, 1] = 7, 12
    theirs(input_ids=IDS, attention_mask=REAL.long(), token_type_ids=SEGMENTS, labels=wanted).loss.backward()
    places = (wanted != -100).flatten().nonzero()[:, 0]
    ours.loss(MaskedBatch(IDS, SEGMENTS, places, torch.tensor([7, 12]), torch.tensor([]))).backward()
    close(ours.encoder.tokens.weight.grad, theirs.bert.embeddings.word_embeddings.weight.grad)  # type: ignore[arg-type]
    own = ours.encoder.stack.blocks[0].attention.sublayer.query.weight.grad  # type: ignore[union-attr]
    close(own, theirs.bert.encoder.layer[0].attention.self.query.weight.grad)  # type: ignore[arg-type]
