"""Alignments refer to the text that was read, also with a target language token and with normalisation."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published import write_marian

from qkv.core.translation import TranslationRunner
from qkv.errors import QkvError
from qkv.families.loading import load
from qkv.families.translator.aligner import Aligner
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.word_attention import word_attention
from qkv.hub.importing import import_model

SENTENCE = "the dog sees the old house"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marian")
    write_marian(folder / "published", ("fra", "deu"))
    import_model(folder / "published", folder / "several", origin="here")
    import_model(folder / "published", folder / "french", origin="here", language="fra")
    return folder


def test_alignments_use_the_requested_target_language(
    imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = load(imported / "several", engine="torch")
    read: list[Sequence[int]] = []
    attention = Aligner.attention

    def spy(
        self: Aligner, runner: TranslationRunner, source: Sequence[int], output: Sequence[int]
    ) -> np.ndarray:
        read.append(source)
        return attention(self, runner, source, output)

    monkeypatch.setattr(Aligner, "attention", spy)
    asked = TranslationOptions(target_language="fra", alignments=True)
    answer = translator.translate(SENTENCE, asked, details=True)
    assert read[-1] == translator.tokenizer.encode(f">>fra<<{SENTENCE}")
    marked = translator.translate(f">>fra<< {SENTENCE}", details=True)
    default = load(imported / "french", engine="torch").translate(SENTENCE, details=True)
    assert answer.alignment == marked.alignment == default.alignment
    translator.translate("the <b>dog</b> sees", TranslationOptions(target_language="deu"))
    assert read[-1] == translator.tokenizer.encode(">>deu<<the dog sees")


def test_a_language_marker_is_not_a_word(imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_word(
        self: Aligner, runner: TranslationRunner, source: Sequence[int], output: Sequence[int]
    ) -> np.ndarray:
        """All attend to the second token, which follows the marker."""
        return np.eye(len(source) + 1)[[1] * len(output)]

    monkeypatch.setattr(Aligner, "attention", first_word)
    answer = load(imported / "several", engine="torch").translate(
        SENTENCE, target_language="fra", details=True
    )
    assert answer.alignment
    assert {source for source, _ in answer.alignment} == {0}


@pytest.mark.parametrize("beam_size", [1, 3])
def test_alignments_of_the_engine_need_no_second_pass(
    beam_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Path(__file__).parents[2] / "compatibility" / "format-1" / "translator"
    asked, texts = TranslationOptions(alignments=True, beam_size=beam_size), ["one two three", "two one"]
    wanted = load(model, engine="torch")._pipeline.hypotheses(texts, asked)
    engine = load(model, compute_type="float32")
    monkeypatch.delattr(Aligner, "attention")
    found = engine._pipeline.hypotheses(texts, asked)
    assert [each[0].alignment for each in found] == [each[0].alignment for each in wanted]


def test_word_attention_agrees_with_alignments(imported: Path) -> None:
    """The source is normalised on its way to pieces, and a marker that nobody has written stands before it."""
    translator = load(imported / "french")
    source, target = "the ﬁne  dog", "der Hund sieht"
    looks = word_attention(translator, source, target)
    for (block, head), links in looks.cross.items():
        own = Aligner(block=block, heads=(head,), late=translator._pipeline.aligner.late)
        one = Translator(translator.model, translator.tokenizer, replace(translator._defaults, aligner=own))
        assert one.align(source, target) == links


def test_a_prefix_that_the_model_cannot_write_raises_an_error(imported: Path) -> None:
    translator = load(imported / "several")
    with pytest.raises(QkvError, match="cannot write the prefix '☃ der'"):
        translator.translate(SENTENCE, TranslationOptions(prefix="☃ der"))
    for prefix in ("der Hund", "der Hund "):
        assert translator.translate(SENTENCE, TranslationOptions(prefix=prefix)).startswith("der Hund")


@pytest.mark.parametrize("change", [{"block": 7}, {"heads": [9]}, {"heads": []}], ids=str)
def test_an_aligner_of_another_model_raises_an_error(
    change: dict[str, Any], imported: Path, tmp_path: Path
) -> None:
    import json
    import shutil

    shutil.copytree(imported / "several", tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    config["aligner"] = {"block": 0, "heads": [0], "late": False, **change}
    path.write_text(json.dumps(config))
    with pytest.raises(QkvError, match="belongs to another model"):
        load(tmp_path / "model")
