"""The steps of `qkv tour`: what each one explains, the command that it shows, and what it runs."""

import json
import shlex
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qkv.cli import find_command, program
from qkv.environment import has_torch
from qkv.errors import MissingExtraError
from qkv.families.family import resolve

SENTENCE = "the cat danced"
DEMO = Path("runs/demo")
TRAINING_STEPS = 540
NO_MODEL = "there is no model. Train one in step 1, or name one with --model."


@dataclass(frozen=True, kw_only=True)
class Step:
    title: str
    explanation: str
    command: str
    """What a user would type."""
    obstacle: Callable[[], str | None]
    """Why the step cannot run now, if it cannot."""
    run: Callable[[], None]


def finished(folder: Path) -> bool:
    """Does the folder hold a model? The report is written when the training ends."""
    return (folder / "report.json").is_file()


def choose_model(given: Path | None, output: Path) -> Path:
    """The model of the tour: the given one, that of an earlier tour, that of the demo, or one still to be trained."""
    if given is not None:
        return given
    return next((folder for folder in (output, DEMO) if finished(folder)), output)


def steps_of(model: Path, *, given: bool) -> list[Step]:
    """The four steps. `given` means that the user named the model."""
    ready = given or finished(model)
    return [
        command_step(
            "Train",
            "A translator learns from pairs of sentences. qkv can make 100,000 pairs in English and German itself, so you need no data. "
            f"This short training takes about a minute; `{program()} demo` trains five times as long.",
            "demo", "--output", str(model), "--steps", str(TRAINING_STEPS),
            obstacle=lambda: f"there is a model in {model} already." if ready else needs_torch("training"),
        ),
        command_step(
            "Translate",
            "The model reads the sentence and writes the translation token by token. A compiled engine computes it in 8-bit integers, "
            "without torch.",
            "translate", str(model), SENTENCE,
            obstacle=lambda: needs_model(model, given),
        ),
        command_step(
            "Look inside",
            "For each word that it writes, the model attends to words of the sentence. Dark cells are high weights. "
            "Without --terminal, a page in your browser shows every step of the computation.",
            "explore", str(model), "--text", SENTENCE, "--terminal",
            obstacle=lambda: needs_torch("the explorer") or needs_model(model, given),
        ),
        Step(
            title="Serve",
            explanation="A server keeps the model loaded. Clients of LibreTranslate, DeepL and OpenAI can use it, and people can open "
            "its page. The tour starts it on a free port, sends one request and stops it.",
            command=f"{program()} serve {shlex.quote(str(model))} --port 0",
            obstacle=lambda: needs_server() or needs_model(model, given),
            run=lambda: serve_once(model),
        ),
    ]  # fmt: skip


def command_step(
    title: str, explanation: str, name: str, *arguments: str, obstacle: Callable[[], str | None]
) -> Step:
    """A step that runs exactly the command that it shows."""
    return Step(
        title=title,
        explanation=explanation,
        command=f"{program()} {shlex.join([name, *arguments])}",
        obstacle=obstacle,
        run=lambda: resolve(find_command(name).run)(list(arguments)),
    )


def needs_torch(what: str) -> str | None:
    return None if has_torch() else f"{what} needs torch, which the extra `train` installs."


def needs_model(model: Path, given: bool) -> str | None:
    return None if given or finished(model) else NO_MODEL


def needs_server() -> str | None:
    from qkv.api.serving import web_module

    try:
        web_module("running")
    except MissingExtraError as error:
        return str(error)
    return None


def serve_once(model: Path) -> None:
    """Start the server, translate one sentence with it, and stop it, also if something fails or the user interrupts."""
    from qkv.api.serving import serve

    with serve(str(model), port=0) as service:
        assert service.address is not None
        print(service.address)
        source, target = language_pair(service.address)
        fields = {"q": SENTENCE, "source": source, "target": target}
        data = " ".join(f"-d {shlex.quote(f'{name}={value}')}" for name, value in fields.items())
        print(f"$ curl {service.address}translate {data}", flush=True)
        print(request(f"{service.address}translate", urllib.parse.urlencode(fields).encode()), flush=True)


def language_pair(address: str) -> tuple[str, str]:
    languages = json.loads(request(f"{address}languages"))
    return next(
        (each["code"], target) for each in languages for target in each["targets"] if target != each["code"]
    )


def request(address: str, data: bytes | None = None) -> str:
    # A proxy of the environment must not see requests to this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, data, timeout=60) as answer:
        text: str = answer.read().decode()
    return text.strip()
