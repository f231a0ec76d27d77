"""Threads and tasks share a model, and closing it gives its memory back."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from public_models import large_gpt

import qkv
from qkv.engine.packing import Packed
from qkv.families.translator.vocabulary_tables import PHRASES, TABLES, VocabularyTables

THREADS, COUNT = 8, 1_000
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEXTS = [" ".join(NUMBERS[int(digit)] for digit in str(number)) for number in range(COUNT)]


def shared(call: Any, inputs: list[Any]) -> list[Any]:
    """What eight threads get that start together, each with every eighth input, one at a time."""
    barrier = threading.Barrier(THREADS)

    def work(first: int) -> list[Any]:
        barrier.wait()
        return [call(each) for each in inputs[first::THREADS]]

    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(pool.map(work, range(THREADS)))
    return [parts[number % THREADS][number // THREADS] for number in range(len(inputs))]


@pytest.mark.parametrize("threads", [1, 2])
def test_eight_threads_translate_a_thousand_texts_as_one_does(threads: int, saved_models: Path) -> None:
    """The texts are all different, so no result can come from another call."""
    translator = qkv.load(saved_models / "runs" / "en-de", threads=threads)
    assert len(set(TEXTS)) == COUNT
    wanted = [
        translator.translate(text, beam=2, contain=("x",) if text.endswith("two") else ()) for text in TEXTS
    ]
    found = shared(
        lambda text: translator.translate(text, beam=2, contain=("x",) if text.endswith("two") else ()), TEXTS
    )
    assert found == wanted


CALLS: dict[str, tuple[str, Any]] = {
    "generate": ("gpt", lambda model, text: model.generate(text, max_new_tokens=5, seed=len(text))),
    "log_probabilities": ("gpt", lambda model, text: model.log_probabilities(text).tobytes()),
    "embed": ("bert", lambda model, text: model.embed(text).tobytes()),
    "fill": ("bert", lambda model, text: model.fill(f"{text} [MASK]")),
    "classify": ("sentiment", lambda model, text: model.classify(text)),
    "classify pairs": ("entailment", lambda model, text: model.classify((text, "one"))),
    "draw": (
        "scenes",
        lambda model, text: model.draw("a ring", candidates=1, seed=len(text)).pixels.tobytes(),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_eight_threads_share_every_model(name: str, saved_models: Path) -> None:
    folder, call = CALLS[name]
    model = qkv.load(saved_models / "runs" / folder)
    texts = TEXTS[:64]
    assert shared(lambda text: call(model, text), texts) == [call(model, text) for text in texts]


def test_tasks_wait_for_translations_without_blocking_each_other(saved_models: Path) -> None:
    translator = qkv.load(saved_models / "runs" / "en-de")

    async def together() -> list[str]:
        return await asyncio.gather(*(translator.atranslate(text) for text in TEXTS[:20]))

    assert asyncio.run(together()) == translator.translate(TEXTS[:20])


def test_a_cancelled_task_stops_its_work_and_leaves_the_model_usable(saved_models: Path) -> None:
    model = qkv.load(saved_models / "runs" / "gpt")
    begun, parts = threading.Event(), []

    def done(count: int) -> None:
        parts.append(count)
        begun.set()

    async def cancelled() -> None:
        task = asyncio.create_task(model.agenerate(["one"] * 100_000, max_new_tokens=2, done=done))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())  # it returns when the thread has ended
    assert 0 < len(parts) < 100_000
    assert model.generate("one", max_new_tokens=3) == model.generate("one", max_new_tokens=3)


def test_an_iterator_gives_an_asynchronous_iterator_that_reads_no_further_than_needed(
    saved_models: Path,
) -> None:
    translator, read = qkv.load(saved_models / "runs" / "en-de"), []

    def lines() -> Iterator[str]:
        for text in TEXTS:
            read.append(text)
            yield text

    async def first(count: int) -> list[str]:
        found = []
        async for each in translator.atranslate(lines()):
            found.append(each)
            if len(found) == count:
                return found
        return found

    assert asyncio.run(first(3)) == translator.translate(TEXTS[:3])
    assert len(read) < len(TEXTS)


def test_an_asynchronous_iterator_can_be_cancelled(saved_models: Path) -> None:
    model = qkv.load(saved_models / "runs" / "gpt")
    read: list[str] = []

    def prompts() -> Iterator[str]:
        for prompt in TEXTS * 100:
            read.append(prompt)
            yield prompt

    async def cancelled() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            async for _ in model.agenerate(prompts(), max_new_tokens=2):
                begun.set()

        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert len(read) < len(TEXTS) * 100


MODELS = ("en-de", "gpt", "bert", "sentiment", "entailment", "shapes", "scenes", "codebook")


@pytest.mark.parametrize("name", MODELS)
def test_closing_a_model_frees_its_weights(name: str, saved_models: Path) -> None:
    """The packed weights of the engine, the arrays of NumPy and the file that they are mapped from."""
    model = qkv.load(saved_models / "runs" / name)
    held = [weakref.ref(each) for each in (model._runner, model._network)]
    held += [weakref.ref(each) for each in gc.get_referents(vars(model._runner)) if isinstance(each, Packed)]
    model.close()
    gc.collect()
    assert [each() for each in held] == [None] * len(held)


def test_closing_a_translator_frees_its_vocabulary_and_the_tables_of_it(saved_models: Path) -> None:
    model = qkv.load(saved_models / "runs" / "en-de", kind=qkv.Translator)
    model.translate("one", avoid="x", sample=True)
    held = [weakref.ref(each) for each in (model.tokenizer, TABLES[model.tokenizer])]
    assert TABLES[model.tokenizer].automata
    model.close()
    gc.collect()
    assert [each() for each in held] == [None, None]


def test_the_tables_of_a_vocabulary_are_limited(saved_models: Path) -> None:
    with qkv.load(saved_models / "runs" / "en-de", kind=qkv.Translator) as model:
        tables = VocabularyTables()
        for number in range(PHRASES + 5):
            tables.automaton(str(number), model.tokenizer)
        assert list(tables.automata) == [str(number) for number in range(5, PHRASES + 5)]


MEASURE = """
import gc, sys, qkv

def memory():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096

with qkv.load(sys.argv[1], compute_type="float32") as model:  # what stays for all models
    model.generate("one", max_new_tokens=2)
print(memory())
model = qkv.load(sys.argv[1], compute_type="float32")
model.generate("one", max_new_tokens=2)
print(memory())
model.close()
print(memory())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_closing_gives_memory_back_to_the_system(tmp_path: Path) -> None:
    """A model of 40 MB, in a process of its own: afterwards it holds about as much as before."""
    large_gpt(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path], capture_output=True, text=True, check=True
    )
    before, opened, closed = map(int, ran.stdout.split())
    assert opened - before > 30e6
    assert closed - before < 0.2 * (opened - before)


USES: dict[str, Any] = {
    "en-de": lambda model: model.translate("one"),
    "gpt": lambda model: model.generate("one"),
    "bert": lambda model: model.embed("one"),
    "sentiment": lambda model: model.classify("one"),
    "entailment": lambda model: model.classify(("one", "two")),
    "shapes": lambda model: model.classify(np.zeros((8, 12), np.uint8)),
    "scenes": lambda model: model.draw("a ring"),
    "codebook": lambda model: model.decode(np.zeros(4, int)),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_closed_model_says_so_whatever_is_called(name: str, saved_models: Path) -> None:
    with qkv.load(saved_models / "runs" / name) as model:
        USES[name](model)
    model.close()
    closed = f"this {type(model).__name__} is closed"
    uses = [USES[name], lambda each: each.info(), lambda each: each.save("x"), lambda each: each.config]
    for use in [*uses, lambda each: each.model, lambda each: each.report]:
        with pytest.raises(qkv.QkvError, match=closed):
            use(model)
    assert repr(model) == f"{type(model).__name__}(closed)"
    assert "closed" in model._repr_html_()
