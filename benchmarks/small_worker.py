"""One version of qkv for benchmarks/small.py: it translates a file each time that a line on standard input asks for it.

    python benchmarks/small_worker.py BUNDLE LINES BEAM

A line names the task: "file" or "listed", the same under the model's shortlist. The answer is the seconds it took. The
bundle and the lines are the same for all versions.
"""

import sys
import time
from pathlib import Path

import qkv


def main(bundle: str, lines: str, beam: str) -> None:
    texts = Path(lines).read_text(encoding="utf-8").splitlines()
    translators = {"file": qkv.load(bundle)}
    translators["file"].translate(texts[:64], beam_size=int(beam))
    print(qkv.__file__, flush=True)
    for line in sys.stdin:
        task = line.strip()
        if task == "listed" and task not in translators:
            translators[task] = qkv.load(f"{bundle}-listed")
            translators[task].translate(texts[:64], beam_size=int(beam))
        began = time.perf_counter()
        translators[task].translate(texts, beam_size=int(beam))
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
