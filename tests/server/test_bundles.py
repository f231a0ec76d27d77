"""The server with real bundles: answers under load, reloading, other families, and the Python functions."""

import json
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from commands import save_untrained
from digits import digit_lines
from family_bundles import save_bert, save_gpt
from starlette.testclient import TestClient

import qkv
from qkv.errors import ModelError, QkvError
from qkv.server.app import application
from qkv.server.options import ServeOptions
from qkv.server.state import State

QUIET = ServeOptions(log_format="none", cache_size=0)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    save_untrained(folder / "en-xx", digit_lines(50), beam=2, length_penalty=1.0)
    save_gpt(folder / "gpt")
    save_bert(folder / "bert")
    return folder


def post(address: str, values: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"{address}translate", json.dumps(values).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_answers_under_load_are_those_of_a_sequential_run(bundles: Path) -> None:
    texts = [*digit_lines(60), "<b>one</b> two {name}", "three\nfour", "", "1 2 3", "one " * 60]
    expected = qkv.load(bundles / "en-xx").translate(texts)
    requests = [[text] for text in texts] + [texts[start : start + 20] for start in range(0, len(texts), 20)]
    with (
        qkv.serve(bundles / "en-xx", port=0, cache_size=0, threads=2, log_format="none") as service,
        ThreadPoolExecutor(16) as pool,
    ):
        fields = {"source": "en", "target": "xx"}
        answers = list(pool.map(lambda part: post(str(service.address), {"q": part, **fields}), requests))
    known = dict(zip(texts, expected, strict=True))
    for part, answer in zip(requests, answers, strict=True):
        assert answer["translatedText"] == [known[text] for text in part]


def test_the_cache_changes_no_answer(bundles: Path) -> None:
    state = State(ServeOptions(log_format="none"), [bundles / "en-xx"])
    with TestClient(application(state)) as client:
        fields = {"q": ["one two", "three", "one two"], "source": "en", "target": "xx", "num_hypotheses": 2}
        first, second = (client.post("/translate", json=fields).json() for _ in range(2))
        assert first == second
        assert (state.cache.hits, state.cache.misses) == (2, 2)
        client.post("/translate", json={**fields, "num_hypotheses": 1, "protect": ["none"]})
        assert state.cache.misses == 4  # other options are other entries


def test_new_models_replace_old_ones_without_dropping_a_request(bundles: Path, tmp_path: Path) -> None:
    folder = tmp_path / "en-xx"
    copytree(bundles / "en-xx", folder)
    state = State(QUIET, [folder])
    with TestClient(application(state)) as client:
        fields = {"q": "one two three", "source": "en", "target": "xx"}
        before, old = client.post("/translate", json=fields).json(), state.models
        failed: list[int] = []
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                status = client.post("/translate", json=fields).status_code
                if status != 200:
                    failed.append(status)

        thread = threading.Thread(target=ask)
        thread.start()
        for _ in range(3):
            state.reload()
        (folder / "config.json").write_text("{}")
        with pytest.raises(ModelError):
            state.reload()
        stop.set()
        thread.join()
        assert failed == []
        assert state.models is not old
        assert client.post("/translate", json=fields).json() == before


def test_language_models_and_berts_answer_openais_clients(bundles: Path) -> None:
    with TestClient(
        application(State(QUIET, [bundles / "gpt", bundles / "bert", bundles / "en-xx"]))
    ) as client:
        assert [row["id"] for row in client.get("/v1/models").json()["data"]] == ["gpt", "bert", "en-xx"]
        fields = {"model": "gpt", "prompt": "one two", "max_tokens": 6, "temperature": 0}
        text = client.post("/v1/completions", json=fields).json()["choices"][0]["text"]
        assert text == qkv.load(bundles / "gpt").generate(
            "one two", max_new_tokens=6, temperature=0, top_p=1.0
        )
        events = client.post("/v1/completions", json={**fields, "stream": True}).text.split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""]
        parts = [json.loads(event.removeprefix("data: "))["choices"][0] for event in events[:-2]]
        assert "".join(part["text"] for part in parts) == text
        assert [part["finish_reason"] for part in parts][-1] in ("stop", "length")
        chat = {"model": "en-xx", "messages": [{"role": "user", "content": "one two"}]}
        said = client.post("/v1/chat/completions", json=chat).json()["choices"][0]["message"]["content"]
        assert said == qkv.load(bundles / "en-xx").translate("one two")
        wanted = qkv.load(bundles / "bert").embed(["one", "two"]).tolist()
        found = client.post("/v1/embeddings", json={"model": "bert", "input": ["one", "two"]}).json()["data"]
        assert [row["embedding"] for row in found] == wanted
        assert client.post("/embed", json={"inputs": ["one", "two"]}).json() == wanted


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/v1/completions", {"model": "none", "prompt": "a"}, 404),
        ("/v1/completions", {"model": "bert", "prompt": "a"}, 400),
        ("/v1/completions", {"model": "gpt", "prompt": "a", "temperature": 3}, 400),
        ("/v1/completions", {"model": "gpt", "prompt": [[1, 2]]}, 400),
        ("/v1/chat/completions", {"model": "gpt", "messages": []}, 400),
        (
            "/v1/chat/completions",
            {"model": "gpt", "messages": [{"role": "user", "content": [{"image": 1}]}]},
            400,
        ),
        ("/v1/embeddings", {"model": "bert", "input": []}, 400),
        ("/v1/embeddings", {"model": "bert", "input": "a", "encoding_format": "int"}, 400),
        ("/embed", {"inputs": ["a"] * 51}, 413),
        ("/embed", {"inputs": 5}, 422),
    ],
)
def test_wrong_requests_get_the_error_of_their_interface(
    bundles: Path, path: str, fields: dict[str, Any], status: int
) -> None:
    with TestClient(application(State(QUIET, [bundles / "gpt", bundles / "bert"]))) as client:
        answer = client.post(path, json=fields)
        assert answer.status_code == status
        assert ("error_type" if path == "/embed" else "error") in answer.json()


def test_a_model_that_cannot_be_served_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="there is no folder"):
        qkv.serve(tmp_path / "nothing", port=0)
    with pytest.raises(QkvError, match="at least one"):
        qkv.serve(port=0)
