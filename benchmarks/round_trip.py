"""BLEU of one translator wherever it goes: here, in transformers, in CTranslate2, and back as an import.

    qkv train translator --recipe multi30k-tiny --positions interleaved --data DIR --out runs/interleaved
    python benchmarks/round_trip.py runs/interleaved --source test.en --target test.de

All say the likeliest piece at each step (greedy), for beams are scored differently there. Rotary positions have no place
in transformers: such a model goes to CTranslate2 alone. In int8 the same weights are rounded by our export, by CTranslate2
when it opens the float32 folder, and, where it takes the folder for transformers, by its own converter.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.flags import Positional

AT_ONCE = 32  # sentences in a batch of transformers


@dataclass(frozen=True, kw_only=True)
class Options:
    model: Positional[Path]
    """Bundle of a translator."""
    source: Path
    """Sentences, one a line."""
    target: Path
    """What they should become."""
    lines: int = 1_000
    """Sentences at most."""
    tokenize: str = "13a"
    """sacrebleu's tokenizer for BLEU; none for text that is tokenized already."""


def main(arguments: list[str]) -> None:
    options = read_options(Options, arguments, prog="benchmarks/round_trip.py", description=__doc__ or "")
    sources, references = (
        path.read_text(encoding="utf-8").splitlines()[: options.lines]
        for path in (options.source, options.target)
    )
    if len(sources) != len(references):
        raise QkvError(f"{options.source} and {options.target} have different numbers of lines.")
    with tempfile.TemporaryDirectory() as folder:
        found = translations(options.model, sources, Path(folder))
    show(found, references, options.tokenize)


def translations(model: Path, sources: Sequence[str], work: Path) -> dict[str, list[str]]:
    """What each system makes of the sources."""
    import qkv
    from qkv.families.translator.ctranslate2 import translate_greedily
    from qkv.hub.exporting import export_to_transformers
    from qkv.hub.exporting_ctranslate2 import export_to_ctranslate2
    from qkv.hub.importing import import_model

    ours = qkv.load(model)
    found = {"qkv": translate_greedily(ours, sources)}
    for numbers in ("float32", "int8"):
        exported = export_to_ctranslate2(model, work / numbers, numbers, sources)
        assert exported.translations is not None
        found[f"CTranslate2, {numbers}"] = exported.translations[1]
    found["CTranslate2, the float32 folder opened in int8"] = by_ctranslate2(ours, work / "float32", sources)
    try:
        export_to_transformers(model, work / "transformers")
    except QkvError as error:
        print(f"not for transformers: {error}", file=sys.stderr)
        return found
    found["transformers"] = by_transformers(ours, work / "transformers", sources)
    import_model(work / "transformers", work / "back", origin="round trip")
    found["qkv, imported back"] = translate_greedily(qkv.load(work / "back"), sources)
    own = converted_there(work / "transformers", work / "converted")
    if own is not None:
        found["CTranslate2's own converter, int8"] = by_ctranslate2(ours, own, sources)
    return found


def by_transformers(ours: Any, folder: Path, sources: Sequence[str]) -> list[str]:
    """With its own tokenizer and its own search."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from qkv.families.translator.ctranslate2 import requests_for

    tokens: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    limits = requests_for(ours, sources)[1]
    cut_to = {"truncation": True, "max_length": ours._pipeline.limit + 1}  # with the end mark
    said: list[str] = []
    with torch.inference_mode():
        for start in range(0, len(sources), AT_ONCE):
            batch = tokens(
                list(sources[start : start + AT_ONCE]), return_tensors="pt", padding=True, **cut_to
            )
            inputs = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
            rows = model.generate(
                **inputs, num_beams=1, do_sample=False, max_new_tokens=max(limits), max_length=None
            )
            cut = [
                row[: 1 + limit] for row, limit in zip(rows, limits[start:], strict=False)
            ]  # the start is one
            said += tokens.batch_decode(cut, skip_special_tokens=True)
    return said


def by_ctranslate2(ours: Any, folder: Path, sources: Sequence[str]) -> list[str]:
    import ctranslate2

    from qkv.families.translator.ctranslate2 import translate_with_engine

    return translate_with_engine(ours, ctranslate2.Translator(str(folder), compute_type="int8"), sources)


def converted_there(folder: Path, out: Path) -> Path | None:
    """By CTranslate2's own converter, where it knows such a folder."""
    import json

    from ctranslate2.converters import TransformersConverter

    try:
        TransformersConverter(str(folder)).convert(str(out), quantization="int8")
    except Exception as error:  # it is not known to take tokenizers of ours
        print(f"CTranslate2's converter: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**config, "add_source_eos": True}))
    return out


def show(
    found: dict[str, list[str]],
    references: Sequence[str],
    tokenize: str,
    print_: Callable[..., None] | None = None,
) -> None:
    from qkv.evaluation.scores import Scorer

    scorer = Scorer.make(tokenize=tokenize, lowercase=False)
    table = Table("system", "BLEU", "as qkv, letter by letter")
    for name, said in found.items():
        same = sum(a == b for a, b in zip(said, found["qkv"], strict=True))
        bleu = scorer.score(said, references).bleu.value
        table.add_row(name, f"{bleu:.2f}", f"{same:,} of {len(said):,}")
    (print_ or Console(width=100).print)(table)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except QkvError as error:
        sys.exit(fail(str(error)))
