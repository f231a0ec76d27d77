"""Translate lines and files: one output line for each input line, with scores, alignments or JSON if they are wanted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from qkv.families.translator.options import (
    ANY_CONFIDENCE,
    DEFAULTS,
    NO_MEMORY,
    PLAIN_LINES,
    ConfidenceOptions,
    LineOptions,
    MemoryOptions,
    TranslationOptions,
)
from qkv.families.translator.pipeline import Done, Pipeline
from qkv.families.translator.recall import Recall
from qkv.families.translator.translations import UNSURE, Translation, judged
from qkv.localization.entry import MemoryMatch


@dataclass(frozen=True, kw_only=True)
class LineTranslation:
    """How lines are translated and what is written for them."""

    options: TranslationOptions = DEFAULTS
    confidence: ConfidenceOptions = ANY_CONFIDENCE
    form: LineOptions = PLAIN_LINES
    memory: MemoryOptions = NO_MEMORY

    def records(
        self,
        pipeline: Pipeline,
        lines: Sequence[str],
        done: Done,
        first: int = 1,
        recall: Recall | None = None,
    ) -> list[str]:
        """The output lines for some input lines. `first` is the number of the first one."""
        matches = [recall.usable(line, self.options.protected) if recall else None for line in lines]
        rest = [line for line, match in zip(lines, matches, strict=True) if match is None]
        if self.only_text:
            texts = iter(pipeline.best(rest, self.options, done))
            return [without_line_breaks(match.target if match else next(texts)) for match in matches]
        decoding = replace(self.options, alignments=self.options.alignments or self.form.json)
        translated = iter(pipeline.hypotheses(rest, decoding, done))
        found: list[str] = []
        for number, (line, match) in enumerate(zip(lines, matches, strict=True), first):
            hypotheses = [Translation(text=match.target, score=0.0)] if match else next(translated)
            each = [judged(hypothesis, self.confidence) for hypothesis in hypotheses]
            if self.form.json:
                found.append(self.as_json(number, line, each, match))
            else:
                found += [self.as_line(number, hypothesis) for hypothesis in each]
        return found

    @property
    def only_text(self) -> bool:
        """Whether the output has neither scores nor columns, so that scores need not be computed."""
        columns = self.form.scores or self.options.alignments or self.options.num_hypotheses > 1
        return not (columns or self.form.json or self.confidence.min_confidence is not None)

    def as_line(self, number: int, hypothesis: Translation) -> str:
        several, alignments = self.options.num_hypotheses > 1, self.options.alignments
        marked = hypothesis.unsure and not self.confidence.withhold
        columns = [str(number)] if several else []
        columns.append(without_line_breaks(f"{UNSURE if marked else ''}{hypothesis.text}"))
        if several or self.form.scores or alignments:
            columns[-1] = columns[-1].replace("\t", " ")  # a tab separates columns
        if self.form.scores:
            confidence = "" if hypothesis.confidence is None else f"{hypothesis.confidence:.3f}"
            columns += [f"{hypothesis.log_probability:.4f}", confidence]
        if alignments:
            columns.append(hypothesis.pharaoh(1 if marked else 0))  # the mark is a word
        return "\t".join(columns)

    def as_json(
        self, number: int, line: str, hypotheses: Sequence[Translation], match: MemoryMatch | None
    ) -> str:
        translations = [
            {
                "text": None if each.unsure and self.confidence.withhold else each.text,
                "score": round(each.score, 5),
                "log_probability": round(each.log_probability, 5),
                "confidence": None if each.confidence is None else round(each.confidence, 4),
                **({} if self.confidence.min_confidence is None else {"unsure": each.unsure}),
                "words": [[word.text, round(word.log_probability, 5)] for word in each.words],
                "alignment": None if each.alignment is None else each.pharaoh(),
            }
            for each in hypotheses
        ]
        memory = {"memory": match.to_dict()} if match else {}
        record = {"line": number, "source": line, "translations": translations, **memory}
        return json.dumps(record, ensure_ascii=False)


def without_line_breaks(text: str) -> str:
    """Each input line gets one output line, whatever the model generates."""
    return text.replace("\r", " ").replace("\n", " ")
