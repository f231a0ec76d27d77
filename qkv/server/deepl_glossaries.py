"""DeepL's API for glossaries: version 2 with one dictionary each, version 3 with several."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import JSONResponse, Response

from qkv.server.deepl import owner_of, stored_glossary
from qkv.server.errors import ApiError
from qkv.server.glossaries import (
    LONGEST_NAME,
    Dictionary,
    EntriesError,
    StoredGlossary,
    new_identity,
    read_entries,
    write_tsv,
)
from qkv.server.languages import resolve_code
from qkv.server.models import Models
from qkv.server.operations import Call, Handler, Operation

STYLE: Any = "deepl"
TSV = "text/tab-separated-values"


@dataclass(frozen=True, kw_only=True)
class NewDictionary:
    source_lang: str
    target_lang: str
    entries: str
    """One entry per line: a term, a tab and its translation, or the same in CSV."""
    entries_format: str = "tsv"
    """tsv or csv."""


@dataclass(frozen=True, kw_only=True)
class Create(NewDictionary):
    name: str
    auth_key: str = ""


@dataclass(frozen=True, kw_only=True)
class CreateSeveral:
    name: str
    dictionaries: tuple[NewDictionary, ...]


@dataclass(frozen=True, kw_only=True)
class Patch:
    name: str | None = None
    dictionaries: tuple[NewDictionary, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pair:
    source_lang: str
    target_lang: str


@dataclass(frozen=True, kw_only=True)
class Info:
    glossary_id: str
    name: str
    ready: bool
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


@dataclass(frozen=True, kw_only=True)
class InfoList:
    glossaries: tuple[Info, ...]


@dataclass(frozen=True, kw_only=True)
class Pairs:
    supported_languages: tuple[Pair, ...]


def in_thread(work: Callable[[Call], Response]) -> Handler:
    """A handler whose work on large texts or files does not stop other requests."""

    async def handle(call: Call) -> Response:
        return await asyncio.to_thread(work, call)

    return handle


def info(stored: StoredGlossary) -> dict[str, Any]:
    """As version 2 shows it: of several dictionaries, the first one."""
    first = stored.dictionaries[0] if stored.dictionaries else Dictionary("", "", ())
    return {
        "glossary_id": stored.identity,
        "name": stored.name,
        "ready": True,
        "source_lang": first.source.lower(),
        "target_lang": first.target.lower(),
        "creation_time": stored.created,
        "entry_count": len(first.entries),
    }


def info_of_several(stored: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": stored.identity,
        "name": stored.name,
        "dictionaries": [dictionary_info(each) for each in stored.dictionaries],
        "creation_time": stored.created,
    }


def dictionary_info(each: Dictionary) -> dict[str, Any]:
    return {
        "source_lang": each.source.lower(),
        "target_lang": each.target.lower(),
        "entry_count": len(each.entries),
    }


# What requests contain ---------------------------------------------------------------------------------------


def dictionary_from(given: NewDictionary, models: Models) -> Dictionary:
    source, target = pair_from(given.source_lang, given.target_lang, models)
    if given.entries_format not in ("tsv", "csv"):
        raise ApiError(400, "Unsupported entry format specified")
    try:
        entries = read_entries(given.entries, given.entries_format, given.source_lang, given.target_lang)
    except EntriesError as error:
        raise ApiError(400, "Invalid glossary entries provided", detail=str(error)) from None
    return Dictionary(source, target, entries)


def pair_from(source: str, target: str, models: Models) -> tuple[str, str]:
    codes = [
        resolve_code(code.strip(), models.languages) if code.strip() else None for code in (source, target)
    ]
    if codes[0] is None or codes[1] is None or codes[0] == codes[1]:
        raise ApiError(400, "Unsupported glossary source and target language pair")
    return codes[0], codes[1]


def check_name(name: str) -> str:
    if not name.strip() or len(name) > LONGEST_NAME:
        raise ApiError(400, "Missing or invalid argument: name'")
    return name


def store(call: Call, name: str, dictionaries: Sequence[Dictionary]) -> StoredGlossary:
    if not dictionaries:
        raise ApiError(400, "Glossary dictionaries must be provided")
    merged: dict[tuple[str, str], Dictionary] = {(each.source, each.target): each for each in dictionaries}
    stored = StoredGlossary(new_identity(), check_name(name), owner_of(call), tuple(merged.values()))
    save(call, stored)
    return stored


def save(call: Call, stored: StoredGlossary) -> None:
    try:
        call.state.glossaries.put(stored)
    except EntriesError as error:
        raise ApiError(456, str(error)) from None


def of_path(call: Call) -> StoredGlossary:
    return stored_glossary(call, call.path["glossary_id"])


def dictionary_of(stored: StoredGlossary, source: str, target: str, models: Models) -> Dictionary:
    found = stored.dictionary(*pair_from(source, target, models))
    if found is None:
        raise ApiError(404, "Dictionary not found")
    return found


# Version 2 ---------------------------------------------------------------------------------------------------


async def pairs(call: Call) -> Response:
    found = [(source, target) for source in call.models.sources for target in call.models.targets_of(source)]
    rows = [{"source_lang": source.lower(), "target_lang": target.lower()} for source, target in found]
    return JSONResponse({"supported_languages": rows})


@in_thread
def create(call: Call) -> Response:
    stored = store(call, call.fields.name, [dictionary_from(call.fields, call.models)])
    return JSONResponse(info(stored), status_code=201)


async def listed(call: Call) -> Response:
    return JSONResponse({"glossaries": [info(each) for each in call.state.glossaries.of(owner_of(call))]})


async def show(call: Call) -> Response:
    return JSONResponse(info(of_path(call)))


@in_thread
def delete(call: Call) -> Response:
    call.state.glossaries.remove(of_path(call))
    return Response(status_code=204)


@in_thread
def entries(call: Call) -> Response:
    first = of_path(call).dictionaries[:1]
    return Response(write_tsv(first[0].entries) if first else "", media_type=TSV)


# Version 3 ---------------------------------------------------------------------------------------------------


@in_thread
def create_several(call: Call) -> Response:
    found = [dictionary_from(each, call.models) for each in call.fields.dictionaries]
    return JSONResponse(info_of_several(store(call, call.fields.name, found)), status_code=201)


async def listed_several(call: Call) -> Response:
    found = call.state.glossaries.of(owner_of(call))
    return JSONResponse({"glossaries": [info_of_several(each) for each in found]})


async def show_several(call: Call) -> Response:
    return JSONResponse(info_of_several(of_path(call)))


async def entries_of_one(call: Call) -> Response:
    found = dictionary_of(of_path(call), call.fields.source_lang, call.fields.target_lang, call.models)
    row = {
        "source_lang": found.source.lower(),
        "target_lang": found.target.lower(),
        "entries_format": "tsv",
        "entries": write_tsv(found.entries),
    }
    return JSONResponse({"dictionaries": [row]})


@in_thread
def patch(call: Call) -> Response:
    """Rename a glossary, and add entries to its dictionaries or replace them."""
    stored, fields = of_path(call), call.fields
    if fields.name is not None:
        stored = replace(stored, name=check_name(fields.name))
    for each in fields.dictionaries:
        new = dictionary_from(each, call.models)
        old = stored.dictionary(new.source, new.target)
        merged = {**dict(old.entries if old else ()), **dict(new.entries)}
        stored = stored.with_dictionary(replace(new, entries=tuple(merged.items())))
    save(call, stored)
    return JSONResponse(info_of_several(stored))


@in_thread
def put_dictionary(call: Call) -> Response:
    found = dictionary_from(call.fields, call.models)
    save(call, of_path(call).with_dictionary(found))
    return JSONResponse(dictionary_info(found))


@in_thread
def delete_dictionary(call: Call) -> Response:
    stored = of_path(call)
    found = dictionary_of(stored, call.fields.source_lang, call.fields.target_lang, call.models)
    save(call, stored.without_dictionary(found.source, found.target))
    return Response(status_code=204)


ERRORS = (400, 403, 404, 413, 415, 429, 456, 503)


def route(method: str, path: str, summary: str, run: Any, fields: Any = None, answer: Any = dict[str, Any], status: int = 200) -> Operation:  # fmt: skip
    return Operation(
        path=path, method=method, style=STYLE, summary=summary, run=run, fields=fields, answer=answer, status=status,
        large=fields is not None, errors=ERRORS,
    )  # fmt: skip


ONE = "/{glossary_id}"
OPERATIONS = (
    route("GET", "/v2/glossary-language-pairs", "Language pairs of glossaries.", pairs, answer=Pairs),
    route("POST", "/v2/glossaries", "Store a glossary.", create, Create, Info, 201),
    route("GET", "/v2/glossaries", "All glossaries of this key.", listed, answer=InfoList),
    route("GET", f"/v2/glossaries{ONE}", "A glossary.", show, answer=Info),
    route("DELETE", f"/v2/glossaries{ONE}", "Delete a glossary.", delete, answer=None, status=204),
    route("GET", f"/v2/glossaries{ONE}/entries", "The entries of a glossary.", entries, answer=TSV),
    route("POST", "/v3/glossaries", "Store a glossary with several dictionaries.", create_several, CreateSeveral, status=201),
    route("GET", "/v3/glossaries", "All glossaries of this key.", listed_several),
    route("GET", f"/v3/glossaries{ONE}", "A glossary with its dictionaries.", show_several),
    route("PATCH", f"/v3/glossaries{ONE}", "Rename a glossary or add entries.", patch, Patch),
    route("DELETE", f"/v3/glossaries{ONE}", "Delete a glossary.", delete, answer=None, status=204),
    route("GET", f"/v3/glossaries{ONE}/entries", "The entries of one dictionary.", entries_of_one, Pair),
    route("PUT", f"/v3/glossaries{ONE}/dictionaries", "Replace one dictionary.", put_dictionary, NewDictionary),
    route("DELETE", f"/v3/glossaries{ONE}/dictionaries", "Delete one dictionary.", delete_dictionary, Pair, None, 204),
)  # fmt: skip
