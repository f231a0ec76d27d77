"""What guarantees cost: CPU time of texts with placeholders, addresses and terms, relative to plain ones.

    python benchmarks/guarantees.py --model runs/demo

Plain and guarded texts take turns, on one thread, and the fastest round of each counts. Each guarded text is compared
with the same words without its spans. The last line gives the median and the largest ratio; the target is at most 5.
"""

import argparse
import statistics
import time
from pathlib import Path

import qkv

GUARDED = {  # the same words with and without what must be kept
    "{name} likes cats": "Tom likes cats",
    "the cat danced at https://example.com/some/long/path/index.html?q=1": "the cat danced at home",
    "Row %d, invoice %s/%u: account %s is not of type Accounts Receivable.": (
        "Row one, invoice two: account three is not of type Accounts Receivable."
    ),
    "the <b>baby</b> is <i>crying</i> in %(room)s": "the baby is crying in it",
}


def cpu_seconds(translator: qkv.Translator, text: str, repeats: int) -> float:
    began = time.process_time()
    for _ in range(repeats):
        translator.translate(text)
    return (time.process_time() - began) / repeats


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=Path("runs/demo"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    translator = qkv.load(given.model, threads=1)
    ratios = []
    for guarded, plain in GUARDED.items():
        times = {text: [] for text in (plain, guarded)}
        for _ in range(given.rounds):
            for text, found in times.items():
                found.append(cpu_seconds(translator, text, given.repeats))
        fastest = {text: min(found) for text, found in times.items()}
        ratios.append(fastest[guarded] / fastest[plain])
        print(f"{1000 * fastest[plain]:6.2f} ms  {plain}")
        print(f"{1000 * fastest[guarded]:6.2f} ms  {guarded} → {translator.translate(guarded)}")
    print(f"ratio median {statistics.median(ratios):.2f} largest {max(ratios):.2f}")


if __name__ == "__main__":
    main()
