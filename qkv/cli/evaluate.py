"""`qkv evaluate`: a translator's scores on sentences with reference translations."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    source: Path
    """Sentences to translate, one per line."""
    reference: Path
    """Their translations, line by line."""
    beam: int | None = None
    """Hypotheses kept at every step; 1 is greedy."""
    length_penalty: float | None = None
    """Exponent of the length penalty; 0 for none."""
    tokenize: str = "13a"
    """sacrebleu's tokenizer; none for text that is tokenised already."""
    lowercase: bool = False
    """Ignore case."""


def main(arguments: list[str]) -> None:
    command = tyro.cli(
        Evaluate,
        args=arguments,
        prog="qkv evaluate",
        description="BLEU and chrF by sacrebleu, with their signatures, and the share of exact matches.",
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    from qkv.cli.terminal import counting
    from qkv.data.parallel import read_two
    from qkv.evaluation.scores import Scorer
    from qkv.pipeline import load

    scorer = Scorer.make(tokenize=command.tokenize, lowercase=command.lowercase)
    pairs = read_two(command.source, command.reference)
    translator = load(command.model)
    with counting("translating", len(pairs)) as progress:
        hypotheses = translator.translate(
            pairs.source,
            beam=command.beam,
            length_penalty=command.length_penalty,
            done=lambda count: progress.advance(progress.task_ids[0], count),
        )
    scores = scorer.score(hypotheses, pairs.target)
    print(f"sentences    {scores.sentences:,}")
    print(f"BLEU         {scores.bleu.value:.2f}   {scores.bleu.signature}")
    print(f"chrF         {scores.chrf.value:.2f}   {scores.chrf.signature}")
    print(f"exact match  {scores.exact_match:.1f} %")
