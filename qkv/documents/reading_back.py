"""Where a written file lacks its new texts, for formats where a text without letters is no segment."""

from collections.abc import Callable, Iterator, Sequence

from qkv.documents.comparing import among_segments, differences
from qkv.documents.document import Comparison, Document, NewTexts, Segment


def compared_by(read: Callable[[bytes], Document], segments: Sequence[Segment]) -> Comparison:
    """Read the file again with `read`, for formats where a text without letters is no segment."""

    def compare(written: bytes, new: NewTexts) -> list[range]:
        texts = [each.text if each else old.current for old, each in zip(segments, new, strict=True)]
        again = read(written).segments
        wanted = list(essences(segments, texts))
        made = [essence for _, essence in essences(again, [segment.current for segment in again])]
        found = differences([essence for _, essence in wanted], made)
        return among_segments(found, [*(place for place, _ in wanted), len(segments)])

    return compare


def essences(segments: Sequence[Segment], texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    for place, (segment, text) in enumerate(zip(segments, texts, strict=True)):
        words = "".join(piece.text for piece in segment.codes.pieces(text)) if segment.codes else text
        if any(map(str.isalpha, words)):
            yield place, segment.essence(text).strip()
