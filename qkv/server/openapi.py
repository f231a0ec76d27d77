"""The OpenAPI description of the server, and a page that shows it. Both come from the operations that answer requests."""

from collections.abc import Sequence
from html import escape
from typing import Any

from qkv import __version__
from qkv.server.errors import ApiError, Style, error_body
from qkv.server.operations import Operation
from qkv.server.reading import FORM, JSON, MULTIPART
from qkv.server.schema import fields_of, schema_of

TAGS: dict[Style, str] = {
    "libretranslate": "LibreTranslate",
    "deepl": "DeepL",
    "openai": "OpenAI",
    "tei": "Text Embeddings Inference",
}


def describe(operations: Sequence[Operation]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in operations:
        if operation.documented:
            paths.setdefault(operation.path, {})[operation.method.lower()] = describe_one(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "qkv serve",
            "version": __version__,
            "description": "Translation, text generation and embeddings, compatible with LibreTranslate, DeepL, OpenAI and TEI.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "Authorization"},
            }
        },
    }


def describe_one(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": operation.summary,
        "tags": [TAGS[operation.style]],
        "operationId": operation.method.lower()
        + operation.path.replace("/", "_").replace("{", "").replace("}", ""),
        "responses": {
            str(operation.status): answer_of(operation),
            **{str(status): error_of(operation.style, status) for status in operation.errors},
        },
    }
    names = [part[1:-1].split(":")[0] for part in operation.path.split("/") if part.startswith("{")]
    parameters = [
        {"name": each, "in": "path", "required": True, "schema": {"type": "string"}} for each in names
    ]
    if operation.fields is not None and operation.method in ("GET", "DELETE"):
        parameters += query_of(operation)
    elif operation.fields is not None:
        found["requestBody"] = {"required": True, "content": bodies_of(operation)}
    return {**found, "parameters": parameters} if parameters else found


def query_of(operation: Operation) -> list[dict[str, Any]]:
    properties = schema_of(operation.fields)["properties"]
    return [
        {"name": each.name, "in": "query", "required": each.required, "schema": properties[each.name]}
        for each in fields_of(operation.fields)
    ]


def bodies_of(operation: Operation) -> dict[str, Any]:
    schema = schema_of(operation.fields)
    if operation.files:
        schema["properties"]["file"] = {"type": "string", "format": "binary"}
        schema["required"] = [*schema.get("required", []), "file"]
        return {MULTIPART: {"schema": schema}}
    kinds = (JSON, FORM, MULTIPART) if operation.style in ("libretranslate", "deepl") else (JSON,)
    return {kind: {"schema": schema} for kind in kinds}


def answer_of(operation: Operation) -> dict[str, Any]:
    if operation.answer is None:
        return {"description": "Success."}
    if isinstance(operation.answer, str):
        return {"description": "Success.", "content": {operation.answer: {}}}
    return {"description": "Success.", "content": {JSON: {"schema": schema_of(operation.answer)}}}


def error_of(style: Style, status: int) -> dict[str, Any]:
    example = error_body(style, ApiError(status, "What is wrong."))
    return {"description": "Error.", "content": {JSON: {"schema": {"type": "object"}, "example": example}}}


# A page for people -------------------------------------------------------------------------------------------

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
h2 { margin-top: 2rem } details { border: 1px solid #8886; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem }
summary { cursor: pointer } code, .method { font-family: ui-monospace, monospace } .method { font-weight: bold }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 } td, th { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0 }
"""


def page(description: dict[str, Any]) -> str:
    """One HTML file without scripts or other files."""
    sections: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            sections.setdefault(operation["tags"][0], []).append(section(path, method, operation))
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(parts)}" for tag, parts in sections.items())
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>qkv serve: API</title><style>{STYLE}</style></head><body><h1>qkv serve {escape(__version__)}</h1>"
        f"<p>{escape(description['info']['description'])} Machines read <a href='openapi.json'>openapi.json</a>.</p>"
        f"{body}</body></html>"
    )


def section(path: str, method: str, operation: dict[str, Any]) -> str:
    contents = operation.get("requestBody", {}).get("content", {})
    schema: dict[str, Any] = next((each["schema"] for each in contents.values()), {})
    rows = [
        row(name, each, name in schema.get("required", []))
        for name, each in schema.get("properties", {}).items()
    ]
    rows += [row(each["name"], each["schema"], each["required"]) for each in operation.get("parameters", [])]
    table = f"<table><tr><th>field<th>type<th>meaning</tr>{''.join(rows)}</table>" if rows else ""
    kinds = (
        f"<p>Body: {', '.join(f'<code>{escape(kind)}</code>' for kind in contents)}</p>" if contents else ""
    )
    return (
        f"<details><summary><span class='method'>{method.upper()}</span> <code>{escape(path)}</code> "
        f"{escape(operation['summary'])}</summary>{kinds}{table}</details>"
    )


def row(name: str, schema: dict[str, Any], required: bool) -> str:
    default = f" Default: {schema['default']!r}." if "default" in schema else ""
    text = escape(schema.get("description", "") + default)
    return f"<tr><td><code>{escape(name)}</code>{' *' if required else ''}<td>{escape(type_name(schema))}<td>{text}</tr>"


def type_name(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(type_name(each) for each in schema["anyOf"] if each.get("type") != "null")
        )
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"array of {type_name(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
