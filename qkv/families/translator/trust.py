"""Fits the confidence, the aligner and the stand-ins of a translator after its training."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from qkv.core.pairs import recorded_attention
from qkv.core.tape import Tape
from qkv.data.parallel import ParallelText
from qkv.evaluation.alignment import Dictionary, copied_words
from qkv.evaluation.calibration import (
    Examples,
    auc,
    brier_score,
    calibrate,
    calibration_error,
    held_out_best,
    share_of,
)
from qkv.evaluation.scores import Scorer
from qkv.families.translator.aligner import Aligner
from qkv.families.translator.alignment import links_in, rows_of, word_weights
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.translations import RISING, Confidence, Translation, distinct, features_of
from qkv.text.words import WORDS_AND_MARKS, spans, words_of_tokens

GOOD_CHRF = 50.0  # chrF from which a translation counts as good
MIN_SENTENCES = 20  # to fit a confidence
VARIED_ON = 200  # validation sentences also translated with worse decoding, as bad examples
WORSE_DECODING = (  # greedy, and sampling at two temperatures
    TranslationOptions(beam_size=1),
    TranslationOptions(sample=True, temperature=0.7),
    TranslationOptions(sample=True),
)
ALIGNED_ON = 200  # validation pairs to choose the heads on
DICTIONARY_FROM = 10_000  # training pairs
LONGEST = 40  # words; long pairs say little about single words
STAND_INS, MIN_COPIES = 8, 5


def learn_trust(
    translator: Translator,
    train: ParallelText,
    valid: ParallelText,
    translations: Sequence[Translation],
    scorer: Scorer,
    working: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Set the translator's confidence, aligner and stand-ins, and return what the report says about them.

    `translations` are those of the first validation sentences. `working` is called with the progress.
    """
    worse = worse_translations(translator, valid.source[: min(VARIED_ON, len(translations))], working)
    confidence, facts = fit_confidence(translations, worse, valid.target[: len(translations)], scorer)
    working("choosing attention heads for alignment", 0, 1)
    words = words_of(train, DICTIONARY_FROM)
    aligner, average = choose_aligner(translator, valid, Dictionary([*words, *words_of(valid, ALIGNED_ON)]))
    stand_ins = copied_words(words, MIN_COPIES, STAND_INS)
    translator._defaults = replace(
        translator._defaults, confidence=confidence, aligner=aligner, stand_ins=tuple(stand_ins)
    )
    return {
        "confidence": facts,
        "alignment": {
            "block": aligner.block,
            "heads": list(aligner.heads),
            "attention_step": "after the word" if aligner.late else "before the word",
            "dictionary_probability": round(average, 4),
        },
        "placeholder_words": stand_ins,
    }


def worse_translations(
    translator: Translator, sources: Sequence[str], working: Callable[[str, int, int], None]
) -> list[list[Translation]]:
    """For each source, some translations that are usually worse than the best one."""
    what, total = "calibrating the confidence", (len(WORSE_DECODING) + 1) * len(sources)
    found: list[list[Translation]] = [[] for _ in sources]
    several = TranslationOptions(num_hypotheses=max(2, translator._defaults.beam_size))
    for number, decoding in enumerate([several, *WORSE_DECODING]):
        working(what, number * len(sources), total)
        for own, translations in zip(found, translator._pipeline.hypotheses(sources, decoding), strict=True):
            own.append(translations[-1])
    return found


def fit_confidence(
    translations: Sequence[Translation],
    worse: Sequence[Sequence[Translation]],
    references: Sequence[str],
    scorer: Scorer,
) -> tuple[Confidence | None, dict[str, Any]]:
    """Fit the confidence; None if there are too few sentences. `worse` are other translations of the first ones."""
    exact = [
        translation.text == reference for translation, reference in zip(translations, references, strict=True)
    ]
    exact_is_good = 2 * sum(exact) >= len(exact)
    meaning = (
        "identical to the reference" if exact_is_good else f"chrF {GOOD_CHRF:g} or more against the reference"
    )

    def is_good(text: str, reference: str) -> bool:
        if exact_is_good:
            return text == reference
        return bool(scorer.chrf.sentence_score(text, [reference]).score >= GOOD_CHRF)

    examples = examples_of(translations, worse, references, is_good)
    count = int(examples.best.sum())
    if count < MIN_SENTENCES:
        return None, {"good": meaning, "sentences": count, "calibration_error": None}
    learned, confidences = calibrate(examples, RISING), held_out_best(examples, RISING)
    good = examples.good[examples.best]
    area = auc(confidences, good)
    confidence = Confidence(
        bias=learned.bias, weights=learned.weights, good=meaning, least=learned.least, most=learned.most
    )
    return confidence, {
        "good": meaning,
        "share_good": round(float(good.mean()), 4),
        "calibration_error": round(calibration_error(confidences, good), 4),
        "brier_score": round(brier_score(confidences, good), 4),
        "brier_score_baseline": round(brier_score(torch.full_like(good, share_of(good)), good), 4),
        "auc": None if area is None else round(area, 4),
        "sentences": count,
        "hypotheses": len(examples.good),
        "range": [round(learned.least, 4), round(learned.most, 4)],
    }


def examples_of(
    translations: Sequence[Translation],
    worse: Sequence[Sequence[Translation]],
    references: Sequence[str],
    is_good: Callable[[str, str], bool],
) -> Examples:
    """The best translation of each sentence, and the worse ones that differ. Copied lines are left out."""
    rows: list[tuple[tuple[float, ...], bool, int, bool]] = []
    for number, (best, reference) in enumerate(zip(translations, references, strict=True)):
        others = worse[number] if number < len(worse) else []
        for translation in distinct([best, *others]):
            if translation.log_probabilities:
                features = features_of(translation.log_probabilities)
                rows.append((features, is_good(translation.text, reference), number, translation is best))
    return Examples(
        features=torch.tensor([row[0] for row in rows], dtype=torch.float64),
        good=torch.tensor([row[1] for row in rows], dtype=torch.float64),
        sentence=torch.tensor([row[2] for row in rows], dtype=torch.long),
        best=torch.tensor([row[3] for row in rows], dtype=torch.bool),
    )


def words_of(pairs: ParallelText, most: int) -> list[tuple[list[str], list[str]]]:
    both = zip(pairs.source[:most], pairs.target[:most], strict=True)
    found = [(WORDS_AND_MARKS.findall(source), WORDS_AND_MARKS.findall(target)) for source, target in both]
    return [(source, target) for source, target in found if max(len(source), len(target)) <= LONGEST]


@torch.inference_mode()
def choose_aligner(
    translator: Translator, valid: ParallelText, dictionary: Dictionary
) -> tuple[Aligner, float]:
    """The heads whose links are most likely by the dictionary, and the mean probability of these links."""
    model, tokenizer = translator.model, translator.tokenizer
    model.eval()
    config = model.config
    blocks, count = config.cross_attention_shape
    groups = [*((head,) for head in range(count)), tuple(range(count))]
    log_likelihood = dict.fromkeys(product(range(blocks), groups, (False, True)), 0.0)
    seen = 0
    for source, target in zip(valid.source[:ALIGNED_ON], valid.target[:ALIGNED_ON], strict=True):
        ids, source_spans = tokenizer.encode_with_spans(source)
        target_ids, target_spans = tokenizer.target.encode_with_spans(target)
        words = WORDS_AND_MARKS.findall(source), WORDS_AND_MARKS.findall(target)
        if not ids or not target_ids or max(len(ids), len(target_ids)) >= config.max_length or not all(words):
            continue
        tape, device = Tape(), model.tokens.weight.device
        read = torch.tensor([config.complete_source(ids)], device=device)
        model(read, torch.tensor([[config.start, *target_ids]], device=device), tape)
        of_source = words_of_tokens(source_spans, spans(source, WORDS_AND_MARKS))
        of_target = words_of_tokens(target_spans, spans(target, WORDS_AND_MARKS))
        seen += len(words[1])
        for block, late in product(range(blocks), (False, True)):
            heads = tape[recorded_attention(block)][0]  # (H, T, S)
            attention = rows_of(heads.cpu().numpy(), len(target_ids), late)
            table = word_weights(attention, of_source, of_target, (len(words[1]), len(words[0])))
            for group in groups:
                links = {b: a for a, b in links_in(table[list(group)].mean(0))}
                for place, word in enumerate(words[1]):
                    origin = words[0][links[place]] if place in links else ""
                    log_likelihood[block, group, late] += math.log(dictionary(origin, word))
    best = max(log_likelihood, key=lambda each: log_likelihood[each])
    block, group, late = best
    return Aligner(block=block, heads=group, late=late), math.exp(log_likelihood[best] / max(1, seen))
