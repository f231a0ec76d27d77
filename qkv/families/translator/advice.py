"""Advice for translators that are trained on few pairs."""

FEW_PAIRS = 10_000
FEW_EPOCHS = 5
LOW_BLEU = 10.0
REMEDY = "Use more data (20,000 pairs or more), or fine-tune a published model on these pairs"


def advice_before(pairs: int) -> str | None:
    """Advice before training from scratch on this many pairs."""
    if pairs >= FEW_PAIRS:
        return None
    return (
        f"{pairs:,} sentence pairs are few to train a translator from scratch. Unless the sentences are short and similar, "
        f"expect a BLEU score below {LOW_BLEU:.0f} and wrong translations of new sentences. {REMEDY}"
    )


def advice_after(bleu: float, pairs: int, epochs: float) -> str | None:
    """Advice after training from scratch on this many pairs, each seen in every epoch."""
    if bleu >= LOW_BLEU:
        return None
    if epochs < FEW_EPOCHS:
        return (
            f"BLEU {bleu:.1f} is too low to be useful; {epochs:.1f} epochs are too few to judge the data. Train longer, or "
            "fine-tune a published model on these pairs"
        )
    if pairs < FEW_PAIRS:
        return f"BLEU {bleu:.1f} is too low to be useful; {pairs:,} sentence pairs are too few to learn from. {REMEDY}"
    return (
        f"BLEU {bleu:.1f} is too low to be useful. Train longer, check that the two sides of the data belong together, "
        "or fine-tune a published model on these pairs"
    )
