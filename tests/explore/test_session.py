"""One model that is looked at: traces are kept, but not without bound, and checkpoints are found."""

from pathlib import Path

import pytest
from explorable import SENTENCE, STEPS, save_explorable

from qkv.configs import from_dict
from qkv.errors import QkvError
from qkv.explorer import session
from qkv.explorer.session import Explorer, TraceQuery
from qkv.tracing.experiments import Experiment


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explore") / "model"
    save_explorable(path)
    return path


def test_info_describes_the_model_to_the_page(folder: Path) -> None:
    told = Explorer(folder).info()
    assert told["model"] == "model"
    assert told["checkpoints"] == list(STEPS)
    assert told["languages"] == {"source": "en", "target": "xx"}
    assert told["examples"]
    assert not told["truth"]


def test_the_same_query_is_computed_once_and_old_ones_are_forgotten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = Explorer(folder)
    first, _ = explorer.trace(TraceQuery(text=SENTENCE))
    assert explorer.trace(TraceQuery(text=SENTENCE))[0] is first
    monkeypatch.setattr(session, "KEPT_BYTES", 3 * session.size(first))
    for number in range(12):
        explorer.trace(TraceQuery(text=SENTENCE, experiment=Experiment(shuffle=number + 1)))
    assert len(explorer.traces) <= 5
    assert explorer.bytes == sum(session.size(trace) for trace, _ in explorer.traces.values())
    assert TraceQuery(text=SENTENCE) not in explorer.traces


def test_an_earlier_checkpoint_gives_its_own_output(folder: Path) -> None:
    explorer = Explorer(folder)
    told = explorer.evolve(TraceQuery(text=SENTENCE), "decoder.1.cross_attention.weights")
    assert [state["checkpoint"] for state in told["states"]] == [*STEPS, None]
    assert len({state["tensor"]["data"] for state in told["states"]}) == 3
    assert told["states"][-1]["output"] == explorer.model.translate(SENTENCE)
    with pytest.raises(QkvError, match="available: 8, 64"):
        explorer.trace(TraceQuery(text=SENTENCE, checkpoint=9))


@pytest.mark.parametrize(
    "values",
    [
        {"text": "x" * 1001},
        {"text": "one", "beam": 9},
        {"text": "one", "experiment": {"silenced": [1]}},
        {"text": "one", "experiment": {"force": ["one"]}},
        {"text": "one", "experiment": {"force": [1] * 1000}},
        {"text": 5},
        {"text": "one", "experiment": {"no_soup": True}},
    ],
)
def test_an_invalid_query_gives_one_error_message(values: dict[str, object]) -> None:
    with pytest.raises(QkvError, match=r"^the request"):
        from_dict(TraceQuery, values, "the request")


def test_more_than_48_tokens_are_rejected(folder: Path) -> None:
    with pytest.raises(QkvError, match="at most 48 can be traced"):
        Explorer(folder).trace(TraceQuery(text="seven " * 60))
