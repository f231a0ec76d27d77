"""What makes a translator's answers ones that can be trusted, learned when its training has ended."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from qkv.core.pairs import recorded_look
from qkv.core.tape import Tape
from qkv.data.parallel import ParallelText
from qkv.evaluation.alignment import Dictionary, copied_words
from qkv.evaluation.calibration import calibration_error, fit, held_out, tensors, told_apart
from qkv.evaluation.scores import Scorer
from qkv.families.translator.alignment import Aligner, links_in, rows_of, word_weights
from qkv.families.translator.answers import Answer, Confidence, features_of
from qkv.families.translator.product import Translator
from qkv.text.words import FINE, owners, spans

NEAR = 50.0  # chrF from which on a translation counts as good
ENOUGH = 20  # sentences to fit a confidence on
ALIGNED_ON = 200  # validation pairs that choose the heads
DICTIONARY_FROM = 10_000  # training pairs that the dictionary is learned from
LONGEST = 40  # words of a pair that counts there: a long one says little about each of its words
STAND_INS, FEWEST_COPIES = 8, 5


def learn_trust(
    translator: Translator,
    train: ParallelText,
    valid: ParallelText,
    answers: Sequence[Answer],
    scorer: Scorer,
) -> dict[str, Any]:
    """Give the translator its confidence, its aligner and its stand-ins; what the report says of them.

    `answers` are those to the first sentences of the validation part.
    """
    confidence, told = learned_confidence(answers, valid.target[: len(answers)], scorer)
    words = words_of(train, DICTIONARY_FROM)
    aligner, average = chosen_aligner(translator, valid, Dictionary([*words, *words_of(valid, ALIGNED_ON)]))
    stand_ins = copied_words(words, FEWEST_COPIES, STAND_INS)
    translator.defaults = replace(
        translator.defaults, confidence=confidence, aligner=aligner, stand_ins=tuple(stand_ins)
    )
    return {
        "confidence": told,
        "alignment": {
            "block": aligner.block,
            "heads": list(aligner.heads),
            "look": "after the word was said" if aligner.late else "before the word is said",
            "dictionary_probability": round(average, 4),
        },
        "stand_ins": stand_ins,
    }


def learned_confidence(
    answers: Sequence[Answer], references: Sequence[str], scorer: Scorer
) -> tuple[Confidence | None, dict[str, Any]]:
    """None where there are too few sentences to tell."""
    exact = [answer.text == reference for answer, reference in zip(answers, references, strict=True)]
    if 2 * sum(exact) >= len(exact):
        good, meaning = exact, "the reference, letter for letter"
    else:
        near = [
            scorer.chrf.sentence_score(answer.text, [reference]).score
            for answer, reference in zip(answers, references, strict=True)
        ]
        good, meaning = [score >= NEAR for score in near], f"chrF {NEAR:g} or more against the reference"
    rows = [
        (features_of(answer.log_probabilities), right)
        for answer, right in zip(answers, good, strict=True)
        if answer.log_probabilities
    ]
    if len(rows) < ENOUGH:
        return None, {"good": meaning, "sentences": len(rows), "calibration_error": None}
    x, y = tensors([row for row, _ in rows], [right for _, right in rows])
    learned, believed = fit(x, y), held_out(x, y)
    apart = told_apart(believed, y)
    return Confidence(bias=learned.bias, weights=learned.weights, good=meaning), {
        "good": meaning,
        "share_good": round(float(y.mean()), 4),
        "calibration_error": round(calibration_error(believed, y), 4),
        "told_apart": None if apart is None else round(apart, 4),
        "sentences": len(rows),
    }


def words_of(pairs: ParallelText, most: int) -> list[tuple[list[str], list[str]]]:
    both = zip(pairs.source[:most], pairs.target[:most], strict=True)
    found = [(FINE.findall(source), FINE.findall(target)) for source, target in both]
    return [(source, target) for source, target in found if max(len(source), len(target)) <= LONGEST]


@torch.inference_mode()
def chosen_aligner(
    translator: Translator, valid: ParallelText, dictionary: Dictionary
) -> tuple[Aligner, float]:
    """The heads whose links the dictionary finds likeliest, and the mean probability that it gives them."""
    model, tokenizer = translator.model, translator.tokenizer
    model.eval()
    config = model.config
    blocks, count = config.looking
    groups = [*((head,) for head in range(count)), tuple(range(count))]
    likely = dict.fromkeys(product(range(blocks), groups, (False, True)), 0.0)
    seen = 0
    for source, target in zip(valid.source[:ALIGNED_ON], valid.target[:ALIGNED_ON], strict=True):
        ids, places = tokenizer.encode_with_spans(source)
        said, places_said = tokenizer.target.encode_with_spans(target)
        words = FINE.findall(source), FINE.findall(target)
        if not ids or not said or max(len(ids), len(said)) >= config.context or not all(words):
            continue
        tape, device = Tape(), model.tokens.weight.device
        read = torch.tensor([[*ids, config.end]], device=device)
        model(read, torch.tensor([[config.start, *said]], device=device), tape)
        of_source = owners(places, spans(source, FINE))
        of_target = owners(places_said, spans(target, FINE))
        seen += len(words[1])
        for block, late in product(range(blocks), (False, True)):
            heads = tape[recorded_look(block)][0]  # (H, T, S)
            looks = rows_of(heads, len(said), late)
            table = word_weights(looks, of_source, of_target, (len(words[1]), len(words[0])))
            for group in groups:
                links = {b: a for a, b in links_in(table[list(group)].mean(0))}
                for place, word in enumerate(words[1]):
                    origin = words[0][links[place]] if place in links else ""
                    likely[block, group, late] += math.log(dictionary(origin, word))
    best = max(likely, key=lambda each: likely[each])
    block, group, late = best
    return Aligner(block=block, heads=group, late=late), math.exp(likely[best] / max(1, seen))
