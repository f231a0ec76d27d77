"""What every test of training is run under."""

from typing import Any

import pytest
import torch

from qkv.training import loop


@pytest.fixture(autouse=True)
def one_thread_and_a_report_of_every_step(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(loop, "LOG_EVERY", 1)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
