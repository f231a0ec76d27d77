"""Files with structure: bytes to segments, and translations of the segments back to bytes."""

from qkv.documents.document import Document, Edit, NewText, Segment, State
from qkv.documents.formats import (
    CATALOGS,
    FORMATS,
    extension_of,
    is_catalog,
    read_catalog,
    read_document,
    supported_formats,
)

__all__ = [
    "CATALOGS",
    "FORMATS",
    "Document",
    "Edit",
    "NewText",
    "Segment",
    "State",
    "extension_of",
    "is_catalog",
    "read_catalog",
    "read_document",
    "supported_formats",
]
