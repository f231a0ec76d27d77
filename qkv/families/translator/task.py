"""How a translator is trained: sentence pairs in, a bundle with its report out."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import save_report
from qkv.core.stack_config import StackConfig
from qkv.core.translation import TranslationConfig
from qkv.errors import OptionError, UserError
from qkv.evaluation.overlap import Seen, seen_in, write_seen
from qkv.evaluation.scores import Scorer
from qkv.families.translator.advice import advice_before
from qkv.families.translator.architectures import build
from qkv.families.translator.config import OneStreamConfig, RecurrentConfig, TranslatorConfig
from qkv.families.translator.corpus import Corpus, PairData, PairFiles
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.product import Translator
from qkv.families.translator.report import SCORED, make_report, model_card
from qkv.families.translator.settings import (
    UNUSED_BY_LSTMS,
    ModelSettings,
    PairSettings,
    TranslatorSettings,
)
from qkv.families.translator.trust import learn_trust
from qkv.runtime.running import EXACT
from qkv.text.tokenizer import Tokenizer
from qkv.text.vocabulary import Vocabulary
from qkv.training.device import choose_device, kinds_for, with_precision
from qkv.training.loop import Run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Counter, Example, Task
from qkv.training.trainable import Setup

TOKENIZER_FILE = "tokenizer.json"  # in OUT/training
ALWAYS_WHOLE = 64  # pieces: so long a sentence is not cut, even where training has shown shorter ones only


def pairs_task(data: PairFiles, inputs: Any, settings: TranslatorSettings, setup: Setup) -> "TranslatorTask":
    """Train on sentence pairs that were read from files."""
    refuse_unused(settings.model, setup.given)
    corpus = data.corpus(settings, setup)
    if advice := advice_before(len(corpus.train)):
        setup.say(f"advice: {advice}.")
    return translator_task(corpus, settings, setup)


def translator_task(corpus: Corpus, settings: TranslatorSettings, setup: Setup = Setup()) -> "TranslatorTask":  # noqa: B008  (it is frozen)
    """Train on a corpus. A vocabulary size that the user chose must be reached; otherwise it is an upper bound."""
    settings.check()
    kinds = kinds_for(settings.model.architecture == "recurrent")
    settings = with_precision(settings, settings.model.width, choose_device(), setup.group, kinds)
    scorer = Scorer.make(**asdict(settings.scoring))  # a wrong choice is found before the training
    return TranslatorTask(corpus, settings, scorer, "vocab_size" in setup.given)


def refuse_unused(model: ModelSettings, given: frozenset[str]) -> None:
    unused = sorted(UNUSED_BY_LSTMS & given) if model.architecture == "recurrent" else []
    if unused:
        raise OptionError((", ".join(unused), "cannot be used with LSTMs"))


@dataclass(frozen=True)
class TranslatorTask(Task[Translator]):
    corpus: Corpus
    settings: TranslatorSettings
    scorer: Scorer
    exact_vocabulary: bool = False

    @property
    def width(self) -> int:
        return self.settings.model.width

    def fingerprint(self) -> dict[str, str]:
        return self.corpus.fingerprint()

    def files(self) -> dict[str, bytes]:
        tokenizer = learn_vocabulary(self.corpus, self.settings, self.exact_vocabulary)
        return {TOKENIZER_FILE: tokenizer.text().encode()}

    def assemble(self, folder: Path) -> Assembled[Translator]:
        settings, corpus = self.settings, self.corpus
        tokenizer = Tokenizer.load(folder / TOKENIZER_FILE)
        train, valid = both_parts(corpus, tokenizer, settings, settings.model.max_length)
        model = build(CONFIGS[settings.model.architecture](settings.model, len(tokenizer), tokenizer))
        longest = max(ALWAYS_WHOLE, *map(len, train.sources))
        defaults = TranslatorDefaults(
            languages=corpus.languages, max_source_length=longest, **asdict(settings.decoding)
        )
        return Assembled(product=Translator(model, tokenizer, defaults), train=train, valid=valid)

    def finish(self, product: Translator, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        seen = seen_in(self.corpus.train.source, self.corpus.train.target)
        report = measured(product, self.corpus, self.settings, self.scorer, run, chosen, seen)
        keep(out, product, report, seen)
        return report

    def example(self) -> Example[Translator]:
        return shown_translation(self.corpus)


def shown_translation(corpus: Corpus) -> Example[Translator]:
    """A validation sentence of about 40 characters."""
    text = corpus.shown or min(corpus.valid.source[:50], key=lambda source: abs(len(source) - 40))
    return Example(f"Translation of   {text}", lambda translator: translator.translate(text, beam=1))


def both_parts(
    corpus: Corpus, tokenizer: Vocabulary, settings: PairSettings, context: int
) -> tuple[PairData, PairData]:
    """What is trained on and what is validated on, as ids."""
    batch_tokens, share = settings.training.batch_tokens, settings.data.bpe_dropout
    train = PairData(corpus.train, tokenizer, batch_tokens, context, shuffled=True, bpe_dropout=share)
    valid = PairData(corpus.valid, tokenizer, batch_tokens, context, shuffled=False)
    if not len(train) or not len(valid):
        raise UserError(f"no sentence pair fits into a context of {context} pieces.")
    return train, valid


def measured(
    product: Translator,
    corpus: Corpus,
    settings: PairSettings,
    scorer: Scorer,
    run: Run,
    chosen: ChosenWeights,
    seen: Seen,
) -> dict[str, Any]:
    """The report; on the way the product learns what makes its answers ones that can be trusted."""
    fast = product.running(EXACT)
    sources = corpus.valid.source[:SCORED]
    done = Counter(run.watch.on_work, "translating the validation set", len(sources))
    answers = [best for best, *_ in fast.hypotheses(sources, done=done)]
    trust = learn_trust(fast, corpus.train, corpus.valid, answers, scorer, run.watch.on_work)
    validated = [answer.text for answer in answers]
    report = make_report(fast, corpus, settings, run, chosen, validated, scorer, seen)
    product.defaults = fast.defaults
    return {**report, "trust": trust}


def keep(out: Path, product: Translator, report: Mapping[str, Any], seen: Seen) -> None:
    """The bundle with all that was learned and measured at the end."""
    product.save(out)
    save_report(out, report, model_card(report))
    write_seen(out, seen)


def learn_vocabulary(corpus: Corpus, settings: TranslatorSettings, exact: bool) -> Tokenizer:
    """One vocabulary for both languages, from the training part alone."""
    tokenizer = Tokenizer.learn([*corpus.train.source, *corpus.train.target], settings.vocab_size)
    if exact and len(tokenizer) < settings.vocab_size:
        raise UserError(
            f"the data fill a vocabulary of at most {len(tokenizer):,} tokens, not {settings.vocab_size:,}. "
            "Choose a smaller vocabulary."
        )
    return tokenizer


def architecture(model: ModelSettings, vocab: int, tokenizer: Tokenizer) -> OneStreamConfig:
    """Without an encoder, source and target are one stream."""
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
        return TranslatorConfig(encoder=replace(decoder, depth=model.encoder_depth), **shared)
    except ValueError as error:
        raise UserError(f"such a model cannot be built: {error}.") from None


def recurrent_architecture(model: ModelSettings, vocab: int, tokenizer: Tokenizer) -> RecurrentConfig:
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
        raise UserError(f"such a model cannot be built: {error}.") from None


CONFIGS: dict[str, Callable[[ModelSettings, int, Tokenizer], TranslationConfig]] = {
    "transformer": architecture,
    "recurrent": recurrent_architecture,
}
