"""The command line. Each command is a module of its own, imported only when it is called."""

import importlib
import logging
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from qkv.environment import HELPER, under_torchrun
from qkv.errors import ProcessEndedError, UserError

COMMANDS = {
    "demo": ("qkv.cli.demo", "train the built-in English-German pair, and show what it has learned"),
    "train translator": (
        "qkv.cli.train_translator",
        "train a translator from two text files (or .tsv, .jsonl, .tmx, .po)",
    ),
    "train gpt": ("qkv.cli.train_gpt", "train a language model on text or music, or fine-tune one"),
    "train bert": ("qkv.cli.train_bert", "train a BERT on text, or fine-tune one on texts with labels"),
    "train vit": (
        "qkv.cli.train_vit",
        "train a classifier of pictures (ViT) from folders or idx files, or fine-tune one",
    ),
    "train codebook": ("qkv.cli.train_codebook", "train the codes that DALL-E draws with, from pictures"),
    "train dalle": ("qkv.cli.train_dalle", "train a model that draws what a caption says (DALL-E)"),
    "clean": ("qkv.cli.clean", "drop the pairs of a parallel corpus that would harm a model, and say why"),
    "translate": ("qkv.cli.translate", "translate text, or lines from standard input"),
    "evaluate": ("qkv.cli.evaluate", "score a model: translations, texts or pictures"),
    "fill": ("qkv.cli.fill", "fill in the words that a text hides behind [MASK]"),
    "embed": ("qkv.cli.embed", "turn texts into vectors"),
    "similar": ("qkv.cli.similar", "say how alike two texts are"),
    "generate": ("qkv.cli.generate", "continue a text, or make music"),
    "draw": ("qkv.cli.draw", "draw pictures of a caption"),
    "classify": ("qkv.cli.classify", "say which class texts, pairs of texts or pictures belong to"),
    "import": ("qkv.cli.import_model", "make a bundle of a published model: Marian, GPT, GPT-2, BERT, ViT"),
    "export": ("qkv.cli.export_model", "write a model for transformers or for CTranslate2"),
    "explore": ("qkv.cli.explore", "walk through a model step by step, with its own numbers, in a browser"),
    "info": ("qkv.cli.info", "say what a model is, what it was trained on and how good it is"),
}


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
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return
    if arguments[0] == "--version":
        from qkv import __version__

        print(f"qkv {__version__}")
        return
    name, rest = find_command(arguments)
    notices = logging.getLogger("qkv")
    notices.setLevel(logging.INFO)
    notices.handlers = [Notice()]
    importlib.import_module(COMMANDS[name][0]).main(rest)


class Notice(logging.Handler):
    """What rooms that know no terminal have to tell the person who waits in front of it."""

    def emit(self, record: logging.LogRecord) -> None:
        from qkv.cli.terminal import say

        say(record.getMessage())


def find_command(arguments: list[str]) -> tuple[str, list[str]]:
    import difflib

    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name, arguments[words:]
    if arguments[0] == "train":
        kinds = [name.removeprefix("train ") for name in COMMANDS if name.startswith("train ")]
        if len(arguments) == 1 or arguments[1] in ("-h", "--help"):
            return f"train {kinds[0]}", ["--help"]
        raise UserError(f"qkv train needs to know what to train: {', '.join(kinds)}, not '{arguments[1]}'.")
    near = difflib.get_close_matches(arguments[0], COMMANDS, n=1)
    hint = f"did you mean `qkv {near[0]}`?" if near else "`qkv --help` lists the commands."
    raise UserError(f"there is no command '{arguments[0]}'; {hint}")


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
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  qkv {name:<{width}}   {what}" for name, (_, what) in COMMANDS.items())
    return (
        f"qkv: a Transformer that people use\n\n{rows}\n\n"
        "`qkv COMMAND --help` explains a command. Start with `qkv demo`.\n"
        'From Python: qkv.load("runs/demo").translate("the cat danced")'
    )


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
