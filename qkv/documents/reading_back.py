"""Whether a written file has its new texts, for formats where a text without letters is no segment."""

from collections.abc import Callable, Iterator, Sequence

from qkv.documents.document import Document, NewTexts, Segment


def reads_back_by(
    read: Callable[[bytes], Document], segments: Sequence[Segment]
) -> Callable[[bytes, NewTexts], bool]:
    """A check that reads the file again with `read`."""

    def reads_back(written: bytes, new: NewTexts) -> bool:
        wanted = [each.text if each else old.current for old, each in zip(segments, new, strict=True)]
        again = read(written).segments
        found = [segment.current for segment in again]
        return list(essences(segments, wanted)) == list(essences(again, found))

    return reads_back


def essences(segments: Sequence[Segment], texts: Sequence[str]) -> Iterator[str]:
    for segment, text in zip(segments, texts, strict=True):
        words = "".join(piece.text for piece in segment.codes.pieces(text)) if segment.codes else text
        if any(map(str.isalpha, words)):
            yield segment.essence(text).strip()
