"""DeepL's API: texts, tags, languages, documents and glossaries, in the ways that its clients send them."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from stub_server import stub_state

from qkv.server.app import application

TEXT = {"text": "proton beam", "target_lang": "DE"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(application(stub_state())) as found:
        yield found


@pytest.mark.parametrize(
    "sent",
    [
        {"json": {"text": ["proton beam"], "target_lang": "de", "show_billed_characters": True}},
        {"data": {**TEXT, "source_lang": "", "preserve_formatting": "1", "outline_detection": "0"}},
        {"params": {**TEXT, "auth_key": "x"}},
        {"json": {**TEXT, "unknown": 1, "context": "physics", "formality": "prefer_more"}},
    ],
)
def test_texts_come_as_clients_send_them(client: TestClient, sent: dict[str, Any]) -> None:
    answer = client.post("/v2/translate", **sent)
    expected = {"detected_source_language": "EN", "text": "Protonenstrahl", "billed_characters": 11}
    assert answer.json() == {"translations": [expected]}
    assert len(answer.headers["x-trace-id"]) == 32
    assert client.get("/v2/translate", params=TEXT).status_code == 200


def test_repeated_form_fields_are_several_texts(client: TestClient) -> None:
    answer = client.post("/v2/translate", content="text=a&text=b&target_lang=DE&source_lang=EN",
                         headers={"content-type": "application/x-www-form-urlencoded"})  # fmt: skip
    assert len(answer.json()["translations"]) == 2


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"text": '<x id="16"></x> a', "tag_handling": "xml", "ignore_tags": ["x"]}, "Protonenstrahl"),
        ({"text": "<a>b</a><c>d</c>", "tag_handling": "xml", "ignore_tags": "c"}, "<a>Protonenstrahl</a><c>d</c>"),
        ({"text": "a<br>b", "tag_handling": "html"}, "Protonenstrahl<br>Protonenstrahl"),
        ({"text": "a\nb", "tag_handling": "html"}, "Protonenstrahl"),
        ({"text": "a\nb"}, "Protonenstrahl\nProtonenstrahl"),
        ({"text": "a\nb", "split_sentences": "nonewlines"}, "Protonenstrahl"),
        ({"text": "a <k>b</k> c", "tag_handling": "xml", "splitting_tags": ["k"]},
         "Protonenstrahl <k>Protonenstrahl</k> Protonenstrahl"),
    ],
)  # fmt: skip
def test_tags_are_handled_as_the_request_says(client: TestClient, fields: dict[str, Any], text: str) -> None:
    answer = client.post("/v2/translate", json={"source_lang": "EN", "target_lang": "DE", **fields})
    assert answer.json()["translations"][0]["text"] == text


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"text": "a"}, 400, "Parameter 'target_lang' not specified"),
        ({"text": "a", "target_lang": "XX"}, 400, "Value for 'target_lang' not supported."),
        (
            {"text": "a", "target_lang": "DE", "source_lang": "XX"},
            400,
            "Value for 'source_lang' not supported.",
        ),
        ({"target_lang": "DE"}, 400, "Parameter 'text' not specified"),
        ({**TEXT, "formality": "more"}, 400, "Target language 'DE' doesn't support formality."),
        ({**TEXT, "tag_handling": "yaml"}, 400, "Value for 'tag_handling' not supported."),
        ({**TEXT, "glossary_id": "12"}, 400, "requires the source_lang"),
        ({**TEXT, "source_lang": "EN", "glossary_id": "12"}, 400, "Value for 'glossary_id' not supported."),
        ({**TEXT, "text": ["a"] * 51}, 413, "Too many texts"),
    ],
)
def test_errors_are_deepls_sentences(
    client: TestClient, fields: dict[str, Any], status: int, message: str
) -> None:
    answer = client.post("/v2/translate", json=fields)
    assert answer.status_code == status
    assert message in answer.json()["message"]


def test_languages_have_variants_as_targets(client: TestClient) -> None:
    targets = {
        row["language"]: row for row in client.request("GET", "/v2/languages", data={"type": "target"}).json()
    }
    assert {"DE", "EN-GB", "EN-US", "PT-BR"} <= targets.keys()
    assert targets["DE"] == {"language": "DE", "name": "German", "supports_formality": False}
    sources = client.get("/v2/languages").json()
    assert {"language": "EN", "name": "English"} in sources
    assert client.get("/v2/languages?type=x").status_code == 400
    assert client.get("/v2/usage").json()["character_limit"] == 10**12


def upload(client: TestClient, name: str, content: bytes, **fields: str) -> Any:
    return client.post("/v2/document", data={"target_lang": "DE", **fields}, files={"file": (name, content)})


def status_of(client: TestClient, handle: dict[str, str]) -> dict[str, Any]:
    """The status once it is final."""
    while True:
        found: dict[str, Any] = client.post(
            f"/v2/document/{handle['document_id']}", json={"document_key": handle["document_key"]}
        ).json()
        if found["status"] in ("done", "error"):
            return found
        time.sleep(0.01)


def test_a_document_is_translated_in_the_background_and_fetched_once(client: TestClient) -> None:
    handle = upload(client, "größe.txt", b"proton beam\nproton beam\n", source_lang="EN").json()
    assert (len(handle["document_id"]), len(handle["document_key"])) == (32, 64)
    status = status_of(client, handle)
    assert (status["status"], status["billed_characters"], status["progress"]) == ("done", 22, 1.0)
    address, key = f"/v2/document/{handle['document_id']}/result", {"document_key": handle["document_key"]}
    assert client.post(address, data={"document_key": "0" * 64}).status_code == 404
    assert client.post(address, data=key).content == b"Protonenstrahl\nProtonenstrahl\n"
    assert client.post(address, data=key).status_code == 404


def test_a_document_in_the_target_language_is_an_error(client: TestClient) -> None:
    status = status_of(client, upload(client, "a.txt", b"Protonenstrahl").json())
    assert status["error_message"] == "Source and target language are equal."
    answer = upload(client, "a.txt", b"a", source_lang="DE")
    assert (answer.status_code, answer.json()["message"]) == (400, "Source and target language are equal.")
    assert upload(client, "a.exe", b"a").json()["message"] == "Invalid file data."


def test_glossaries_live_as_long_as_they_are_wanted(client: TestClient) -> None:
    fields = {
        "name": "mine",
        "source_lang": "EN",
        "target_lang": "DE",
        "entries": "proton beam\tStrahl",
        "entries_format": "tsv",
    }
    made = client.post("/v2/glossaries", json=fields)
    assert made.status_code == 201
    info = made.json()
    assert (info["source_lang"], info["entry_count"], info["ready"]) == ("en", 1, True)
    wanted = {**TEXT, "source_lang": "EN", "glossary_id": info["glossary_id"]}
    assert client.post("/v2/translate", data=wanted).json()["translations"][0]["text"] == "Strahl"
    address = f"/v2/glossaries/{info['glossary_id']}"
    assert client.get("/v2/glossaries").json() == {"glossaries": [info]}
    assert client.get(f"{address}/entries").text == "proton beam\tStrahl"
    patched = client.patch(f"/v3/glossaries/{info['glossary_id']}", json={"name": "new", "dictionaries": [
        {"source_lang": "en", "target_lang": "de", "entries": "x\ty", "entries_format": "tsv"}]})  # fmt: skip
    assert patched.json()["dictionaries"] == [{"source_lang": "en", "target_lang": "de", "entry_count": 2}]
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404
    assert client.get("/v2/glossaries/not-an-id").status_code == 400
    bad = client.post("/v2/glossaries", json={**fields, "entries": "no tab"})
    assert bad.json()["message"] == "Invalid glossary entries provided"
