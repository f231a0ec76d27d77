"""Figures about the language of the pages: length of sentences, passive voice, and terms that the glossary lacks."""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

CODE = re.compile(r"```.*?```|^    .*?$|^\|.*?$|<[^>]+>|!\[[^\]]*\]\([^)]*\)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[])|\n\s*\n|\n\s*[-#]+ |\n\s*\d+\. ")
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+)?\w+(?:ed|en|wn|ought|uilt|ept|ead|ound|ade|iven)\b",
    re.I,
)
LONG = 30  # words
TERMS = (
    "attention", "BLEU", "beam search", "BPE", "batch size", "bundle", "calibration", "checkpoint", "chrF", "confidence", "decoder",
    "distillation", "dropout", "embedding", "encoder", "ensemble", "epoch", "early stopping", "fine-tuning", "glossary", "gradient clipping",
    "greedy search", "hypothesis", "int8", "label smoothing", "learning rate", "logits", "mask", "perplexity", "placeholder", "quantization",
    "recipe", "sampling", "segment", "shortlist", "softmax", "token", "translation memory", "vocabulary", "warm-up",
)  # fmt: skip
"""Terms that a glossary of this field must explain."""


def readability(root: Path) -> str:
    """A line for each page, worst first, and the terms that the glossary lacks."""
    skipped = {"log.md"}
    rows = []
    for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        found = list(sentences(path.read_text(encoding="utf-8")))
        if path.name in skipped or not found:
            continue
        lengths = [len(sentence.split()) for sentence in found]
        passive = sum(bool(PASSIVE.search(sentence)) for sentence in found)
        long = sum(length > LONG for length in lengths)
        rows.append(
            (
                mean(lengths),
                f"{path.name:28} {mean(lengths):6.1f} {max(lengths):8} {long:6} {100 * passive // len(found):8} %",
            )
        )
    header = f"{'page':28} {'words':>6} {'longest':>8} {f'>{LONG}':>6} {'passive':>10}"
    missing = ", ".join(terms_without_entry(root / "docs" / "glossary.md")) or "none"
    return "\n".join(
        [header, *(row for _, row in sorted(rows, reverse=True)), f"terms that the glossary lacks: {missing}"]
    )


def sentences(text: str) -> Iterator[str]:
    plain = LINK.sub(r"\1", CODE.sub("\n\n", text))
    for part in END.split(plain):
        words = " ".join(part.split()).strip("#-* ")
        if len(words.split()) > 3:
            yield words


def terms_without_entry(glossary: Path) -> list[str]:
    known = glossary.read_text(encoding="utf-8").lower() if glossary.exists() else ""
    return [term for term in TERMS if f"| {term.lower()}" not in known]
