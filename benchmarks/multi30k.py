"""Time to quality on Multi30k en-de: how soon does qkv translate well, and how soon do others?

    python benchmarks/multi30k.py --data DIR --minutes 60

trains, one after another, each with all cores of this machine and a limit of so many minutes:

  ours          the command `qkv train translator --recipe multi30k-tiny`; it ends with the steps of the recipe
                where they take less than the limit
  recurrent     the same command with --architecture recurrent; only where --only names it
  marian        Hugging Face transformers' MarianMTModel in a plain PyTorch loop, with the published settings
                of Wu et al. (ACL 2021), Transformer-Tiny
  marian-small  the same with our size of batch and a warm-up that ends within a short run
  joeynmt       JoeyNMT's own command with the published settings, where it is installed

Each run leaves weights about every eighth of its time. When it is over they translate test2016 with beam 5, which
is not in its time. At each point the weights as they stood compete with the average of the last checkpoints, and
the first 300 sentences of val decide; JoeyNMT's command has no average, and our own last point is the model that
the command hands over. The peers have the published vocabulary of 10,000 pieces, cut as ours are. A length
penalty of 1 divides by ((5 + length) / 6) here and in JoeyNMT, and by the length in transformers. results.json has
all points; `--report` draws them again.
"""

import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from curves import Curve, curves_picture, curves_table, ratios_table, read_curves, write_results
from multi30k_systems.common import CHOSEN_ON, Options, PeerSettings, Texts, Trained, how_measured, scored_all
from multi30k_systems.joeynmt import JOEYNMT
from multi30k_systems.marian import marian
from multi30k_systems.ours import OURS, RECURRENT
from rich.console import Console

from qkv.checkpoint.files import read_json, write_json
from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.families.translator import recipes
from qkv.progress.terminal import say

PUBLISHED = float(recipes.PUBLISHED[0].bleu)  # Wu et al., ACL 2021, test2016
LEVELS = (40.0, PUBLISHED)
TRAINED = "trained.json"  # in the folder of a system: its training has ended
SMALL = PeerSettings(batch_tokens=2_048, batches=1, warmup_steps=1_000)

SYSTEMS = {
    "ours": OURS,
    "recurrent": RECURRENT,
    "marian": marian("marian", PeerSettings()),
    "marian-small": marian("marian-small", SMALL),
    "joeynmt": JOEYNMT,
}


def systems_of(options: Options) -> list[str]:
    names = [name.strip() for name in options.only.split(",")]
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown:
        raise QkvError(f"--only knows {', '.join(SYSTEMS)}, not {', '.join(unknown)}.")
    return names


def run(options: Options) -> None:
    results = options.out / "results.json"
    if options.report:
        show(options.out, read_curves(results))
        return
    if options.data is None:
        raise QkvError("--data names the folder with Multi30k; --report needs none.")
    systems = systems_of(options)
    curves = read_curves(results) if results.exists() else {}
    refuse_to_repeat(options.out, systems, curves)
    refuse_to_mix(options, curves)
    texts = Texts.read(options.data)
    for name in systems:
        trained = training_of(name, options, texts)
        if trained is not None:
            curves[name] = curve_of(name, options, texts, trained)
            write_results(results, curves)
    show(options.out, curves)


def training_of(name: str, options: Options, texts: Texts) -> Trained | None:
    """A training run takes long: where one has ended and its scoring has not, it is not made again."""
    folder = options.out / name
    kept = folder / TRAINED
    how = {"minutes": options.minutes, "seed": options.seed}
    if kept.exists():
        facts = read_json(kept)
        before = {key: facts.pop(key) for key in how}
        if before != how:
            given = " ".join(f"--{key} {value:g}" for key, value in before.items())
            raise QkvError(f"{folder} was trained with {given}: give these, or delete it.")
        say(f"{name}: trained before, only scored now.")
        return Trained(**facts)
    folder.mkdir(parents=True)
    trained = SYSTEMS[name].train(options, texts, folder)
    if trained is None:
        folder.rmdir()
        return None
    write_json(kept, {**how, **asdict(trained)})
    return trained


def curve_of(name: str, options: Options, texts: Texts, trained: Trained) -> Curve:
    candidates = SYSTEMS[name].candidates(options, texts, options.out / name, trained)
    return Curve(
        about=trained.about,
        seed=options.seed,
        minutes=options.minutes,
        measured=how_measured(),
        parameters=trained.parameters,
        tokens_per_second=trained.tokens_per_second,
        points=scored_all(name, candidates, texts),
    )


def refuse_to_repeat(out: Path, systems: Sequence[str], curves: Mapping[str, Curve]) -> None:
    done = [name for name in systems if name in curves]
    if done:
        raise QkvError(f"{out} already has {', '.join(done)}: give another --out, or less in --only.")
    folders = [out / name for name in systems]
    begun = [str(each) for each in folders if each.exists() and not (each / TRAINED).exists()]
    if begun:
        raise QkvError(f"{' and '.join(begun)} did not come to an end: delete them and start again.")


def refuse_to_mix(options: Options, curves: Mapping[str, Curve]) -> None:
    others = {name: curve.minutes for name, curve in curves.items() if curve.minutes != options.minutes}
    if others:
        told = " and ".join(f"{name} {minutes:g}" for name, minutes in others.items())
        raise QkvError(f"{options.out} gave {told} minutes: give the same --minutes, or another --out.")


def show(out: Path, curves: Mapping[str, Curve]) -> None:
    if not curves:
        raise QkvError("there are no results to show: run a system first.")
    console = Console(highlight=False, width=max(120, shutil.get_terminal_size().columns))
    for table in (curves_table(curves, LEVELS, CHOSEN_ON), ratios_table(curves, LEVELS)):
        if table is not None:
            console.print(table)
    curves_picture(out / "curve.png", curves, PUBLISHED)
    say(f"the picture is {out / 'curve.png'}")


def main() -> None:
    # A shell's background jobs ignore Ctrl-C and hand that down, but JoeyNMT can be stopped in no other way.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run(read_options(Options, sys.argv[1:], prog="benchmarks/multi30k.py", description=__doc__ or ""))
    except QkvError as error:
        sys.exit(fail(str(error)))
    except OSError as error:
        sys.exit(fail(f"the system says: {error}; check the folders of --data and --out, and the disk."))
    except KeyboardInterrupt:
        fail("stopped; the systems that were finished, and trainings that had ended, are kept.")
        sys.exit(130)


if __name__ == "__main__":
    main()
