"""The suites and clients of others, against this server. Each is skipped where it is absent.

LIBRETRANSLATE_WHEEL   libretranslate-1.9.6-py3-none-any.whl, which contains 14 tests of its API
DEEPL_PYTHON           a checkout of deepl-python; DEEPL_PYTHON_PACKAGES: a folder with "pydantic<2", pytest, requests, click
DEEPL_NODE             a checkout of deepl-node after `npm install`
SCHEMATHESIS           the command `schemathesis` or `st`
CLIENTS                a Python with openai, huggingface_hub, libretranslatepy, deep-translator and deepl
"""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import ENVIRONMENT, save_untrained
from digits import digit_lines
from family_bundles import save_bert, save_gpt

import qkv

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def needed(name: str) -> str:
    found = os.environ.get(name, "")
    if not found or not Path(found).exists():
        pytest.skip(f"the variable {name} does not name it")
    return found


def run(command: list[str], folder: Path, **variables: str) -> str:
    environment = {**ENVIRONMENT, **variables}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


@contextmanager
def stub_server() -> Iterator[int]:
    """The server of tables, as DeepL's suites need it."""
    import socket
    import time

    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    environment = {**ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "stub_server.py"), str(port)], env=environment
    )
    try:
        while True:
            with socket.socket() as attempt:
                if attempt.connect_ex(("localhost", port)) == 0:
                    break
            assert process.poll() is None
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


CONFTEST = """
import pytest
from starlette.testclient import TestClient
from stub_server import stub_state
from qkv.server.app import application

class Answer:
    def __init__(self, answer):
        self.data, self.status_code = answer.content, answer.status_code
        self.json = answer.json() if "json" in answer.headers.get("content-type", "") else None

class Client:
    def __init__(self, client):
        self.client = client
    def get(self, *a, **k):
        return Answer(self.client.get(*a, **k))
    def post(self, *a, **k):
        return Answer(self.client.post(*a, **k))

@pytest.fixture()
def client():
    with TestClient(application(stub_state(languages=("en", "es")))) as found:
        yield Client(found)
"""


def test_libretranslates_own_tests_pass(tmp_path: Path) -> None:
    with zipfile.ZipFile(needed("LIBRETRANSLATE_WHEEL")) as wheel:
        for name in wheel.namelist():
            if name.startswith("libretranslate/tests/test_api/test_"):
                (tmp_path / Path(name).name).write_bytes(wheel.read(name))
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    output = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path, PYTHONPATH=paths)
    assert "14 passed" in output, output[-3_000:]


NOT_OURS = (  # what this server does not offer
    "rephrase or style_rule or translation_memor",  # other products
    "or test_formality or test_language or test_text",  # formality: test_text of the command line uses it
    "or test_usage_team_document_limit or test_document_output_format",  # teams, and conversion of .txt to .html
)


@pytest.mark.slow
def test_deepl_pythons_own_tests_pass() -> None:
    checkout = needed("DEEPL_PYTHON")
    with stub_server() as port:
        output = run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "-k",
                f"not ({' '.join(NOT_OURS)})",
            ],
            Path(checkout),
            PYTHONPATH=os.pathsep.join([needed("DEEPL_PYTHON_PACKAGES"), checkout]),
            DEEPL_SERVER_URL=f"http://localhost:{port}",
            DEEPL_MOCK_SERVER_PORT=str(port),
            DEEPL_AUTH_KEY="x",
        )
    last = output.strip().splitlines()[-1]
    assert " passed" in last, output[-3_000:]
    assert "failed" not in last, output[-3_000:]


NODE_FILES = ("glossary", "multilingualGlossary", "translateDocument", "translateText", "general")
NODE_NOT_OURS = "overridden path|usage limits are reached|lists source and target languages"


@pytest.mark.slow
@pytest.mark.parametrize("name", NODE_FILES)
def test_deepl_nodes_own_tests_pass(name: str) -> None:
    checkout = needed("DEEPL_NODE")
    with stub_server() as port:
        pattern = f"^(?!.*(?:{NODE_NOT_OURS})).*$"
        output = run(
            ["npx", "jest", f"tests/{name}.test.ts", "-t", pattern],
            Path(checkout),
            DEEPL_SERVER_URL=f"http://localhost:{port}",
            DEEPL_MOCK_SERVER_PORT=str(port),
            DEEPL_AUTH_KEY="x",
        )
    [counts] = [line for line in output.splitlines() if line.startswith("Tests:")]
    assert " passed" in counts, output[-3_000:]
    assert "failed" not in counts, output[-3_000:]


@pytest.mark.slow
def test_schemathesis_finds_no_server_error() -> None:
    command = needed("SCHEMATHESIS")
    with stub_server() as port:
        checks = (
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
        )
        options = [
            "--checks",
            checks,
            "--max-examples",
            "30",
            "--seed",
            "1",
            "--header",
            "Authorization: Bearer x",
        ]
        output = run([command, "run", f"http://localhost:{port}/openapi.json", *options], ROOT)
    assert " generated, " in output, output[-6_000:]
    assert "FAILURES" not in output, output[-6_000:]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    save_untrained(folder / "en-es", digit_lines(50), beam=2, length_penalty=1.0)
    save_gpt(folder / "gpt")
    save_bert(folder / "bert")
    models = [f"en-es={folder / 'en-es'}", folder / "gpt", folder / "bert"]
    with qkv.serve(*models, port=0, log_format="none") as service:
        yield str(service.address).rstrip("/")


CLIENTS = {
    "openai": """
from openai import OpenAI, NotFoundError
client = OpenAI(base_url=address + "/v1", api_key="x", max_retries=0)
assert {each.id for each in client.models.list()} == {"en-es", "gpt", "bert"}
whole = client.completions.create(model="gpt", prompt="one", max_tokens=5, temperature=0).choices[0].text
parts = client.completions.create(model="gpt", prompt="one", max_tokens=5, temperature=0, stream=True)
assert "".join(each.choices[0].text for each in parts) == whole
assert client.chat.completions.create(model="en-es", messages=[{"role": "user", "content": "one"}]).choices[0].message.content
decoded = client.embeddings.create(model="bert", input="one").data[0].embedding
assert decoded == client.embeddings.create(model="bert", input="one", encoding_format="float").data[0].embedding
try:
    client.completions.create(model="none", prompt="one")
    raise SystemExit("no error")
except NotFoundError:
    pass
""",
    "huggingface_hub": """
from huggingface_hub import InferenceClient
assert InferenceClient(model=address + "/embed").feature_extraction("one two").shape == (1, 24)
""",
    "libretranslatepy": """
from libretranslatepy import LibreTranslateAPI
client = LibreTranslateAPI(address + "/")
assert client.translate("one", "en", "es")
assert client.detect("one two three")[0]["language"] in ("en", "es")
assert {each["code"] for each in client.languages()} == {"en", "es"}
""",
    "deep_translator": """
from deep_translator import LibreTranslator
assert LibreTranslator(source="en", target="es", custom_url=address + "/", api_key="x").translate("one")
""",
    "deepl": """
import deepl
client = deepl.DeepLClient("any", server_url=address)
assert client.translate_text("one <b>two</b>", source_lang="EN", target_lang="ES", tag_handling="html").text.count("<b>") == 1
assert [each.code for each in client.get_target_languages()] == ["ES"]
""",
}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_works_when_its_address_is_changed(name: str, address: str) -> None:
    python = needed("CLIENTS")
    if run([python, "-c", f"import {name}"], ROOT):
        pytest.skip(f"{name} is not installed")
    assert run([python, "-c", f"address = {address!r}\n{CLIENTS[name]}"], ROOT) == ""


# Requests of programs in other languages, rebuilt from their sources.
REQUESTS = {
    "Mastodon": ("/translate", {"json": {"q": ["<p>one</p>", "two"], "source": "auto", "target": "es", "format": "html", "api_key": ""}}),
    "Discourse": ("/translate", {"data": {"q": "one", "source": "en", "target": "es", "format": "html", "api_key": ""}}),
    "Discourse, detection": ("/detect", {"data": {"q": "one", "api_key": ""}}),
    "Nextcloud": ("/translate", {"files": {"q": (None, "one"), "source": (None, "en"), "target": (None, "es"), "format": (None, "html")}}),
    "Nextcloud, detection": ("/detect?q=one", {}),
    "Weblate": ("/translate", {"json": {"api_key": "", "q": ["one", "two"], "source": "en", "target": "es"}}),
    "Weblate, DeepL": ("/v2/translate", {"json": {"text": ['one <x id="3"></x>'], "source_lang": "EN", "target_lang": "ES",
                                                  "formality": "default", "tag_handling": "xml", "ignore_tags": ["x"]},
                                         "headers": {"Authorization": "DeepL-Auth-Key x"}}),
    "OmegaT": ("/v1/translate", {"params": {"text": "one", "source_lang": "EN", "target_lang": "ES", "tag_handling": "xml", "auth_key": "x"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_recorded_requests_of_other_programs_are_answered(name: str, address: str) -> None:
    httpx = pytest.importorskip("httpx")
    path, sent = REQUESTS[name]
    answer = httpx.post(address + path, **sent)
    assert answer.status_code == 200, answer.text
    if name == "Weblate, DeepL":
        assert answer.json()["translations"][0]["text"].count('<x id="3"></x>') == 1
    if name == "Mastodon":
        assert len(answer.json()["translatedText"]) == len(answer.json()["detectedLanguage"]) == 2
