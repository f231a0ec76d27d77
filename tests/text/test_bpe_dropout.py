import pytest

from qkv.text.bpe_dropout import BPEDropout
from qkv.text.tokenizer import Tokenizer

TEXTS = [
    "the workers are working at the works",
    "a worker worked, and 3 others were resting – wörking!",
    "",
    "resting workers rest at rest stops",
] * 5


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.learn(TEXTS, 330)


def test_without_dropout_it_is_the_tokenizer_itself(tokenizer: Tokenizer) -> None:
    assert BPEDropout(tokenizer, TEXTS, 0.0).encode_all(1) == tokenizer.encode_all(TEXTS)


def test_every_segmentation_decodes_to_the_same_text(tokenizer: Tokenizer) -> None:
    dropout = BPEDropout(tokenizer, TEXTS, 0.3)
    for seed in range(5):
        assert [tokenizer.decode(ids) for ids in dropout.encode_all(seed)] == TEXTS


def test_words_are_cut_in_many_ways(tokenizer: Tokenizer) -> None:
    dropout = BPEDropout(tokenizer, TEXTS, 0.3)
    cuts = {tuple(dropout.encode_all(seed)[0]) for seed in range(20)}
    assert len(cuts) > 10
    plain = len(tokenizer.encode(TEXTS[0]))
    assert min(map(len, cuts)) >= plain
    assert max(map(len, cuts)) > plain


def test_a_higher_dropout_gives_more_tokens(tokenizer: Tokenizer) -> None:
    sizes = [sum(map(len, BPEDropout(tokenizer, TEXTS, share).encode_all(1))) for share in (0.0, 0.1, 0.4)]
    assert sizes[0] < sizes[1] < sizes[2]


def test_nearly_certain_dropout_leaves_single_letters(tokenizer: Tokenizer) -> None:
    pieces = BPEDropout(tokenizer, ["works"], 0.999999).encode_all(1)[0]
    assert len(pieces) == len(" works")


def test_the_seed_decides(tokenizer: Tokenizer) -> None:
    dropout = BPEDropout(tokenizer, TEXTS, 0.2)
    assert dropout.encode_all(7) == dropout.encode_all(7)
    assert dropout.encode_all(7) != dropout.encode_all(8)
