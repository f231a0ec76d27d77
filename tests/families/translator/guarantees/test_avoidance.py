"""What must be avoided appears nowhere in a translation, or there is an error that names the text."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from untrained_translators import WITHOUT

from qkv.errors import QkvError
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.pipeline import Pipeline
from qkv.families.translator.product import Translator
from qkv.families.translator.text_search import TextSearch
from qkv.families.translator.translations import Translation

TWO = "the cat danced in Boston. my friends like tomatoes and Mary."


class EchoPipeline(Pipeline):
    """Returns every segment unchanged, and as a second hypothesis in upper case."""

    def translate_segments(
        self,
        pieces: Sequence[tuple[str, TranslationOptions]],
        decoding: TranslationOptions,
        done: Callable[[int], None],
        search: TextSearch,
    ) -> list[list[Translation]]:
        return [
            [Translation(text=piece, score=0.0), Translation(text=piece.upper(), score=-1.0)][
                : decoding.num_hypotheses
            ]
            for piece, _ in pieces
        ]


class Echo(Translator):
    @property
    def _pipeline(self) -> EchoPipeline:
        return EchoPipeline([self._runner], self.tokenizer, self._defaults)


ECHO = Echo(WITHOUT.model, WITHOUT.tokenizer, replace(WITHOUT._defaults, max_source_length=8))


def test_a_phrase_cannot_be_both_contained_and_avoided() -> None:
    for avoided in ("Hund", "der", " d", "r H"):
        with pytest.raises(QkvError, match="cannot contain 'der Hund' and avoid"):
            TranslationOptions(contain=("der Hund",), avoid=(avoided,))
    assert TranslationOptions(contain=("der Hund",), avoid=("d ",))


def test_a_phrase_that_arises_where_two_segments_meet_is_avoided() -> None:
    parts = ECHO._pipeline.segments(TWO)
    assert len(parts) == 2
    seam = TWO[len(parts[0]) - 3 : len(parts[0]) + 2]
    assert seam in ECHO.translate(TWO)
    found = ECHO.translate(TWO, avoid=(seam,))
    assert seam not in found
    assert found.lower() == TWO.lower()
    told = "".join(ECHO.stream(TWO, avoid=(seam,)))
    assert seam not in told


def test_the_error_names_a_text_whose_phrase_cannot_be_avoided() -> None:
    with pytest.raises(QkvError, match=r"no translation of 'the cat .*' without '\. '"):
        ECHO.translate(TWO, avoid=(". ",))


def test_an_error_about_a_line_break_is_one_line() -> None:
    for text in ("the cat\ndanced", "\n"):
        with pytest.raises(QkvError, match=r"'\\n'") as raised:
            ECHO.translate(text, avoid=("\n",))
        assert "\n" not in str(raised.value)
    with pytest.raises(QkvError, match=r"avoid '\\n'\.$"):
        TranslationOptions(contain=("a\nb",), avoid=("\n",))


@pytest.mark.parametrize("text", ["42", "👍", "{name}"])
def test_copied_text_gets_the_prefix_and_the_required_phrases(text: str) -> None:
    found = WITHOUT.translate(text, prefix="die Katze", contain=("Boston",))
    assert found == f"die Katze {text} Boston"
    assert "".join(WITHOUT.stream(text, prefix="die Katze", contain=("Boston",))) == found


def test_an_empty_text_stays_empty() -> None:
    assert WITHOUT.translate(["", "  "], prefix="die", contain=("Boston",)) == ["", "  "]


def test_copied_text_with_a_phrase_to_avoid_raises_an_error_unless_it_is_protected() -> None:
    with pytest.raises(QkvError, match="'42' has nothing to translate and is copied, but it contains '4'"):
        WITHOUT.translate(["the cat", "42"], avoid=("4",))
    assert WITHOUT.translate("<b>{name}</b>", avoid=("name", "b")) == "<b>{name}</b>"
