"""Trains a translator on sentence pairs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from qkv.checkpoint.bundle import REPORT_FILE, save_report
from qkv.checkpoint.training_report import TrainingReport
from qkv.core.stack_config import StackConfig
from qkv.core.translation import TranslationConfig
from qkv.data.parallel import ParallelText
from qkv.errors import OptionError, QkvError
from qkv.evaluation.overlap import Seen, seen_in, write_seen
from qkv.evaluation.scores import Scorer
from qkv.families.translator.advice import advice_after, advice_before
from qkv.families.translator.architectures import build
from qkv.families.translator.config import OneStreamConfig, RecurrentConfig, TranslatorConfig
from qkv.families.translator.corpus import Corpus, PairData, PairFiles
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.product import Translator
from qkv.families.translator.report import MAX_SCORED, make_report, model_card
from qkv.families.translator.settings import (
    UNUSED_BY_LSTMS,
    ModelSettings,
    PairSettings,
    TranslatorSettings,
)
from qkv.families.translator.teachers import learn_from, open_teachers, teacher_hashes
from qkv.families.translator.trust import learn_trust
from qkv.flags import OptionMessageError
from qkv.runtime.running import EXACT
from qkv.text.tokenizer import Tokenizer
from qkv.text.vocabulary import Vocabulary, load_vocabulary
from qkv.training.card import DISTILLATION_TITLE
from qkv.training.device import choose_device, kinds_for, with_precision
from qkv.training.loop import Run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Counter, Example, Task
from qkv.training.trainable import Setup

TRAINED_FURTHER = "\nIt was trained further after this comparison.\n"

TOKENIZER_FILE = "tokenizer.json"  # in OUT/training
LEARNED_FROM = 2_000_000  # pairs at most; more do not change a vocabulary
MIN_SOURCE_LENGTH = 64  # tokens; sentences up to this length are never split


def pairs_task(data: PairFiles, inputs: Any, settings: TranslatorSettings, setup: Setup) -> "TranslatorTask":
    """Train on sentence pairs that were read from files."""
    check_unused(settings.model, setup.given)
    corpus = data.corpus(settings, setup)
    if advice := advice_before(len(corpus.train)):
        setup.say(f"advice: {advice}.")
    return translator_task(corpus, settings, setup)


def translator_task(corpus: Corpus, settings: TranslatorSettings, setup: Setup = Setup()) -> "TranslatorTask":  # noqa: B008  (it is frozen)
    """Train on a corpus. A vocabulary size that the user chose must be reached; otherwise it is an upper bound."""
    settings.check()
    kinds = kinds_for(settings.model.architecture == "recurrent")
    settings = with_precision(
        settings, settings.model.width, choose_device(settings.training), setup.group, kinds
    )
    scorer = Scorer.make(**asdict(settings.scoring))  # fails now, not after the training
    teachers = open_teachers(settings.distillation, corpus.languages)
    if teachers:
        check_vocabulary(teachers[0].tokenizer, settings, setup.given)
    return TranslatorTask(corpus, settings, scorer, "vocab_size" in setup.given, teachers)


def check_vocabulary(tokenizer: Vocabulary, settings: TranslatorSettings, given: frozenset[str]) -> None:
    """The vocabulary is that of the teachers, so it cannot be chosen."""
    if "vocab_size" in given and settings.vocab_size != len(tokenizer):
        raise OptionMessageError(
            "the teachers' vocabulary has {count:,} tokens: leave out {vocab_size}.", count=len(tokenizer)
        )
    if settings.data.bpe_dropout and not isinstance(tokenizer, Tokenizer):
        raise QkvError(
            "BPE dropout needs a vocabulary that qkv has learned, but the teachers have their own: leave it out."
        )


def check_unused(model: ModelSettings, given: frozenset[str]) -> None:
    unused = sorted(UNUSED_BY_LSTMS & given) if model.architecture == "recurrent" else []
    if unused:
        raise OptionError((", ".join(unused), "cannot be used with LSTMs"))


@dataclass(frozen=True)
class TranslatorTask(Task[Translator]):
    corpus: Corpus
    settings: TranslatorSettings
    scorer: Scorer
    exact_vocabulary: bool = False
    teachers: Sequence[Translator] = ()

    @property
    def width(self) -> int:
        return self.settings.model.width

    def fingerprint(self) -> dict[str, str]:
        return self.corpus.fingerprint() | teacher_hashes(self.settings.distillation)

    def files(self) -> dict[str, bytes]:
        if self.teachers:
            return {TOKENIZER_FILE: self.teachers[0].tokenizer.text().encode()}
        tokenizer = learn_vocabulary(self.corpus, self.settings, self.exact_vocabulary)
        return {TOKENIZER_FILE: tokenizer.text().encode()}

    def assemble(self, folder: Path) -> Assembled[Translator]:
        settings, corpus = self.settings, self.corpus
        tokenizer = load_vocabulary(folder / TOKENIZER_FILE)
        context = min(
            [settings.model.max_length, *(each._network.config.max_length for each in self.teachers)]
        )
        train, valid = both_parts(corpus, tokenizer, settings, context)
        model = build(CONFIGS[settings.model.architecture](settings.model, len(tokenizer), tokenizer))
        learn_from(model, self.teachers, settings.distillation)
        longest = max(MIN_SOURCE_LENGTH, train.longest_source)
        defaults = TranslatorDefaults(
            languages=corpus.languages, max_source_length=longest, **asdict(settings.decoding)
        )
        return Assembled(product=Translator(model, tokenizer, defaults), train=train, valid=valid)

    def finish(self, product: Translator, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        seen = seen_in(self.corpus.train.source, self.corpus.train.target)
        report = evaluate_run(product, self.corpus, self.settings, self.scorer, run, chosen, seen)
        bleu, epochs = report["validation"]["bleu"]["value"], report["training"]["epochs"]
        advice = advice_after(bleu, report["data"]["pairs"], epochs)
        report["advice"] = [] if advice is None else [f"{advice}."]
        write_bundle(out, product, report, seen)
        return report

    def example(self) -> Example[Translator]:
        return example_translation(self.corpus)


def example_translation(corpus: Corpus) -> Example[Translator]:
    """A validation sentence of about 40 characters."""
    text = corpus.shown or min(corpus.valid.source[:50], key=lambda source: abs(len(source) - 40))
    return Example(f"Translation of   {text}", lambda translator: translator.translate(text, beam=1))


def both_parts(
    corpus: Corpus, tokenizer: Vocabulary, settings: PairSettings, context: int, *, source_ends: bool = True
) -> tuple[PairData, PairData]:
    """The training part and the validation part, as Data for the training loop."""
    batch_tokens, share = settings.training.batch_tokens, settings.data.bpe_dropout
    common = (tokenizer, batch_tokens, context)
    train = PairData(
        corpus.train,
        *common,
        shuffled=True,
        bpe_dropout=share,
        source_ends=source_ends,
        weights=corpus.weights,
        say=corpus.say,
    )
    valid = PairData(corpus.valid, *common, shuffled=False, source_ends=source_ends)
    if not len(train) or not len(valid):
        raise QkvError(f"no sentence pair fits into the maximum length of {context} tokens.")
    return train, valid


def evaluate_run(
    product: Translator,
    corpus: Corpus,
    settings: PairSettings,
    scorer: Scorer,
    run: Run,
    chosen: ChosenWeights,
    seen: Seen,
) -> dict[str, Any]:
    """The report. The product also gets its confidence, aligner and stand-ins."""
    engine = product._running(EXACT)
    sources = corpus.valid.source[:MAX_SCORED]
    done = Counter(run.watch.on_work, "translating the validation set", len(sources))
    translations = [best for best, *_ in engine._pipeline.hypotheses(sources, done=done)]
    trust = learn_trust(engine, corpus.train, corpus.valid, translations, scorer, run.watch.on_work)
    validated = [translation.text for translation in translations]
    report = make_report(engine, corpus, settings, run, chosen, validated, scorer, seen)
    product._defaults = engine._defaults
    return {**report, "calibration": trust}


def write_bundle(out: Path, product: Translator, report: Mapping[str, Any], seen: Seen) -> None:
    """Write the bundle, the report and the fingerprints of the training data."""
    product.to_bundle(out)
    write_seen(out, seen)
    card, distillation = model_card(report), earlier_distillation(out)
    if distillation is not None:
        section = (out / "README.md").read_text(encoding="utf-8").partition(f"\n{DISTILLATION_TITLE}\n")[2]
        section = section.removesuffix(TRAINED_FURTHER).rstrip("\n")
        card = f"{card.rstrip()}\n\n{DISTILLATION_TITLE}\n{section}\n{TRAINED_FURTHER}"
        report = {**report, "distillation": {**distillation, "trained_further": True}}
    save_report(out, report, card)


def earlier_distillation(out: Path) -> Mapping[str, Any] | None:
    """The comparison of a student with its teachers, if this run extends the training of one."""
    return TrainingReport.read(out).get("distillation") if (out / REPORT_FILE).is_file() else None


def learn_vocabulary(corpus: Corpus, settings: TranslatorSettings, exact: bool) -> Tokenizer:
    """Learn one vocabulary for both languages."""
    tokenizer = Tokenizer.learn(sample_of(corpus.train), settings.vocab_size)
    if exact and len(tokenizer) < settings.vocab_size:
        raise QkvError(
            f"the data yield a vocabulary of at most {len(tokenizer):,} tokens, not {settings.vocab_size:,}: "
            "choose a smaller vocabulary size."
        )
    return tokenizer


def sample_of(train: ParallelText) -> Iterator[str]:
    """What the vocabulary is learned from: all sentences, or those of pairs spread over a large training part."""
    step = max(1, -(-len(train) // LEARNED_FROM))
    sample = train if step == 1 else train.select(np.arange(0, len(train), step))
    return chain(sample.source, sample.target)


def architecture(model: ModelSettings, vocab: int, tokenizer: Vocabulary) -> OneStreamConfig:
    """The config of a Transformer. Without an encoder, source and target are one stream."""
    try:
        decoder = StackConfig(
            depth=model.decoder_depth,
            width=model.width,
            heads=model.heads,
            ffn_width=model.ffn_width,
            norm=model.norm,
            activation=model.activation,
            dropout=model.dropout,
            attention_dropout=model.attention_dropout,
        )
        shared: dict[str, Any] = {
            "vocab_size": vocab,
            "max_length": model.max_length,
            "pad": tokenizer.pad,
            "start": tokenizer.start,
            "end": tokenizer.end,
            "positions": model.positions,
            "decoder": decoder,
            "label_smoothing": model.label_smoothing,
        }
        if model.encoder_depth == 0:
            return OneStreamConfig(**shared)
        encoder = replace(decoder, depth=model.encoder_depth)
        return TranslatorConfig(encoder=encoder, decoder_cell=model.decoder_cell, **shared)
    except ValueError as error:
        raise QkvError(f"this model cannot be built: {error}.") from None


def recurrent_architecture(model: ModelSettings, vocab: int, tokenizer: Vocabulary) -> RecurrentConfig:
    try:
        return RecurrentConfig(
            vocab_size=vocab,
            max_length=model.max_length,
            pad=tokenizer.pad,
            start=tokenizer.start,
            end=tokenizer.end,
            width=model.width,
            hidden=model.ffn_width,
            encoder_depth=model.encoder_depth,
            decoder_depth=model.decoder_depth,
            heads=model.heads,
            dropout=model.dropout,
            label_smoothing=model.label_smoothing,
        )
    except ValueError as error:
        raise QkvError(f"this model cannot be built: {error}.") from None


CONFIGS: dict[str, Callable[[ModelSettings, int, Vocabulary], TranslationConfig]] = {
    "transformer": architecture,
    "recurrent": recurrent_architecture,
}
