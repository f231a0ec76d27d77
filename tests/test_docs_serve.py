"""What docs/serve.md and deploy/ say about the server is true."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from commands import code_of, save_untrained
from digits import digit_lines
from starlette.testclient import TestClient
from stub_server import stub_state

from qkv.server.app import application
from qkv.server.keys import Keys
from qkv.server.options import LIBRETRANSLATE, ServeOptions
from qkv.server.routes import OPERATIONS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")


def test_every_route_of_the_page_exists_and_every_group_is_on_it() -> None:
    paths = {operation.path.split("/{")[0] for operation in OPERATIONS}
    table = PAGE.split("| interface |")[1].split("\n\n")[0]
    named = set(re.findall(r"`(/[\w./]+)`", table))
    assert named <= paths
    assert {"/translate", "/v2/translate", "/v1/chat/completions", "/embed", "/metrics"} <= named


def test_the_example_request_has_the_fields_of_the_example_answer() -> None:
    [sent] = re.findall(r"-d '(\{.*?\})'", PAGE)
    [told] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    with TestClient(application(stub_state())) as client:
        answer = client.post("/translate", json=json.loads(sent)).json()
    assert answer.keys() == json.loads(told).keys()
    assert answer["detectedLanguage"].keys() == json.loads(told)["detectedLanguage"].keys()


def test_the_example_of_keys_is_valid(tmp_path: Path) -> None:
    [text] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "keys.toml"
    path.write_text(text)
    account = Keys.read(path).find("foo")
    assert account is not None
    assert {"sha256": account.sha256, "documents": account.documents}.items() <= tomllib.loads(text)[
        "weblate"
    ].items()


def test_the_limits_of_the_page_are_the_defaults() -> None:
    options = ServeOptions()
    rows = dict(re.findall(r"^\| [^|]+ \| ([^|]+) \| `--([\w-]+)` \|$", PAGE, re.MULTILINE))
    found = {flag: text for text, flag in rows.items()}
    numbers = {"128 KiB": 128 << 10, "10 MB": 10_000_000, "none": None}
    for flag, text in found.items():
        wanted = numbers[text] if text in numbers else int(text.replace(",", ""))
        assert getattr(options, flag.replace("-", "_")) == wanted, flag
    assert len(re.findall(r"^\| [^|]+ \| [^|]+ \| `--", PAGE, re.MULTILINE)) == 9


def test_every_variable_of_libretranslate_is_on_the_page() -> None:
    assert set(re.findall(r"`(LT_\w+)`", PAGE)) == set(LIBRETRANSLATE)


@pytest.mark.parametrize("name", ["qkv-serve.service", "Dockerfile"])
def test_the_flags_of_the_deployment_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "deploy" / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"ExecStart=|ENTRYPOINT", line)]
    assert len(lines) == 1
    assert code_of("serve", "--help-all") == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z-]+", lines[0])) <= known


def test_the_application_can_be_mounted(tmp_path: Path) -> None:
    import qkv

    save_untrained(tmp_path / "model", digit_lines(20), beam=1, length_penalty=1.0)
    with TestClient(qkv.serve_app(tmp_path / "model", log_format="none")) as client:
        assert client.get("/languages").json()[0]["code"] in ("en", "xx")
