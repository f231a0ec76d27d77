"""`qkv push`: to a server in place of the hub."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import qkv
from qkv.hub.publishing import with_license

Calls = list[tuple[str, Any]]


@pytest.fixture
def hub() -> Iterator[tuple[str, Calls]]:
    """A server that accepts commits of small files to `me/model`, and the requests that it got."""
    calls: Calls = []

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            calls.append((self.path, body))
            if self.headers.get("Authorization") != "Bearer right":
                self.reply(401, {"error": "no"})
            elif self.path.endswith("/preupload/main"):
                named = [each["path"] for each in json.loads(body)["files"]]
                self.reply(200, {"files": [{"path": each, "uploadMode": "regular", "shouldIgnore": False} for each in named]})  # fmt: skip
            elif "/commit/" in self.path:
                self.reply(
                    200, {"commitUrl": f"{address}/me/model/commit/1", "commitOid": "1", "success": True}
                )
            else:
                self.reply(200, {"url": f"{address}/me/model", "errors": [], "warnings": []})

        def do_GET(self) -> None:
            self.reply(404, {"error": "not here"})

        def reply(self, status: int, value: object) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address, calls
    server.shutdown()
    server.server_close()


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "training" / "step-1").mkdir(parents=True)
    for name, text in {
        "config.json": "{}",
        "README.md": '---\nlibrary_name: "qkv"\n---\n\n# Model\n',
        "seen.safetensors": "x",
        "training/python-data": "private",
        ".hidden": "x",
    }.items():
        (folder / name).write_text(text)
    (folder / "link").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("private")
    (folder / "link.txt").symlink_to(tmp_path / "secret")
    return folder


def push(address: str, token: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "HF_ENDPOINT": address, "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
    }  # fmt: skip
    command = [sys.executable, "-W", "ignore", "-m", "qkv", "push", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_a_hub_that_cannot_be_reached_is_an_error(bundle: Path) -> None:
    ended = push("http://127.0.0.1:9", "right", str(bundle), "me/model")
    assert ended.returncode == 3
    assert ended.stderr.startswith("error: me/model could not be uploaded (")


def test_a_model_is_uploaded_without_its_run_and_with_a_license(hub: tuple[str, Calls], bundle: Path) -> None:
    address, calls = hub
    ended = push(address, "right", str(bundle), "me/model", "--license", "cc-by-4.0", "--private")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"{address}/me/model\n"
    created = json.loads(next(body for path, body in calls if path.endswith("/repos/create")))
    assert created["visibility"] == "private"
    [commit] = [body for path, body in calls if "/commit/" in path]
    lines = [json.loads(line) for line in commit.splitlines()]
    added = {each["value"]["path"]: each["value"]["content"] for each in lines if each["key"] == "file"}
    assert set(added) == {"config.json", "README.md"}
    card = base64.b64decode(added["README.md"]).decode()
    assert card == '---\nlicense: "cc-by-4.0"\nlibrary_name: "qkv"\n---\n\n# Model\n'
    assert "license" not in (bundle / "README.md").read_text()


def test_errors_of_the_hub_are_short_and_name_the_remedy(hub: tuple[str, Calls], bundle: Path) -> None:
    refused = push(hub[0], "wrong", str(bundle), "me/model")
    assert refused.returncode == 3
    assert refused.stderr == (
        "error: the hub did not accept me/model: you may not write there. Log in with `hf auth login`, or set HF_TOKEN.\n"
    )


def test_what_cannot_be_published_is_an_error_before_anything_is_sent(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(qkv.DataError, match="holds no model"):
        qkv.push(tmp_path, "me/model")
    with pytest.raises(qkv.InputError, match="give OWNER/NAME"):
        qkv.push(bundle, "model")
    with pytest.raises(qkv.OptionError, match="must be a name of the hub"):
        qkv.push(bundle, "me/model", license="MIT license")


def test_a_license_replaces_the_one_of_the_card() -> None:
    assert with_license("# A\n", "mit") == '---\nlicense: "mit"\n---\n\n# A\n'
    assert (
        with_license('---\nlicense: "x"\nlanguage: []\n---\n', "mit")
        == '---\nlicense: "mit"\nlanguage: []\n---\n'
    )
