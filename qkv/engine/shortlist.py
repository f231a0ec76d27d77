"""A vocabulary shortlist in the compiled library."""

from array import array
from typing import Protocol

from qkv.engine.handle import Handle
from qkv.engine.image import PackedModel
from qkv.engine.library import library
from qkv.engine.session import address


class Dictionary(Protocol):
    """Target tokens of every source token: tokens[offsets[s]:offsets[s + 1]]; and tokens that all translations may use.

    Every id is in the vocabulary; whoever reads them from a file has checked that.
    """

    @property
    def offsets(self) -> "array[int]": ...

    @property
    def tokens(self) -> "array[int]": ...

    @property
    def always(self) -> "array[int]": ...


class CompiledShortlist:
    """A dictionary with the output layer's weights token by token. It is freed with this object."""

    def __init__(self, packed: PackedModel, dictionary: Dictionary):
        self.library, self.packed, self.dictionary = library(), packed, dictionary
        offsets, tokens, always = dictionary.offsets, dictionary.tokens, dictionary.always
        if len(offsets) != packed.struct.vocab + 1:
            raise ValueError("the shortlist is for another vocabulary")
        pointer = self.library.qkv_open_shortlist(
            packed.struct, address(offsets), address(tokens), address(always), len(always)
        )
        self.handle = Handle(pointer, self.library.qkv_close_shortlist)
