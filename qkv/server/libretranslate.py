"""LibreTranslate's API: its routes, fields and error messages."""

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qkv.documents import extension_of, read_document, supported_formats
from qkv.documents.markup import HTML
from qkv.errors import DataError
from qkv.families.translator.translations import Translation
from qkv.server.documents import translate_document
from qkv.server.errors import ApiError
from qkv.server.extras import (
    Extras,
    check_confidence,
    check_texts,
    extra_answers,
    read_glossary,
    wish_from,
    written_links,
    written_words,
)
from qkv.server.languages import language_name, resolve_code
from qkv.server.models import Models
from qkv.server.operations import Call, Operation
from qkv.server.options import UNLIMITED
from qkv.server.schema import FieldError, Limits
from qkv.server.state import StoredFile

AUTO = "auto"
MOST_SUGGESTIONS = 100_000_000  # bytes of the file
STYLE: Any = "libretranslate"


@dataclass(frozen=True, kw_only=True)
class Translate(Extras):
    q: str | tuple[str, ...]
    """A text, or in JSON an array of texts."""
    source: Annotated[str, Limits(example="en")]
    """Language code, or auto."""
    target: Annotated[str, Limits(example="de")]
    """Language code."""
    format: str = "text"
    """text or html."""
    alternatives: int = 0
    """Number of other translations."""
    api_key: str = ""
    """API key, if the server needs one."""


@dataclass(frozen=True, kw_only=True)
class DetectedLanguage:
    confidence: float
    """From 0 to 100."""
    language: str


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    text: str
    score: float
    confidence: float | None


@dataclass(frozen=True, kw_only=True)
class ScoredWord:
    text: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class Translated:
    translatedText: str | tuple[str, ...]  # noqa: N815
    detectedLanguage: DetectedLanguage | tuple[DetectedLanguage, ...] | None = None  # noqa: N815
    """Only if the source is auto."""
    alternatives: tuple[str, ...] | tuple[tuple[str, ...], ...] = ()
    """Only if alternatives were asked for."""
    confidence: float | tuple[float | None, ...] | None = None
    unsure: bool | tuple[bool, ...] | None = None
    alignments: tuple[Any, ...] | None = None
    words: tuple[ScoredWord, ...] | tuple[tuple[ScoredWord, ...], ...] | None = None
    segments: tuple[Any, ...] | None = None
    hypotheses: tuple[Hypothesis, ...] | tuple[tuple[Hypothesis, ...], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Detect:
    q: str
    """The text."""
    api_key: str = ""


@dataclass(frozen=True, kw_only=True)
class Language:
    code: str
    name: str
    targets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Alternatives:
    q: str
    """One sentence."""
    source: str
    target: str
    prefix: str = ""
    """How the translation begins; the alternatives differ in the token after it."""
    count: Annotated[int, Limits(1, 20)] = 5
    """Tokens to try after the prefix."""
    glossary: dict[str, str] = field(default_factory=dict)
    """Source terms and their translations, which are used exactly."""
    alignments: bool = False
    """Also return pairs of a source word and a target word."""
    words: bool = False
    """Also return the words with their probabilities."""
    api_key: str = ""


@dataclass(frozen=True, kw_only=True)
class Alternative(Hypothesis):
    alignments: tuple[Any, ...] | None = None
    words: tuple[ScoredWord, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class AlternativesAnswer:
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, kw_only=True)
class TranslateFile:
    source: str
    target: str
    api_key: str = ""


@dataclass(frozen=True, kw_only=True)
class TranslatedFile:
    translatedFileUrl: str  # noqa: N815


@dataclass(frozen=True, kw_only=True)
class Suggest:
    q: str
    s: str
    """A better translation."""
    source: str
    target: str
    api_key: str = ""


@dataclass(frozen=True, kw_only=True)
class Success:
    success: bool


# Translating -------------------------------------------------------------------------------------------------


async def translate(call: Call) -> Response:
    fields: Translate = call.fields
    is_list = not isinstance(fields.q, str)
    texts = list(fields.q) if is_list else [str(fields.q)]
    check_texts(texts, call.state.options)
    if fields.format not in ("text", "html"):
        raise ApiError(400, f"{fields.format[:40]} format is not supported")
    check_alternatives(fields.alternatives, call.state.options.max_alternatives)
    characters = sum(map(len, texts))
    call.check_rate(len(texts), characters)
    target = known_language(fields.target, call.models)
    detected, sources = None, [AUTO] * len(texts)
    if fields.source.strip().lower() == AUTO:
        detected = await call.state.detect(texts, call.models.sources)
        sources = [each.language for each in detected]
    else:
        sources = [known_language(fields.source, call.models)] * len(texts)
    check_pairs(sources, target, call.models)
    check_confidence(fields, call.models, [(source, target) for source in sources if source != target])
    wish = wish_from(
        fields, call.state.options, fields.alternatives, HTML if fields.format == "html" else None
    )
    found = await translate_by_source(call, texts, sources, target, wish)
    answers = []
    for number, row in enumerate(found):
        answer: dict[str, Any] = {"translatedText": row[0].text}
        if detected is not None:
            answer["detectedLanguage"] = {
                "confidence": round(100 * detected[number].confidence, 1),
                "language": detected[number].language,
            }
        if fields.alternatives > 0:
            answer["alternatives"] = other_texts(row, fields.alternatives)
        answers.append({**answer, **extra_answers(fields, texts[number], row)})
    return JSONResponse(columns(answers) if is_list else answers[0])


async def translate_by_source(
    call: Call, texts: Sequence[str], sources: Sequence[str], target: str, wish: Any
) -> list[list[Translation]]:
    """Texts of several languages are translated at the same time."""
    groups: dict[str, list[int]] = {}
    for number, source in enumerate(sources):
        groups.setdefault(source, []).append(number)
    results = await asyncio.gather(
        *(
            call.state.service.translate(
                call.models, [texts[number] for number in rows], source, target, wish
            )
            for source, rows in groups.items()
        )
    )
    found: list[list[Translation]] = [[] for _ in texts]
    for (source, rows), translations in zip(groups.items(), results, strict=True):
        for number, each in zip(rows, translations, strict=True):
            found[number] = each
        size = sum(len(texts[number]) for number in rows)
        call.state.metrics.translated(source, target, len(rows), size)
    return found


def check_alternatives(count: int, most: int) -> None:
    if count < 0:
        raise FieldError("alternatives", "must be >= 0")
    if count > most:
        raise FieldError("alternatives", f"must be <= {most}")


def known_language(code: str, models: Models) -> str:
    found = resolve_code(code.strip(), models.languages)
    if found is None:
        raise ApiError(400, f"{code[:40]} is not supported")
    return found


def check_pairs(sources: Sequence[str], target: str, models: Models) -> None:
    for source in set(sources):
        if source != target and models.route(source, target) is None:
            raise ApiError(
                400,
                f"{language_name(target)} ({target}) is not available as a target language from "
                f"{language_name(source)} ({source})",
            )


def other_texts(row: Sequence[Translation], count: int) -> list[str]:
    return list(dict.fromkeys(each.text for each in row[1:] if each.text and each.text != row[0].text))[
        :count
    ]


def columns(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """For an array of texts every field is an array."""
    if not answers:
        return {"translatedText": []}
    return {name: [answer[name] for answer in answers] for name in answers[0]}


async def alternatives(call: Call) -> Response:
    """Other ways to continue a translation, for editors: what could stand here instead."""
    fields: Alternatives = call.fields
    check_texts([fields.q, fields.prefix], call.state.options)
    call.check_rate(1, len(fields.q))
    source, target = known_language(fields.source, call.models), known_language(fields.target, call.models)
    check_pairs([source], target, call.models)
    legs = call.models.route(source, target) or ()
    if len(legs) != 1:
        raise ApiError(400, "alternatives need a model for this language pair of its own.")
    found = await call.state.service.alternatives(
        legs[0], fields.q, fields.prefix, fields.count, fields.alignments, read_glossary(fields.glossary)
    )
    rows = [
        {
            "text": each.text,
            "score": round(each.score, 4),
            "confidence": each.confidence,
            **({"alignments": written_links(each)} if fields.alignments else {}),
            **({"words": written_words(each)} if fields.words else {}),
        }
        for each in found
    ]
    return JSONResponse({"alternatives": rows})


# Languages ---------------------------------------------------------------------------------------------------


async def detect_language(call: Call) -> Response:
    text = call.fields.q
    check_texts([text], call.state.options)
    call.check_rate(1, len(text))
    if not call.models.sources:
        raise ApiError(400, "this server has no translation model.")
    found = await asyncio.to_thread(call.state.detector.rank, text, call.models.languages)
    likely = [each for each in found if each.confidence >= 0.01] or found[:1]
    return JSONResponse(
        [{"confidence": round(100 * each.confidence, 1), "language": each.language} for each in likely]
    )


async def languages(call: Call) -> Response:
    models = call.models
    return JSONResponse(
        [
            {"code": code, "name": language_name(code), "targets": sorted({code, *models.targets_of(code)})}
            for code in models.languages
        ]
    )


async def settings(call: Call) -> Response:
    options, models = call.state.options, call.models
    source = resolve_code(options.default_source, models.sources)
    target = resolve_code(options.default_target, models.targets) if options.default_target else None
    first = source or next(iter(models.sources), "")
    target = target or next(iter(models.targets_of(first) if first else []), first)
    names = {code: language_name(code) for code in models.languages}
    return JSONResponse(
        {
            "charLimit": options.max_characters if options.max_characters < UNLIMITED else -1,
            "frontendTimeout": 500,
            "apiKeys": call.state.keys is not None,
            "keyRequired": call.state.keys is not None,
            "suggestions": options.suggestions is not None,
            "filesTranslation": options.files,
            "supportedFilesFormat": supported_formats(),
            "language": {
                "source": {"code": source or AUTO, "name": names.get(source or "", "Auto Detect")},
                "target": {"code": target, "name": names.get(target, target)},
            },
        }
    )


# Files and suggestions ---------------------------------------------------------------------------------------


async def translate_file(call: Call) -> Response:
    fields: TranslateFile = call.fields
    state = call.state
    if not state.options.files:
        raise ApiError(403, "Files translation are disabled on this server.")
    upload = call.given.files.get("file")
    if upload is None or not upload.name:
        raise ApiError(
            400,
            "Invalid request: missing file parameter" if upload is None else "Invalid request: empty file",
        )
    target = known_language(fields.target, call.models)
    source = None if fields.source.strip().lower() == AUTO else known_language(fields.source, call.models)
    if f".{extension_of(upload.name)}" not in supported_formats():
        raise ApiError(400, "Invalid request: file format not supported")
    try:
        document = await asyncio.to_thread(read_document, upload.name, upload.content, target)
    except DataError as error:
        raise ApiError(400, f"Invalid request: {error}") from None
    call.check_rate(1, len(upload.content))
    result = await translate_document(state, call.models, document, source, target)
    name = f"{secrets.token_hex(16)}.{target}.{extension_of(upload.name)}"
    stored = StoredFile(name, result.content, document.media_type)
    state.files.put(name, stored, len(result.content))
    return JSONResponse({"translatedFileUrl": absolute(call.request, f"/download_file/{name}")})


def absolute(request: Request, path: str) -> str:
    """The address of a path as the client sees it, also behind a proxy."""
    return str(request.base_url).rstrip("/") + path


async def download_file(call: Call) -> Response:
    stored = call.state.files.get(call.path["name"])
    if stored is None:
        raise ApiError(404, "Invalid filename")
    return Response(
        stored.content,
        media_type=stored.media_type,
        headers={
            "content-disposition": f'attachment; filename="{stored.name}"',
            "content-security-policy": "sandbox; default-src 'none'",
            "x-content-type-options": "nosniff",
        },
    )


async def suggest(call: Call) -> Response:
    fields: Suggest = call.fields
    path = call.state.options.suggestions
    if path is None:
        raise ApiError(403, "Suggestions are disabled on this server.")
    check_texts([fields.q, fields.s], call.state.options)
    call.check_rate(1, len(fields.q) + len(fields.s))
    source, target = known_language(fields.source, call.models), known_language(fields.target, call.models)
    line = json.dumps({"q": fields.q, "s": fields.s, "source": source, "target": target}, ensure_ascii=False)

    def append() -> None:
        if path.exists() and path.stat().st_size > MOST_SUGGESTIONS:
            raise ApiError(403, "Suggestions are disabled on this server.")
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    await asyncio.to_thread(append)
    return JSONResponse({"success": True})


FILE_ERRORS = (400, 403, 413, 415, 429, 503)
OPERATIONS = (
    Operation(path="/translate", method="POST", summary="Translate texts.", style=STYLE, run=translate, fields=Translate, answer=Translated, cors=True),
    Operation(path="/alternatives", method="POST", summary="Other ways to continue a translation.", style=STYLE, run=alternatives, fields=Alternatives, answer=AlternativesAnswer, cors=True),
    Operation(path="/detect", method="POST", summary="Detect the language of a text.", style=STYLE, run=detect_language, fields=Detect, answer=tuple[DetectedLanguage, ...], cors=True),
    Operation(path="/languages", method="GET", summary="All languages and their targets.", style=STYLE, run=languages, answer=tuple[Language, ...], needs_key=False, cors=True),
    Operation(path="/frontend/settings", method="GET", summary="Settings for web pages.", style=STYLE, run=settings, answer=dict[str, Any], needs_key=False, cors=True),
    Operation(path="/translate_file", method="POST", summary="Translate a file.", style=STYLE, run=translate_file, fields=TranslateFile, answer=TranslatedFile, files=True, slow=True, cors=True, errors=FILE_ERRORS),
    Operation(path="/download_file/{name}", method="GET", summary="A translated file.", style=STYLE, run=download_file, answer="application/octet-stream", needs_key=False, cors=True, errors=(400, 404, 413, 503)),
    Operation(path="/suggest", method="POST", summary="Suggest a better translation.", style=STYLE, run=suggest, fields=Suggest, answer=Success, cors=True),
)  # fmt: skip
