"""What belongs to the compiled library is freed once, and an interrupt at that moment is not lost."""

import ctypes

import pytest

from qkv.engine.handle import Handle


def test_a_handle_is_freed_once_with_its_pointer() -> None:
    freed: list[int] = []
    handle = Handle(7, freed.append)
    del handle
    assert freed == [7]


def test_an_interrupt_while_a_handle_is_freed_is_raised() -> None:
    """Until it was freed by compiled code alone, Python printed "Exception ignored" and continued."""
    interrupt = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("PyErr_SetInterrupt", ctypes.pythonapi))

    def work() -> None:
        handle = Handle(7, interrupt)
        del handle
        sum(range(3))  # Python looks for interrupts when it calls something

    with pytest.raises(KeyboardInterrupt):
        work()
