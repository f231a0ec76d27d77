"""The command line. Each command is a module of its own, imported only when it is called."""

import logging
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from qkv.environment import HELPER, under_torchrun
from qkv.errors import OptionError, ProcessEndedError, UserError
from qkv.families import commands, trainings
from qkv.families.family import Command, resolve

OWN = (
    Command(
        name="demo",
        summary="train the built-in English-German translator, and show what it has learned",
        run="qkv.cli.demo:main",
    ),
    Command(
        name="evaluate",
        summary="score a model: translations, texts or pictures",
        run="qkv.cli.evaluate:main",
    ),
    Command(
        name="clean",
        summary="drop the pairs of a parallel corpus that would harm a model, and report why",
        run="qkv.cli.clean:main",
    ),
    Command(
        name="classify",
        summary="predict the class of texts, pairs of texts or pictures",
        run="qkv.cli.classify:main",
    ),
    Command(
        name="import",
        summary="turn a published model into a bundle: Marian, GPT, GPT-2, BERT, ViT",
        run="qkv.cli.import_model:main",
    ),
    Command(
        name="export",
        summary="write a model for transformers or CTranslate2",
        run="qkv.cli.export_model:main",
    ),
    Command(
        name="explore",
        summary="walk through a model step by step in a browser, with its own numbers",
        run="qkv.cli.explore:main",
    ),
    Command(
        name="info",
        summary="show what a model is, what it was trained on and how good it is",
        run="qkv.cli.info:main",
    ),
)
HELP = ("-h", "--help", "help")


def main(arguments: list[str] | None = None) -> None:
    """Run a command; every fault of the user's is one sentence on standard error and exit code 2."""
    if arguments is not None:
        answer(arguments)
        return
    with leaving_at_once() if under_torchrun() else nullcontext():  # the process is this command's alone
        answer(sys.argv[1:])


def answer(arguments: list[str]) -> None:
    try:
        run(arguments)
    except ProcessEndedError as error:
        if HELPER not in os.environ:  # under torchrun all speak that are left: the first one may be gone
            complain(str(error))
        sys.exit(2)
    except OptionError as error:
        sys.exit(fail(error.with_flags()))
    except UserError as error:
        sys.exit(fail(str(error)))
    except BrokenPipeError:  # `qkv translate … | head`: nobody listens any more
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk, a folder that may not be written
        name = f" ({error.filename})" if error.filename else ""
        sys.exit(fail(f"the system says: {error.strerror or error}{name}; check the disk and the folder."))
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        sys.exit(fail("there is not enough memory: choose a smaller model, batch, context or beam."))
    except KeyboardInterrupt:
        fail("stopped.")
        sys.exit(130)
    finally:
        give_up_what_nobody_reads()


def run(arguments: list[str]) -> None:
    if not arguments or arguments in ([name] for name in HELP):
        print(overview())
        return
    if arguments[0] == "--version":
        from qkv import __version__

        print(f"qkv {__version__}")
        return
    if arguments[0] == "help":  # `qkv help translate` is `qkv translate --help`
        arguments = [*arguments[1:], "--help"]
    notices = logging.getLogger("qkv")
    notices.setLevel(logging.INFO)
    notices.handlers = [Notice()]
    if arguments[0] == "train":
        run_training(arguments[1:])
        return
    command = find_command(arguments[0])
    resolve(command.run)(arguments[1:])


def run_training(arguments: list[str]) -> None:
    kinds = trainings()
    if not arguments or arguments[0] in HELP:
        print(training_overview())
        return
    if arguments[0] not in kinds:
        raise UserError(f"qkv train cannot train '{arguments[0]}'; choose one of {', '.join(kinds)}.")
    from qkv.cli.training import main as train

    train(arguments[0], arguments[1:])


def all_commands() -> dict[str, Command]:
    return {command.name: command for command in (*OWN, *commands().values())}


class Notice(logging.Handler):
    """What rooms that know no terminal have to tell the person who waits in front of it."""

    def emit(self, record: logging.LogRecord) -> None:
        from qkv.cli.terminal import say

        say(record.getMessage())


def find_command(name: str) -> Command:
    import difflib

    known = all_commands()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, [*known, "train"], n=1)
    hint = f"did you mean `qkv {near[0]}`?" if near else "`qkv --help` lists the commands."
    raise UserError(f"there is no command '{name}'; {hint}")


def out_of_memory(error: Exception) -> bool:
    """Python's, CUDA's, or that of torch's allocator, which has no class of its own."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "allocate memory" in str(error)
    )


def program() -> str:
    """How the user called this program, for hints that can be pasted."""
    called = sys.argv[0]
    return (
        "python -m qkv"
        if called.endswith("__main__.py")
        else shlex.quote(called)
        if os.sep in called
        else "qkv"
    )


def overview() -> str:
    known = {name: command.summary for name, command in all_commands().items()}
    train = {f"train {name}": each.summary for name, each in trainings().items()}
    first = {"demo": known.pop("demo")}
    return (
        f"qkv: train, use and look inside Transformers\n\n{table(first | train | known)}\n\n"
        "`qkv COMMAND --help` explains a command. Start with `qkv demo`.\n"
        'From Python: qkv.load("runs/demo").translate("the cat danced")'
    )


def training_overview() -> str:
    rows = table({f"train {name}": each.summary for name, each in trainings().items()})
    return f"qkv train: train or fine-tune a model\n\n{rows}\n\n`qkv train KIND --help` shows the options."


def table(rows: dict[str, str]) -> str:
    width = max(map(len, rows))
    return "\n".join(f"  qkv {name:<{width}}   {summary}" for name, summary in rows.items())


def fail(sentence: str) -> int:
    """Of processes that share a run one speaks: the first on a machine, for what is wrong may be wrong on one alone."""
    if HELPER not in os.environ and (not under_torchrun() or os.environ.get("LOCAL_RANK", "0") == "0"):
        complain(sentence)
    return 2


def complain(sentence: str) -> None:
    """The exit code says it too, where standard error goes to a full disk or to a program that has ended."""
    one_line = " ".join(sentence.split())
    with suppress(OSError):
        print(f"qkv: {one_line}", file=sys.stderr)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """End this process after what is in here, without Python's own clean-up.

    A thread of gloo may hold a tensor for a while, even when the group is destroyed. If it lets go of it while Python
    cleans up, torch aborts the process (pytorch/pytorch, issue 190489), and a run that was finished counts as failed.
    """
    code = 0
    try:
        yield
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        code = 1
        with suppress(OSError, ValueError):
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # refused, closed, or none from the beginning
            stream.flush()
    os._exit(code)


def give_up_what_nobody_reads() -> None:
    """What standard error has refused Python would try to write once more at its end, and exit with 120 for it."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):  # refused, or closed
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stderr.fileno())
