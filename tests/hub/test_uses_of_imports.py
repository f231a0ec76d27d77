"""What was imported can do all that a model made here can: every command of its kind, fine-tuning, and the way out again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import code_of
from marian_files import TARGETS, plain_folder, random_weights
from PIL import Image
from published import WORDS, write_bert, write_gpt1, write_gpt2, write_marian, write_vit
from transformers import BertForMaskedLM, BertForPreTraining, BertForSequenceClassification, BertModel

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")
TUNED = "--batch-tokens 256 --processes 1"
LABELS = f"--labels labels.tsv --steps 2 --out tuned {TUNED}"
PAIRS = f"--source a.en --target a.de --steps 2 --out tuned {TUNED}"
STUDENT = "--source a.en --target a.de --width 8 --heads 2 --ffn-width 8 --batch-tokens 256 --processes 1 --recipe student-tiny"
GENERATE = ['generate model "the dog" --max-new-tokens 5', "evaluate model --text a.en"]
GO_ON = [
    f"train gpt --fine-tune model --text a.en --steps 2 --out more {TUNED}", "evaluate more --text a.de",
    "export more --to huggingface -o more-out", "import more-out -o more-again", "generate more-again dog --max-new-tokens 5",
]  # fmt: skip
EMBED = ['embed model "the dog" "a house"', 'similar model "the dog" "a dog"']
FILL = ['fill model "the [MASK] sees"']
CLASSIFY = ['classify tuned "the dog"', "export tuned --to huggingface -o tuned-out"]
OUT, CT2 = "export model --to huggingface -o out", "export model --to ctranslate2 -o ct2"


def write_own_marian(folder: Path) -> None:
    plain_folder(
        folder, random_weights("tied-embeddings-all", cell=True, sizes=(TARGETS, TARGETS)), "model.bin"
    )


MATRIX: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "marian": (write_marian, [
        'translate model "the dog"', "evaluate model --source a.en --reference a.de --beam-size 1", OUT, CT2,
        f"train translator --fine-tune model {PAIRS}", 'translate tuned "the dog"',
        "export tuned --to huggingface -o tuned-out", "import tuned-out -o again", 'translate again "the dog"',
    ]),
    "several languages": (lambda folder: write_marian(folder, ("fr", "es")), [
        'translate model --target-language es "the dog"', 'translate model ">>fr<< the dog"', OUT,
        f"train translator --fine-tune model --language-token fr {PAIRS}", 'translate tuned --target-language es "the dog"',
    ]),
    "marian's own files, with SSRU": (write_own_marian, [
        'translate model "s3 s4"', f"train translator --fine-tune model {PAIRS}", 'translate tuned "s3 s4"',
        f"train translator --steps 2 --out student {STUDENT} --teacher-models model --distillation-weight 0.5",
    ]),
    "gpt2": (write_gpt2, [*GENERATE, OUT, CT2, *GO_ON, f"train gpt --fine-tune model {LABELS}", CLASSIFY[0]]),
    "openai-gpt": (write_gpt1, [*GENERATE, OUT, CT2, *GO_ON, f"train gpt --fine-tune model {LABELS}", CLASSIFY[0]]),
    "bert": (lambda folder: write_bert(folder, BertModel), [
        *EMBED, OUT, CT2, f"train bert --fine-tune model {LABELS}", *CLASSIFY,
    ]),
    "masked words": (lambda folder: write_bert(folder, BertForMaskedLM), [
        *FILL, *EMBED, OUT, f"train bert --fine-tune model {LABELS}", *CLASSIFY,
    ]),
    "pre-training": (lambda folder: write_bert(folder, BertForPreTraining), [*FILL, *EMBED, OUT]),
    "classes": (lambda folder: write_bert(folder, BertForSequenceClassification, id2label={0: "no", 1: "yes"}), [
        'classify model "the dog"', "classify model --labels labels.tsv", OUT,
        f"train bert --fine-tune model {LABELS}", *CLASSIFY, "import tuned-out -o again", 'classify again "the dog"',
    ]),
    "vit": (write_vit, [
        "classify model pictures/cat/0.png", "evaluate model --images pictures", OUT,
        f"train vit --fine-tune model --images pictures --steps 2 --out tuned {TUNED}",
        "evaluate tuned --images pictures", "export tuned --to huggingface -o tuned-out",
        "import tuned-out -o again", "classify again pictures/cat/0.png",
    ]),
}  # fmt: skip


def write_files() -> None:
    texts = [" ".join(WORDS[(n * k) % 20] for k in (1, 2, 3)) for n in range(1, 21)]
    for name in ("a.en", "a.de"):
        Path(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    rows = [f"{text}\t{('no', 'yes')[place % 2]}\n" for place, text in enumerate(texts)]
    Path("labels.tsv").write_text("".join(rows), encoding="utf-8")
    for name in ("bird", "cat", "dog"):
        folder = Path("pictures") / name
        folder.mkdir(parents=True)
        for number in range(4):
            Image.fromarray(np.full((12, 12, 3), 40 * number, dtype=np.uint8)).save(folder / f"{number}.png")


@pytest.mark.parametrize("name", MATRIX)
def test_every_command_of_its_kind_works_on_what_was_imported(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    pytest.importorskip("ctranslate2")
    monkeypatch.chdir(tmp_path)
    write, commands = MATRIX[name]
    write(Path("published"))
    write_files()
    assert code_of("import", "published", "-o", "model") == 0
    capsys.readouterr()
    for command in commands:
        assert code_of(*shlex.split(command)) == 0, (command, capsys.readouterr().err)
        shown = capsys.readouterr()
        if command.split()[0] in (
            "translate",
            "generate",
            "fill",
            "embed",
            "similar",
            "classify",
            "evaluate",
        ):
            assert shown.out.strip(), command
