"""The options of evaluating translations, each stated once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from qkv.families.translator.options import TranslationOptions
from qkv.flags import Flag, OptionalFile, OptionalLanguage, OrData, SomeFiles


@dataclass(frozen=True, kw_only=True)
class TranslationEvaluation:
    """How translations are evaluated. In Python, lists and columns of texts can stand for files."""

    source: OrData[OptionalFile] = None
    """Sentences to translate, one per line; optional for a file of translations."""
    reference: OrData[SomeFiles] = ()
    """Reference translations, line by line; one file or several."""
    pairs: OrData[OptionalFile] = None
    """One file with sources and references instead: .tsv, .jsonl, .tmx or .po."""
    source_language: OptionalLanguage = None
    """Source language of the pairs, such as en; by default that of the model."""
    target_language: OptionalLanguage = None
    """Target language of the pairs; by default that of the model."""
    merge: bool = False
    """Treat lines with the same source as one sentence with several references."""
    against: OrData[Annotated[Path | None, Flag(metavar="MODEL|FILE")]] = None
    """Another model, or another file of translations, to compare with."""
    output: Annotated[Path | None, Flag(aliases=["-o", "--out"], metavar="FILE")] = None
    """Write the translations to this file, one per line."""
    overwrite: bool = False
    """Replace the output file if it exists."""
    worst: int = 20
    """Number of sentences to show with the lowest scores; 0 for none."""
    beam_size: Annotated[int | None, Flag(aliases=["--beam"])] = None
    """Hypotheses kept at every step; 1 is greedy. The model has its own default."""
    length_penalty: float | None = None
    """Exponent of the length penalty; 0 for none."""
    tokenize: Annotated[str | None, Flag(metavar="NAME")] = None
    """Tokenizer of sacrebleu; none for tokenized text. By default as in the model's report, or 13a."""
    lowercase: bool = False
    """Ignore case. By default as in the model's report."""

    @property
    def decoding(self) -> TranslationOptions:
        return TranslationOptions(beam_size=self.beam_size, length_penalty=self.length_penalty)

    @property
    def place(self) -> str:
        """What the number of a sentence counts. Files of pairs may have no lines, or lines that are skipped."""
        return "line" if self.pairs is None else "pair"
