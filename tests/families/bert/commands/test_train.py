"""`qkv train bert`: train, resume, fine-tune, and one error message per mistake."""

import json
import random
from pathlib import Path

import pytest
from commands import code_of, refused

from qkv.data.sentences import read_prose

TINY_OPTIONS = """--width 16 --depth 1 --heads 2 --ffn-width 16 --max-length 24 --vocab-size 120
    --batch-tokens 256 --validate-every 3 --processes 1"""
TINY = TINY_OPTIONS.split()
NOUNS, VERBS = ["cat", "dog", "bird", "horse", "mouse"], ["sleeps", "runs", "sings", "waits"]


def document(generator: random.Random) -> str:
    """Sentences about one animal."""
    noun = generator.choice(NOUNS)
    return "\n".join(
        f"The {noun} {generator.choice(VERBS)} in the {generator.choice(['sun', 'rain'])}." for _ in range(6)
    )


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = random.Random(1)
    path = tmp_path_factory.mktemp("text") / "animals.txt"
    path.write_text("\n\n".join(document(generator) for _ in range(60)) + "\n")
    return path


@pytest.fixture(scope="module")
def trained(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "bert"
    assert code_of("train", "bert", "--text", text, "--out", out, "--steps", "6", *TINY) == 0
    return out


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    generator = random.Random(2)
    rows = []
    for _ in range(60):
        noun, verb = generator.choice(NOUNS), generator.choice(VERBS)
        rows.append(f"The {noun} {verb}.\t{'loud' if verb == 'sings' else 'quiet'}")
    path = tmp_path / "labels.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_trained_bert_predicts_masked_words(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads((trained / "report.json").read_text())
    assert set(report["results"]) == {"masked-token accuracy", "next-sentence accuracy"}
    assert "masked-token accuracy" in (trained / "README.md").read_text()
    assert code_of("fill", trained, "The [MASK] sleeps in the sun.") == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_a_resumed_run_gives_the_same_model(
    text: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qkv.training.loop import Run

    steps = Run.one_step

    def interrupted(run: Run, rows: list[int]) -> object:
        if run.position.step == 4:
            raise KeyboardInterrupt
        return steps(run, rows)

    monkeypatch.setattr(Run, "one_step", interrupted)
    out = tmp_path / "again"
    assert code_of("train", "bert", "--text", text, "--out", out, "--steps", "6", *TINY) == 130
    monkeypatch.setattr(Run, "one_step", steps)
    assert code_of("train", "bert", "--resume", "--out", out) == 0
    for name in ("model.safetensors", "tokenizer.json"):
        assert (out / name).read_bytes() == (trained / name).read_bytes()


def test_the_same_command_with_resume_starts_and_resumes_a_run_on_built_in_text(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("qkv.data.sentences.python_prose", lambda: read_prose([text]))
    command = ["train", "bert", "--resume", "--out", tmp_path / "m", "--steps", "3", *TINY]
    for told in ("starting a new one", "already complete"):
        assert code_of(*command) == 0
        assert told in capsys.readouterr().err


def test_a_bert_is_fine_tuned_on_labels_and_classifies(
    trained: Path, labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = "--epochs 2 --batch-tokens 128 --learning-rate 1e-3 --processes 1"
    options = few.split()
    out = tmp_path / "classifier"
    assert code_of("train", "bert", "--fine-tune", trained, "--labels", labels, "--out", out, *options) == 0
    capsys.readouterr()
    assert code_of("classify", out, "The bird sings.") == 0
    assert capsys.readouterr().out.split("\t")[0] in ("loud", "quiet")
    report = json.loads((out / "report.json").read_text())
    assert set(report["results"]) == {"accuracy", "macro F1"}
    assert report["training"]["epochs"] == pytest.approx(2, abs=0.2)


def test_a_bert_learns_numbers_for_pairs(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"The {a} runs.\tThe {b} runs.\t{5.0 if a == b else 1.5}" for a in NOUNS for b in NOUNS]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n")
    out = tmp_path / "numbers"
    options = ["--labels", tmp_path / "pairs.tsv", "--out", out, "--steps", "3", "--processes", "1"]
    assert code_of("train", "bert", "--fine-tune", trained, *options) == 0
    capsys.readouterr()
    assert code_of("classify", out, "The cat runs.", "The dog runs.") == 0
    assert 0 < float(capsys.readouterr().out) < 6
    assert "Pearson correlation" in json.loads((out / "report.json").read_text())["results"]


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("One sentence alone.\n", "", "too few to hold some out"),
        ("One sentence alone.\n", "--no-next-sentence", "too few to hold some out"),
        ("", "", "is empty"),
        ("A b. C d.\n", "--mask-share 0", "--mask-share must be above 0"),
        ("A b. C d.\n", "--heads 3", "--width must be a multiple of --heads"),
        ("A b. C d.\n", "--recipe none", "there is no recipe 'none'"),
        ("A b. C d.\n", "--labels L", "--labels needs --fine-tune"),
    ],
)
def test_a_mistake_is_one_error_message(
    tmp_path: Path, content: str, options: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text(content)
    given = options.split()
    if "--labels" not in given:
        given += ["--text", str(tmp_path / "a.txt")]
    code = code_of("train", "bert", "--out", tmp_path / "out", *given)
    shown = capsys.readouterr()
    assert says in refused(shown.err, shown.out, code)


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("a\tx\nb\t\n", "", "line 2 has no label"),
        ("a\tx\nb\tx\n", "", "every label is 'x'"),
        ("a\tx\nb\ty\n", "", "are too few to hold some out"),
        (
            "a\tx\nb\ty\n" * 20 + "the " * 40 + "\tx\n",
            "",
            "line 41 has 42 tokens, and this model reads at most 24",
        ),
        ("a\tx\nb\ty\n" * 20, "--valid-labels V", "line 2: the label 'z' is unknown"),
        ("a\tx\nb\ty\n" * 20, "--task numbers", "line 1: the label 'x' is not a number"),
        ("a\tx\nb\ty\n" * 20, "--columns 1,5", "column 5 is needed"),
        (
            "a\t1.5\nb\t2.0\n" * 20 + "c\tN/A\n",
            "",
            "line 41: the label 'N/A' is not a number, but nearly all others",
        ),
        ("a\t0.5\nb\t1e200\n" * 20, "", "line 2: 1e200 is too large"),
        ("a\tx\nb\ty\n" * 20 + "\u200b\tx\n", "", "line 41 is empty"),
    ],
)
def test_a_mistake_in_labels_is_one_error_message(
    trained: Path, tmp_path: Path, content: str, options: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "l.tsv").write_text(content)
    (tmp_path / "v.tsv").write_text("a\tx\nb\tz\n")
    given = [str(tmp_path / "v.tsv") if word == "V" else word for word in options.split()]
    files = ["--fine-tune", trained, "--labels", tmp_path / "l.tsv", "--out", tmp_path / "out"]
    code = code_of("train", "bert", *files, *given)
    shown = capsys.readouterr()
    assert says in refused(shown.err, shown.out, code)


def test_an_unknown_header_is_not_a_class(
    trained: Path, labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels.write_text(f"review\tsentiment\n{labels.read_text()}")
    out = tmp_path / "out"
    options = ["--steps", "1", "--processes", "1"]
    assert code_of("train", "bert", "--fine-tune", trained, "--labels", labels, "--out", out, *options) == 0
    error = capsys.readouterr().err
    assert "line 1 ('review', 'sentiment') is read as a header" in error
    assert "labels are 2 classes" in error


def test_validation_text_without_known_words_is_rejected_before_anything_is_written(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chinese.txt").write_text("猫在睡觉。狗在跑。\n\n鸟在唱歌。马在等。\n", encoding="utf-8")
    files = ["--text", text, "--valid-text", tmp_path / "chinese.txt", "--out", tmp_path / "out"]
    for options in ([], ["--no-next-sentence"]):
        code = code_of("train", "bert", *files, "--steps", "2", *TINY, *options)
        shown = capsys.readouterr()
        assert "chinese.txt has no word in the vocabulary of the training text" in refused(
            shown.err, shown.out, code
        )
        assert not (tmp_path / "out").exists()


def test_documents_of_one_sentence_do_not_stop_a_training(text: Path, tmp_path: Path) -> None:
    """They are most of the documents here, and none of them is held out."""
    (tmp_path / "mixed.txt").write_text("\n\n".join(["The cat sleeps."] * 300 + [text.read_text()]))
    out = tmp_path / "out"
    assert (
        code_of("train", "bert", "--text", tmp_path / "mixed.txt", "--out", out, "--steps", "1", *TINY) == 0
    )
    data = json.loads((out / "report.json").read_text())["data"]
    assert data["sentences"] + data["validation_sentences"] == 300 + 6 * 60


def test_only_a_bert_can_be_fine_tuned(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of("train", "bert", "--fine-tune", tmp_path, "--labels", labels, "--out", tmp_path / "out")
    shown = capsys.readouterr()
    assert "is not a qkv model" in refused(shown.err, shown.out, code)
