"""With few pairs, there is a warning before and after training that says what to do."""

from qkv.families.translator.advice import FEW_PAIRS, advice_after, advice_before


def test_few_pairs_are_warned_of_before_training() -> None:
    advice = advice_before(2_000)
    assert advice is not None
    assert "2,000 sentence pairs are few" in advice
    assert "fine-tune a published model" in advice
    assert advice_before(FEW_PAIRS) is None


def test_a_low_score_is_explained_after_training() -> None:
    few, many = advice_after(4.5, 2_000, 20), advice_after(4.5, 50_000, 20)
    assert few is not None
    assert many is not None
    assert "BLEU 4.5" in few
    assert "too few" in few
    assert "Train longer" in many
    assert advice_after(30.0, 2_000, 20) is None
    short = advice_after(4.5, 2_000, 0.4)
    assert short is not None
    assert "0.4 epochs are too few" in short
    assert "pairs are too few" not in short
