"""Small parts of the server: languages, detection, cache, limits, keys, stores, schema, metrics, glossaries, options."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from stub_server import stub_models

from qkv.errors import DataError, OptionError, QkvError
from qkv.server.cache import OVERHEAD, Cache
from qkv.server.detection import LanguageDetector, count_words, detect
from qkv.server.glossaries import (
    Dictionary,
    EntriesError,
    GlossaryStore,
    StoredGlossary,
    is_identity,
    new_identity,
    read_entries,
    write_tsv,
)
from qkv.server.keys import Keys
from qkv.server.languages import resolve_code
from qkv.server.limits import RateLimiter
from qkv.server.metrics import Metrics
from qkv.server.models import Models, named_pair
from qkv.server.options import UNLIMITED, ServeOptions, options_from
from qkv.server.schema import FieldError, read_fields, schema_of
from qkv.server.stores import TimedStore
from qkv.server.translation import composed, terms_in
from qkv.text.glossary import Glossary


@pytest.mark.parametrize(
    ("code", "served", "found"),
    [
        ("EN-US", ["en", "de"], "en"),
        ("eng", ["en"], "en"),
        ("pb", ["pt-BR"], "pt-BR"),
        ("pt", ["pt-BR"], "pt-BR"),
        ("zh", ["zh-Hans"], "zh-Hans"),
        ("ZH-HANS", ["zh"], "zh"),
        ("zt", ["zh-Hant"], "zh-Hant"),
        ("pt_br", ["pt"], "pt"),
        ("zz", ["en"], None),
        ("x" * 1_000, ["en"], None),
    ],
)
def test_codes_are_matched_as_clients_write_them(code: str, served: list[str], found: str | None) -> None:
    assert resolve_code(code, served) == found


def test_a_pivot_joins_two_models() -> None:
    models = Models.of(stub_models(["en", "de", "es"]).served)
    direct = {pair: leg for pair, leg in models.pairs.items() if "en" in pair}
    served = [type(models.served[0])("stub", None, direct)]
    through = Models.of(served, "EN")
    assert len(through.route("de", "es") or ()) == 2
    assert through.targets_of("de") == ["en", "es"]
    assert Models.of(served).route("de", "es") is None
    with pytest.raises(QkvError, match="pivot language 'fr'"):
        Models.of(served, "fr")


def test_a_model_can_be_given_with_its_languages() -> None:
    assert named_pair("en-de=runs/model") == (("en", "de"), Path("runs/model"))
    assert named_pair("runs/a=b") == (None, Path("runs/a=b"))


def test_links_through_a_pivot_are_composed() -> None:
    assert composed([(0, 1), (1, 0)], [(0, 2), (1, 3), (5, 5)]) == [(0, 3), (1, 2)]
    assert composed(None, [(0, 0)]) is None


# Detection ---------------------------------------------------------------------------------------------------


def test_short_texts_follow_the_majority_and_doubt_is_admitted() -> None:
    pytest.importorskip("py3langid")
    detector = LanguageDetector()
    german = "Der Hund läuft heute sehr schnell durch den großen Garten."
    english = "The dog is running very fast through the garden today."
    found = detect(detector, [german, english, "die", german], ["de", "en"])
    assert [each.language for each in found] == ["de", "en", "de", "de"]
    assert all(each.confidence > 0.9 for each in found)
    [italian] = detect(detector, ["Il cane corre molto veloce attraverso il giardino oggi."], ["de", "en"])
    assert italian.confidence < 0.5
    assert detector.rank("1234 !!", ["de", "en"])[0].confidence == 0


def test_words_are_counted_without_spaces_too() -> None:
    assert count_words("the cat danced") == 3
    assert count_words("质子束质子束") == 3


# Bounds ------------------------------------------------------------------------------------------------------


def test_the_cache_drops_what_was_used_least_recently() -> None:
    cache: Cache[str] = Cache(3 * OVERHEAD / 2**20)
    for name in "abc":
        cache.put(name, name, 0)
    assert cache.get("a") == "a"
    cache.put("d", "d", 0)
    assert [cache.get(name) for name in "abcd"] == ["a", None, "c", "d"]
    cache.put("large", "x", 10**6)
    assert cache.get("large") is None
    nothing: Cache[str] = Cache(0)
    nothing.put("a", "a", 0)
    assert nothing.get("a") is None


def test_a_client_has_so_many_texts_per_minute() -> None:
    now = 0.0
    limiter = RateLimiter(lambda: now)
    assert [limiter.wait("a", 1, 2) for _ in range(2)] == [0, 0]
    assert limiter.wait("a", 1, 2) == pytest.approx(30)
    assert limiter.wait("b", 50, 2) == 0  # alone above the limit, but after a rest
    now = 30.0
    assert limiter.wait("a", 1, 2) == 0


def test_a_store_forgets_what_is_old_or_too_much() -> None:
    now = 0.0
    store: TimedStore[str] = TimedStore(10, 100, lambda: now)
    store.put("a", "a", 60)
    store.put("b", "b", 60)
    assert (store.get("a"), store.get("b")) == (None, "b")
    now = 11.0
    assert store.get("b") is None
    assert store.size == 0


# Keys --------------------------------------------------------------------------------------------------------


def test_keys_are_found_by_their_hash_and_keep_their_counts(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f'[app]\nsha256 = "{sha256(b"secret").hexdigest()}"\ncharacters = 5\n')
    keys = Keys.read(path)
    account = keys.find("secret")
    assert account is not None
    assert (account.name, account.characters) == ("app", 5)
    assert keys.find("Secret") is None
    assert keys.find("") is None
    account.used_characters = 3
    again = Keys.read(path, keys).find("secret")
    assert again is not None
    assert again.used_characters == 3


@pytest.mark.parametrize(
    "text",
    ["[a]\n", '[a]\nsha256 = "12"\n', "a = 1\n", "[a", f'[a]\nsha256 = "{"0" * 64}"\nunknown = 1\n',
     f'[a]\nsha256 = "{"0" * 64}"\ncharacters = -1\n', f'[a]\nsha256 = "{"0" * 64}"\n[b]\nsha256 = "{"0" * 64}"\n'],
)  # fmt: skip
def test_a_wrong_file_of_keys_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(DataError):
        Keys.read(path)


# Fields ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Example:
    q: str | tuple[str, ...]
    count: int = 0
    on: bool = False
    terms: dict[str, str] | None = None
    share: float | None = None


@pytest.mark.parametrize(
    ("values", "result"),
    [
        (
            {"q": "a", "count": "3", "on": "1", "terms": '{"a": "b"}'},
            Example(q="a", count=3, on=True, terms={"a": "b"}),
        ),
        ({"q": ["a", "b"], "count": 2.0, "on": True, "unknown": 1}, Example(q=("a", "b"), count=2, on=True)),
        ({"q": "a", "count": None, "share": "0.5"}, Example(q="a", share=0.5)),
    ],
)
def test_fields_come_from_json_and_from_forms(values: dict[str, Any], result: Example) -> None:
    assert read_fields(Example, values) == result


@pytest.mark.parametrize(
    "values",
    [{}, {"q": 1}, {"q": ["a", 1]}, {"q": "a", "count": "x"}, {"q": "a", "count": 1.5}, {"q": "a", "count": True},
     {"q": "a", "count": 10**400}, {"q": "a", "share": float("nan")}, {"q": "a", "on": "maybe"}, {"q": "a", "terms": {"a": 1}},
     {"q": "a", "terms": "{"}],
)  # fmt: skip
def test_a_wrong_field_is_an_error(values: dict[str, Any]) -> None:
    with pytest.raises(FieldError):
        read_fields(Example, values)


def test_the_same_definition_gives_the_schema() -> None:
    found = schema_of(Example)
    assert found["required"] == ["q"]
    assert found["properties"]["count"] == {"type": "integer", "default": 0}
    assert {"type": "array", "items": {"type": "string"}} in found["properties"]["q"]["anyOf"]


# Metrics, glossaries and options -----------------------------------------------------------------------------


def test_durations_are_counted_in_cumulative_buckets() -> None:
    metrics = Metrics()
    for seconds in (0.004, 0.006, 20.0):
        metrics.answered("POST", "/translate", 200, seconds)
    lines = metrics.write({}).splitlines()
    labels = 'http_request_method="POST",http_route="/translate",http_response_status_code="200"'
    name = "http_server_request_duration_seconds"
    assert f'{name}_bucket{{{labels},le="0.005"}} 1' in lines
    assert f'{name}_bucket{{{labels},le="10.0"}} 2' in lines
    assert f'{name}_bucket{{{labels},le="+Inf"}} 3' in lines
    assert f"{name}_count{{{labels}}} 3" in lines


def test_entries_come_as_tsv_and_csv() -> None:
    assert read_entries("a\tb\n\nc\td\n", "tsv") == (("a", "b"), ("c", "d"))
    assert read_entries('a,b,en,de\n"x""y","z,w",EN,DE\nq,r,fr,de\n', "csv", "en", "de") == (
        ("a", "b"),
        ('x"y', "z,w"),
    )
    assert write_tsv((("a", "b"), ("c", "d"))) == "a\tb\nc\td"
    for text in ("", "a", "a\tb\tc", "a\tb\na\tc", "a\t "):
        with pytest.raises(EntriesError):
            read_entries(text, "tsv")


def test_stored_glossaries_outlive_the_server_and_belong_to_their_key(tmp_path: Path) -> None:
    stored = StoredGlossary(new_identity(), "mine", "app", (Dictionary("en", "de", (("cat", "Kater"),)),))
    GlossaryStore(tmp_path).put(stored)
    again = GlossaryStore(tmp_path)
    assert again.get(stored.identity.upper(), "app") == stored
    assert again.get(stored.identity, "other") is None
    assert [is_identity(text) for text in (stored.identity, "x", "../../etc")] == [True, False, False]
    again.remove(stored)
    assert GlossaryStore(tmp_path).of("app") == []
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match=r"bad\.json"):
        GlossaryStore(tmp_path)


def test_only_the_terms_of_a_text_are_searched() -> None:
    glossary = Glossary.of([("Cat", "Kater"), ("dog", "Hund")])
    assert terms_in("the CATS", glossary).terms == (("Cat", "Kater"),)


def test_variables_of_libretranslate_become_options() -> None:
    environment = {
        "LT_PORT": "5001",
        "LT_CHAR_LIMIT": "-1",
        "LT_REQ_LIMIT": "20",
        "LT_URL_PREFIX": "/lt/",
        "LT_METRICS": "0",
    }
    found = options_from(environment)
    assert (found.port, found.max_characters, found.requests_per_minute) == (5001, UNLIMITED, 20)
    assert (found.root_path, found.metrics) == ("/lt", False)
    with pytest.raises(QkvError, match="LT_PORT"):
        options_from({"LT_PORT": "many"})
    with pytest.raises(OptionError, match="tls_certificate"):
        ServeOptions(tls_key=Path("key.pem"))
    with pytest.raises(OptionError, match="root_path"):
        ServeOptions(root_path="translate/")
