"""From teachers and texts to the training data of a student, in stages that are done once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from qkv.corpus.held_out import HeldOut
from qkv.data.parallel import ParallelText, read_pairs
from qkv.evaluation.display import Display
from qkv.evaluation.scores import Scorer
from qkv.families.translator.distillation.corpora import Corpora, write_corpora
from qkv.families.translator.distillation.filtering import BACK, CLOSEST, TRANSLATED, TRUE, Filter, Part, mix
from qkv.families.translator.distillation.options import DistillInputs, DistillOptions
from qkv.families.translator.distillation.reading import (
    TextSource,
    language_figures,
    language_warning,
    read_text,
)
from qkv.families.translator.distillation.report import filter_lines
from qkv.families.translator.distillation.stages import Stage
from qkv.families.translator.distillation.teachers import Teachers
from qkv.families.translator.distillation.translating import (
    BackTranslationWork,
    HeldOutWork,
    PairWork,
    ReverseWork,
    TextWork,
)
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.settings import TranslatorSettings
from qkv.runtime.file_job import Work
from qkv.runtime.running import EXACT


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """Everything that the training data depend on. The stages follow from it, with their keys, before any of them runs."""

    folder: Path
    inputs: DistillInputs
    options: DistillOptions
    settings: TranslatorSettings
    teachers: Teachers
    reverse: Teachers | None
    corpora: Corpora
    display: Display
    progress: bool

    # Stages --------------------------------------------------------------------------------------------------

    @cached_property
    def corpora_stage(self) -> Stage:
        return self.stage("corpora", self.corpora.identity(), files=list(self.corpora.parts()))

    @cached_property
    def text(self) -> Stage | None:
        """The text. If there are no true pairs to validate on, some of it is held out in a second file."""
        if not self.inputs.text:
            return None
        held = {"valid": self.settings.data.valid_size} if self.holds_text_out else {}
        ends = [".txt", ".held.txt"] if held else [".txt"]
        return self.stage("text", {**self.source_of(0).identity(), **held}, files=ends)

    @cached_property
    def target_text(self) -> Stage | None:
        if not self.inputs.target_text:
            return None
        return self.stage("target-text", self.source_of(1).identity(), files=[".txt"])

    @cached_property
    def translated_text(self) -> Stage | None:
        return None if self.text is None else self.translation("translated-text", self.text)

    @cached_property
    def translated_held(self) -> Stage | None:
        return self.translation("translated-held", self.text) if self.text and self.holds_text_out else None

    @cached_property
    def translated_pairs(self) -> Stage | None:
        if not len(self.corpora.pairs):
            return None
        own = {"count": self.options.num_hypotheses, "closeness": self.options.closeness}
        return self.translation("translated-pairs", self.corpora_stage, **own)

    @cached_property
    def back_translated(self) -> Stage | None:
        if self.target_text is None or self.reverse is None:
            return None
        own = {"reverse": self.reverse.identity(), "tag": self.options.back_translation_tag}
        own["compute_type"] = self.options.compute_type
        return self.stage("back-translated", own, after=[self.target_text], files=[".tsv"])

    def reverse_scores(self, translated: Stage | None) -> Stage | None:
        if self.reverse is None or translated is None or not self.options.reverse_drop:
            return None
        own = {"reverse": self.reverse.identity(), "compute_type": self.options.compute_type}
        name = translated.name.replace("translated", "reverse")
        return self.stage(name, own, after=[translated], files=[".txt"])

    @cached_property
    def training_data(self) -> Stage:
        """What the student is trained on."""
        names = ("max_ratio", "max_copied", "min_confidence", "reverse_drop", "duplicates", "repeat_pairs")
        chosen = {name: getattr(self.options, name) for name in names}
        before = [
            self.corpora_stage,
            self.translated_text,
            self.translated_pairs,
            self.reverse_scores(self.translated_text),
            self.reverse_scores(self.translated_pairs),
            self.back_translated,
        ]
        after = [each for each in before if each is not None]
        own = {**chosen, "max_characters": self.settings.data.max_characters}
        return self.stage("training-data", own, after=after, files=[".tsv"])

    def stage(
        self, name: str, identity: dict[str, Any], *, after: Sequence[Stage] = (), files: Sequence[str]
    ) -> Stage:
        return Stage.of(self.folder, name, identity, after=after, files=files)

    def translation(self, name: str, after: Stage, **identity: Any) -> Stage:
        options = self.translation_options
        how = {
            "teachers": self.teachers.identity(),
            "beam_size": options.beam_size,
            "length_penalty": options.length_penalty,
            "compute_type": self.options.compute_type,
        }
        return self.stage(name, {**how, **identity}, after=[after], files=[".tsv"])

    # What they work on -----------------------------------------------------------------------------------------

    @cached_property
    def translation_options(self) -> TranslationOptions:
        return self.teachers.options(self.options.teacher_beam_size, self.options.teacher_length_penalty)

    @property
    def holds_text_out(self) -> bool:
        return self.corpora.valid is None

    @cached_property
    def held_out(self) -> HeldOut:
        return self.corpora.held_out()

    def source_of(self, side: int) -> TextSource:
        files = self.inputs.target_text if side else self.inputs.text
        held = self.held_out.targets if side else self.held_out.sources
        return TextSource(
            files=files,
            side=side,
            languages=self.teachers.languages.named(),
            max_characters=self.settings.data.max_characters,
            held_out=held,
        )

    def valid_file(self) -> Path:
        """The pairs to validate on: true ones, or held-out text with the teachers' translations."""
        if self.translated_held is not None:
            return self.translated_held.file
        return dict(zip(self.corpora.parts(), self.corpora_stage.files, strict=True))[".valid.tsv"]

    def held_out_sets(self) -> Iterator[tuple[str, Path, ParallelText]]:
        """The sets that student and teachers are compared on: name, file and pairs."""
        for end, path in zip(self.corpora.parts(), self.corpora_stage.files, strict=True):
            if end != ".pairs.tsv":
                yield end.removeprefix(".").removesuffix(".tsv"), path, read_pairs(path)
        if self.translated_held is not None:
            yield "valid", self.translated_held.file, read_pairs(self.translated_held.file)

    # Running ---------------------------------------------------------------------------------------------------

    def prepare(self) -> dict[str, Any]:
        """Run all stages that are not complete. Returns what the report says about the data."""
        parts = dict(zip(self.corpora.parts(), self.corpora_stage.files, strict=True))
        facts = {"pairs": self.corpora_stage.run(lambda: write_corpora(self.corpora, parts))}
        for name, stage, side in (("text", self.text, 0), ("target_text", self.target_text, 1)):
            if stage is not None:
                facts[name] = self.read(stage, side)
        if self.translated_pairs is not None:
            self.translate(self.translated_pairs, parts[".pairs.tsv"], self.pair_work(), "translating pairs")
        work = TextWork(self.teachers, self.translation_options)
        if self.text is not None and self.translated_text is not None:
            if self.translated_held is not None:
                self.translate(self.translated_held, self.text.files[1], work, "translating held-out text")
            self.translate(self.translated_text, self.text.file, work, "translating text")
        self.use_reverse()
        mixed = self.training_data.run(self.mix)
        for line in filter_lines(mixed):
            self.display.say(line)
        return {**facts, **mixed}

    def read(self, stage: Stage, side: int) -> dict[str, Any]:
        source = self.source_of(side)
        held = stage.files[1] if len(stage.files) > 1 else None
        valid_size = self.settings.data.valid_size

        def work() -> dict[str, Any]:
            found = read_text(source, stage.file, self.display.progress, held=held, valid_size=valid_size)
            language = self.teachers.languages.named()[side]
            return {
                **found,
                "files": [path.name for path in source.files],
                "language": language_figures(stage.file, found["kept"], language, self.display.say),
            }

        facts = stage.run(work)
        if warning := language_warning(facts["language"], source.files):
            self.display.warn(warning)
        self.display.say(
            f"{facts['lines']:,} lines of {'target text' if side else 'text'} read; "
            + ", ".join([f"{facts['kept']:,} kept", *(f"{n:,} {why}" for why, n in facts["dropped"].items())])
        )
        return facts

    def pair_work(self) -> PairWork:
        from sacrebleu.metrics import BLEU, CHRF

        scoring = self.settings.scoring
        Scorer.make(tokenize=scoring.tokenize, lowercase=scoring.lowercase)  # checks the names
        metric: Any = (
            CHRF(lowercase=scoring.lowercase)
            if self.options.closeness == "chrf"
            else BLEU(
                tokenize=scoring.tokenize, lowercase=scoring.lowercase, effective_order=True, force=True
            )
        )
        return PairWork(self.teachers, self.translation_options, self.options.num_hypotheses, metric)

    def translate(self, stage: Stage, source: Path, work: Work, what: str) -> None:
        stage.run_lines(source, work, what, progress=self.progress)

    def use_reverse(self) -> None:
        """Reverse scores and back-translations."""
        if self.reverse is None:
            return
        for translated in (self.translated_pairs, self.translated_text):
            scores = self.reverse_scores(translated)
            if translated is not None and scores is not None:
                self.translate(
                    scores, translated.file, ReverseWork(self.reverse), "scoring with the reverse model"
                )
        if self.back_translated is not None and self.target_text is not None:
            work = BackTranslationWork(self.reverse, self.options.back_translation_tag)
            self.translate(self.back_translated, self.target_text.file, work, "back-translating")

    def mix(self) -> dict[str, Any]:
        parts = list(self.parts())
        totals = [count_lines(part.path) for part in parts]
        choose = Filter(options=self.options, max_characters=self.settings.data.max_characters)
        return mix(parts, choose, self.training_data.file, totals, self.display.progress)

    def parts(self) -> Iterator[Part]:
        """True pairs come first, so that a translation which repeats one is the duplicate."""
        if len(self.corpora.pairs) and self.options.repeat_pairs:
            yield Part(origin=TRUE, path=self.corpora_stage.file)
        for origin, stage in ((CLOSEST, self.translated_pairs), (TRANSLATED, self.translated_text)):
            if stage is not None:
                scores = self.reverse_scores(stage)
                yield Part(origin=origin, path=stage.file, reverse=None if scores is None else scores.file)
        if self.back_translated is not None:
            yield Part(origin=BACK, path=self.back_translated.file, tag=self.options.back_translation_tag)

    def teacher_translations(self, name: str, path: Path) -> Path:
        """The teachers' translations of a held-out set, in float32 as those of the student."""
        if self.translated_held is not None and path == self.translated_held.file:
            return path
        stage = self.translation(
            f"translated-{name}", self.corpora_stage, set=name, compute_type=EXACT.compute_type
        )
        if stage.facts() is not None:
            return stage.file  # opening the models again would take longer than reading it
        work = HeldOutWork(self.teachers.running(EXACT), self.translation_options)
        self.translate(stage, path, work, f"translating {name} with the teachers")
        return stage.file


def count_lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(partial(file.read, 1 << 20), b""))
