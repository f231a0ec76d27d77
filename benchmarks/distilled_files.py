"""What the benchmark of distilled students reads: made once, from aligned text, for all systems."""

import gzip
import json
import random
import subprocess
from pathlib import Path

import numpy as np

from qkv.errors import QkvError
from qkv.families.translator.shortlist import FREQUENT, SHORTLIST_FILE, TRANSLATIONS, Shortlist, fit_shortlist
from qkv.text.tokenizer import Tokenizer

VOCAB = 32_000
PAIRS = 60_000  # that the vocabulary and the shortlist are learned from
COUNT, LENGTH = 400, 24  # sentences to translate, and the tokens of each
FACTOR, WRITTEN = 1.2, 31  # Marian stops after this many times the source with its end, and one more
SHAPE = {"encoder": 6, "decoder": 2, "width": 256, "ffn_width": 1_536, "heads": 8}
SOURCES_FILE = "sources.json"


def prepare(data: Path, folder: Path, marian: Path | None) -> None:
    """Sources, the shortlist in the formats of all systems, and Marian's student."""
    pairs = read_pairs(data)
    train, rest = pairs[:PAIRS], pairs[PAIRS:]
    tokenizer = Tokenizer.learn([text for pair in train for text in pair], VOCAB)
    sources, targets = (tokenizer.encode_all([pair[side] for pair in train]) for side in (0, 1))
    shortlist = fit_shortlist(zip(sources, targets, strict=True), VOCAB, end=tokenizer.end).with_loss(0.0)
    longer = (each[:LENGTH] for each in tokenizer.encode_all([source for source, _ in rest[:20_000]]))
    chosen = [each for each in longer if len(each) == LENGTH][:COUNT]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SHORTLIST_FILE).write_bytes(shortlist.content())
    write_vmap(folder / "vmap.txt", shortlist)
    if marian is not None:
        write_marian(folder, shortlist, chosen, marian)
    (folder / SOURCES_FILE).write_text(json.dumps(chosen), encoding="utf-8")
    print(
        f"{len(chosen)} sources of {LENGTH} tokens; their lists have {shortlist.mean_size(chosen):.0f} of {VOCAB:,} tokens"
    )


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Pairs of a tab-separated file, also compressed, in random order; other columns are left out."""
    if not path.is_file():
        raise QkvError(f"there is no file {path}: --data needs aligned sentences, tab-separated.")
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as file
    ):
        rows = [line.rstrip("\n").split("\t") for line in file]
    pairs = [(row[0], row[1]) for row in rows if len(row) >= 2]
    random.Random(1).shuffle(pairs)
    return pairs


def read_prepared(folder: Path) -> tuple[list[list[int]], Shortlist]:
    shortlist = Shortlist.load(folder, VOCAB)
    if shortlist is None or not (folder / SOURCES_FILE).is_file():
        raise QkvError(f"{folder} is not prepared: run this once with --prepare --data PAIRS.")
    return json.loads((folder / SOURCES_FILE).read_text(encoding="utf-8")), shortlist


def word(token: int) -> str:
    return f"p{token}"


def translations_of(shortlist: Shortlist, token: int) -> list[int]:
    return shortlist.tokens[shortlist.offsets[token] : shortlist.offsets[token + 1]].tolist()


def write_vmap(path: Path, shortlist: Shortlist) -> None:
    """CTranslate2's form: a source token, a tab, and its target tokens; the first line is for every source."""
    lines = ["\t" + " ".join(word(token) for token in shortlist.always)]
    for token in range(3, VOCAB):
        lines.append(word(token) + "\t" + " ".join(map(word, [token, *translations_of(shortlist, token)])))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_marian(folder: Path, shortlist: Shortlist, sources: list[list[int]], program: Path) -> None:
    """A student of the same shape with Marian's own seeded weights, which never ends by itself, in int8.

    Marian's first words are on every list, so they are the ones that are on every list of ours.
    """
    always = [token for token in shortlist.always if token >= 3]
    others = [token for token in range(3, VOCAB) if token not in set(always)]
    names = ["</s>", "<unk>", *map(word, [*always, *others])]
    (folder / "vocab.yml").write_text("".join(f'"{name}": {place}\n' for place, name in enumerate(names)))
    with (folder / "lex.txt").open("w", encoding="utf-8") as file:
        for token in range(3, VOCAB):
            for rank, target in enumerate([token, *translations_of(shortlist, token)]):
                file.write(f"{word(target)} {word(token)} {1 / (rank + 2):.4f}\n")
    (folder / "few.txt").write_text("\n".join(" ".join(map(word, each)) for each in sources[:64]) + "\n")
    run(program, "train", *training_flags(), folder=folder)
    weights = dict(np.load(folder / "student.npz"))
    weights["decoder_ff_logit_out_b"][0, 0] = -1e9  # the end token
    np.savez(folder / "endless.npz", **weights)
    run(
        program, "convert", "-f", "endless.npz", "-t", "student.bin", "--gemm-type", "intgemm8", folder=folder
    )
    for path in [*folder.glob("student.npz*"), folder / "endless.npz", folder / "few.txt"]:
        path.unlink()


def training_flags() -> list[str]:
    """One step that changes nothing, to have a model with seeded weights: the shape of Firefox's students."""
    return (
        "--type transformer --model student.npz --train-sets few.txt few.txt --vocabs vocab.yml vocab.yml "
        f"--dim-vocabs {VOCAB} {VOCAB} --dim-emb {SHAPE['width']} --transformer-dim-ffn {SHAPE['ffn_width']} "
        f"--transformer-heads {SHAPE['heads']} --enc-depth {SHAPE['encoder']} --dec-depth {SHAPE['decoder']} "
        "--transformer-decoder-autoreg rnn --dec-cell ssru --tied-embeddings-all --transformer-ffn-activation relu "
        "--transformer-postprocess dan --mini-batch 8 --after-batches 1 --learn-rate 1e-9 --seed 1 --cpu-threads 1 "
        "-w 500 --overwrite --quiet"
    ).split()


def decoding_flags(threads: int, batch: int) -> str:
    return (
        f"-m student.bin -v vocab.yml vocab.yml -b 1 --mini-batch {batch} --maxi-batch 1000 --maxi-batch-sort src "
        f"--cpu-threads {threads} -w 256 --max-length-factor {FACTOR} --skip-cost --quiet --quiet-translation "
        f"--shortlist lex.txt {FREQUENT} {TRANSLATIONS + 1} 0"
    )


def run(program: Path, *arguments: str, folder: Path) -> None:
    ended = subprocess.run([program.absolute(), *arguments], cwd=folder, capture_output=True, text=True)
    if ended.returncode:
        raise QkvError(f"pymarian {arguments[0]} failed: {ended.stderr[-300:]}")
