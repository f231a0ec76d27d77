"""DeepL's API, version 2: translating texts, languages and usage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from starlette.responses import JSONResponse, Response

from qkv.documents.markup import HTML, XML, MarkupRules
from qkv.server.errors import ApiError
from qkv.server.extras import Extras, check_confidence, extra_answers, wish_from
from qkv.server.glossaries import StoredGlossary, is_identity
from qkv.server.languages import language_name, resolve_code
from qkv.server.libretranslate import translate_by_source
from qkv.server.models import Models
from qkv.server.operations import Call, Operation
from qkv.server.options import ServeOptions
from qkv.text.glossary import Glossary

STYLE: Any = "deepl"
VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT"), "zh": ("ZH-HANS",)}
"""Target languages that DeepL's clients know by their variants alone."""
NO_LIMIT = 1_000_000_000_000  # how DeepL writes it
Formality = Literal["default", "less", "more", "prefer_less", "prefer_more"]


@dataclass(frozen=True, kw_only=True)
class Languages:
    target_lang: str
    """Language code in any case; variants such as EN-US mean the language."""
    source_lang: str = ""
    """Language code; empty to detect it."""
    formality: str = "default"
    """Models of qkv have no formality: less and more are errors, prefer_less and prefer_more have no effect."""
    glossary_id: str = ""
    """A stored glossary; needs source_lang."""
    glossary_ids: tuple[str, ...] = ()
    """Several stored glossaries. The first one that has a term wins."""
    auth_key: str = ""


@dataclass(frozen=True, kw_only=True)
class Translate(Extras, Languages):
    text: tuple[str, ...]
    """One text or several."""
    context: str = ""
    """Accepted and not used."""
    split_sentences: str = ""
    """0 or nonewlines: a line break is a space; 1: it ends a sentence."""
    preserve_formatting: bool = False
    """Accepted: formatting is always preserved."""
    tag_handling: str = ""
    """xml or html."""
    tag_handling_version: str = ""
    outline_detection: bool = True
    """In XML, elements without text next to them end a sentence."""
    splitting_tags: tuple[str, ...] = ()
    non_splitting_tags: tuple[str, ...] = ()
    ignore_tags: tuple[str, ...] = ()
    """Elements whose content is not translated."""
    model_type: str = ""
    show_billed_characters: bool = False
    """Accepted: they are always shown."""


@dataclass(frozen=True, kw_only=True)
class OneTranslation:
    detected_source_language: str
    text: str
    billed_characters: int
    model_type_used: str | None = None
    confidence: float | None = None
    unsure: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Translations:
    translations: tuple[OneTranslation, ...]


@dataclass(frozen=True, kw_only=True)
class LanguageType:
    type: str = "source"
    """source or target."""
    auth_key: str = ""


@dataclass(frozen=True, kw_only=True)
class LanguageEntry:
    language: str
    name: str
    supports_formality: bool = False


@dataclass(frozen=True, kw_only=True)
class Usage:
    character_count: int
    character_limit: int


# Translating -------------------------------------------------------------------------------------------------


async def translate(call: Call) -> Response:
    fields: Translate = call.fields
    options = call.state.options
    texts = list(fields.text)
    check_values(fields)
    check_size(texts, options)
    target = target_language(fields.target_lang, call.models)
    source = source_language(fields.source_lang, call.models)
    check_formality(fields.formality, fields.target_lang)
    glossary = glossary_for(call, fields, source, target)
    characters = sum(map(len, texts))
    call.check_rate(len(texts), characters)
    if source is None:
        detected = [each.language for each in await call.state.detect(texts, call.models.languages)]
        sources = [each if each == target or call.models.route(each, target) else "" for each in detected]
        sources = [each or fallback_source(call.models, target) for each in sources]
    else:
        sources = [source] * len(texts)
    for each in set(sources):
        check_pair(each, target, call.models)
    check_confidence(fields, call.models, [(each, target) for each in sources if each != target])
    wish = wish_from(fields, options, markup=markup_rules(fields), glossary=glossary)
    if fields.split_sentences in ("0", "nonewlines") and not fields.tag_handling:
        texts = [" ".join(text.split("\n")) for text in texts]
    found = await translate_by_source(call, texts, sources, target, wish)
    return JSONResponse(
        {
            "translations": [
                {
                    "detected_source_language": base_code(language),
                    "text": row[0].text,
                    "billed_characters": len(text),
                    **({"model_type_used": "quality_optimized"} if fields.model_type else {}),
                    **extra_answers(fields, text, row),
                }
                for text, language, row in zip(fields.text, sources, found, strict=True)
            ]
        }
    )


def check_values(fields: Translate) -> None:
    """Values that have a fixed choice, in DeepL's words."""
    choices = {
        "split_sentences": ("", "0", "1", "nonewlines"),
        "tag_handling": ("", "xml", "html"),
        "tag_handling_version": ("", "v1", "v2"),
        "model_type": ("", "quality_optimized", "latency_optimized", "prefer_quality_optimized"),
    }
    for name, allowed in choices.items():
        if getattr(fields, name) not in allowed:
            raise unsupported(name)


def unsupported(name: str) -> ApiError:
    return ApiError(400, f"Value for '{name}' not supported.")


def check_size(texts: Sequence[str], options: ServeOptions) -> None:
    if not texts:
        raise ApiError(400, "Parameter 'text' not specified")
    if len(texts) > options.max_texts:
        raise ApiError(413, f"Too many texts: {len(texts)}, but at most {options.max_texts} are allowed.")
    longest = max(map(len, texts))
    if longest > options.max_characters:
        raise ApiError(
            413, f"Text too long: {longest} characters, but at most {options.max_characters} are allowed."
        )


def markup_rules(fields: Translate) -> MarkupRules | None:
    """How the tags of a request are handled; None if they are not."""
    if not fields.tag_handling:
        return None
    base = HTML if fields.tag_handling == "html" else XML
    splitting = names_in(fields.splitting_tags)
    lines = base.joins_lines
    if fields.split_sentences:
        lines = fields.split_sentences != "1"
    return replace(
        base,
        splitting=base.splitting | splitting,
        ignored=base.ignored | names_in(fields.ignore_tags),
        inline=names_in(fields.non_splitting_tags),
        outline=base.outline and fields.outline_detection and not splitting,
        joins_lines=lines,
    )


def names_in(lists: Sequence[str]) -> frozenset[str]:
    """Names of tags, which clients send as a list or with commas."""
    return frozenset(name.strip().lower() for each in lists for name in each.split(",") if name.strip())


# Languages ---------------------------------------------------------------------------------------------------


def target_language(code: str, models: Models) -> str:
    found = resolve_code(code.strip(), models.languages) if code.strip() else None
    if found is None or found not in {*models.targets, *models.sources}:
        raise unsupported("target_lang")
    return found


def source_language(code: str, models: Models) -> str | None:
    """None if the language is to be detected."""
    if not code.strip():
        return None
    found = resolve_code(code.strip(), models.languages)
    if found is None:
        raise unsupported("source_lang")
    return found


def check_pair(source: str, target: str, models: Models) -> None:
    if source != target and models.route(source, target) is None:
        raise ApiError(
            400,
            "Value for 'target_lang' not supported.",
            detail=f"There is no model from {language_name(source)} to {language_name(target)}.",
        )


def fallback_source(models: Models, target: str) -> str:
    """A language that can be translated into the target, if the detected one cannot."""
    return next((source for source in models.sources if models.route(source, target)), target)


def check_formality(formality: str, target: str) -> None:
    if formality in ("less", "more"):
        raise ApiError(400, f"Target language '{target.upper()}' doesn't support formality.")
    if formality not in ("default", "prefer_less", "prefer_more"):
        raise unsupported("formality")


def base_code(language: str) -> str:
    """The code of a source language, which has no variants."""
    return language.split("-")[0].upper()


async def languages(call: Call) -> Response:
    kind = call.fields.type
    if kind not in ("source", "target"):
        raise ApiError(400, "Parameter 'type' is invalid. 'source' and 'target' are valid values.")
    if kind == "source":
        return JSONResponse(
            [{"language": base_code(each), "name": language_name(each)} for each in call.models.sources]
        )
    rows = [(code.upper(), code) for each in call.models.targets for code in VARIANTS.get(each, (each,))]
    return JSONResponse(
        [{"language": upper, "name": variant_name(code), "supports_formality": False} for upper, code in rows]
    )


def variant_name(code: str) -> str:
    names = {"EN-GB": "English (British)", "EN-US": "English (American)", "PT-PT": "Portuguese (European)"}
    return names.get(code) or language_name("pt-BR" if code == "PT-BR" else code.lower())


async def usage(call: Call) -> Response:
    account = call.account
    if account is None:
        return JSONResponse({"character_count": call.state.characters, "character_limit": NO_LIMIT})
    found = {"character_count": account.used_characters, "character_limit": account.characters or NO_LIMIT}
    if account.documents is not None:
        found |= {"document_count": account.used_documents, "document_limit": account.documents}
    return JSONResponse(found)


# Glossaries of a request -------------------------------------------------------------------------------------


def glossary_for(call: Call, fields: Languages, source: str | None, target: str) -> Glossary | None:
    """The stored glossaries that a request names, for its languages; None if it names none."""
    wanted = [*filter(None, [fields.glossary_id]), *fields.glossary_ids]
    if not wanted:
        return None
    if source is None:
        raise ApiError(400, "Use of a glossary requires the source_lang parameter to be specified")
    terms: dict[str, str] = {}
    for identity in wanted:
        dictionary = stored_glossary(call, identity).dictionary(source, target)
        if dictionary is None:
            raise ApiError(404, "Glossary dictionary not found")
        if len(wanted) == 1:
            return dictionary.glossary
        terms = {**dict(dictionary.entries), **terms}
    return Glossary.of(terms.items())


def stored_glossary(call: Call, identity: str) -> StoredGlossary:
    if not is_identity(identity):
        raise ApiError(400, "Value for 'glossary_id' not supported.")
    stored = call.state.glossaries.get(identity, owner_of(call))
    if stored is None:
        raise ApiError(404, "Glossary not found")
    return stored


def owner_of(call: Call) -> str:
    return call.account.name if call.account else ""


def both(path: str, **options: Any) -> tuple[Operation, Operation]:
    """An operation for POST, and one for GET, which some clients use."""
    return (
        Operation(path=path, method="POST", style=STYLE, **options),
        Operation(path=path, method="GET", style=STYLE, documented=False, **options),
    )


ERRORS = (400, 403, 404, 413, 415, 429, 456, 503)
OPERATIONS = (
    *both("/v2/translate", summary="Translate texts.", run=translate, fields=Translate, answer=Translations, errors=ERRORS),
    *both("/v1/translate", summary="Translate texts, as OmegaT asks.", run=translate, fields=Translate, answer=Translations, errors=ERRORS),
    Operation(path="/v2/languages", method="GET", style=STYLE, summary="Source or target languages.", run=languages, fields=LanguageType, answer=tuple[LanguageEntry, ...], errors=ERRORS),
    Operation(path="/v2/languages", method="POST", style=STYLE, summary="Source or target languages.", run=languages, fields=LanguageType, answer=tuple[LanguageEntry, ...], documented=False),
    Operation(path="/v2/usage", method="GET", style=STYLE, summary="Characters that this key has used.", run=usage, answer=Usage, errors=ERRORS),
    Operation(path="/v2/usage", method="POST", style=STYLE, summary="Characters that this key has used.", run=usage, answer=Usage, documented=False),
)  # fmt: skip
