"""The commands of a BERT: fill, embed, similar, classify and import."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import code_of, refused
from tiny_bert import tiny_bert, tiny_classifier

LABELS = "the cat sat\tbad\na dog barked\tfine\nwhy?\tgood\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny_bert().save(folder / "bert")
    tiny_classifier().save(folder / "classifier")
    tiny_classifier(pairs=True).save(folder / "pairs")
    tiny_classifier((), pairs=True).save(folder / "numbers")
    return folder


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def run(*arguments: str | Path, given: str = "") -> list[str]:
        if given:
            monkeypatch.setattr(
                "qkv.cli.texts.standard_input",
                lambda: iter([given.splitlines()]),
            )
        assert code_of(*arguments) == 0, capsys.readouterr().err
        return capsys.readouterr().out.splitlines()

    return run


def test_fill_gives_words_with_probabilities(models: Path, said) -> None:  # type: ignore[no-untyped-def]
    rows = [line.split("\t") for line in said("fill", models / "bert", "the [MASK] sat", "--top-k", "3")]
    assert len(rows) == 3
    assert all(len(row) == 2 and 0 < float(row[1]) < 1 for row in rows)
    rows = [line.split("\t") for line in said("fill", models / "bert", "the [MASK] [MASK]", "--top-k", "2")]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    [record] = map(json.loads, said("fill", models / "bert", "the [MASK] sat", "--json"))
    assert len(record["words"]) == 5


def test_embed_writes_json_lines_or_npy(models: Path, said, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    records = [json.loads(line) for line in said("embed", models / "bert", "the cat", "why?")]
    assert [record["text"] for record in records] == ["the cat", "why?"]
    vectors = np.array([record["vector"] for record in records])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(2), abs=1e-5)
    (tmp_path / "a.txt").write_text("the cat\nwhy?\n")
    files = ["--input", tmp_path / "a.txt", "--output"]
    assert said("embed", models / "bert", *files, tmp_path / "v.npy") == []
    assert np.load(tmp_path / "v.npy", allow_pickle=False) == pytest.approx(vectors, abs=1e-6)
    said("embed", models / "bert", *files, tmp_path / "v.jsonl", "--pooling", "first", "--raw")
    first = json.loads((tmp_path / "v.jsonl").read_text().splitlines()[0])
    assert np.linalg.norm(first["vector"]) != pytest.approx(1, abs=1e-3)
    assert len(said("embed", models / "bert", given="one\ntwo\nthree\n")) == 3


def test_similar_compares_two_texts_or_a_file_of_pairs(models: Path, said, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    [same] = said("similar", models / "bert", "the cat", "the cat")
    assert float(same) == pytest.approx(1, abs=1e-5)
    (tmp_path / "p.tsv").write_text("the cat\tthe cat\nthe cat\twhy?\n")
    both = [float(line) for line in said("similar", models / "bert", "--pairs", tmp_path / "p.tsv")]
    assert both[0] > both[1]
    (tmp_path / "l.tsv").write_text("the cat\tthe cat\t5.0\nthe cat\twhy?\t0.5\na dog\ta cat\t2.5\n")
    [record] = map(json.loads, said("similar", models / "bert", "--labels", tmp_path / "l.tsv"))
    assert record["pairs"] == 3
    assert -1 <= record["spearman"] <= 1


def test_classify_prints_a_class_or_a_number(models: Path, said, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    rows = [line.split("\t") for line in said("classify", models / "classifier", "the cat sat", "why?")]
    assert len(rows) == 2
    assert all(label in ("bad", "fine", "good") and 1 / 3 <= float(chance) <= 1 for label, chance in rows)
    [record] = map(json.loads, said("classify", models / "classifier", "why?", "--json"))
    assert sum(record["probabilities"].values()) == pytest.approx(1)
    assert len(said("classify", models / "pairs", "a cat", "a dog", "why?", "the mat")) == 2
    assert len(said("classify", models / "pairs", given="a cat\ta dog\n")) == 1
    [number] = said("classify", models / "numbers", "a cat", "a dog")
    float(number)
    (tmp_path / "l.tsv").write_text(LABELS)
    [record] = map(json.loads, said("classify", models / "classifier", "--labels", tmp_path / "l.tsv"))
    assert record["examples"] == 3
    assert round(3 * record["accuracy"]) in range(4)
    (tmp_path / "n.tsv").write_text("a\tb\t1.5\nc\td\t2.5\nthe cat\twhy?\t0.5\n")
    [record] = map(json.loads, said("classify", models / "numbers", "--labels", tmp_path / "n.tsv"))
    assert set(record) == {"examples", "pearson", "spearman"}


def test_info_describes_each_model(models: Path, said) -> None:  # type: ignore[no-untyped-def]
    assert any("masked words, next sentence" in line for line in said("info", models / "bert"))
    assert any("bad, fine, good" in line for line in said("info", models / "classifier"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("fill M/bert no-mask", "has no [MASK]"),
        ("fill M/bert [MASK] --top-k 0", "--top-k must be at least 1"),
        ("fill M/classifier [MASK]", "not for `qkv fill`"),
        ("embed M/bert x --output v.txt", "must end in .npy or .jsonl"),
        ("embed M/bert x --output none/v.npy", "there is no folder none"),
        ("embed M/bert x --input a.txt", "either texts or --input"),
        ("embed M/bert --input none.txt", "cannot be read"),
        ("similar M/bert the \u200b", "the pair (second text) is empty"),
        ("similar M/bert --pairs T/second.tsv", "second.tsv, line 2 (second text) is empty"),
        ("similar M/bert --labels T/scores.tsv", "scores.tsv, line 4 (second text) is empty"),
        ("classify M/pairs --labels T/verdicts.tsv", "verdicts.tsv, line 4 has an empty text"),
        ("classify M/classifier --labels T/long.tsv", "long.tsv, line 4 has 42 tokens"),
        ("classify M/classifier the \u200b", "text 2 is empty"),
        ("classify M/pairs the cat the \u200b", "pair 2 has an empty text"),
        ("embed M/bert x --threads 0", "--threads must be from 1 to"),
        ("similar M/bert one", "give two texts to compare, not 1"),
        ("similar M/bert", "exactly one of two texts, --pairs and --labels"),
        ("similar M/bert --pairs T/blank.txt", "is not a pair"),
        ("similar M/bert a b --columns 1,2", "--columns needs --labels"),
        ("similar M/bert --labels T/l.tsv", "needs two texts per row"),
        ("classify M/bert x", "not for `qkv classify`"),
        ("classify M/pairs one", "an even number"),
        ("classify M/pairs --input T/blank.txt", "line 1 is not a pair"),
        ("classify M/classifier x --labels T/l.tsv", "only one of texts, --input and --labels"),
        ("classify M/classifier --labels T/new.tsv", "line 2: the label 'awful' is unknown"),
        ("classify M/classifier --labels T/missing.tsv", "line 2 has no label"),
        ("classify M/pairs --labels T/l.tsv", "this model needs two texts per row"),
        ("import T/none/here --out T/x", "there is no folder"),
        ("import M/bert --out T/x", "is already a qkv model"),
        ("import M/bert --out M", "is not empty: give another --output"),
    ],
)
def test_a_mistake_is_one_error_message(
    models: Path, tmp_path: Path, arguments: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "blank.txt").write_text("the cat\n\n")
    (tmp_path / "l.tsv").write_text(LABELS)
    (tmp_path / "second.tsv").write_text("the cat\ta dog\nthe cat\t\u200b\n")
    for name, label in (
        ("scores.tsv", 1.5),
        ("verdicts.tsv", "bad"),
    ):  # a line of names, a blank one, two examples
        rows = [f"the cat\ta dog\t{label}", f"the cat\t\u200b\t{label}"]
        (tmp_path / name).write_text("\n".join(["sentence1\tsentence2\tlabel", "", *rows]))
    (tmp_path / "long.tsv").write_text("text\tlabel\n\nwhy?\tbad\n" + "cat " * 40 + "\tgood\n")
    (tmp_path / "new.tsv").write_text("the cat\tbad\na dog\tawful\n")
    (tmp_path / "missing.tsv").write_text("the cat\tbad\na dog\t\n")
    words = [
        word.replace("M/", f"{models}/").replace("T/", f"{tmp_path}/") if word != "M" else str(models)
        for word in arguments.split()
    ]
    code = code_of(*words)
    shown = capsys.readouterr()
    assert says in refused(shown.err, shown.out, code)


@pytest.mark.parametrize("given", ["--input", "standard input"])
def test_a_line_keeps_its_number_in_later_parts_of_a_file(
    given: str,
    models: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = [["the cat", "why?"], ["a dog", "cat " * 40]]
    monkeypatch.setattr("qkv.runtime.file_job.LINES_OF_A_PART", 2)
    monkeypatch.setattr("qkv.cli.texts.standard_input", lambda: iter(parts))
    file = tmp_path / "a.txt"
    file.write_text("".join(f"{line}\n" for part in parts for line in part))
    options = ["--input", file] if given == "--input" else []
    assert code_of("classify", models / "classifier", *options) == 2
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2  # the first part was answered
    assert f"{'a.txt' if options else given}, line 4 has 42 tokens" in shown.err


@pytest.mark.parametrize("rows", ["a\tb\t1.5\n", "a\tb\t1.5\nthe cat\twhy?\t1.5\n"])
def test_an_undefined_correlation_is_null(rows: str, models: Path, said, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "n.tsv").write_text(rows)
    for command in (["similar", models / "bert"], ["classify", models / "numbers"]):
        [line] = said(*command, "--labels", tmp_path / "n.tsv")
        record = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert (record["pearson"], record["spearman"]) == (None, None)


def test_an_unknown_header_is_reported(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "l.tsv").write_text("one\tother\tgold\nthe cat\twhy?\t0.5\na dog\ta cat\t2.5\n")
    for command in (["similar", models / "bert"], ["classify", models / "numbers"]):
        assert code_of(*command, "--labels", tmp_path / "l.tsv") == 0
        shown = capsys.readouterr()
        assert 2 in json.loads(shown.out).values()
        assert "l.tsv, line 1 ('one', 'other', 'gold') is read as a header" in shown.err


def test_a_text_that_is_too_long_is_rejected_not_truncated(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "the cat sat on the mat " * 10
    for command in (["fill", models / "bert", f"[MASK] {long}"], ["classify", models / "classifier", long]):
        code = code_of(*command)
        shown = capsys.readouterr()
        assert "reads at most 24" in refused(shown.err, shown.out, code)


def test_standard_input_is_read(models: Path) -> None:
    import subprocess

    answer = subprocess.run(
        [sys.executable, "-m", "qkv", "embed", str(models / "bert")],
        input="the cat\nwhy?\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert len([json.loads(line) for line in io.StringIO(answer.stdout)]) == 2
