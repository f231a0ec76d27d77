"""How a translator is trained: sentence pairs in, a bundle with its report out."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import save_report
from qkv.core.block import StackConfig
from qkv.errors import UserError
from qkv.evaluation.overlap import seen_in, write_seen
from qkv.evaluation.scores import Scorer
from qkv.models.translator import OneStreamConfig, TranslatorConfig, translation_model
from qkv.pipeline import Translator, TranslatorDefaults
from qkv.text.tokenizer import Tokenizer
from qkv.training.corpus import Corpus, PairData
from qkv.training.device import choose_device, with_precision
from qkv.training.distributed import Group
from qkv.training.loop import Run, Watch
from qkv.training.report import SCORED, make_report, model_card
from qkv.training.runs import Assembled, Chosen, Outcome, train
from qkv.training.settings import ModelSettings, TranslatorSettings, check_settings
from qkv.training.trust import learn_trust

TOKENIZER_FILE = "tokenizer.json"  # in OUT/training
ALWAYS_WHOLE = 64  # pieces: so long a sentence is not cut, even where training has shown shorter ones only


def train_translator(
    corpus: Corpus,
    settings: TranslatorSettings,
    out: Path,
    *,
    watch: Callable[[Translator], Watch],
    group: Group | None = None,
    resume: bool = False,
    exact_vocabulary: bool = False,
    remember: Mapping[str, Any] | None = None,
) -> Outcome[Translator]:
    """Learn the vocabulary, train, and write the bundle with its report.

    With `exact_vocabulary`, data that cannot fill the vocabulary are refused instead of given a smaller one.
    """
    check_settings(settings)
    settings = with_precision(settings, settings.model.width, choose_device())
    scorer = Scorer.make(**asdict(settings.scoring))  # a wrong choice is seen before the training
    task = TranslatorTask(corpus, settings, scorer, exact_vocabulary)
    return train(task, out, watch=watch, group=group, resume=resume, remember=remember)


@dataclass(frozen=True)
class TranslatorTask:
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
        context, batch_tokens = settings.model.context, settings.training.batch_tokens
        tokenizer = Tokenizer.load(folder / TOKENIZER_FILE)
        share = settings.data.subword_dropout
        train = PairData(corpus.train, tokenizer, batch_tokens, context, shuffled=True, subword_dropout=share)
        valid = PairData(corpus.valid, tokenizer, batch_tokens, context, shuffled=False)
        if not len(train) or not len(valid):
            raise UserError(f"no sentence pair fits into a context of {context} pieces.")
        model = translation_model(architecture(settings.model, len(tokenizer), tokenizer))
        longest = max(ALWAYS_WHOLE, *map(len, train.sources))
        defaults = TranslatorDefaults(
            languages=corpus.languages, longest=longest, **asdict(settings.decoding)
        )
        return Assembled(product=Translator(model, tokenizer, defaults), train=train, valid=valid)

    def finish(self, product: Translator, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        corpus, scorer = self.corpus, self.scorer
        seen = seen_in(corpus.train.source, corpus.train.target)
        answers = [best for best, *_ in product.answers(corpus.valid.source[:SCORED])]
        trust = learn_trust(product, corpus.train, corpus.valid, answers, scorer)
        product.save(out)
        validated = [answer.text for answer in answers]
        report = make_report(product, corpus, self.settings, run, chosen, validated, scorer, seen)
        report["trust"] = trust
        save_report(out, report, model_card(report))
        write_seen(out, seen)
        return report


def learn_vocabulary(corpus: Corpus, settings: TranslatorSettings, exact: bool) -> Tokenizer:
    """One vocabulary for both languages, from the training part alone."""
    tokenizer = Tokenizer.learn([*corpus.train.source, *corpus.train.target], settings.vocabulary)
    if exact and len(tokenizer) < settings.vocabulary:
        raise UserError(
            f"the data fill a vocabulary of {len(tokenizer)} pieces at most: "
            f"give --vocabulary {len(tokenizer)} or less, not {settings.vocabulary}."
        )
    return tokenizer


def architecture(model: ModelSettings, vocab: int, tokenizer: Tokenizer) -> OneStreamConfig:
    """Without an encoder, source and target are one stream."""
    try:
        decoder = StackConfig(
            depth=model.decoder_depth,
            width=model.width,
            heads=model.heads,
            hidden=model.hidden,
            norm=model.norm,
            activation=model.activation,
            dropout=model.dropout,
            attention_dropout=model.attention_dropout,
        )
        shared: dict[str, Any] = {
            "vocab": vocab,
            "context": model.context,
            "pad": tokenizer.pad,
            "start": tokenizer.start,
            "end": tokenizer.end,
            "positions": model.positions,
            "decoder": decoder,
            "smoothing": model.smoothing,
        }
        if model.encoder_depth == 0:
            return OneStreamConfig(**shared)
        return TranslatorConfig(encoder=replace(decoder, depth=model.encoder_depth), **shared)
    except ValueError as error:
        raise UserError(f"such a model cannot be built: {error}.") from None
