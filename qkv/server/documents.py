"""Documents: all segments of a file, translated together with everything else that the server does."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from qkv.documents import Document, Segment
from qkv.documents.markup import MarkupRules
from qkv.families.translator.translations import Translation
from qkv.server.detection import SURE
from qkv.server.errors import ApiError
from qkv.server.languages import language_name
from qkv.server.models import Models
from qkv.server.state import State
from qkv.server.translation import PLAIN, Wish

AT_ONCE = 64  # segments: the queue never holds a whole file
SAMPLE = 5_000  # characters that decide the language of a file
INLINE = MarkupRules()
"""The reader has cut the file already: what is left inside a segment are inline tags."""


@dataclass(frozen=True)
class TranslatedDocument:
    content: bytes
    source: str
    characters: int


class SameLanguageError(Exception):
    """The file is in the target language already."""


async def language_of(state: State, models: Models, document: Document) -> str:
    """The language of a file as a whole: single segments are too short to tell."""
    text = "\n".join(segment.text for segment in document.segments)[:SAMPLE]
    [found] = await state.detect([text], models.languages)
    if found.confidence < SURE and found.language not in models.sources:
        [found] = await state.detect([text], models.sources)
    return found.language


async def translate_document(
    state: State,
    models: Models,
    document: Document,
    source: str | None,
    target: str,
    wish: Wish = PLAIN,
    done: Callable[[int, int], None] = lambda count, total: None,
) -> TranslatedDocument:
    """Translate a file, segment by segment. `done` receives how many segments of how many are translated.

    Raises:
        ApiError: There is no model for these languages.
        SameLanguageError: The language was detected, and it is the target language.
    """
    if source is None:
        source = (
            await language_of(state, models, document) if document.segments else next(iter(models.sources))
        )
        if source == target:
            raise SameLanguageError
    if models.route(source, target) is None:
        raise ApiError(
            400,
            f"{language_name(target)} ({target}) is not available as a target language from "
            f"{language_name(source)} ({source})",
        )
    own = replace(wish, beam_size=state.options.beam_size, patient=True)
    wanted = [place for place, segment in enumerate(document.segments) if is_missing(segment)]
    translations: dict[int, str] = {}
    for places in portions(document, wanted):
        segments = [document.segments[place] for place in places]
        markup = INLINE if segments[0].markup else None
        found: Sequence[Sequence[Translation]] = await state.service.translate(
            models, [segment.text for segment in segments], source, target, replace(own, markup=markup)
        )
        for place, segment, row in zip(places, segments, found, strict=True):
            text = document.storable(row[0].text)
            translations[place] = segment.codes.repair(text) if segment.codes else text
        done(len(translations), len(wanted))
    characters = sum(len(document.segments[place].text) for place in wanted)
    state.metrics.translated(source, target, len(wanted), characters)
    written = document.write([translations.get(place) for place in range(len(document.segments))])
    return TranslatedDocument(written, source, characters)


def is_missing(segment: Segment) -> bool:
    """Files with both languages may have a translation already."""
    return not segment.held and (segment.target is None or segment.state == "untranslated")


def portions(document: Document, places: Sequence[int]) -> Iterator[list[int]]:
    """Segments that are translated together: all with markup, or all without."""
    for markup in (False, True):
        own = [place for place in places if document.segments[place].markup == markup]
        yield from (own[start : start + AT_ONCE] for start in range(0, len(own), AT_ONCE))
