"""Makes training runs that can be killed without waiting for Python to start: it has imported all, and forks.

A line of JSON on standard input, {"out": FOLDER, "limit": BYTES or null}, is a run, begun or gone on with. The answers
are its process number, and when it has ended its exit code.
"""

import json
import os
import resource
import sys
from dataclasses import replace
from pathlib import Path

import torch
from digit_runs import Recorder, digit_corpus, tiny_settings

from qkv.families.translator.task import translator_task
from qkv.training.runs import train

STEPS, SAVED_EVERY = 40, 4
LIMITED_FROM = 10  # steps


def run(out: Path, limit: int | None) -> int:
    torch.set_num_threads(1)
    recorder = Recorder(LIMITED_FROM, lambda: limit_files(limit)) if limit else Recorder()
    begun = (out / "training" / "run.json").exists()
    settings = replace(tiny_settings(validate_every=SAVED_EVERY), steps=STEPS)
    try:
        train(translator_task(digit_corpus(), settings), out, watch=lambda _: recorder, resume=begun)
    except OSError as error:
        recorder.warnings.append(str(error))
        return 5
    finally:
        if limit:
            limit_files(resource.RLIM_INFINITY)
            (out.parent / "warnings.json").write_text(json.dumps(recorder.warnings))
    return 0


def limit_files(size: int | None) -> None:
    """Of no file more than so many bytes; the other limit stays, so that this one can be lifted again."""
    assert size is not None
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main() -> None:
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = run(Path(wanted["out"]), wanted["limit"])
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
