"""Models by name: from a server in place of the hub, from the cache, and without either."""

import io
import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import forked
import pytest
import torch
from published import write_gpt2
from safetensors.torch import load

from qkv.cli import DATA, USAGE

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    folder = tmp_path / "published"
    write_gpt2(folder)
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    return found | {"evil.py": b"raise SystemExit('this code was run')"}


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[str]:
    """The address of a server that knows one model, someone/tiny."""

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


def import_model(
    name: str, out: Path, cache: Path, endpoint: str, *options: str, **others: str
) -> forked.Ended:
    """Run `qkv import` in a process of its own: huggingface_hub reads the environment when it is imported."""
    names = ("HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    hub = {"HF_HOME": str(cache), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1"}
    return forked.run("import", name, "-o", out, *options, environment=dict.fromkeys(names) | hub | others)


def test_a_model_is_downloaded_by_name_cached_and_found_again_offline(hub: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    fetched = import_model("someone/tiny", tmp_path / "first", cache, hub)
    assert fetched.returncode == 0, fetched.stderr
    assert "output difference from transformers" in fetched.stderr
    assert not list(cache.rglob("evil.py"))  # only files of the model are downloaded
    nowhere = "http://127.0.0.1:9"
    again = import_model("someone/tiny", tmp_path / "second", cache, nowhere, HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    same = "model.safetensors"
    assert (tmp_path / "first" / same).read_bytes() == (tmp_path / "second" / same).read_bytes()
    for name, out, endpoint, sentence in (
        ("someone/other", "third", nowhere, "the hub cannot be reached"),
        ("someone/none", "fourth", hub, "the hub has no such model"),
        ("not a/name/at all", "fifth", hub, "this is not the name of a model"),
    ):
        rejected = import_model(name, tmp_path / out, cache, endpoint)
        assert rejected.returncode in (USAGE, DATA), rejected.stderr
        assert sentence in rejected.stderr
        assert len(rejected.stderr.strip().splitlines()) == 1, rejected.stderr
        assert not (tmp_path / out).exists()


def test_a_model_that_is_a_pickle_is_rejected_unless_pickles_are_allowed(
    hub: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    weights = io.BytesIO()
    torch.save(load(files.pop("model.safetensors")), weights)
    files["pytorch_model.bin"] = weights.getvalue()
    cache = tmp_path / "cache"
    rejected = import_model("someone/tiny", tmp_path / "out", cache, hub)
    assert rejected.returncode in (USAGE, DATA), rejected.stderr
    assert "to read someone/tiny: its weights are a pickle" in rejected.stderr
    assert "--allow-pickle" in rejected.stderr
    assert not list(cache.rglob("*.bin"))
    read = import_model("someone/tiny", tmp_path / "out", cache, hub, "--allow-pickle")
    assert read.returncode == 0, read.stderr
    assert (tmp_path / "out" / "model.safetensors").exists()
