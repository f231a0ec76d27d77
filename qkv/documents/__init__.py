"""Files with structure: bytes to segments, and translations of the segments back to bytes."""

from qkv.documents.codes import Coded, Codes, Part, coded
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
    "Coded",
    "Codes",
    "Document",
    "Edit",
    "NewText",
    "Part",
    "Segment",
    "State",
    "coded",
    "extension_of",
    "is_catalog",
    "read_catalog",
    "read_document",
    "supported_formats",
]
