"""The server's page: its files, its texts in three languages, its headers, and the answers that it is drawn from."""

import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from commands import save_untrained
from digits import digit_lines
from starlette.testclient import TestClient
from stub_server import stub_state

from qkv.families.translator.translations import Translation, together
from qkv.server.app import application
from qkv.server.options import ServeOptions
from qkv.server.state import State

PAGE = Path(str(resources.files("qkv.server").joinpath("page")))
TABLE: dict[str, dict[str, str]] = json.loads((PAGE / "texts.json").read_text(encoding="utf-8"))
LANGUAGES = ("en", "es", "ko")


def code() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(PAGE.glob("*.js")))


def html() -> str:
    return (PAGE / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(application(stub_state())) as found:
        yield found


# Texts -------------------------------------------------------------------------------------------------------


def test_every_text_exists_in_every_language() -> None:
    for key, row in TABLE.items():
        assert tuple(row) == LANGUAGES, key
        assert all(text.strip() == text != "" for text in row.values()), key
        places = {tuple(sorted(re.findall(r"\{\d\}", text))) for text in row.values()}
        assert len(places) == 1, key


def test_the_page_uses_every_text_and_no_missing_one() -> None:
    """A key is used as t("key"), in data-t attributes, as one of two, or in the list of shortcuts."""
    source = code()
    used = set(re.findall(r'\bt\("([^"]+)"', source)) | set(re.findall(r'data-t(?:-\w+)?="([^"]+)"', html()))
    used |= {key for pair in re.findall(r'\bt\([^"\n]*\? "([^"]+)" : "([^"]+)"', source) for key in pair}
    shortcuts = source[source.index("const KEYS") : source.index("export function listen(actions)")]
    used |= set(re.findall(r'(?:"\w", |\], )"([a-z ]+)"\]', shortcuts))
    assert used == set(TABLE)


def test_every_shortcut_has_an_action() -> None:
    source = code()
    shortcuts = re.findall(r'\["([A-Z])", "([a-z ]+)"\]', source)
    assert len(shortcuts) == len({letter for letter, _ in shortcuts}) == 9
    actions = source[source.index("const ACTIONS = {") :]
    actions = actions[: actions.index("\n};")]
    assert all(re.search(rf'\b"?{name}"?[:,]', actions) for _, name in shortcuts)


# Safety ------------------------------------------------------------------------------------------------------


def test_all_of_it_is_under_100_kilobytes() -> None:
    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 100_000


def test_nothing_in_it_names_another_host() -> None:
    for path in PAGE.iterdir():
        addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", path.read_text(encoding="utf-8"))
        assert [each for each in addresses if not each.startswith("http://www.w3.org/")] == [], path.name


@pytest.mark.parametrize(
    "forbidden", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
)
def test_text_never_becomes_html(forbidden: str) -> None:
    assert forbidden not in code()


def test_the_policy_allows_only_files_of_this_server(client: TestClient) -> None:
    for path in ("/", *(f"/page/{each.name}" for each in PAGE.iterdir() if each.name != "index.html")):
        answer = client.get(path)
        assert answer.status_code == 200, path
        policy = dict(
            part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
        )
        assert policy.pop("default-src") == "'none'"
        assert set(policy.values()) == {"'self'", "'none'"}
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    assert not re.findall(r"<script[^>]*>[^<]|<style|\son\w+=|\sstyle=", html())


def test_addresses_are_relative_so_that_a_proxy_can_publish_the_page_under_a_path() -> None:
    assert not re.findall(r'(?:src|href)="/', html())
    assert not re.findall(r'(?:fetch|get|post|request)\(["`]/', code())


def test_files_that_the_browser_has_are_not_sent_again(client: TestClient) -> None:
    first = client.get("/page/main.js")
    again = client.get("/page/main.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_page_comes_before_the_models_are_loaded() -> None:
    state = stub_state()
    state.ready = False
    client = TestClient(application(state))
    assert client.get("/").status_code == 200
    assert client.get("/page/settings").status_code == 503


# Answers -----------------------------------------------------------------------------------------------------


def test_segments_join_to_the_whole_text(client: TestClient) -> None:
    text = " proton beam\n\n1234\nproton beam  "
    fields = {"q": text, "source": "en", "target": "de", "segments": True}
    answer = client.post("/translate", json=fields).json()
    assert "".join(each["source"] for each in answer["segments"]) == text
    assert "".join(each["target"] for each in answer["segments"]) == answer["translatedText"]
    first = answer["segments"][0]
    assert (first["confidence"], first["alignments"]) == (0.9, [[0, 0]])
    assert answer["segments"][2]["target"] == "1234\n"
    assert set(answer) == {"translatedText", "segments"}


def test_a_single_segment_is_listed_too(client: TestClient) -> None:
    fields = {"q": ["proton beam "], "source": "en", "target": "de", "segments": True}
    [[segment]] = client.post("/translate", json=fields).json()["segments"]
    assert (segment["source"], segment["target"]) == ("proton beam ", "Protonenstrahl ")


def test_alternatives_carry_words_and_alignments_if_asked(client: TestClient) -> None:
    fields = {"q": "proton beam", "source": "en", "target": "de", "prefix": "ein"}
    plain = client.post("/alternatives", json=fields).json()["alternatives"][0]
    assert set(plain) == {"text", "score", "confidence"}
    full = client.post("/alternatives", json={**fields, "words": True, "alignments": True}).json()
    assert set(full["alternatives"][0]) == {*plain, "words", "alignments"}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("page") / "en-xx"
    save_untrained(folder, digit_lines(50), beam=1, length_penalty=1.0)
    with TestClient(application(State(ServeOptions(log_format="none"), [folder]))) as found:
        yield found


def test_alternatives_keep_glossary_terms(real: TestClient) -> None:
    fields = {"q": "one two", "source": "en", "target": "xx", "count": 6, "glossary": {"two": "zwei"}}
    found = real.post("/alternatives", json=fields).json()["alternatives"]
    assert len({each["text"] for each in found}) == len(found) > 1
    assert all("zwei" in each["text"] for each in found)
    scores = [each["score"] for each in found]
    assert scores == sorted(scores, reverse=True)
    assert not any(
        "zwei" in each["text"]
        for each in real.post("/alternatives", json={**fields, "glossary": {}}).json()["alternatives"]
    )


def test_a_model_gives_the_segments_of_long_texts() -> None:
    """Python has them too."""
    parts = [Translation(text="eins", score=-1.0), Translation(text="zwei", score=-2.0)]
    [found] = together([("one\n", [parts[0]]), (" two", [parts[1]])], 1)
    assert (found.text, found.segments) == ("eins\n zwei", (("one\n", parts[0]), (" two", parts[1])))


def test_a_document_obeys_the_glossary_that_comes_with_it(client: TestClient) -> None:
    fields = {"target_lang": "DE", "source_lang": "EN", "glossary": json.dumps({"proton beam": "Strahl"})}
    upload = client.post("/v2/document", data=fields, files={"file": ("a.txt", b"proton beam")}).json()
    key, address = {"document_key": upload["document_key"]}, f"/v2/document/{upload['document_id']}"
    while client.post(address, json=key).json()["status"] != "done":
        pass
    assert client.post(f"{address}/result", json=key).content == b"Strahl"


def test_the_explorer_is_linked_for_the_first_model_only() -> None:
    state = stub_state(ServeOptions(log_format="none", explorer="http://localhost:8000/"), ("en", "de"))
    found = TestClient(application(state)).get("/page/settings").json()
    assert found["explorer"] == "http://localhost:8000/"
    assert sorted(found["explored"]) == [["de", "en"], ["en", "de"]]
    plain = TestClient(application(stub_state())).get("/page/settings").json()
    assert (plain["explorer"], plain["explored"]) == ("", [])
