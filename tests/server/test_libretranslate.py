"""LibreTranslate's API: all ways to send fields, its answers, and its error sentences."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from stub_server import TEXTS, stub_state

from qkv.server.app import application
from qkv.server.options import ServeOptions


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(application(stub_state())) as found:
        yield found


FIELDS = {"q": "proton beam", "source": "en", "target": "de"}


@pytest.mark.parametrize(
    "sent",
    [
        {"json": FIELDS},
        {"data": FIELDS},
        {"params": FIELDS},
        {"files": {name: (None, value) for name, value in FIELDS.items()}},
        {"json": {**FIELDS, "source": "EN", "target": "DE-AT"}},
        {"json": {**FIELDS, "api_key": ""}},
    ],
)
def test_fields_come_in_four_ways(client: TestClient, sent: dict[str, Any]) -> None:
    answer = client.post("/translate", **sent)
    assert answer.status_code == 200
    assert answer.json() == {"translatedText": "Protonenstrahl"}


def test_only_what_was_asked_for_is_answered(client: TestClient) -> None:
    answer = client.post("/translate", json={**FIELDS, "source": "auto", "alternatives": 2}).json()
    assert answer["detectedLanguage"] == {"confidence": 99.0, "language": "en"}
    assert answer["alternatives"] == ["Protonenstrahl 1", "Protonenstrahl 2"]
    extra = {
        "confidence": True,
        "min_confidence": 0.95,
        "alignments": True,
        "num_hypotheses": 2,
        "words": True,
    }
    answer = client.post("/translate", json={**FIELDS, **extra}).json()
    assert (answer["confidence"], answer["unsure"], answer["alignments"]) == (0.9, True, [[0, 0]])
    assert [each["text"] for each in answer["hypotheses"]] == ["Protonenstrahl", "Protonenstrahl 1"]
    assert "alternatives" not in answer


def test_every_field_of_an_array_is_an_array(client: TestClient) -> None:
    texts = [TEXTS["fr"], TEXTS["en"], TEXTS["fr"]]
    answer = client.post(
        "/translate", json={"q": texts, "source": "auto", "target": "de", "alternatives": 1}
    ).json()
    assert answer["translatedText"] == ["Protonenstrahl"] * 3
    assert [each["language"] for each in answer["detectedLanguage"]] == [
        "fr"
    ] * 3  # short texts follow the majority
    assert answer["alternatives"] == [["Protonenstrahl 1"]] * 3
    assert client.post("/translate", json={**FIELDS, "q": []}).json() == {"translatedText": []}


def test_a_glossary_can_come_with_a_request(client: TestClient) -> None:
    answer = client.post("/translate", json={**FIELDS, "glossary": {"proton beam": "Strahl"}})
    assert answer.json() == {"translatedText": "Strahl"}
    assert (
        client.post("/translate", data={**FIELDS, "glossary": '{"proton beam": "Strahl"}'}).json()
        == answer.json()
    )


def test_html_keeps_its_tags(client: TestClient) -> None:
    text = "<p>one</p>\n<pre translate='no'>two</pre><ul><li>three</li></ul>&lt;script&gt;"
    answer = client.post("/translate", json={**FIELDS, "q": text, "format": "html"}).json()["translatedText"]
    assert answer.startswith(
        "<p>Protonenstrahl</p>\n<pre translate='no'>two</pre><ul><li>Protonenstrahl</li></ul>"
    )
    assert "<script>" not in answer


@pytest.mark.parametrize(
    ("path", "sent", "sentence"),
    [
        ("/translate", {"json": {"source": "en", "target": "de"}}, "Invalid request: missing q parameter"),
        ("/translate", {"data": {"q": "a", "target": "de"}}, "Invalid request: missing source parameter"),
        ("/translate", {"json": {**FIELDS, "target": "zz"}}, "zz is not supported"),
        ("/translate", {"json": {**FIELDS, "format": "xml"}}, "xml format is not supported"),
        ("/translate", {"json": {**FIELDS, "q": "a" * 5_001}}, "Invalid request: request (5001) exceeds text limit (5000)"),
        ("/translate", {"json": {**FIELDS, "q": ["a"] * 51}}, "Invalid request: request (51) exceeds text limit (50)"),
        ("/translate", {"data": {**FIELDS, "alternatives": "x"}}, "Invalid request: alternatives parameter is not a number"),
        ("/translate", {"json": {**FIELDS, "alternatives": 11}}, "Invalid request: alternatives parameter must be <= 10"),
        ("/translate", {"json": {**FIELDS, "q": "\ud800"}}, "half of a character"),
        ("/translate", {"json": {**FIELDS, "q": 5}}, "Invalid request: q parameter must be a text"),
        ("/translate", {"json": {**FIELDS, "protect": ["everything"]}}, "protect parameter accepts"),
        ("/translate", {"json": {**FIELDS, "glossary": {"a": ""}}}, "glossary parameter must have"),
        ("/translate", {"json": {**FIELDS, "min_confidence": 2}}, "min_confidence parameter must be <= 1"),
        ("/detect", {}, "Invalid request: missing q parameter"),
        ("/translate_file", {"data": FIELDS}, "Invalid request: missing file parameter"),
        ("/translate_file", {"data": FIELDS, "files": {"file": ("a.exe", b"x")}}, "file format not supported"),
        ("/translate_file", {"data": FIELDS, "files": {"file": ("a.txt", b"\xff\xff")}}, "not text"),
    ],
)  # fmt: skip
def test_errors_are_libretranslates_sentences(
    client: TestClient, path: str, sent: dict[str, Any], sentence: str
) -> None:
    if "json" in sent and "\ud800" in str(sent["json"].get("q", "")):
        sent = {
            "content": b'{"q": "\\ud800", "source": "en", "target": "de"}',
            "headers": {"content-type": "application/json"},
        }
    answer = client.post(path, **sent)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize("path", ["/translate", "/detect", "/translate_file", "/suggest"])
def test_a_wrong_method_is_405(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 405
    assert client.post("/languages").status_code == 405


def test_languages_list_their_targets(client: TestClient) -> None:
    rows = {row["code"]: row for row in client.get("/languages").json()}
    assert rows["de"]["name"] == "German"
    assert {"de", "en"} <= set(rows["de"]["targets"])
    settings = client.get("/frontend/settings").json()
    assert settings["language"]["source"]["code"] == "auto"
    assert settings["charLimit"] == 5_000


def test_a_file_is_translated_and_fetched(client: TestClient) -> None:
    sent = {"file": ("letter.html", b"<p>proton beam</p>")}
    answer = client.post("/translate_file", data={"source": "auto", "target": "de"}, files=sent)
    address = answer.json()["translatedFileUrl"]
    assert address.startswith("http://testserver/download_file/")
    assert client.get(address).content == b"<p>Protonenstrahl</p>"
    assert client.get(address + "x").status_code == 404


def test_files_of_offices_and_localisers_are_translated(client: TestClient) -> None:
    unit = "<trans-unit id='{}'><source>proton beam</source>{}</trans-unit>"
    done = unit.format(2, "<target>Strahl</target>")
    bold = "<trans-unit id='3'><source><g id='1'>proton</g> &amp; beam</source></trans-unit>"
    content = f"<xliff version='1.2'><file source-language='en' target-language='de'>{unit.format(1, '')}{done}{bold}</file></xliff>"
    sent = {"file": ("a.xlf", content.encode())}
    answer = client.post("/translate_file", data={"source": "en", "target": "de"}, files=sent)
    made = client.get(answer.json()["translatedFileUrl"]).text
    assert unit.format(1, "<target>Protonenstrahl</target>") + done in made
    assert made.count("<g id='1'>") == 2
    bad = client.post(
        "/translate_file", data={"source": "en", "target": "de"}, files={"file": ("a.docx", b"PK")}
    )
    assert (bad.status_code, "it is damaged" in bad.text) == (400, True)


@pytest.mark.parametrize(
    ("name", "content", "made"),
    [
        ("a.md", "# proton *beam* {#id}\n", "# Protonenstrahl"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nproton beam\n", "--> 00:00:02,000\nProtonenstrahl\n"),
    ],
)
def test_listed_text_formats_are_translated(client: TestClient, name: str, content: str, made: str) -> None:
    listed = client.get("/frontend/settings").json()["supportedFilesFormat"]
    assert {".md", ".srt", ".html", ".ipynb", ".docx"} <= {*listed}
    sent = {"file": (name, content.encode())}
    answer = client.post("/translate_file", data={"source": "en", "target": "de"}, files=sent)
    assert made in client.get(answer.json()["translatedFileUrl"]).text


def test_alternatives_continue_a_prefix(client: TestClient) -> None:
    answer = client.post("/alternatives", json={**FIELDS, "prefix": "ein", "count": 2}).json()
    assert [each["text"] for each in answer["alternatives"]] == ["ein 0", "ein 1"]


def test_cors_is_as_libretranslate_has_it(client: TestClient) -> None:
    for answer in (client.options("/translate"), client.get("/languages"), client.post("/translate")):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
        assert "access-control-allow-credentials" not in answer.headers
    assert "access-control-allow-origin" not in client.get("/v2/usage").headers


def test_suggestions_are_off_unless_there_is_a_file(client: TestClient, tmp_path: Path) -> None:
    fields = {**FIELDS, "s": "Strahl"}
    assert client.post("/suggest", json=fields).status_code == 403
    path = tmp_path / "suggestions.jsonl"
    with TestClient(application(stub_state(ServeOptions(suggestions=path, log_format="none")))) as other:
        assert other.post("/suggest", data=fields).json() == {"success": True}
    assert '"s": "Strahl"' in path.read_text()
