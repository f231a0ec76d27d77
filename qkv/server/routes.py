"""All operations of the server, in the order in which they are documented."""

from qkv.server import (
    deepl,
    deepl_documents,
    deepl_glossaries,
    embedding,
    libretranslate,
    openai,
    operating,
    web,
)
from qkv.server.operations import Operation

OPERATIONS: tuple[Operation, ...] = (
    *libretranslate.OPERATIONS,
    *deepl.OPERATIONS,
    *deepl_documents.OPERATIONS,
    *deepl_glossaries.OPERATIONS,
    *openai.OPERATIONS,
    *embedding.OPERATIONS,
    *operating.OPERATIONS,
    *web.OPERATIONS,
)
