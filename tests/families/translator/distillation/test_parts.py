"""The parts of distillation: reading, agreement of teachers, forced decoding, filters and differences."""

import gzip
import json
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU

import qkv
from qkv.corpus.duplicates import fingerprint
from qkv.corpus.words import plain
from qkv.evaluation.display import no_progress
from qkv.evaluation.significance import difference_interval
from qkv.families.translator.distillation.filtering import (
    CLOSEST,
    REPEATED,
    REVERSE,
    TRANSLATED,
    TRUE,
    UNSURE,
    Filter,
    Part,
    mix,
)
from qkv.families.translator.distillation.options import DistillOptions
from qkv.families.translator.distillation.reading import TextSource, read_text
from qkv.families.translator.distillation.stages import Stage
from qkv.families.translator.distillation.teachers import PROPOSED, Teachers
from qkv.families.translator.distillation.translating import TranslatedLine
from qkv.families.translator.forced import forced_log_probabilities
from qkv.runtime.running import EXACT, silent

TEXTS = ["one two", "three four five", "six"]


def test_forced_decoding_gives_the_probabilities_of_the_search(models: Path) -> None:
    for ensemble in ((), (models / "two",)):
        pipeline = qkv.load(models / "one", EXACT)._together_with(ensemble)._pipeline
        found = [row[0] for row in pipeline.hypotheses(TEXTS)]
        forced = forced_log_probabilities(pipeline, TEXTS, [each.text for each in found])
        for translation, scores in zip(found, forced, strict=True):
            assert scores == pytest.approx(translation.log_probabilities, abs=1e-4)


def test_forced_decoding_of_a_pair_does_not_depend_on_others_and_skips_what_cannot_be_scored(
    models: Path,
) -> None:
    pipeline = qkv.load(models / "one")._pipeline
    pairs = [*TEXTS, "", "one " * 2_000], ["two one", "five four three", "six", "x", "one"]
    together = forced_log_probabilities(pipeline, *pairs)
    alone = [
        forced_log_probabilities(pipeline, [text], [target])[0] for text, target in zip(*pairs, strict=True)
    ]
    assert together == alone
    assert [each is None for each in together] == [False, False, False, True, True]


def test_teachers_of_two_vocabularies_choose_what_they_find_likeliest_together(models: Path) -> None:
    teachers = Teachers.open([models / "one", models / "other"], EXACT, silent)
    assert len(teachers.ensembles) == 2
    options = teachers.options(None, None)
    proposed = teachers.propose(TEXTS, options, PROPOSED, silent)
    assert all(len(row) == 2 * PROPOSED for row in proposed)
    for text, row, chosen in zip(TEXTS, proposed, teachers.translate(TEXTS, options), strict=True):
        scores = teachers.agreement([(text, each.text) for each in row], options)
        assert row[scores.index(max(scores))].text == chosen.text


def test_text_is_read_from_every_format_once_and_without_held_out_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\n\n  two\tthree \n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "four\nfive"}) + "\n")
    (tmp_path / "c.tsv").write_text("six\tsechs\nOne!\teins\n")
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"seven\nheld out\n" + b"x" * 60 + b"\n"))
    source = TextSource(
        files=sorted(tmp_path.iterdir()),
        side=0,
        languages=("en", "de"),
        max_characters=50,
        held_out=frozenset([fingerprint(plain("Held out."))]),
    )
    facts = read_text(source, tmp_path / "out", no_progress)
    assert (tmp_path / "out").read_text().splitlines() == ["one", "two three", "four", "five", "six", "seven"]
    assert facts == {
        "lines": 9,
        "kept": 6,
        "dropped": {"duplicate": 1, "in a test set": 1, "too long": 1},
    }


def lines(path: Path, *rows: TranslatedLine) -> Path:
    path.write_text("".join(f"{row.line()}\n" for row in rows))
    return path


def test_filters_drop_bad_translations_and_report_them_with_examples(tmp_path: Path) -> None:
    (tmp_path / "true").write_text("a cat danced\tTom\n")
    translated = lines(
        tmp_path / "translated",
        TranslatedLine("a dog sang today", "ein Hund sang heute", -0.1, 0.9),
        TranslatedLine("a dog sang", "ein ein ein ein Hund", -0.1, 0.9),
        TranslatedLine("a bird sang today", "ein Vogel sang heute", -0.1, 0.2),
        TranslatedLine("see the old green house", "see the old green house", -0.1, 0.9),
        TranslatedLine("yes", "ja, das ist natürlich vollkommen richtig und wahr", -0.1, 0.9),
        TranslatedLine("a cat danced", "Tom", -0.1, 0.9),
        TranslatedLine("a horse ran far away", "ein Pferd lief weit weg", -0.1, None),
    )
    (tmp_path / "scores").write_text("-0.5\n" * 6 + "-9.0\n")
    options = DistillOptions(min_confidence=0.5, reverse_drop=0.5, repeat_pairs=2)
    parts = [
        Part(origin=TRUE, path=tmp_path / "true"),
        Part(origin=TRANSLATED, path=translated, reverse=tmp_path / "scores"),
    ]
    choose = Filter(options=options, max_characters=1_000)
    facts = mix(parts, choose, tmp_path / "out.tsv", [1, 7], no_progress)
    assert (tmp_path / "out.tsv").read_text().splitlines() == [
        "a cat danced\tTom",
        "a cat danced\tTom",
        "a dog sang today\tein Hund sang heute",
    ]
    assert facts["parts"][TRANSLATED] == {
        "pairs": 7,
        "kept": 1,
        "dropped": {
            REPEATED: 1, UNSURE: 1, "copied": 1, "unequal lengths": 1, "duplicate": 1, REVERSE: 1,
        },
    }  # fmt: skip
    assert facts["examples"][REVERSE] == [("a horse ran far away", "ein Pferd lief weit weg")]


def test_an_error_says_that_nothing_is_left(tmp_path: Path) -> None:
    part = Part(origin=CLOSEST, path=lines(tmp_path / "a", TranslatedLine("a b c", "a b c")))
    choose = Filter(options=DistillOptions(), max_characters=1_000)
    with pytest.raises(qkv.DataError, match="every translation was dropped"):
        mix([part], choose, tmp_path / "out.tsv", [1], no_progress)
    assert not (tmp_path / "out.tsv").exists()


def test_a_stage_has_another_key_if_anything_before_it_changes(tmp_path: Path) -> None:
    def keys(first: int, second: int) -> tuple[str, str]:
        one = Stage.of(tmp_path, "one", {"option": first})
        return one.key, Stage.of(tmp_path, "two", {"option": second}, after=[one]).key

    assert keys(1, 1) == keys(1, 1)
    assert keys(1, 1)[0] == keys(1, 2)[0]
    assert len({keys(1, 1)[1], keys(1, 2)[1], keys(2, 1)[1]}) == 3


def test_the_difference_of_equal_systems_is_zero_and_that_of_a_worse_one_is_below() -> None:
    references = [f"the {word} cat sat on the {word} mat today" for word in map(str, range(60))]
    worse = [text.replace("sat", "stood") if n % 3 else text for n, text in enumerate(references)]
    same = difference_interval(BLEU(), worse, worse, [references])
    assert (same.low, same.high) == (0, 0)
    found = difference_interval(BLEU(), worse, references, [references])
    assert found.low < found.mean < found.high < 0
    assert found.mean == pytest.approx(BLEU().corpus_score(worse, [references]).score - 100, abs=1)
