"""How the fixtures in format-1/ were made: `python make_bundles.py FOLDER`, with tests/ on PYTHONPATH.

They were written by qkv 0.1.0 and are never written again: later versions must load them and give the outputs that
`expected.json` holds. This script documents what they are. It trains tiny models with the real commands, imports tiny
published models, and interrupts tiny runs; it does not work with later versions.
"""

import io
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from commands import code_of
from drawings import halves
from language_models import save_text
from observed import FORMAT_1, observe
from PIL import Image
from published import marian, shaken, write_bert, write_gpt2
from training_commands import NUMBERS as NUMBER_WORDS
from training_commands import number_pairs
from transformers import BertForPreTraining

import qkv
from qkv.hub.importing import import_model
from qkv.training.loop import Run

WORK = Path("/tmp/qkv-format-1")  # run.json holds the paths of the training files
NOT_KEPT = ("learning-curve.png", "learning-curve.svg", "training/lock", "training/timing.jsonl")
SIGNAL_AFTER, STOPS_AT, RUN_STEPS = 3, 5, 9  # a validation every 3 steps
BLOCKS = [
    "--model.width",
    "16",
    "--model.depth",
    "1",
    "--model.heads",
    "2",
    "--model.hidden",
    "32",
    "--model.dropout",
    "0",
]
NARROW = ["--model.width", "8", "--model.depth", "1", "--model.heads", "2", "--model.hidden", "16"]
CAPTION = "a red circle above a blue square"

Arguments = list[str | Path]


# Training data ----------------------------------------------------------------------------------------------------


def write_data(folder: Path) -> None:
    """Everything that the models below are trained on."""
    folder.mkdir(parents=True)
    number_pairs(folder / "pairs.tsv")
    save_text(folder / "text.txt", lines=40)
    words = (folder / "text.txt").read_text().split()
    sentences = [" ".join(words[start : start + 6]) + "." for start in range(0, len(words), 6)]
    documents = ["\n".join(sentences[start : start + 5]) for start in range(0, len(sentences), 5)]
    (folder / "documents.txt").write_text("\n\n".join(documents) + "\n")
    chance = random.Random(1)
    texts = [" ".join(chance.choices(words[:6], k=chance.randint(1, 5))) for _ in range(60)]
    rows = [f"{text}\t{'long' if len(text.split()) > 2 else 'short'}\n" for text in texts]
    (folder / "labels.tsv").write_text("".join(rows))
    numbers = [f"{text}\t{len(text.split()) + 0.5}\n" for text in texts]
    (folder / "numbers.tsv").write_text("".join(numbers))
    frames = [[[60 + (n + k) % 5, 55, 52, 48 - n % 3] for n in range(40)] for k in range(8)]
    parts = {"train": frames[:5], "valid": frames[5:7], "test": frames[7:]}
    (folder / "music.json").write_text(json.dumps(parts))
    halves(folder / "images", each=10)


# Trained bundles --------------------------------------------------------------------------------------------------


def train(out: Path, *arguments: str | Path) -> None:
    steps = [
        "--training.validate-every",
        "100",
        "--training.processes",
        "1",
        "--training.precision",
        "float32",
    ]
    assert code_of("train", *arguments, *steps, "--out", out) == 0


def translator_options(data: Path, *more: str) -> Arguments:
    fixed = """--vocabulary 280 --source-language en --target-language xx --model.width 16 --model.heads 2
        --model.hidden 32 --model.encoder-depth 1 --model.decoder-depth 1 --model.dropout 0"""
    return ["translator", "--pairs", data / "pairs.tsv", *fixed.split(), *more]


LONG = ["--steps", "400", "--training.batch-tokens", "1024"]
SHORT = ["--steps", "200", "--training.batch-tokens", "512"]
FAST = ["--training.rate", "0.01"]


def translator(data: Path, out: Path) -> None:
    train(out, *translator_options(data), *LONG)


def one_stream(data: Path, out: Path) -> None:
    train(out, *translator_options(data), "--model.encoder-depth", "0", *LONG)


def recurrent(data: Path, out: Path) -> None:
    train(out, *translator_options(data, "--model", "recurrent"), "--model.hidden", "20", *LONG)


def gpt(data: Path, out: Path) -> None:
    text = ["--text", data / "text.txt", "--vocabulary", "280"]
    train(out, "gpt", *text, *BLOCKS, "--model.context", "32", *SHORT)


def gpt_characters(data: Path, out: Path) -> None:
    text = ["--text", data / "text.txt", "--pieces", "characters"]
    train(out, "gpt", *text, *BLOCKS, "--model.context", "48", *SHORT)


def gpt_music(data: Path, out: Path) -> None:
    train(out, "gpt", "--music", data / "music.json", *BLOCKS, "--model.context", "32", *SHORT)


def gpt_classifier(data: Path, out: Path) -> None:
    labels = ["--labels", data / "labels.tsv"]
    train(out, "gpt", "--fine-tune", out.parent / "gpt", *labels, *SHORT)


def bert(data: Path, out: Path) -> None:
    text = ["--text", data / "documents.txt", "--vocabulary", "120"]
    train(out, "bert", *text, *BLOCKS, "--model.context", "32", *SHORT)


def bert_classifier(data: Path, out: Path) -> None:
    labels = ["--labels", data / "labels.tsv"]
    train(out, "bert", "--fine-tune", out.parent / "bert", *labels, *SHORT, *FAST)


def bert_numbers(data: Path, out: Path) -> None:
    labels = ["--labels", data / "numbers.tsv"]
    train(out, "bert", "--fine-tune", out.parent / "bert", *labels, *SHORT, *FAST)


def vit(data: Path, out: Path) -> None:
    train(out, "vit", "--images", data / "images", *BLOCKS, "--steps", "60", *FAST)
    shutil.copyfile(data / "images" / "left" / "0.png", out / "picture.png")


def codebook(data: Path, out: Path) -> None:
    small = [
        "--scenes",
        "100",
        "--model.width",
        "4",
        "--model.depth",
        "0",
        "--model.patch",
        "8",
        "--steps",
        "100",
    ]
    train(out, "codebook", *small)
    values = np.random.default_rng(3).integers(0, 256, (32, 32, 3))
    Image.fromarray(values.astype(np.uint8)).save(out / "picture.png")


def dalle(data: Path, out: Path) -> None:
    judged = ["--measured.captions", "1", "--measured.candidates", "1", "--steps", "60"]
    train(out, "dalle", "--scenes", "100", "--codebook", out.parent / "codebook", *NARROW, *judged)


# Imported bundles -------------------------------------------------------------------------------------------------


def imported_marian(data: Path, out: Path) -> None:
    """With a SentencePiece model for each side and two target languages; fine-tuned, so that its output has a sense."""
    folder, random_model = out.parent / "published-marian", out.parent / "imported-marian"
    write_small_marian(folder)
    import_model(folder, random_model, origin="a random Marian model", language="de")
    pairs = ["--pairs", data / "pairs.tsv"]
    train(out, "translator", "--fine-tune", random_model, *pairs, *LONG, *FAST)


def write_small_marian(folder: Path) -> None:
    """Without SentencePiece's usual table of rules, which alone has 240 kB."""
    folder.mkdir(parents=True)
    pieces = ["</s>", "<unk>", ">>de<<", ">>fr<<"]
    chance = random.Random(1)
    for side in ("source", "target"):
        lines = [" ".join(chance.choices(NUMBER_WORDS, k=4)) for _ in range(200)]
        content = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=content, vocab_size=60, hard_vocab_limit=False,
            normalization_rule_name="identity", num_threads=1, minloglevel=2, bos_id=-1,
        )  # fmt: skip
        (folder / f"{side}.spm").write_bytes(content.getvalue())
        model = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
        found = [model.id_to_piece(number) for number in range(model.get_piece_size())]
        pieces += [piece for piece in found if piece not in pieces]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    settings = {"source_lang": "en", "target_lang": "mul", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    marian(len(vocabulary)).save_pretrained(folder)


def imported_gpt2(data: Path, out: Path) -> None:
    folder, random_model = out.parent / "published-gpt2", out.parent / "imported-gpt2"
    write_gpt2(folder)
    import_model(folder, random_model, origin="a random GPT-2")
    train(out, "gpt", "--fine-tune", random_model, "--text", data / "text.txt", *SHORT, *FAST)


def imported_sentence_bert(data: Path, out: Path) -> None:
    """As sentence-transformers publishes them: the vector of the first place, not normalised."""
    folder = out.parent / "published-bert"
    model = write_bert(folder, BertForPreTraining)
    shaken(model, scale=0.8).save_pretrained(
        folder
    )  # or the first place would be nearly the same for all texts
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 12, "pooling_mode_cls_token": True}
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({**pooling, "pooling_mode_mean_tokens": False})
    )
    limits = {"max_seq_length": 20, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(limits))
    import_model(folder, out, origin="a random sentence-transformer")


NUMBERS = {"observe": "translations", "texts": ["one two three", "seven one five", "four four six"]}
LABELS = {"observe": "classes", "inputs": [["two four three one"], ["five"]]}
FRAMES = [[60 + n % 5, 55, 52, 48 - n % 3] for n in range(4)]

BUNDLES: dict[str, tuple[Callable[[Path, Path], None], dict[str, Any]]] = {
    "translator": (translator, NUMBERS),
    "translator-one-stream": (one_stream, NUMBERS),
    "translator-recurrent": (recurrent, NUMBERS),
    "translator-marian": (
        imported_marian,
        {
            "observe": "translations",
            "texts": ["one two three", ">>de<< seven one five", ">>fr<< four four six"],
        },
    ),
    "gpt": (gpt, {"observe": "continuation", "text": "two three four"}),
    "gpt-characters": (gpt_characters, {"observe": "continuation", "text": "two three four"}),
    "gpt-music": (gpt_music, {"observe": "music", "frames": FRAMES}),
    "gpt-published": (imported_gpt2, {"observe": "continuation", "text": "two three four"}),
    "gpt-classifier": (gpt_classifier, LABELS),
    "bert": (
        bert,
        {
            "observe": "words and embeddings",
            "text": "two three [MASK] five six seven.",
            "texts": ["one two three", "six seven"],
        },
    ),
    "bert-sentences": (
        imported_sentence_bert,
        {"observe": "embeddings", "texts": ["the old dog", "a new house"]},
    ),
    "bert-classifier": (bert_classifier, LABELS),
    "bert-classifier-numbers": (bert_numbers, LABELS),
    "vit": (vit, {"observe": "picture classes", "picture": "picture.png"}),
    "codebook": (codebook, {"observe": "codes", "picture": "picture.png"}),
    "dalle": (dalle, {"observe": "drawing", "caption": CAPTION}),
}


# Interrupted runs -------------------------------------------------------------------------------------------------

RUNS: dict[str, Callable[[Path], Arguments]] = {
    "run-translator": lambda data: [
        *translator_options(data, "--data.subword-dropout", "0.1"),
        "--model.width",
        "8",
        "--model.hidden",
        "16",
        "--training.batch-tokens",
        "256",
    ],
    "run-translator-recurrent": lambda data: [
        *translator_options(data, "--model", "recurrent"),
        "--model.width",
        "8",
        "--model.hidden",
        "8",
        "--training.batch-tokens",
        "256",
    ],
    "run-gpt": lambda data: [
        *("gpt", "--text", data / "text.txt", "--pieces", "characters", *NARROW),
        *("--model.context", "24", "--training.batch-tokens", "128"),
    ],
    "run-bert": lambda data: [
        *("bert", "--text", data / "documents.txt", "--vocabulary", "120", *NARROW),
        *("--model.context", "24", "--training.batch-tokens", "128"),
    ],
    "run-vit": lambda data: ["vit", "--images", data / "images", *NARROW, "--augment.flip"],
    "run-codebook": lambda data: [
        *("codebook", "--scenes", "100", "--model.width", "4", "--model.depth", "0", "--model.patch", "8")
    ],
}


@contextmanager
def interruption() -> Any:
    """SIGTERM in the middle of a step, after which a run saves its state and stops."""
    one_step = Run.one_step

    def with_signal(run: Run, rows: list[int]) -> Any:
        if run.position.step == SIGNAL_AFTER:
            os.kill(os.getpid(), signal.SIGTERM)
        return one_step(run, rows)

    Run.one_step = with_signal  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Run.one_step = one_step  # type: ignore[method-assign]


def make_run(name: str, data: Path, out: Path) -> None:
    """OUT of an interrupted run, and the validation losses of the same run without an interruption."""
    fixed = f"""--steps {RUN_STEPS} --training.validate-every 3 --training.log-every 1 --training.average 2
        --training.processes 1 --training.precision float32""".split()
    arguments = ["train", *RUNS[name](data), *fixed]
    whole = out.with_name(f"{name}-whole")
    assert code_of(*arguments, "--out", whole) == 0
    with interruption():
        assert code_of(*arguments, "--out", out) == 143
    shutil.rmtree(out / "training" / "step-3")
    assert [state.name for state in (out / "training").glob("step-*")] == [f"step-{STOPS_AT}"]
    losses = validation_losses(whole)
    assert len(losses) == 3, losses
    write_expected(out, {"resume": str(arguments[1]), "steps": RUN_STEPS, "validation_losses": losses})


def validation_losses(out: Path) -> list[float]:
    rows = map(json.loads, (out / "training" / "log.jsonl").read_text().splitlines())
    return [row["validation_loss"] for row in rows if "validation_loss" in row]


# All of them ------------------------------------------------------------------------------------------------------


def write_expected(folder: Path, content: dict[str, Any]) -> None:
    text = json.dumps(rounded(content), indent=1, ensure_ascii=False)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


def rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, 5)
        case dict():
            return {key: rounded(each) for key, each in value.items()}
        case list():
            return [rounded(each) for each in value]
    return value


def keep(made: Path, fixture: Path, *, training: bool) -> None:
    if not training:
        shutil.rmtree(made / "training", ignore_errors=True)
    for name in NOT_KEPT:
        (made / name).unlink(missing_ok=True)
    shutil.copytree(made, fixture)


def main(target: Path) -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    data = WORK / "data"
    write_data(data)
    shutil.copytree(data, target / "data")
    for name, (make, given) in BUNDLES.items():
        make(data, WORK / name)
        write_expected(
            WORK / name, {"given": given, "observed": observe(qkv.load(WORK / name), given, WORK / name)}
        )
    for name in RUNS:
        make_run(name, data, WORK / name)
    for name in [*BUNDLES, *RUNS]:
        keep(WORK / name, target / name, training=name in RUNS)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FORMAT_1)
