"""Choose the training pairs of the starter model from cleaned corpora.

    python starter/select_pairs.py --everyday tatoeba.en-de.tsv --general general.en-de.tsv --output starter-data

`general` has a third column, the domain of each pair. A fixed number per domain is drawn from its short pairs, among the
half whose words translate each other better: the very best alone would be lists of names. Everyday sentences are written `--repeat` times, because the model is for them and there are few.
The pairs are written in both directions: NAME.en-de.tsv and NAME.de-en.tsv.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from qkv.corpus.lexicon import learn_lexicon

SHARES = {"documentation": 18_000, "europarl": 22_000, "office": 10_000}  # pairs per domain
LONGEST = 16  # words of a side
SAMPLE = 100_000  # pairs that the dictionary is learned from
SEED = 1

Pair = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose the training pairs of the starter model.")
    parser.add_argument("--everyday", type=Path, required=True, help="cleaned pairs of everyday sentences")
    parser.add_argument("--general", type=Path, required=True, help="cleaned pairs with their domain")
    parser.add_argument("--valid-everyday", type=Path, required=True, help="its validation part")
    parser.add_argument(
        "--valid-general", type=Path, nargs="+", default=[], help="validation parts of domains"
    )
    parser.add_argument("--repeat", type=int, default=2, help="how often everyday sentences are written")
    parser.add_argument("--output", type=Path, required=True, help="folder for the pairs")
    options = parser.parse_args()
    everyday = [pair for pair, _ in read(options.everyday)]
    general = list(well_aligned(options.general))
    pairs = everyday * options.repeat + general
    random.Random(SEED).shuffle(pairs)
    valid = [pair for pair, _ in read(options.valid_everyday)]
    for path in options.valid_general:
        valid += [pair for pair, _ in islice(read(path), 200)]
    options.output.mkdir(parents=True, exist_ok=True)
    write(options.output / "train", pairs)
    write(options.output / "valid", valid)
    print(
        f"{len(everyday):,} everyday pairs × {options.repeat} and {len(general):,} others; {len(valid):,} to validate on"
    )


def well_aligned(path: Path) -> Iterator[Pair]:
    by_domain: dict[str, list[Pair]] = defaultdict(list)
    for pair, domain in read(path):
        if max(len(side.split()) for side in pair) <= LONGEST:
            by_domain[domain].append(pair)
    everything = [pair for pairs in by_domain.values() for pair in pairs]
    lexicon = learn_lexicon(islice(everything, 0, None, max(1, len(everything) // SAMPLE)))
    for domain, wanted in SHARES.items():
        pairs = by_domain[domain]
        if not pairs:
            continue
        scores = np.nan_to_num(lexicon.scores(pairs), nan=-np.inf)
        better = np.flatnonzero(scores >= np.median(scores)).tolist()
        drawn = random.Random(SEED).sample(better, min(wanted, len(better)))
        print(
            f"{domain}: {len(drawn):,} of {len(pairs):,} short pairs, alignment score {np.median(scores):.2f} or better"
        )
        yield from (pairs[row] for row in drawn)


def read(path: Path) -> Iterator[tuple[Pair, str]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            source, target, *rest = line.rstrip("\n").split("\t")
            yield (source, target), rest[0] if rest else ""


def write(stem: Path, pairs: Sequence[Pair]) -> None:
    for languages, order in (("en-de", (0, 1)), ("de-en", (1, 0))):
        with stem.with_name(f"{stem.name}.{languages}.tsv").open("w", encoding="utf-8") as out:
            out.writelines(f"{pair[order[0]]}\t{pair[order[1]]}\n" for pair in pairs)


if __name__ == "__main__":
    main()
