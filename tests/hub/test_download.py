"""Models by name: from a server that stands in for the hub, from the cache, and without either."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from published import write_gpt2
from safetensors.torch import load

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    folder = tmp_path / "published"
    write_gpt2(folder)
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    return found | {"evil.py": b"raise SystemExit('this code was run')"}


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[str]:
    """Answers what huggingface_hub asks for one model, someone/tiny, and knows no other."""

    class Answers(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            path = self.path.split("?")[0]
            content, headers = None, {}
            if path.startswith("/api/models/someone/tiny"):
                names = [
                    {
                        "rfilename": name,
                        "size": len(each),
                        "type": "file",
                        "path": name,
                        "oid": sha256(each).hexdigest(),
                    }
                    for name, each in files.items()
                ]
                listing = {
                    "id": "someone/tiny",
                    "modelId": "someone/tiny",
                    "sha": COMMIT,
                    "siblings": names,
                    "tags": [],
                }
                content = json.dumps(names if "/tree/" in path else listing).encode()
            elif path.startswith("/someone/tiny/resolve/"):
                content = files.get(path.split("/")[-1])
                headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{sha256(content or b"").hexdigest()}"'}
            headers |= (
                {} if content is not None else {"X-Error-Code": "RepoNotFound", "X-Error-Message": "no such"}
            )
            self.send_response(200 if content is not None else 401)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            if body:
                self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def asked(
    name: str, out: Path, cache: Path, endpoint: str, *options: str, **others: str
) -> subprocess.CompletedProcess[str]:
    names = ("HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    environment = {key: value for key, value in os.environ.items() if key not in names}
    environment |= {"HF_HOME": str(cache), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1"} | others
    command = [sys.executable, "-m", "qkv", "import", name, "-o", str(out), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_a_model_is_fetched_by_name_kept_and_found_again_without_a_network(hub: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    fetched = asked("someone/tiny", tmp_path / "first", cache, hub)
    assert fetched.returncode == 0, fetched.stderr
    assert "against transformers" in fetched.stderr
    assert not list(cache.rglob("evil.py"))  # what is no part of a model is not even fetched
    nowhere = "http://127.0.0.1:9"
    again = asked("someone/tiny", tmp_path / "second", cache, nowhere, HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    same = "model.safetensors"
    assert (tmp_path / "first" / same).read_bytes() == (tmp_path / "second" / same).read_bytes()
    for name, out, endpoint, sentence in (
        ("someone/other", "third", nowhere, "the hub cannot be reached"),
        ("someone/none", "fourth", hub, "the hub has no such model"),
        ("not a/name/at all", "fifth", hub, "this is not the name of a model"),
    ):
        refused = asked(name, tmp_path / out, cache, endpoint)
        assert refused.returncode == 2, refused.stderr
        assert sentence in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1, refused.stderr
        assert not (tmp_path / out).exists()


def test_a_model_that_has_only_a_pickle_is_rejected_as_such_and_read_when_asked_for(
    hub: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    weights = io.BytesIO()
    torch.save(load(files.pop("model.safetensors")), weights)
    files["pytorch_model.bin"] = weights.getvalue()
    cache = tmp_path / "cache"
    refused = asked("someone/tiny", tmp_path / "out", cache, hub)
    assert refused.returncode == 2, refused.stderr
    assert "to read someone/tiny: its weights are a pickle" in refused.stderr
    assert "--allow-pickle" in refused.stderr
    assert not list(cache.rglob("*.bin"))
    read = asked("someone/tiny", tmp_path / "out", cache, hub, "--allow-pickle")
    assert read.returncode == 0, read.stderr
    assert (tmp_path / "out" / "model.safetensors").exists()
