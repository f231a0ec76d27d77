"""Compare the student with its teachers: scores on held-out sentences, words per second, size."""

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE
from qkv.checkpoint.files import HASH
from qkv.checkpoint.header import read_header
from qkv.data.parallel import ParallelText, read_pairs
from qkv.evaluation.scores import Scorer
from qkv.evaluation.significance import difference_interval
from qkv.families.loading import load
from qkv.families.translator.distillation.data import Distillation
from qkv.families.translator.distillation.shortlisting import add_shortlist
from qkv.families.translator.distillation.teachers import Teachers, megabytes
from qkv.families.translator.distillation.translating import TranslatedLine
from qkv.families.translator.lines import without_line_breaks
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.runtime.running import EXACT, Running

TIMED = 500  # sentences
Translate = Callable[[Sequence[str]], object]


def read_translations(path: Path) -> list[str]:
    """The translations in the result of a stage."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return [TranslatedLine.read(line).target for line in file]


def compare_on(
    part: ParallelText, student: Sequence[str], teachers: Sequence[str], scorer: Scorer
) -> dict[str, Any]:
    """The scores of both on one set, and what the student loses, with the interval of the loss."""
    own, theirs = scorer.score(student, part.target), scorer.score(teachers, part.target)
    metrics = {"bleu": scorer.bleu, "chrf": scorer.chrf}
    differences = {
        name: {
            "value": getattr(own, name).value - getattr(theirs, name).value,
            "interval": asdict(difference_interval(metric, student, teachers, [part.target])),
        }
        for name, metric in metrics.items()
    }
    return {
        "sentences": len(part),
        "student": own.to_dict(),
        "teachers": theirs.to_dict(),
        "difference": differences,
    }


def words_per_second(translate: Translate, sources: Sequence[str]) -> float:
    """Source words per second. A few sentences come first, untimed: they load the code and fill the caches."""
    timed = sources[:TIMED]
    translate(timed[:8])
    began = time.perf_counter()
    translate(timed)
    return sum(len(source.split()) for source in timed) / max(1e-9, time.perf_counter() - began)


def measure_speed(
    student: Translator, teachers: Teachers, options: TranslationOptions, sources: Sequence[str], threads: int
) -> dict[str, Any]:
    """Both as they are used: the student with its own decoding defaults, the teachers as they translated the text."""
    return {
        "student_words_per_second": round(words_per_second(student.translate, sources), 1),
        "teachers_words_per_second": round(
            words_per_second(lambda texts: teachers.translate(texts, options), sources), 1
        ),
        "sentences": min(TIMED, len(sources)),
        "threads": threads,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def measure_student(distillation: Distillation, out: Path) -> dict[str, Any]:
    """Scores are those of the trained weights, in float32, as everywhere in reports. Speeds are those of daily use."""
    teachers, settings = distillation.teachers, distillation.settings
    scorer = Scorer.make(**asdict(settings.scoring))
    distillation.display.say("fitting the vocabulary shortlist")
    shortlist = add_shortlist(
        out, distillation.training_data.file, read_pairs(distillation.valid_file()), scorer
    )
    exact: Translator = load(out, EXACT)
    sets, sources = {}, list[str]()
    for name, path, part in distillation.held_out_sets():
        theirs = read_translations(distillation.teacher_translations(name, path))
        with distillation.display.progress(f"translating {name} with the student", len(part)) as done:
            own = exact.translate(part.source, done=done)
        true = distillation.translated_held is None or path != distillation.translated_held.file
        sets[name] = {
            "references": "true" if true else "teachers",
            **compare_on(part, [without_line_breaks(each) for each in own], theirs, scorer),
        }
        sources += part.source
    running = Running(compute_type=distillation.options.compute_type, threads=distillation.options.threads)
    student: Translator = load(out, running)
    options, threads = distillation.translation_options, running.thread_count
    return {
        "teachers": [member.facts() for member in teachers.members],
        "reverse": None if distillation.reverse is None else distillation.reverse.members[0].facts(),
        "shortlist": shortlist,
        "size": {"parameters": student._network.parameters, "megabytes": megabytes(out)},
        "speed": measure_speed(student, teachers, options, sources, threads),
        "sets": sets,
    }


def student_hash(out: Path) -> str:
    """Identifies the weights of a student."""
    return str(read_header(out / MODEL_FILE).metadata.get(HASH))
