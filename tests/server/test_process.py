"""`qkv serve` as a process: its address, its signals, slow clients, and hostile requests over a real socket."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from commands import ENVIRONMENT, code_of, save_untrained
from digits import digit_lines

PATIENCE = 60


class Process:
    """A server that listens on a free port."""

    def __init__(self, *arguments: str):
        command = [sys.executable, "-m", "qkv", "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
        assert self.process.stderr is not None
        self.lines: list[str] = [self.process.stderr.readline()]
        self.port = int(self.lines[0].split("/   ")[0].rsplit(":", 1)[1])

    def read_until(self, text: str) -> str:
        assert self.process.stderr is not None
        while text not in self.lines[-1]:
            self.lines.append(self.process.stderr.readline())
            assert self.lines[-1], self.lines
        return self.lines[-1]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            kind = {} if isinstance(body, bytes | None) else {"content-type": "application/json"}
            connection.request(method, path, content, {**kind, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def raw(self, content: bytes) -> bytes:
        """The answer to bytes that need not be HTTP; empty if the server closes the connection."""
        with closing(socket.create_connection(("127.0.0.1", self.port), PATIENCE)) as connection:
            connection.sendall(content)
            try:
                return connection.recv(65_536)
            except ConnectionResetError:
                return b""

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("served") / "en-xx"
    save_untrained(found, digit_lines(50), beam=1, length_penalty=1.0)
    return found


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Process]:
    found = Process(str(folder), "--client-timeout", "1", "--log-format", "none")
    found.read_until("ready")
    yield found
    assert found.stop() == 0


FIELDS = {"q": "one two", "source": "en", "target": "xx"}
KEY_OF_FOO = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"


def test_it_answers_and_tells_how_it_is(server: Process) -> None:
    assert server.ask("GET", "/readyz") == (200, b'{"status":"ok"}')
    assert server.ask("POST", "/translate", FIELDS)[0] == 200
    _, metrics = server.ask("GET", "/metrics")
    assert b'http_route="/translate"' in metrics
    assert b"one two" not in metrics
    assert b"127.0.0.1" not in metrics


HEAD = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"GET /%ff%fe/../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET //evil.example/%2e%2e/%00 HTTP/1.1\r\nHost: a\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\n{}",
        HEAD + b"Content-Length: 99999999999\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        HEAD + b"Content-Length: 20000\r\n\r\n" + b'{"a":' * 4_000,
        HEAD + b"Content-Length: 8\r\n\r\n\xff\xfe\xfd\x00\x01\x02\x03\x04",
        HEAD + b"Content-Length: 40\r\n\r\n" + b'{"q":"\\udfff","source":"en","target":"a"}',
        HEAD.replace(b"application/json", b"multipart/form-data") + b"Content-Length: 4\r\n\r\nabcd",
        HEAD.replace(b"application/json", b"multipart/form-data; boundary=a") + b"Content-Length: 4\r\n\r\n--ab",
        HEAD.replace(b"json", b"x-www-form-urlencoded") + b"Content-Length: 5\r\n\r\nq=%ff",
    ],
    ids=range(16),
)  # fmt: skip
def test_hostile_requests_get_an_error_and_hurt_no_one(server: Process, content: bytes) -> None:
    answer = server.raw(content)
    assert answer == b"" or answer.split(b" ")[1][:1] == b"4", answer[:200]
    assert server.ask("POST", "/translate", FIELDS)[0] == 200


@pytest.mark.parametrize(
    "content",
    [b"", b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Le", HEAD + b"Content-Length: 50\r\n\r\n{"],
)
def test_a_client_that_sends_too_slowly_is_disconnected(server: Process, content: bytes) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), PATIENCE)) as connection:
        connection.sendall(content)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_a_page_of_another_site_can_translate_but_not_change_anything(server: Process) -> None:
    assert server.ask("POST", "/translate", FIELDS, origin="https://other.example")[0] == 200
    assert server.ask("POST", "/v2/glossaries", {}, origin="https://other.example")[0] == 403
    assert server.ask("POST", "/v2/glossaries", {}, origin=f"http://127.0.0.1:{server.port}")[0] == 400


def test_keys_and_models_are_read_again_on_sighup(folder: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text("")
    server = Process(str(folder), "--keys", str(keys))
    server.read_until("ready")
    assert server.ask("POST", "/translate", {**FIELDS, "api_key": "foo"})[0] == 403
    assert server.ask("POST", "/translate", FIELDS)[0] == 400
    keys.write_text(f'[app]\nsha256 = "{KEY_OF_FOO}"\ncharacters = 10\n')
    server.process.send_signal(signal.SIGHUP)
    server.read_until("again")
    assert server.ask("POST", "/translate", {**FIELDS, "api_key": "foo"})[0] == 200
    assert (
        server.ask(
            "POST", "/v2/translate", {"text": "one", "target_lang": "xx"}, authorization="DeepL-Auth-Key foo"
        )[0]
        == 200
    )
    assert server.ask("POST", "/translate", {**FIELDS, "api_key": "foo"})[0] == 456
    assert server.stop(signal.SIGINT) == 0
    log = "".join(server.lines)
    assert "foo" not in log
    assert "one two" not in log


def test_a_server_without_a_model_is_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("serve") == 2
    assert code_of("serve", tmp_path / "nothing", "--port", "0") == 3
    assert code_of("serve", tmp_path, "--host", "203.0.113.1") == 2
    assert capsys.readouterr().err.count("error: ") == 3


def test_it_needs_no_torch(folder: Path) -> None:
    code = (
        f"import sys, qkv\nwith qkv.serve({str(folder)!r}, port=0): pass\nassert 'torch' not in sys.modules"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], env={**ENVIRONMENT, "PYTHONPATH": os.getcwd()}, check=False
        ).returncode
        == 0
    )
