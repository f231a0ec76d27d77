"""Files with structure: bytes to segments, and translations of the segments back to bytes."""

from qkv.documents.document import Document, Segment
from qkv.documents.formats import FORMATS, extension_of, read_document, supported_formats

__all__ = ["FORMATS", "Document", "Segment", "extension_of", "read_document", "supported_formats"]
