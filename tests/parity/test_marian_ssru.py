"""A model that Marian itself has trained with an SSRU decoder gives Marian's scores and translations here."""

import random
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from qkv.core.stack_config import StackConfig
from qkv.decoding.beam_options import paper_penalty
from qkv.engine import Engine, NoEngineError, PlainSearch
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator
from qkv.runtime.network import Network

pytestmark = pytest.mark.skipif(find_spec("_pymarian") is None, reason="pymarian is not installed")

WORDS, WIDTH, LONGEST = 20, 16, 32
END, START = (
    0,
    WORDS + 2,
)  # Marian's first input is a zero vector; here it is a token of its own, which is never said
SHAPE = f"""--type transformer --dim-emb {WIDTH} --transformer-heads 2 --transformer-dim-ffn 24 --enc-depth 2 --dec-depth 2
    --transformer-decoder-autoreg rnn --dec-cell ssru --tied-embeddings-all --transformer-postprocess dan
    --transformer-ffn-activation relu"""
COMMON = "--vocabs vocab.yml vocab.yml --cpu-threads 1 --workspace 200 --quiet"
TRAIN = f"train {SHAPE} {COMMON} --train-sets a.src a.trg --model m.npz --after-batches 60 --mini-batch 20 --learn-rate 0.01 --seed 3"
SCORE = f"score {COMMON} --train-sets a.src a.trg --model m.npz"
DECODE = f"--models m.npz {COMMON} --beam-size 1 --max-length-factor 3"


def marian(folder: Path, code: str) -> str:
    """Run Marian in a process of its own: it ends the process after an error."""
    done = subprocess.run(
        [sys.executable, "-c", f"import _pymarian as marian\n{code}"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ids(line: str) -> list[int]:
    return [int(word[1:]) + 2 for word in line.split()]


def our_weights(theirs: Any) -> Iterator[tuple[str, Any]]:
    """Everything that Marian's file has, under our names."""
    columns, half = np.arange(WIDTH), WIDTH // 2
    speed = 1e-4 ** ((columns % half) / (half - 1))
    positions = np.sin(np.arange(LONGEST)[:, None] * speed + columns // half * np.pi / 2)
    yield "tokens.weight", np.vstack([theirs["Wemb"], np.zeros((1, WIDTH))])
    yield "bias", np.append(theirs["decoder_ff_logit_out_b"], 0.0)
    for side in ("source", "target"):
        yield f"{side}_positions.table", positions
    for side, sublayers in {
        "encoder": {"attention": "self", "feed_forward": "ffn"},
        "decoder": {"cell": "rnn", "cross_attention": "context", "feed_forward": "ffn"},
    }.items():
        for block in range(2):
            for ours, name in sublayers.items():
                prefix, own = f"{side}_l{block + 1}_{name}", f"{side}.blocks.{block}.{ours}"
                norm = f"{prefix}_{'Wo' if 'attention' in ours else 'ffn'}_ln"
                yield f"{own}.norm.weight", theirs[f"{norm}_scale"][0]
                yield f"{own}.norm.bias", theirs[f"{norm}_bias"][0]
                for part, letter in PARTS[ours].items():
                    yield f"{own}.sublayer.{part}.weight", theirs[f"{prefix}_W{letter}"].T
                    if part != "input":
                        yield f"{own}.sublayer.{part}.bias", theirs[f"{prefix}_b{letter}"][0]


ATTENTION = {"query": "q", "key": "k", "value": "v", "output": "o"}
PARTS = {
    "attention": ATTENTION,
    "cross_attention": ATTENTION,
    "cell": {"input": "", "forget": "f"},
    "feed_forward": {"expand": "1", "contract": "2"},
}


def imported(folder: Path) -> Translator:
    stack = StackConfig(
        depth=2,
        width=WIDTH,
        heads=2,
        ffn_width=24,
        norm="post",
        activation="relu",
        dropout=0.0,
        norm_eps=1e-6,
    )
    config = TranslatorConfig(
        vocab_size=START + 1, max_length=LONGEST, pad=START, start=START, end=END, positions="learned", encoder=stack,
        decoder=stack, decoder_cell="ssru", output_bias=True,
    )  # fmt: skip
    model = Translator(config).eval().requires_grad_(False)
    with np.load(folder / "m.npz") as theirs:
        weights = {
            name: torch.tensor(np.ascontiguousarray(each)).float() for name, each in our_weights(theirs)
        }
    model.load_state_dict(weights)
    return model


def test_scores_and_translations_are_marians(tmp_path: Path) -> None:
    generator = random.Random(1)
    lines = [
        " ".join(f"w{generator.randrange(WORDS)}" for _ in range(generator.randrange(2, 10)))
        for _ in range(200)
    ]
    names = ["</s>", "<unk>", *(f"w{number}" for number in range(WORDS))]
    (tmp_path / "vocab.yml").write_text("".join(f"{name}: {id}\n" for id, name in enumerate(names)))
    (tmp_path / "a.src").write_text("\n".join(lines) + "\n")
    (tmp_path / "a.trg").write_text("\n".join(" ".join(reversed(line.split())) for line in lines) + "\n")
    marian(tmp_path, f"marian.main({TRAIN.split()!r})")
    scores = marian(tmp_path, f"marian.main({SCORE.split()!r})").split()
    said = marian(
        tmp_path, f"print(marian.Translator({' '.join(DECODE.split())!r}).translate(open('a.src').read()))"
    )
    model = imported(tmp_path)
    for line, score in list(zip(lines, scores, strict=False))[:20]:
        source, target = ids(line), ids(line)[::-1]
        logits = model(torch.tensor([[*source, END]]), torch.tensor([[START, *target]]))[0]
        logits[:, START] = float("-inf")
        own = logits.log_softmax(-1).gather(1, torch.tensor([*target, END])[:, None]).sum()
        assert float(own) == pytest.approx(float(score), abs=1e-4)
    try:
        engine = Engine(model.config, Network.of(model).weights, int8=False, threads=1)
    except NoEngineError as reason:
        pytest.skip(f"the engine cannot be built here: {reason}")
    sources, plain = (
        [[*ids(line), END] for line in lines],
        PlainSearch(width=1, penalty=paper_penalty(0.0), least=0, never=START),
    )
    found = engine.search(sources, [3 * len(source) for source in sources], plain)
    theirs = [ids(line) for line in said.splitlines()[: len(lines)]]
    same = sum(own.ids == other for [own], other in zip(found, theirs, strict=True))
    assert same >= 0.99 * len(lines)  # the last digit may decide between two words
