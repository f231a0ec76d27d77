"""The HTTP service: correct responses, one error message per fault, and no access for other hosts."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from explorable import SENTENCE, save_explorable
from serving import Served, served

from qkv.explorer.service import Turns, accepted_hosts
from qkv.explorer.session import Explorer, TraceQuery
from qkv.listening import url_host

TRACE = "/api/explore/trace"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("explore") / "model"
    save_explorable(folder)
    with served(folder) as running:
        yield running


def ask(service: Served, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    if body is not None:
        headers.setdefault("content-type", "application/json")
    connection.request(method, path, content, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    parsed = json.loads(text) if "json" in answer.headers.get("content-type", "") else text
    return answer.status, parsed, answer.headers


def test_the_words_are_those_of_translate(service: Served) -> None:
    status, told, _ = ask(service, "POST", TRACE, {"query": {"text": SENTENCE}})
    assert status == 200
    assert told["output"] == service.explorer.model.translate(SENTENCE)
    assert told["check"]["largest"] < 1e-4


def test_arrays_come_by_name(service: Served) -> None:
    status, told, _ = ask(service, "POST", TRACE, {"query": {"text": SENTENCE}, "names": ["encoder.output"]})
    assert status == 200
    assert list(told["tensors"]) == ["encoder.output"]
    assert told["tensors"]["encoder.output"]["dtype"] == "float16"


def test_the_same_view_comes_for_every_checkpoint(service: Served) -> None:
    body = {"query": {"text": SENTENCE}, "name": "encoder.0.attention.weights"}
    status, told, _ = ask(service, "POST", "/api/explore/evolve", body)
    assert status == 200
    assert len(told["states"]) == 3


def test_every_response_has_the_security_headers(service: Served) -> None:
    for path in ("/", "/page/main.js", "/api/explore/info", "/nowhere"):
        _, _, headers = ask(service, "GET", path)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_error_responses_have_the_same_headers(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Explorer) -> dict[str, Any]:
        raise ZeroDivisionError("a secret of the program")

    monkeypatch.setattr(Explorer, "info", broken)
    status, told, headers = ask(service, "GET", "/api/explore/info")
    assert status == 500
    assert told == {"error": "internal error: the terminal shows the details."}
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "part"),
    [
        ("GET", "/nowhere", None, 404, "Not Found"),
        ("GET", "/page/../session.py", None, 404, "Not Found"),
        ("GET", TRACE, None, 405, "Method Not Allowed"),
        ("POST", TRACE, b"{", 400, "not JSON"),
        ("POST", TRACE, b"\xff", 400, "not JSON"),
        ("POST", TRACE, b"[" * 50_000, 400, "not JSON"),
        ("POST", TRACE, {}, 400, "lacks query"),
        ("POST", TRACE, {"query": {"text": "one"}, "nmaes": []}, 400, "did you mean names"),
        ("POST", TRACE, {"query": {"text": "x" * 100_000}}, 413, "at most"),
        ("POST", TRACE, {"query": {"text": "x" * 1_001}}, 400, "1,001 characters, but the limit is 1,000"),
        ("POST", TRACE, {"query": {"text": "seven " * 60}}, 422, "at most 48"),
        ("POST", TRACE, {"query": {"text": "…"}}, 422, "nothing to translate"),
        ("POST", TRACE, {"query": {"text": "\ud800 one"}}, 400, "half of a character"),
        ("POST", TRACE, {"query": {"text": "one"}, "names": ["secret"]}, 422, "no array named 'secret'"),
        ("POST", TRACE, {"query": {"text": "one", "checkpoint": 3}}, 422, "no checkpoint"),
        ("GET", "/api/explore/truth", None, 422, "built-in languages"),
    ],
)
def test_a_bad_request_gets_one_error_message_with_the_right_status(
    service: Served, method: str, path: str, body: Any, status: int, part: str
) -> None:
    found, told, _ = ask(service, method, path, body)
    assert found == status
    assert part in told["error"]
    assert "\n" not in told["error"]


def test_a_form_from_another_page_is_rejected(service: Served) -> None:
    status, told, _ = ask(
        service, "POST", TRACE, {"query": {"text": "one"}}, **{"content-type": "text/plain"}
    )
    assert status == 415
    assert "application/json" in told["error"]


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io:80"])
def test_a_foreign_host_name_is_rejected(service: Served, host: str) -> None:
    status, told, _ = ask(service, "GET", "/api/explore/info", host=host)
    assert status == 403
    assert "this machine" in told["error"]


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_local_host_names_are_accepted(service: Served, host: str) -> None:
    assert ask(service, "GET", "/api/explore/info", host=host)[0] == 200


@pytest.mark.parametrize(
    ("given", "address", "answered", "refused"),
    [
        ("127.0.0.1", "localhost", ["localhost", "127.0.0.1"], ["127.0.0.2"]),
        ("127.0.0.2", "127.0.0.2", ["localhost", "127.0.0.2"], ["127.0.0.3", "example.org"]),
        ("::1", "[::1]", ["localhost", "[::1]"], ["example.org"]),
        ("0:0:0:0:0:0:0:1", "[0:0:0:0:0:0:0:1]", ["[::1]"], ["example.org"]),
    ],
)
def test_the_page_is_served_at_the_printed_address(
    given: str, address: str, answered: list[str], refused: list[str]
) -> None:
    hosts = accepted_hosts(given)
    assert hosts is not None
    assert url_host(given) == address
    assert set(answered) <= hosts
    assert not set(refused) & hosts


@pytest.mark.parametrize("given", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_address_that_others_can_reach_is_no_address_of_this_machine_alone(given: str) -> None:
    assert accepted_hosts(given) is None


def test_the_page_and_info_are_served_while_a_trace_is_computed(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    usual = Explorer.summary

    def slow(self: Explorer, query: TraceQuery) -> dict[str, Any]:
        began.set()
        assert go_on.wait(30)
        return usual(self, query)

    monkeypatch.setattr(Explorer, "summary", slow)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(ask, service, "POST", TRACE, {"query": {"text": SENTENCE}})
        assert began.wait(30)
        for path in ("/", "/page/main.js", "/page/en.json", "/api/explore/info"):
            assert ask(service, "GET", path)[0] == 200
        assert not job.done()
        go_on.set()
        assert job.result(30)[0] == 200


def test_one_request_is_computed_two_wait_and_the_rest_get_status_429(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    usual = Explorer.summary
    running: list[int] = []

    def slow(self: Explorer, query: TraceQuery) -> dict[str, Any]:
        running.append(1)
        assert len(running) == 1, "two traces at once"
        began.set()
        assert go_on.wait(30)
        running.pop()
        return usual(self, query)

    arrived: list[int] = []
    usual_take = Turns.take

    def counted(self: Turns, work: Callable[[], Any]) -> Coroutine[Any, Any, Any]:
        arrived.append(1)
        return usual_take(self, work)

    monkeypatch.setattr(Turns, "take", counted)
    monkeypatch.setattr(Explorer, "summary", slow)
    with ThreadPoolExecutor(6) as pool:
        body = {"query": {"text": SENTENCE}}
        jobs = [pool.submit(ask, service, "POST", TRACE, body)]
        assert began.wait(30)
        jobs += [pool.submit(ask, service, "POST", TRACE, body) for _ in range(2)]
        end = time.monotonic() + 30
        while len(arrived) < 3 and time.monotonic() < end:  # until both wait
            time.sleep(0.01)
        refused = [ask(service, "POST", TRACE, body) for _ in range(3)]
        assert [status for status, _, _ in refused] == [429] * 3
        assert refused[0][2]["retry-after"] == "1"
        go_on.set()
        assert [job.result(30)[0] for job in jobs] == [200] * 3
