"""OpenAI's API for language models and translators: models, completions and chats."""

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Annotated, Any, Literal
from uuid import uuid4

from starlette.responses import JSONResponse, Response, StreamingResponse

from qkv.families.gpt.options import GenerationOptions
from qkv.families.gpt.product import LanguageModel
from qkv.families.translator.product import Translator
from qkv.server.errors import ApiError, error_body
from qkv.server.models import Served
from qkv.server.operations import INTERNAL, Call, Operation, log
from qkv.server.schema import FieldError, Limits
from qkv.server.translation import Wish
from qkv.text.stream import stop_at

STYLE: Any = "openai"
MOST_TOKENS = 4_096
MOST_STOPS = 4
WRITERS = (LanguageModel, Translator)
NO_STORE = {"cache-control": "no-store"}


@dataclass(frozen=True, kw_only=True)
class Generation:
    model: str
    """The name of the model's folder; see /v1/models."""
    temperature: Annotated[float, Limits(0, 2)] = 1.0
    """0 always takes the likeliest token."""
    top_p: Annotated[float, Limits(1e-6, 1)] = 1.0
    n: Annotated[int, Limits(1, 8)] = 1
    """Texts to generate."""
    stop: tuple[str, ...] = ()
    """At most four texts before which the output ends."""
    seed: Annotated[int | None, Limits(-(2**59), 2**59)] = None
    """The same seed gives the same text."""
    stream: bool = False
    """Send parts as they are generated, as server-sent events."""
    stream_options: Any = None
    """{"include_usage": true} sends the number of tokens at the end."""


@dataclass(frozen=True, kw_only=True)
class Completion(Generation):
    prompt: tuple[str, ...] = ("",)
    """One text or several."""
    max_tokens: Annotated[int, Limits(1, MOST_TOKENS)] = 16
    echo: bool = False
    """Repeat the prompt before its continuation."""


@dataclass(frozen=True, kw_only=True)
class Message:
    role: str
    content: Any = ""
    """A text, or a list of parts with a text each."""


@dataclass(frozen=True, kw_only=True)
class Chat(Generation):
    messages: tuple[Message, ...]
    max_tokens: Annotated[int | None, Limits(1, MOST_TOKENS)] = None
    max_completion_tokens: Annotated[int | None, Limits(1, MOST_TOKENS)] = None


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


@dataclass(frozen=True, kw_only=True)
class ModelList:
    object: Literal["list"]
    data: tuple[ModelEntry, ...]


# Models ------------------------------------------------------------------------------------------------------


def entry(served: Served) -> dict[str, Any]:
    return {"id": served.name, "object": "model", "created": 0, "owned_by": "qkv"}


async def models(call: Call) -> Response:
    return JSONResponse({"object": "list", "data": [entry(each) for each in call.models.served]})


async def model(call: Call) -> Response:
    name = call.path["model"]
    found = next((each for each in call.models.served if each.name == name), None)
    if found is None:
        raise unknown_model(name)
    return JSONResponse(entry(found))


def unknown_model(name: str) -> ApiError:
    return ApiError(404, f"The model '{name[:80]}' does not exist.", param="model")


def find_model(call: Call, kinds: tuple[type[Any], ...]) -> Served:
    name = call.fields.model
    found = call.models.named(name, kinds)
    if found is None:
        if any(each.name == name for each in call.models.served):
            raise ApiError(400, f"The model '{name}' cannot be used for this.", param="model")
        raise unknown_model(name)
    return found


# Writing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Writer:
    """A model that continues prompts or translates them, with the options of a request."""

    call: Call
    served: Served
    most: int

    def options(self, number: int) -> GenerationOptions:
        fields: Generation = self.call.fields
        return GenerationOptions(
            max_new_tokens=self.most,
            temperature=fields.temperature,
            top_p=fields.top_p,
            seed=(1 if fields.seed is None else fields.seed) + number,
        )

    def parts(self, prompt: str, number: int) -> Callable[[], Iterator[str]]:
        stops = self.call.fields.stop

        def generate() -> Iterator[str]:
            text: Iterator[str] = self.served.model.stream(prompt, self.options(number))
            return reduce(stop_at, stops, text)

        return generate

    async def stream(self, prompt: str, number: int) -> AsyncIterator[str]:
        if isinstance(self.served.model, Translator):
            yield await self.translation(prompt)
            return
        async for part in self.call.state.generators.stream(self.parts(prompt, number)):
            yield part

    async def write(self, prompt: str, number: int) -> str:
        """The whole text. It comes in parts too, so that it ends when the client goes away."""
        return "".join([part async for part in self.stream(prompt, number)])

    async def translation(self, text: str) -> str:
        (source, target), _ = next(iter(self.served.pairs.items()))
        wish = Wish(beam_size=self.call.state.options.beam_size)
        found = await self.call.state.service.along([self.served.pairs[source, target]], [text], wish)
        return found[0][0].text

    def tokens(self, text: str) -> int:
        return len(self.served.model.tokenizer.encode(text))

    def reason(self, text: str) -> str:
        """Why the text ended."""
        return (
            "length"
            if self.tokens(text) >= self.most and not isinstance(self.served.model, Translator)
            else "stop"
        )


def usage(writer: Writer, prompts: Sequence[str], texts: Sequence[str]) -> dict[str, int]:
    before = sum(map(writer.tokens, prompts))
    after = sum(min(writer.most, writer.tokens(text)) for text in texts)
    return {"prompt_tokens": before, "completion_tokens": after, "total_tokens": before + after}


def check_generation(call: Call, prompts: Sequence[str], most: int) -> None:
    fields: Generation = call.fields
    if len(fields.stop) > MOST_STOPS or not all(fields.stop):
        raise FieldError("stop", f"must be at most {MOST_STOPS} texts that are not empty")
    if len(prompts) * fields.n > call.state.options.max_texts:
        raise FieldError("n", f"must give at most {call.state.options.max_texts} texts")
    longest = max(map(len, prompts))
    if longest > 4 * call.state.options.max_characters:
        raise ApiError(
            413, f"The prompt has {longest} characters; it may have {4 * call.state.options.max_characters}."
        )
    call.check_rate(len(prompts) * fields.n, sum(map(len, prompts)))


# Completions -------------------------------------------------------------------------------------------------


async def completions(call: Call) -> Response:
    fields: Completion = call.fields
    if not fields.prompt:
        raise FieldError("prompt", "must not be empty")
    check_generation(call, fields.prompt, fields.max_tokens)
    writer = Writer(call, find_model(call, WRITERS), fields.max_tokens)
    jobs = [(prompt, number) for prompt in fields.prompt for number in range(fields.n)]
    head = {
        "id": f"cmpl-{uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": fields.model,
    }
    echoed = [prompt if fields.echo else "" for prompt, _ in jobs]

    def choice(index: int, text: str, reason: str | None) -> dict[str, Any]:
        return {"index": index, "text": text, "logprobs": None, "finish_reason": reason}

    if fields.stream:
        return events(call, writer, jobs, head, choice, echoed)
    texts = [await writer.write(prompt, number) for prompt, number in jobs]
    choices = [
        choice(index, before + text, writer.reason(text))
        for index, (before, text) in enumerate(zip(echoed, texts, strict=True))
    ]
    return JSONResponse({**head, "choices": choices, "usage": usage(writer, [job[0] for job in jobs], texts)})


# Chats -------------------------------------------------------------------------------------------------------


def text_of(message: Message) -> str:
    """The text of a message: a string, or the texts of its parts."""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    if isinstance(message.content, list):
        parts = [part.get("text") for part in message.content if isinstance(part, dict)]
        if len(parts) == len(message.content) and all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
    raise FieldError("messages", "must contain texts")


def prompt_of(messages: Sequence[Message], translates: bool) -> str:
    """A translator gets the last message, a language model all of them: it knows no roles."""
    if not messages:
        raise FieldError("messages", "must not be empty")
    if translates:
        return text_of(messages[-1])
    return "".join(f"{text_of(message)}\n" for message in messages)


async def chats(call: Call) -> Response:
    fields: Chat = call.fields
    served = find_model(call, WRITERS)
    most = fields.max_completion_tokens or fields.max_tokens or 256
    prompt = prompt_of(fields.messages, isinstance(served.model, Translator))
    check_generation(call, [prompt], most)
    writer = Writer(call, served, most)
    jobs = [(prompt, number) for number in range(fields.n)]
    head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": fields.model}

    def choice(index: int, text: str, reason: str | None) -> dict[str, Any]:
        delta = {} if reason else {"role": "assistant", "content": text}
        return {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}

    if fields.stream:
        return events(
            call, writer, jobs, {**head, "object": "chat.completion.chunk"}, choice, [""] * len(jobs)
        )
    texts = [await writer.write(prompt, number) for prompt, number in jobs]
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": text, "refusal": None},
            "logprobs": None,
            "finish_reason": writer.reason(text),
        }
        for index, text in enumerate(texts)
    ]
    answer = {
        **head,
        "object": "chat.completion",
        "choices": choices,
        "usage": usage(writer, [prompt], texts),
    }
    return JSONResponse(answer)


# Server-sent events ------------------------------------------------------------------------------------------

Choice = Callable[[int, str, str | None], dict[str, Any]]


def events(
    call: Call,
    writer: Writer,
    jobs: Sequence[tuple[str, int]],
    head: dict[str, Any],
    choice: Choice,
    before: Sequence[str],
) -> Response:
    async def send() -> AsyncIterator[str]:
        texts: list[str] = []
        try:
            for index, (prompt, number) in enumerate(jobs):
                parts: list[str] = []
                if before[index]:
                    yield event({**head, "choices": [choice(index, before[index], None)]})
                async for part in writer.stream(prompt, number):
                    parts.append(part)
                    yield event({**head, "choices": [choice(index, part, None)]})
                texts.append("".join(parts))
                yield event({**head, "choices": [choice(index, "", writer.reason(texts[-1]))]})
            options = call.fields.stream_options
            if isinstance(options, dict) and options.get("include_usage") is True:
                counted = usage(writer, [prompt for prompt, _ in jobs], texts)
                yield event({**head, "choices": [], "usage": counted})
        except Exception as error:  # the status has been sent: the error can only be an event
            log.warning("a stream failed: %s", type(error).__name__)
            yield event(error_body(STYLE, ApiError(500, INTERNAL)))
        yield "data: [DONE]\n\n"

    return StreamingResponse(send(), media_type="text/event-stream", headers=NO_STORE)


def event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


ERRORS = (400, 401, 403, 404, 413, 415, 429, 456, 503)
route = partial(Operation, style=STYLE, errors=ERRORS)
OPERATIONS = (
    route(path="/v1/models", method="GET", summary="All models.", run=models, answer=ModelList),
    route(path="/v1/models/{model}", method="GET", summary="A model.", run=model, answer=ModelEntry),
    route(path="/v1/completions", method="POST", summary="Continue texts.", run=completions, fields=Completion, answer=dict[str, Any]),
    route(path="/v1/chat/completions", method="POST", summary="Answer a chat, or translate its last message.", run=chats, fields=Chat, answer=dict[str, Any]),
)  # fmt: skip
