"""Windows in batches: every token is to be said once in an epoch, whatever its order."""

import torch
from torch import Tensor

from qkv.families.gpt.stream import StreamData

IDS = torch.arange(100, 203)


def said(data: StreamData, seed: int) -> list[int]:
    batches = data.epoch(seed)
    found = [data.batch(rows) for rows in batches]
    assert [data.tokens(rows) for rows in batches] == [len(batch.real) for batch in found]
    return [int(each) for batch in found for each in batch.target.flatten()[batch.real]]


def test_every_token_is_predicted_once_in_an_epoch_and_epochs_differ() -> None:
    data = StreamData(lambda seed: IDS, context=8, batch_tokens=32, shuffled=True)
    first, second = said(data, 1), said(data, 2)
    assert sorted(first) == sorted(second) == IDS[1:].tolist()
    assert first != second
    assert first == said(data, 1)


def test_what_is_validated_on_is_the_same_each_time() -> None:
    data = StreamData(lambda seed: IDS, context=8, batch_tokens=32, shuffled=False)
    assert said(data, 1) == said(data, 2) == IDS[1:].tolist()
    assert len(data) == 102


def test_a_stream_may_differ_from_epoch_to_epoch() -> None:
    def stream(seed: int) -> Tensor:
        return IDS + 1_000 * seed

    data = StreamData(stream, context=8, batch_tokens=32, shuffled=True)
    assert min(said(data, 3)) == 3_101
