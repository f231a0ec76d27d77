"""What stops a run before its limit: signals and callbacks.

Ctrl-C and SIGTERM stop a run at the end of its step. A second Ctrl-C stops it at once.
"""

import signal
import threading
from types import FrameType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """`with StopRequest() as stop:` sets `stop.received` to the signal that was received, or None.

    In a thread other than the main one, which cannot receive signals, only callbacks stop a run.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.ends = False  # a callback wants the run to end here, with its model and report
        self.error: BaseException | None = None  # of a callback: the run is saved first
        self.before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.before = {each: signal.signal(each, self.receive) for each in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self.before.items():
            signal.signal(each, handler)  # type: ignore[arg-type]

    def receive(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)

    @property
    def interrupts(self) -> bool:
        """Must the run be saved and left as it is?"""
        return self.received is not None or self.error is not None

    @property
    def exit_code(self) -> int:
        """The usual exit code after a signal: 130 for Ctrl-C, 143 for SIGTERM.

        If this process received none, another process of the run did.
        """
        return 128 + (signal.SIGTERM if self.received is None else self.received)
