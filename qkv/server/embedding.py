"""Embeddings of BERTs: OpenAI's /v1/embeddings and TEI's /embed."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response

from qkv import __version__
from qkv.errors import QkvError
from qkv.families.bert.product import Bert
from qkv.server.errors import ApiError
from qkv.server.openai import ERRORS, find_model
from qkv.server.operations import Call, Operation
from qkv.server.schema import FieldError

OPENAI: Any = "openai"
TEI: Any = "tei"


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    model: str
    """The name of the model's folder; see /v1/models."""
    input: tuple[str, ...]
    """One text or several."""
    encoding_format: str = "float"
    """float, or base64 of little-endian 32-bit numbers."""
    dimensions: int | None = None
    """Only the model's own number."""


@dataclass(frozen=True, kw_only=True)
class Embed:
    inputs: tuple[str, ...]
    """One text or several."""
    normalize: bool = True
    """Scale vectors to length 1."""
    truncate: bool = False
    """Accepted: a long text is read in parts."""


def check_inputs(call: Call, texts: Sequence[str], name: str) -> None:
    options = call.state.options
    if not texts:
        raise FieldError(name, "must not be empty")
    if len(texts) > options.max_texts:
        raise ApiError(413, f"{len(texts)} texts, but at most {options.max_texts} are allowed.", param=name)
    longest = max(map(len, texts))
    if longest > options.max_characters:
        raise ApiError(
            413, f"{longest} characters, but at most {options.max_characters} are allowed.", param=name
        )
    call.check_rate(len(texts), sum(map(len, texts)))


async def embeddings(call: Call) -> Response:
    fields: Embeddings = call.fields
    if fields.encoding_format not in ("float", "base64"):
        raise FieldError("encoding_format", "must be float or base64")
    bert: Bert = find_model(call, (Bert,)).model
    check_inputs(call, fields.input, "input")
    vectors = await call.state.generators.run(lambda: bert.embed(list(fields.input)))
    if fields.dimensions not in (None, vectors.shape[1]):
        raise FieldError("dimensions", f"must be {vectors.shape[1]}")
    rows = [
        {
            "object": "embedding",
            "index": index,
            "embedding": vector.tolist()
            if fields.encoding_format == "float"
            else base64.b64encode(vector.astype("<f4").tobytes()).decode(),
        }
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(bert.tokenizer.encode(text)) + 2 for text in fields.input)
    used = {"prompt_tokens": tokens, "total_tokens": tokens}
    return JSONResponse({"object": "list", "data": rows, "model": fields.model, "usage": used})


def first_bert(call: Call) -> Bert:
    found = call.models.of_kind(Bert)
    if not found:
        raise ApiError(424, "this server has no model for embeddings.")
    bert: Bert = found[0].model
    return bert


async def embed(call: Call) -> Response:
    """TEI's answer is the array of vectors itself."""
    fields: Embed = call.fields
    bert = first_bert(call)
    check_inputs(call, fields.inputs, "inputs")
    try:
        vectors = await call.state.generators.run(
            lambda: bert.embed(list(fields.inputs), raw=not fields.normalize)
        )
    except QkvError as error:
        raise ApiError(422, str(error)) from None
    return JSONResponse(vectors.tolist())


async def info(call: Call) -> Response:
    """What TEI's clients ask first."""
    served = call.models.of_kind(Bert)
    bert = first_bert(call)
    options = call.state.options
    return JSONResponse(
        {
            "model_id": served[0].name,
            "model_dtype": "int8",
            "model_type": {"embedding": {"pooling": bert._defaults.pooling}},
            "max_input_length": bert._defaults.max_length,
            "max_client_batch_size": options.max_texts,
            "auto_truncate": True,
            "version": __version__,
        }
    )


route = partial(Operation, errors=(400, 401, 403, 413, 415, 422, 424, 429, 503))
OPERATIONS = (
    Operation(path="/v1/embeddings", method="POST", style=OPENAI, summary="Vectors of texts.", run=embeddings, fields=Embeddings, answer=dict[str, Any], errors=ERRORS),
    route(path="/embed", method="POST", style=TEI, summary="Vectors of texts.", run=embed, fields=Embed, answer=tuple[tuple[float, ...], ...]),
    route(path="/info", method="GET", style=TEI, summary="The model of /embed.", run=info, answer=dict[str, Any]),
)  # fmt: skip
