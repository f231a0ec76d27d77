"""Objects of the compiled library that Python objects own."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any


class Handle:
    """An object of the compiled library. It is freed with this object, by compiled code alone.

    A `__del__` in Python would lose interrupts: if Ctrl-C arrives while it runs, Python raises KeyboardInterrupt there,
    prints it and continues. This `__del__` is a property that returns a function of the library.
    """

    __del__: Any = property(attrgetter("_free"))
    _free: Callable[[], object] = bool  # nothing to free, if the library could not create the object

    def __init__(self, pointer: Any, free: Callable[[Any], object]):
        self.pointer = self._as_parameter_ = pointer  # ctypes passes this for the object
        self._free = partial(free, pointer)
