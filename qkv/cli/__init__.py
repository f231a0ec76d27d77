"""The command line. Each command is a module, imported only when it runs."""

import logging
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from qkv.cli.conventions import Conventions, names_options, split_conventions
from qkv.environment import HELPER, missing_torch, under_torchrun
from qkv.errors import DataError, ItemError, ModelError, ProcessEndedError, QkvError
from qkv.families import commands, own_families, trainings
from qkv.families.family import Command, resolve
from qkv.families.shared_commands import SHARED

USAGE, DATA, DISK, MEMORY = 2, 3, 4, 5  # exit codes
HELP = ("-h", "--help", "--help-all", "help")


def main(arguments: list[str] | None = None) -> None:
    """Run a command. A mistake prints one line on standard error; the exit code tells what kind it is."""
    if arguments is not None:
        run_or_exit(arguments)
        return
    with exit_without_cleanup() if under_torchrun() else nullcontext():
        run_or_exit(sys.argv[1:])


def run_or_exit(arguments: list[str]) -> None:
    try:
        run(arguments)
    except ProcessEndedError as error:
        if HELPER not in os.environ:  # under torchrun every process reports it: the first may be gone
            print_error(str(error))
        sys.exit(USAGE)
    except (DataError, ModelError) as error:
        sys.exit(fail(error.with_flags(), DATA))
    except ItemError as error:
        sys.exit(fail(error.counted()))
    except QkvError as error:
        sys.exit(fail(error.with_flags()))
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        sys.exit(fail(str(missing_torch("this command"))))
    except BrokenPipeError:  # `qkv translate … | head` has closed the pipe
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk, a folder without permission
        name = f" ({error.filename})" if error.filename else ""
        sys.exit(fail(f"{error.strerror or error}{name}: check the disk and the permissions.", DISK))
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        sys.exit(fail("out of memory: choose a smaller model, batch, context or beam.", MEMORY))
    except KeyboardInterrupt:
        fail("interrupted.")
        sys.exit(130)
    finally:
        discard_unwritable_stderr()


def run(arguments: list[str]) -> None:
    conventions, arguments = split_conventions(arguments)
    set_verbosity(conventions)
    if not arguments or arguments in ([name] for name in HELP):
        print(overview())
        return
    if arguments[0] == "--version":
        from qkv import __version__

        print(f"qkv {__version__}")
        return
    if arguments[0] == "help":  # `qkv help translate` is `qkv translate --help`
        arguments = [*arguments[1:], "--help"]
    if arguments[0] == "conventions":
        from qkv.cli.topics import CONVENTIONS

        print(CONVENTIONS)
        return
    if arguments[0] == "train":
        run_training(arguments[1:], conventions)
    else:
        command = find_command(arguments[0])
        resolve(command.run)(with_all_options([command.name], arguments[1:], conventions))
    logging.getLogger("qkv").debug("done")


def run_training(arguments: list[str], conventions: Conventions) -> None:
    kinds = trainings()
    if not arguments:
        print(training_overview(), file=sys.stderr)
        sys.exit(2)
    if arguments[0] in HELP:
        print(training_overview())
        return
    if arguments[0] not in kinds:
        raise QkvError(f"qkv train cannot train '{arguments[0]}'; choose from {', '.join(kinds)}.")
    from qkv.cli.training import main as train

    train(arguments[0], with_all_options(["train", arguments[0]], arguments[1:], conventions))


def with_all_options(words: list[str], arguments: list[str], conventions: Conventions) -> list[str]:
    """The arguments with the options of configuration files and of the environment, if there are any."""
    if {"-h", "--help", "--help-all"} & {*arguments}:
        return arguments
    if not (conventions.config or conventions.print_config or names_options()):
        return arguments
    from qkv.cli.expanding import expand

    expanded = expand(words, arguments, conventions)
    if conventions.print_config:
        from qkv.cli.printed_config import printed_config

        sys.stdout.write(printed_config(words, expanded))
        sys.exit(0)
    return expanded.arguments


def set_verbosity(conventions: Conventions) -> None:
    """The level of the package's logger decides what is printed on standard error, also by progress bars."""
    notices = logging.getLogger("qkv")
    notices.setLevel(
        logging.ERROR if conventions.quiet else logging.DEBUG if conventions.verbose else logging.INFO
    )
    notices.handlers = [Notice()]


def all_commands() -> dict[str, Command]:
    return {command.name: command for command in (*SHARED, *commands().values())}


class Notice(logging.Handler):
    """Prints the log messages of the library for the user."""

    def emit(self, record: logging.LogRecord) -> None:
        from qkv.progress.terminal import say

        line = record.getMessage()
        say(line if record.levelno >= logging.INFO else f"{record.relativeCreated / 1000:.2f} s: {line}")


def find_command(name: str) -> Command:
    own = {command.name: command for command in (*SHARED, *commands(own_families()).values())}
    known = own if name in own else all_commands()
    if name in known:
        return known[name]
    import difflib

    near = difflib.get_close_matches(name, [*known, "train"], n=1)
    hint = f"did you mean `qkv {near[0]}`?" if near else "`qkv --help` lists the commands."
    raise QkvError(f"unknown command '{name}'; {hint}")


def out_of_memory(error: Exception) -> bool:
    """Is this Python's error, CUDA's, or that of torch's CPU allocator, which has no class?"""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "allocate memory" in str(error)
    )


def program() -> str:
    """The program as the user called it, for commands that can be pasted."""
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
        "`qkv COMMAND --help` explains a command, and `qkv help conventions` the options of all. Start with `qkv demo`.\n"
        'From Python: qkv.load("runs/demo").translate("the cat danced")'
    )


def training_overview() -> str:
    rows = table({f"train {name}": each.summary for name, each in trainings().items()})
    return f"qkv train: train or fine-tune a model\n\n{rows}\n\n`qkv train KIND --help` shows the options."


def table(rows: dict[str, str]) -> str:
    width = max(map(len, rows))
    return "\n".join(f"  qkv {name:<{width}}   {summary}" for name, summary in rows.items())


def fail(sentence: str, code: int = USAGE) -> int:
    """Print an error from one process per machine: what is wrong may be wrong on one machine only."""
    if HELPER not in os.environ and (not under_torchrun() or os.environ.get("LOCAL_RANK", "0") == "0"):
        if logging.getLogger("qkv").isEnabledFor(logging.DEBUG):
            with suppress(OSError):
                traceback.print_exc()
        print_error(sentence)
    return code


def print_error(sentence: str) -> None:
    """If standard error cannot be written, the exit code is all that is left."""
    one_line = " ".join(sentence.split())
    with suppress(OSError):
        print(f"error: {one_line}", file=sys.stderr)


@contextmanager
def exit_without_cleanup() -> Iterator[None]:
    """End the process after this block, without Python's clean-up.

    A gloo thread may still hold a tensor after its group is destroyed. If it releases the tensor while Python cleans
    up, torch aborts the process (pytorch/pytorch, issue 190489), and a finished run counts as failed.
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
        with suppress(OSError, ValueError, AttributeError):  # unwritable, closed, or never opened
            stream.flush()
    os._exit(code)


def discard_unwritable_stderr() -> None:
    """At exit Python flushes standard error again, and would exit with 120 if that fails."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):  # unwritable, or closed
        with suppress(OSError, ValueError), open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), sys.stderr.fileno())
