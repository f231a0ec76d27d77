"""All operations of the server, in the order in which they are documented."""

from qkv.server import libretranslate, operating
from qkv.server.operations import Operation

OPERATIONS: tuple[Operation, ...] = (*libretranslate.OPERATIONS, *operating.OPERATIONS)
