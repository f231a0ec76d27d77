"""Documents as lists of sentences, for next-sentence prediction.

A blank line ends a document. If most lines end like a sentence, each line is one. Otherwise the lines are joined and split
after full stops, question marks and exclamation marks.
"""

import ast
import hashlib
import importlib
import random
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from qkv.data.documents import NOT_SOURCE, read_documents
from qkv.data.lines import one_line
from qkv.errors import DataError

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”)\]]*\s+(?=[\"'«“(\[]*[A-ZÀ-Þ0-9])|(?<=[。！？])")
ENDS = re.compile(r"[.!?…:;。！？][\"'»”)\]]*$")
SENTENCE_LINES_SHARE = 0.7  # above this share of lines that end like a sentence, lines are sentences
LOWERCASE_SHARE = 0.6  # the minimum share of lower-case letters in prose
MIN_TO_HOLD_OUT_WHOLE = 10  # from this many documents on, whole documents are held out
MIN_TO_CUT = 4  # sentences in a document whose end is held out


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Documents, each a list of sentences."""

    documents: list[list[str]]
    origin: str  # for the model card

    @property
    def sentences(self) -> int:
        return sum(map(len, self.documents))

    @property
    def characters(self) -> int:
        return sum(len(sentence) for document in self.documents for sentence in document)

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for document in self.documents:
            digest.update("\n".join([*document, "\n"]).encode())
        return digest.hexdigest()


def read_prose(paths: Sequence[Path]) -> Prose:
    texts = read_documents(paths)
    documents = [document for text in texts.texts for document in documents_of(text)]
    if not documents:
        raise DataError(f"{texts.origin} has no sentences: give a file with text.")
    return Prose(documents=documents, origin=texts.origin)


def documents_of(text: str) -> Iterator[list[str]]:
    for block in re.split(r"\n[ \t\r]*\n", text):
        sentences = sentences_of(block)
        if sentences:
            yield sentences


def sentences_of(block: str) -> list[str]:
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    ending = sum(bool(ENDS.search(line)) for line in lines)
    if len(lines) < 2 or ending < SENTENCE_LINES_SHARE * len(lines):
        lines = SENTENCE_END.split(one_line(block))
    return [line.strip() for line in lines if any(letter.isalpha() for letter in line)]


def hold_out_prose(prose: Prose, share: float, seed: int) -> tuple[Prose, Prose]:
    """Hold out about a `share`: whole documents, or the end of each if there are few.

    Both parts keep at least two sentences of a document, so that both have next sentences to predict.
    """
    documents = prose.documents
    longer = [place for place, each in enumerate(documents) if len(each) > 1] or list(range(len(documents)))
    cut = {
        place: len(each) - max(2, round(share * len(each)))
        for place, each in enumerate(documents)
        if len(each) >= MIN_TO_CUT
    }
    if len(longer) >= MIN_TO_HOLD_OUT_WHOLE or not cut:
        random.Random(seed).shuffle(longer)
        cut = dict.fromkeys(longer[: max(1, round(share * len(longer)))], 0) if len(longer) > 1 else {}
    train = [each[: cut.get(place, len(each))] for place, each in enumerate(documents)]
    valid = [documents[place][begin:] for place, begin in sorted(cut.items())]
    if not valid:
        raise DataError(
            f"{prose.origin} has {prose.sentences} sentences, too few to hold some out: give more text, or a validation text."
        )
    return (
        Prose(documents=[each for each in train if each], origin=prose.origin),
        Prose(documents=valid, origin=f"the held-out part of {prose.origin}"),
    )


# Built-in text --------------------------------------------------------------------------------


def python_prose() -> Prose:
    """The help texts and docstrings of Python's standard library."""
    documents = [sentences for text in help_texts() if len(sentences := prose_sentences(text)) > 1]
    if not documents:
        raise DataError("this Python has no docstrings in its standard library: give a text file.")
    return Prose(documents=documents, origin="the help texts and docstrings of Python's standard library")


def help_texts() -> Iterator[str]:
    with suppress(ImportError):  # missing in some small installations
        yield from importlib.import_module("pydoc_data.topics").topics.values()
    folder = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(folder.rglob("*.py")):
        if NOT_SOURCE & set(path.relative_to(folder).parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):  # some are test files with other encodings or errors
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""


def prose_sentences(text: str) -> list[str]:
    """The sentences of a help text, without its examples and tables."""
    paragraphs = [block for block in re.split(r"\n[ \t]*\n", text) if is_prose(block)]
    return [sentence for block in paragraphs for sentence in SENTENCE_END.split(one_line(block)) if sentence]


def is_prose(block: str) -> bool:
    letters = sum(letter.islower() for letter in block)
    return (
        bool(re.match(r"[\"'(]?[A-Z]", block))
        and letters > LOWERCASE_SHARE * len(block)
        and ">>>" not in block
    )


def all_sentences(prose: Prose) -> Iterable[str]:
    return (sentence for document in prose.documents for sentence in document)
