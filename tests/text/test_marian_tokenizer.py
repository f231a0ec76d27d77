"""Marian's vocabulary: raw text in, ids as Hugging Face's, raw text out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from published import mixed_lines, write_marian_tokenizer
from transformers import MarianTokenizer as TheirTokenizer

from qkv.errors import ModelError, QkvError
from qkv.text.marian_tokenizer import MarianTokenizer
from qkv.text.unigram import UnigramModel
from qkv.text.vocabulary import load_vocabulary
from qkv.text.words import SPACE_SEPARATED, spans, words_of_tokens

Both = tuple[MarianTokenizer, Any]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("marian")
    vocabulary = write_marian_tokenizer(folder, ("fra", "deu"))
    models = [UnigramModel((folder / f"{side}.spm").read_bytes(), side) for side in ("source", "target")]
    end, unknown, pad = (vocabulary[piece] for piece in ("</s>", "<unk>", "<pad>"))
    ours = MarianTokenizer(
        list(vocabulary), (models[0], models[1]), pad=pad, start=pad, end=end, unknown=unknown
    )
    with pytest.warns(UserWarning, match="sacremoses"):  # a hint of transformers, which changes nothing here
        yield ours, TheirTokenizer.from_pretrained(folder)


def test_a_thousand_lines_have_the_ids_of_hugging_face_on_both_sides(both: Both) -> None:
    ours, theirs = both
    for number, line in enumerate(mixed_lines(1000, 8)):
        asked = ["", ">>fra<< ", ">>deu<<", ">>xyz<< "][number % 4] + line
        ids = theirs(asked)["input_ids"]
        assert [*ours.encode(asked), ours.end] == ids, asked
        assert [*ours.target.encode(line), ours.end] == theirs(text_target=line)["input_ids"], line
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_the_default_language_token_precedes_every_text_without_one(both: Both) -> None:
    plain = both[0]
    ours = MarianTokenizer.from_text(plain.text().replace('"language": null', '"language": "fra"'), "here")
    assert ours.encode("the dog") == plain.encode(">>fra<< the dog")
    assert ours.encode(">>deu<< the dog") == plain.encode(">>deu<< the dog")
    assert ours.target.encode("the dog") == plain.target.encode("the dog")
    with pytest.raises(QkvError, match="no target language 'spa': choose from deu, fra"):
        MarianTokenizer.from_text(plain.text().replace('"language": null', '"language": "spa"'), "here")


def test_a_saved_tokenizer_is_recognised_and_read_back(both: Both, tmp_path: Path) -> None:
    ours = both[0]
    path = tmp_path / "tokenizer.json"
    path.write_text(ours.text(), encoding="utf-8")
    again = load_vocabulary(path)
    assert isinstance(again, MarianTokenizer)
    assert again.text() == ours.text()
    assert len(again) == len(ours)
    path.write_text(ours.text()[:-50], encoding="utf-8")
    with pytest.raises(QkvError, match="is not a tokenizer file"):
        load_vocabulary(path)


def test_half_a_character_in_the_vocabulary_is_an_error(both: Both) -> None:
    token = both[0].vocabulary[7]
    changed = both[0].text().replace(f'"{token}"', '"a\\ud800"')
    with pytest.raises(ModelError, match="here: token 7 of the vocabulary"):
        MarianTokenizer.from_text(changed, "here")


def test_tokens_map_to_the_bytes_of_the_text(both: Both) -> None:
    text = "  the ﬁne   dog, über ½ Häuser"
    ids, places = both[0].encode_with_spans(text)
    found = words_of_tokens(places, spans(text, SPACE_SEPARATED))
    assert sorted({each for each in found if each is not None}) == list(range(6))
    assert [each for each in found if each is not None] == sorted(each for each in found if each is not None)
    assert len(ids) == len(places)


def test_spans_of_output_ids_are_those_of_the_decoded_text(both: Both) -> None:
    ours = both[0]
    for line in mixed_lines(200, 9):
        ids = ours.encode(line)
        said, places = ours.decode(ids).encode(), ours.spans(ids)
        assert b"".join(said[start:end] for start, end in places) == said
