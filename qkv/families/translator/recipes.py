"""Recipes: functions that return the settings of a run. The docstrings say when to use them and what to expect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qkv.families.translator.settings import (
    DataSettings,
    DecodingSettings,
    FineTuneTranslatorSettings,
    ModelSettings,
    ScoringSettings,
    TranslatorSettings,
)
from qkv.training.settings import TrainingSettings


def automatic(pairs: int) -> TranslatorSettings:
    """The default: sizes that fit the number of sentence pairs, on a laptop."""
    if pairs < 5_000:
        width, depth, vocabulary, dropout, epochs = 128, 2, 2_000, 0.3, 60
    elif pairs < 60_000:
        width, depth, vocabulary, dropout, epochs = 128, 4, 8_000, 0.2, 25
    elif pairs < 500_000:
        width, depth, vocabulary, dropout, epochs = 256, 4, 10_000, 0.1, 10
    else:
        width, depth, vocabulary, dropout, epochs = 512, 6, 16_000, 0.1, 8
    small = width <= 256  # tuned at width 128; larger models use well-known settings
    # Muon has a cost per step that grows with the width, so wide models get large batches.
    batch_tokens = {128: 2_048, 256: 4_096, 512: 8_192}[width]
    steps = max(500, epochs * pairs * 14 // batch_tokens)  # a sentence has about 14 tokens
    return TranslatorSettings(
        vocab_size=vocabulary,
        steps=steps,
        model=ModelSettings(
            width=width,
            encoder_depth=depth,
            decoder_depth=depth,
            heads=max(4, width // 64),
            ffn_width=2 * width if small else 4 * width,
            dropout=dropout,
            norm="pre",
            positions="rotary" if small else "interleaved",
        ),
        training=TrainingSettings(
            batch_tokens=batch_tokens,
            learning_rate={128: 4e-3, 256: 3e-3, 512: 7e-4}[width],
            warmup_steps=min(1_000, steps // 8),
            optimizer="muon" if small else "adamw",
            weight_decay=0.5 if small else 0.0,
            validate_every=max(50, steps // 20),
        ),
    )


def built_in(pairs: int) -> TranslatorSettings:
    """The demo: the built-in languages, mostly one token per word; about three minutes on two cores."""
    return TranslatorSettings(
        vocab_size=3_000,  # nearly every word form is one token
        steps=2_700,
        model=ModelSettings(
            width=128,
            encoder_depth=2,
            decoder_depth=2,
            heads=4,
            ffn_width=256,
            dropout=0.0,  # sentences are rarely repeated
            norm="pre",
            label_smoothing=0.0,
        ),
        training=TrainingSettings(
            batch_tokens=512,
            learning_rate=4e-3,
            warmup_steps=200,
            validate_every=540,
            average=1,
            milestones=True,
        ),
        decoding=DecodingSettings(beam_size=1, length_penalty=0.0),
    )


def paper_base(pairs: int) -> TranslatorSettings:
    """ "Attention Is All You Need", base: 12 hours on eight P100s; WMT14 en-de 27.3, en-fr 38.1 in the paper."""
    width, warmup, steps = 512, 4_000, 100_000
    return TranslatorSettings(
        vocab_size=37_000,
        steps=steps,
        model=ModelSettings(
            width=width,
            encoder_depth=6,
            decoder_depth=6,
            heads=8,
            ffn_width=2_048,
            dropout=0.1,
            label_smoothing=0.1,
        ),
        training=TrainingSettings(
            batch_tokens=25_000,
            learning_rate=(width * warmup) ** -0.5,
            warmup_steps=warmup,
            schedule="inverse-root",
            adam_betas=(0.9, 0.98),
            adam_epsilon=1e-9,
            max_grad_norm=0.0,
            validate_every=1_500,  # the paper saves every ten minutes, at 0.4 seconds a step
            average=5,
        ),
        decoding=DecodingSettings(beam_size=4, length_penalty=0.6),
    )


def paper_big(pairs: int) -> TranslatorSettings:
    """ "Attention Is All You Need", big: 3.5 days on eight P100s; WMT14 en-de 28.4, en-fr 41.8 in the paper."""
    base = paper_base(pairs)
    width = 1_024
    return replace(
        base,
        steps=300_000,
        model=replace(base.model, width=width, heads=16, ffn_width=4_096, dropout=0.3),
        training=replace(
            base.training,
            learning_rate=(width * base.training.warmup_steps) ** -0.5,
            validate_every=600,  # ten minutes at one second a step
            average=20,
        ),
    )


def multi30k_tiny(pairs: int) -> TranslatorSettings:
    """Multi30k, English to German, lower-cased and tokenized: BLEU 41.3 on test2016 after 22 minutes on two cores."""
    return TranslatorSettings(
        vocab_size=8_000,
        steps=5_000,
        model=ModelSettings(
            width=128,
            encoder_depth=4,
            decoder_depth=4,
            heads=4,
            ffn_width=256,
            dropout=0.25,
            norm="pre",
            positions="rotary",
        ),
        training=TrainingSettings(
            batch_tokens=2_048,
            learning_rate=4e-3,
            warmup_steps=500,
            optimizer="muon",
            weight_decay=0.5,
            validate_every=250,
            average=5,
        ),
        data=DataSettings(languages=("en", "de"), variant="lc.norm.tok"),
        scoring=ScoringSettings(tokenize="none"),
    )


def multi30k_raw(pairs: int) -> TranslatorSettings:
    """Multi30k, raw text, scored with case: BLEU 40.9 and chrF 65.0 on test2016."""
    tiny = multi30k_tiny(pairs)
    return replace(tiny, data=replace(tiny.data, variant=""), scoring=ScoringSettings())


def tatoeba(pairs: int) -> TranslatorSettings:
    """Tatoeba's short sentences, English to German (or --languages eng spa): BLEU 39 after 41 minutes."""
    usual, epochs, batch_tokens = automatic(100_000), 4, 2_048
    steps = max(500, epochs * pairs * 11 // batch_tokens)  # its sentences have about 11 tokens
    return replace(
        usual,
        vocab_size=8_000,
        steps=steps,
        model=replace(usual.model, width=192, heads=6, ffn_width=384),
        training=replace(
            usual.training,
            batch_tokens=batch_tokens,
            learning_rate=3.5e-3,
            warmup_steps=min(500, steps // 8),
            validate_every=min(400, steps // 4),
        ),
        data=DataSettings(languages=("eng", "deu")),
    )


def student(usual: TranslatorSettings, encoder_depth: int, decoder_depth: int) -> TranslatorSettings:
    """A deep encoder, which reads a sentence once, and a shallow recurrent decoder, which runs once per token.

    The rest is as usual for this width. Less dropout, because translations of a teacher are regular.
    """
    model = replace(usual.model, dropout=0.1, decoder_cell="ssru")
    return replace(usual, model=replace(model, encoder_depth=encoder_depth, decoder_depth=decoder_depth))


def student_tiny(pairs: int) -> TranslatorSettings:
    """A student for browsers and phones: 6 + 2 blocks, width 256, SSRU, as Firefox's tiny models.

    It has 9 M parameters without the vocabulary. Use it with many translations by a teacher; for fewer than 60,000 pairs
    `automatic` is smaller.
    """
    narrow = student(with_pairs(automatic(100_000), pairs, epochs=10), 6, 2)
    return replace(narrow, model=replace(narrow.model, heads=8, ffn_width=1_536))


def student_6_2(pairs: int) -> TranslatorSettings:
    """A student at base width: 6 + 2 blocks with SSRU, for laptops and servers if student-tiny loses too much."""
    return student(with_pairs(automatic(500_000), pairs, epochs=8), 6, 2)


def student_12_1(pairs: int) -> TranslatorSettings:
    """A student at base width: 12 + 1 blocks with SSRU, for the shortest time of a single sentence.

    Each token passes one block of the decoder. Use it to translate while somebody types; for files, student-6-2 has less
    work in total.
    """
    return student(with_pairs(automatic(500_000), pairs, epochs=8), 12, 1)


def with_pairs(usual: TranslatorSettings, pairs: int, epochs: int) -> TranslatorSettings:
    """The same model with the steps and the vocabulary for another number of pairs. Browser models have 32,000 tokens."""
    steps = max(500, epochs * pairs * 14 // usual.training.batch_tokens)
    training = replace(
        usual.training, validate_every=max(50, steps // 20), warmup_steps=min(1_000, steps // 8)
    )
    vocabulary = 32_000 if pairs >= 2_000_000 else automatic(pairs).vocab_size
    return replace(usual, steps=steps, training=training, vocab_size=vocabulary)


STUDENTS: dict[str, Callable[[int], TranslatorSettings]] = {
    "student-tiny": student_tiny,
    "student-6-2": student_6_2,
    "student-12-1": student_12_1,
}
RECIPES: dict[str, Callable[[int], TranslatorSettings]] = {
    "automatic": automatic,
    "built-in": built_in,
    "multi30k-tiny": multi30k_tiny,
    "multi30k-raw": multi30k_raw,
    "tatoeba": tatoeba,
    "paper-base": paper_base,
    "paper-big": paper_big,
    **STUDENTS,
}


def recurrent(settings: TranslatorSettings) -> TranslatorSettings:
    """The same run with LSTMs: two per side with about as many parameters, and one attention head.

    Muon is designed for the matrices of Transformer blocks, so LSTMs use AdamW, with the same learning rate.
    """
    model, hidden = settings.model, recurrent_hidden(settings.model)
    return replace(
        settings,
        model=replace(
            model, architecture="recurrent", encoder_depth=2, decoder_depth=2, heads=1, ffn_width=hidden
        ),
        training=replace(settings.training, optimizer="adamw", weight_decay=0.0),
    )


def recurrent_hidden(model: ModelSettings) -> int:
    """The width at which two LSTMs per side have about as many parameters as these blocks: 28 H² + 9 H D."""
    width, hidden = model.width, model.ffn_width
    inside = 2 * width * hidden
    blocks = model.encoder_depth * (4 * width**2 + inside) + model.decoder_depth * (8 * width**2 + inside)
    exact = ((81 * width**2 + 112 * blocks) ** 0.5 - 9 * width) / 56
    return max(8, 8 * round(exact / 8))


def with_lstms(name: str, recipe: Callable[[int], TranslatorSettings]) -> Callable[[int], TranslatorSettings]:
    def recurrent_recipe(pairs: int) -> TranslatorSettings:
        return recurrent(recipe(pairs))

    recurrent_recipe.__doc__ = f"The recipe {name}, with LSTMs of about as many parameters."
    return recurrent_recipe


RECURRENT_RECIPES = {
    name: with_lstms(name, recipe) for name, recipe in RECIPES.items() if name not in STUDENTS
}


def fine_tuning(pairs: int) -> FineTuneTranslatorSettings:
    """Three epochs with a low learning rate that decays to zero: enough to learn a domain without forgetting much."""
    batch_tokens = 2_048
    steps = 3 * pairs * 14 / batch_tokens
    return FineTuneTranslatorSettings(
        steps=None,
        training=TrainingSettings(
            batch_tokens=batch_tokens,
            learning_rate=2e-4,
            warmup_steps=round(min(400, steps / 10)),
            validate_every=round(max(20, min(1_000, steps / 10))),
        ),
    )


FINE_TUNE_RECIPES = {"automatic": fine_tuning}


@dataclass(frozen=True, kw_only=True)
class Published:
    """A score from the literature, and the setting in which ours can be compared with it."""

    model: str
    parameters: str
    test: str  # name of the test part
    languages: tuple[str, str]
    variant: str
    tokenize: str
    beam: int
    bleu: str  # as published


PUBLISHED = [
    Published(
        model="Wu et al. (ACL 2021), Transformer-Tiny, text only",
        parameters="2.6 M",
        test="test_2016_flickr",
        languages=("en", language),
        variant="lc.norm.tok",
        tokenize="none",
        beam=5,
        bleu=bleu,
    )
    for language, bleu in [("de", "41.02"), ("fr", "61.80")]
]


def published_rows(report: Mapping[str, Any], test: str) -> list[Published]:
    """The published scores for the same test part, languages, preprocessing and scoring as in this report."""
    languages, settings = report["languages"], report["settings"]
    if "fine_tuned" in report:  # it was trained on more data
        return []
    return [
        row
        for row in PUBLISHED
        if row.test == test
        and row.languages == (languages["source"], languages["target"])
        and row.variant == settings["data"]["variant"]
        and row.tokenize == settings["scoring"]["tokenize"]
        and row.beam == settings["decoding"]["beam_size"]
    ]
