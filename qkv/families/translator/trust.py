"""What makes a translator's answers ones that can be trusted, learned when its training has ended."""

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
from qkv.families.translator.alignment import Aligner, links_in, rows_of, word_weights
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.translations import RISING, Confidence, Translation, distinct, features_of
from qkv.text.words import WORDS_AND_MARKS, spans, words_of_tokens

NEAR = 50.0  # chrF from which on a translation counts as good
ENOUGH = 20  # sentences to fit a confidence on
VARIED_ON = 200  # validation sentences that are also translated in worse ways, to fit it on bad examples too
WORSE = (  # a narrower search, what is drawn by chance, and what is drawn with little care
    TranslationOptions(beam_size=1),
    TranslationOptions(sample=True, temperature=0.7),
    TranslationOptions(sample=True),
)
ALIGNED_ON = 200  # validation pairs that choose the heads
DICTIONARY_FROM = 10_000  # training pairs that the dictionary is learned from
LONGEST = 40  # words of a pair that counts there: a long one says little about each of its words
STAND_INS, FEWEST_COPIES = 8, 5


def learn_trust(
    translator: Translator,
    train: ParallelText,
    valid: ParallelText,
    answers: Sequence[Translation],
    scorer: Scorer,
    working: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Give the translator its confidence, its aligner and its stand-ins; what the report says of them.

    `answers` are those to the first sentences of the validation part. `working` is told how far it has come.
    """
    worse = worse_answers(translator, valid.source[: min(VARIED_ON, len(answers))], working)
    confidence, told = learned_confidence(answers, worse, valid.target[: len(answers)], scorer)
    working("choosing attention heads for alignment", 0, 1)
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


def worse_answers(
    translator: Translator, sources: Sequence[str], working: Callable[[str, int, int], None]
) -> list[list[Translation]]:
    """For each source some translations that are usually worse than the best one."""
    what, total = "calibrating the confidence", (len(WORSE) + 1) * len(sources)
    found: list[list[Translation]] = [[] for _ in sources]
    several = TranslationOptions(num_hypotheses=max(2, translator.defaults.beam_size))
    for number, decoding in enumerate([several, *WORSE]):
        working(what, number * len(sources), total)
        for own, answers in zip(found, translator.hypotheses(sources, decoding), strict=True):
            own.append(answers[-1])
    return found


def learned_confidence(
    answers: Sequence[Translation],
    worse: Sequence[Sequence[Translation]],
    references: Sequence[str],
    scorer: Scorer,
) -> tuple[Confidence | None, dict[str, Any]]:
    """None where there are too few sentences to tell. `worse` are other answers to the first of them."""
    exact = [answer.text == reference for answer, reference in zip(answers, references, strict=True)]
    by_letter = 2 * sum(exact) >= len(exact)
    meaning = (
        "the reference, letter for letter" if by_letter else f"chrF {NEAR:g} or more against the reference"
    )

    def is_good(text: str, reference: str) -> bool:
        if by_letter:
            return text == reference
        return bool(scorer.chrf.sentence_score(text, [reference]).score >= NEAR)

    examples = examples_of(answers, worse, references, is_good)
    count = int(examples.best.sum())
    if count < ENOUGH:
        return None, {"good": meaning, "sentences": count, "calibration_error": None}
    learned, believed = calibrate(examples, RISING), held_out_best(examples, RISING)
    good = examples.good[examples.best]
    apart = auc(believed, good)
    confidence = Confidence(
        bias=learned.bias, weights=learned.weights, good=meaning, least=learned.least, most=learned.most
    )
    return confidence, {
        "good": meaning,
        "share_good": round(float(good.mean()), 4),
        "calibration_error": round(calibration_error(believed, good), 4),
        "brier_score": round(brier_score(believed, good), 4),
        "brier_score_of_a_constant": round(brier_score(torch.full_like(good, share_of(good)), good), 4),
        "auc": None if apart is None else round(apart, 4),
        "sentences": count,
        "hypotheses": len(examples.good),
        "range": [round(learned.least, 4), round(learned.most, 4)],
    }


def examples_of(
    answers: Sequence[Translation],
    worse: Sequence[Sequence[Translation]],
    references: Sequence[str],
    is_good: Callable[[str, str], bool],
) -> Examples:
    """The best answer to each sentence, and those of the worse ones that read differently. What was copied has none."""
    rows: list[tuple[tuple[float, ...], bool, int, bool]] = []
    for number, (best, reference) in enumerate(zip(answers, references, strict=True)):
        others = worse[number] if number < len(worse) else []
        for answer in distinct([best, *others]):
            if answer.log_probabilities:
                features = features_of(answer.log_probabilities)
                rows.append((features, is_good(answer.text, reference), number, answer is best))
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
def chosen_aligner(
    translator: Translator, valid: ParallelText, dictionary: Dictionary
) -> tuple[Aligner, float]:
    """The heads whose links the dictionary finds likeliest, and the mean probability that it gives them."""
    model, tokenizer = translator.model, translator.tokenizer
    model.eval()
    config = model.config
    blocks, count = config.cross_attention_shape
    groups = [*((head,) for head in range(count)), tuple(range(count))]
    likely = dict.fromkeys(product(range(blocks), groups, (False, True)), 0.0)
    seen = 0
    for source, target in zip(valid.source[:ALIGNED_ON], valid.target[:ALIGNED_ON], strict=True):
        ids, places = tokenizer.encode_with_spans(source)
        said, places_said = tokenizer.target.encode_with_spans(target)
        words = WORDS_AND_MARKS.findall(source), WORDS_AND_MARKS.findall(target)
        if not ids or not said or max(len(ids), len(said)) >= config.max_length or not all(words):
            continue
        tape, device = Tape(), model.tokens.weight.device
        read = torch.tensor([[*ids, config.end]], device=device)
        model(read, torch.tensor([[config.start, *said]], device=device), tape)
        of_source = words_of_tokens(places, spans(source, WORDS_AND_MARKS))
        of_target = words_of_tokens(places_said, spans(target, WORDS_AND_MARKS))
        seen += len(words[1])
        for block, late in product(range(blocks), (False, True)):
            heads = tape[recorded_attention(block)][0]  # (H, T, S)
            looks = rows_of(heads.cpu().numpy(), len(said), late)
            table = word_weights(looks, of_source, of_target, (len(words[1]), len(words[0])))
            for group in groups:
                links = {b: a for a, b in links_in(table[list(group)].mean(0))}
                for place, word in enumerate(words[1]):
                    origin = words[0][links[place]] if place in links else ""
                    likely[block, group, late] += math.log(dictionary(origin, word))
    best = max(likely, key=lambda each: likely[each])
    block, group, late = best
    return Aligner(block=block, heads=group, late=late), math.exp(likely[best] / max(1, seen))
