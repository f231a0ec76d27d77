"""Score both directions of the starter model on every domain, and write the scores as JSON.

    python starter/evaluate.py --models runs --everyday test.eng-deu.tsv --domain europarl=test-europarl.en-de.tsv … -o scores.json

The files have English in the first column and German in the second.
"""

import argparse
import json
from pathlib import Path

import qkv


def main() -> None:
    parser = argparse.ArgumentParser(description="Score both directions of the starter model.")
    parser.add_argument("--models", type=Path, required=True, help="folder with the models en-de and de-en")
    parser.add_argument("--everyday", type=Path, required=True, help="test set of everyday sentences")
    parser.add_argument("--domain", nargs="+", default=[], metavar="NAME=FILE", help="other test sets")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    tests = {"everyday": options.everyday} | {
        name: Path(path) for name, _, path in (each.partition("=") for each in options.domain)
    }
    scores = {
        pair: {
            name: scores_on(options.models / pair, path, swapped=pair == "de-en")
            for name, path in tests.items()
        }
        for pair in ("en-de", "de-en")
    }
    options.output.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")


def scores_on(model: Path, test: Path, *, swapped: bool) -> dict[str, float]:
    """As people run it: in int8, at the model's own beam size."""
    rows = [line.split("\t")[:2] for line in test.read_text(encoding="utf-8").splitlines()]
    english, german = [row[0] for row in rows], [row[1] for row in rows]
    source, reference = (german, english) if swapped else (english, german)
    report = qkv.evaluate(model, source, reference, progress=False, compute_type="int8")
    found = {"sentences": len(rows), "bleu": round(report.bleu.value, 1), "chrf": round(report.chrf.value, 1)}
    print(model.name, test.name, found, flush=True)
    return found


if __name__ == "__main__":
    main()
