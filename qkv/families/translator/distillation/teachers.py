"""The teachers: one ensemble for each vocabulary, and how they agree on a translation.

Models with the same vocabulary are an ensemble: the mean of their probabilities decides on every token. Models with different
vocabularies have no tokens in common. Each vocabulary then proposes translations, all models score all of them by forced
decoding, and the one with the highest mean log-probability per character wins. The student learns its own vocabulary in both
cases.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.data.language_codes import two_letters
from qkv.errors import ModelError
from qkv.families.loading import load_for
from qkv.families.translator.defaults import Languages
from qkv.families.translator.forced import forced_log_probabilities
from qkv.families.translator.options import ConfidenceOptions, TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.translations import Translation
from qkv.runtime.running import Running, Warn

PROPOSED = 4  # translations of each vocabulary, if there are several vocabularies
COMMAND = "distill"
Done = Callable[[int], None]


@dataclass(frozen=True)
class Member:
    """A model as the report names it."""

    path: Path
    translator: Translator

    def identity(self) -> list[str]:
        return self.translator._content_hash()

    def facts(self) -> dict[str, Any]:
        return {
            "name": self.path.name or str(self.path),
            "parameters": self.translator._network.parameters,
            "megabytes": megabytes(self.path),
            "hash": self.identity()[0],
        }


def megabytes(bundle: Path) -> float:
    """The size of a model's weights on disk."""
    return round((bundle / "model.safetensors").stat().st_size / 1e6, 2)


@dataclass(frozen=True)
class Teachers:
    members: tuple[Member, ...]
    ensembles: tuple[Translator, ...]  # one for each vocabulary
    languages: Languages

    @classmethod
    def open(cls, paths: Sequence[Path], running: Running, warn: Warn) -> "Teachers":
        members = tuple(open_member(path, running, warn) for path in paths)
        check_same_languages(members)
        alike: dict[str, list[Translator]] = {}
        for member in members:
            alike.setdefault(member.translator.tokenizer.text(), []).append(member.translator)
        ensembles = tuple(first._together_with(others) for first, *others in alike.values())
        return cls(members, ensembles, common_languages(members))

    def identity(self) -> list[list[str]]:
        return [member.identity() for member in self.members]

    def running(self, running: Running) -> "Teachers":
        """The same teachers, computed in another way."""
        return replace(self, ensembles=tuple(each._running(running) for each in self.ensembles))

    def check_confidence(self, least: float | None) -> None:
        """A minimum confidence needs a calibrated model in every ensemble."""
        for each in self.ensembles:
            each._check_confidence(ConfidenceOptions(min_confidence=least))

    def options(self, beam_size: int | None, length_penalty: float | None) -> TranslationOptions:
        """How they translate. A model with several target languages gets that of the teachers."""
        target = self.languages.named()[1]
        known = {language for each in self.ensembles for language in each.tokenizer.languages}
        return TranslationOptions(
            beam_size=beam_size,
            length_penalty=length_penalty,
            target_language=target if target in known else None,
        )

    def propose(
        self, texts: Sequence[str], options: TranslationOptions, count: int, done: Done
    ) -> list[list[Translation]]:
        """The best translations of each text, best first: `count` of each ensemble."""
        found: list[list[Translation]] = [[] for _ in texts]
        for number, each in enumerate(self.ensembles):
            several, report = replace(options, num_hypotheses=count), done if number == 0 else nothing
            search = replace(each._pipeline.texts, scores_words=False)  # nothing reads the scores of words
            for row, proposed in enumerate(each._pipeline.best_of(texts, several, report, search)):
                found[row] += proposed
        return found

    def translate(
        self, texts: Sequence[str], options: TranslationOptions, done: Done = lambda _: None
    ) -> list[Translation]:
        """The translation of each text that the teachers agree on."""
        if len(self.ensembles) == 1:
            return [row[0] for row in self.propose(texts, options, 1, done)]
        proposed = self.propose(texts, options, PROPOSED, done)
        pairs = [(text, each.text) for text, row in zip(texts, proposed, strict=True) for each in row]
        scores = iter(self.agreement(pairs, options))
        return [max(((next(scores), -place, each) for place, each in enumerate(row)))[2] for row in proposed]

    def agreement(self, pairs: Sequence[tuple[str, str]], options: TranslationOptions) -> list[float]:
        """The log-probability per character, as the mean over all ensembles."""
        total = [0.0] * len(pairs)
        sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        for each in self.ensembles:
            forced = forced_log_probabilities(each._pipeline, sources, targets, options)
            for row, found in enumerate(forced):
                total[row] += float("-inf") if found is None else sum(found) / max(1, len(targets[row]))
        return [each / len(self.ensembles) for each in total]


def nothing(_count: int) -> None:
    """Progress that is not shown."""


def open_member(path: Path, running: Running, warn: Warn) -> Member:
    return Member(path, load_for(path, COMMAND, Translator, running, warn))


def check_same_languages(members: Sequence[Member]) -> None:
    first, *others = members
    for other in others:
        for side in ("source", "target"):
            one, two = (language_of(member, side) for member in (first, other))
            if one is not None and two is not None and one != two:
                raise ModelError(
                    f"the teachers translate between different languages: {first.path} from {direction(first)}, "
                    f"{other.path} from {direction(other)}. Give teachers of one direction."
                )


def open_reverse(path: Path, languages: Languages, running: Running, warn: Warn) -> Teachers:
    """A model that must translate from the target language to the source language."""
    reverse = Teachers.open([path], running, warn)
    wanted = tuple(map(two_letters, reversed(languages.named())))
    given = tuple(map(two_letters, reverse.languages.named()))
    if any(
        one is not None and two is not None and one != two for one, two in zip(wanted, given, strict=True)
    ):
        raise ModelError(
            f"{path} translates from {direction(reverse.members[0])}, but the reverse model must translate from "
            f"{languages.target} to {languages.source}."
        )
    return reverse


def common_languages(members: Sequence[Member]) -> Languages:
    """The names that any of the teachers has."""
    named = [member.translator._defaults.languages.named() for member in members]
    source, target = (next(filter(None, side), None) for side in zip(*named, strict=True))
    return Languages.of(source, target)


def language_of(member: Member, side: str) -> str | None:
    source, target = member.translator._defaults.languages.named()
    return two_letters(source if side == "source" else target)


def direction(member: Member) -> str:
    languages = member.translator._defaults.languages
    return f"{languages.source} to {languages.target}"
