"""DeepL's API for documents: upload, status, download. They are translated in the background."""

import asyncio
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from qkv.documents import Document, extension_of, read_document
from qkv.errors import DataError, QkvError
from qkv.server.deepl import (
    Languages,
    check_formality,
    check_pair,
    glossary_for,
    owner_of,
    source_language,
    target_language,
)
from qkv.server.documents import SameLanguageError, translate_document
from qkv.server.errors import ApiError
from qkv.server.extras import read_glossary
from qkv.server.models import Models
from qkv.server.operations import Call, Operation, log
from qkv.server.state import QUOTA, DocumentJob, State, exceeds
from qkv.server.translation import Wish

STYLE: Any = "deepl"
EQUAL = "Source and target language are equal."
SAME_FORMAT = {"htm": "html"}


@dataclass(frozen=True, kw_only=True)
class Upload(Languages):
    filename: str = ""
    """Instead of the name of the file."""
    glossary: dict[str, str] = field(default_factory=dict)
    """Source terms and their translations, as a JSON object."""
    output_format: str = ""
    """Only the format of the file itself."""


@dataclass(frozen=True, kw_only=True)
class Handle:
    document_id: str
    document_key: str


@dataclass(frozen=True, kw_only=True)
class Key:
    document_key: str
    auth_key: str = ""


@dataclass(frozen=True, kw_only=True)
class Status:
    document_id: str
    status: str
    """queued, translating, done or error."""
    progress: float
    """From 0 to 1."""
    seconds_remaining: int | None = None
    billed_characters: int | None = None
    error_message: str | None = None


async def upload(call: Call) -> Response:
    fields: Upload = call.fields
    state = call.state
    if not state.options.files:
        raise ApiError(403, "Documents are disabled on this server.")
    target = target_language(fields.target_lang, call.models)
    source = source_language(fields.source_lang, call.models)
    check_formality(fields.formality, fields.target_lang)
    glossary = glossary_for(call, fields, source, target)
    file = call.given.files.get("file")
    if file is None:
        raise ApiError(400, "Invalid file data.")
    name = fields.filename or file.name
    check_format(fields.output_format.lower(), extension_of(name))
    if source == target:
        raise ApiError(400, EQUAL)
    if source is not None:
        check_pair(source, target, call.models)
    try:
        document = await asyncio.to_thread(read_document, name, file.content, target)
    except DataError as error:
        raise ApiError(400, "Invalid file data.", detail=str(error)) from None
    characters = sum(len(segment.text) for segment in document.segments)
    count_document(call, characters)
    job = DocumentJob(
        identity=secrets.token_hex(16).upper(),
        key=secrets.token_hex(32).upper(),
        name=name,
        owner=owner_of(call),
        media_type=document.media_type,
        billed_characters=characters,
    )
    state.jobs.put(job.identity, job, 2 * len(file.content))
    wish = Wish(glossary=glossary or read_glossary(fields.glossary))
    task = asyncio.ensure_future(run(job, state, call.models, document, source, target, wish))
    state.background.add(task)
    task.add_done_callback(state.background.discard)
    return JSONResponse({"document_id": job.identity, "document_key": job.key})


def check_format(wanted: str, own: str) -> None:
    if wanted and SAME_FORMAT.get(wanted, wanted) != SAME_FORMAT.get(own, own):
        raise ApiError(400, "output_format not supported.")


def count_document(call: Call, characters: int) -> None:
    account = call.account
    if account is not None and exceeds(account.used_documents + 1, account.documents):
        raise ApiError(456, QUOTA)
    call.check_rate(1, characters)
    if account is not None:
        account.used_documents += 1


async def run(
    job: DocumentJob,
    state: State,
    models: Models,
    document: Document,
    source: str | None,
    target: str,
    wish: Wish,
) -> None:
    """Translate a document. What goes wrong becomes its status."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    def done(count: int, total: int) -> None:
        job.progress = count / total
        job.seconds_remaining = (loop.time() - began) * (total - count) / count

    job.status = "translating"
    try:
        result = await translate_document(state, models, document, source, target, wish, done)
    except SameLanguageError:
        job.status, job.error_message = "error", EQUAL
    except (ApiError, QkvError) as error:
        job.status, job.error_message = "error", str(error)
    except asyncio.CancelledError:
        job.status, job.error_message = "error", "The server was stopped."
        raise
    except Exception:
        log.exception("a document could not be translated")
        job.status, job.error_message = "error", "internal error"
    else:
        job.content, job.progress, job.seconds_remaining, job.status = result.content, 1.0, 0.0, "done"


def find_job(call: Call) -> DocumentJob:
    job = call.state.jobs.get(call.path["document_id"].upper())
    given = call.fields.document_key.upper().encode(errors="replace")
    if job is None or job.owner != owner_of(call) or not hmac.compare_digest(job.key.encode(), given):
        raise ApiError(404, "Document not found")
    return job


async def status(call: Call) -> Response:
    job = find_job(call)
    found: dict[str, Any] = {
        "document_id": job.identity,
        "status": job.status,
        "progress": round(job.progress, 3),
    }
    if job.status in ("translating", "done"):
        found["seconds_remaining"] = round(job.seconds_remaining)
    if job.status == "done":
        found["billed_characters"] = job.billed_characters
    if job.status == "error":
        found["error_message"] = found["message"] = job.error_message
    return JSONResponse(found)


async def result(call: Call) -> Response:
    """The file, once: it is removed with the download."""
    job = find_job(call)
    if job.status != "done":
        raise ApiError(503, "Document translation is not done")
    call.state.jobs.remove(job.identity)
    return Response(
        job.content,
        media_type=job.media_type,
        headers={
            "content-disposition": f"attachment; filename*=UTF-8''{quote(job.name)}",
            "content-security-policy": "sandbox; default-src 'none'",
        },
    )


ERRORS = (400, 403, 404, 413, 415, 429, 456, 503)
OPERATIONS = (
    Operation(path="/v2/document", method="POST", style=STYLE, summary="Translate a document in the background.", run=upload, fields=Upload, answer=Handle, files=True, errors=ERRORS),
    Operation(path="/v2/document/{document_id}", method="POST", style=STYLE, summary="How far a document is.", run=status, fields=Key, answer=Status, errors=ERRORS),
    Operation(path="/v2/document/{document_id}", method="GET", style=STYLE, summary="How far a document is.", run=status, fields=Key, answer=Status, documented=False),
    Operation(path="/v2/document/{document_id}/result", method="POST", style=STYLE, summary="The translated document, once.", run=result, fields=Key, answer="application/octet-stream", errors=ERRORS),
    Operation(path="/v2/document/{document_id}/result", method="GET", style=STYLE, summary="The translated document, once.", run=result, fields=Key, answer="application/octet-stream", documented=False),
)  # fmt: skip
