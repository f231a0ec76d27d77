"""Fine-tunes a translator on other sentence pairs. Its sizes and vocabulary do not change."""

from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE, description_hashes
from qkv.checkpoint.files import file_hash
from qkv.core.translation import TranslationConfig
from qkv.errors import QkvError
from qkv.evaluation.overlap import both_seen, read_seen, seen_in
from qkv.evaluation.scores import Scorer
from qkv.families.loading import load_for
from qkv.families.translator.architectures import build
from qkv.families.translator.config import OneStreamConfig, RecurrentConfig, TranslatorConfig
from qkv.families.translator.corpus import Corpus, PairData, PairFiles
from qkv.families.translator.defaults import Languages
from qkv.families.translator.product import Translator
from qkv.families.translator.settings import FineTuneTranslatorSettings
from qkv.families.translator.task import (
    TOKENIZER_FILE,
    both_parts,
    evaluate_run,
    example_translation,
    write_bundle,
)
from qkv.flags import OptionMessageError
from qkv.text.marian_tokenizer import MarianTokenizer
from qkv.text.tokenizer import Tokenizer
from qkv.text.vocabulary import Vocabulary, load_vocabulary
from qkv.training.device import choose_device, kinds_for, with_precision
from qkv.training.loop import Run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Example, Task, with_epochs
from qkv.training.trainable import Setup
from qkv.training.validation import loss_on

SNIPPET_LENGTH = 40  # characters of a sentence in an error message


def pairs_task(
    data: PairFiles, inputs: Any, settings: FineTuneTranslatorSettings, setup: Setup
) -> "FineTuneTranslatorTask":
    """Fine-tune the translator `inputs.fine_tune`."""
    return fine_tune_task(data.corpus(settings, setup), inputs.fine_tune, settings, setup)


def fine_tune_task(
    corpus: Corpus,
    base: Path,
    settings: FineTuneTranslatorSettings,
    setup: Setup = Setup(),  # noqa: B008
) -> "FineTuneTranslatorTask":
    settings.check()
    before = load_for(base, "train translator --fine-tune", Translator)
    recurrent = isinstance(before.model.config, RecurrentConfig)
    settings = with_precision(
        settings,
        before.model.tokens.embedding_dim,
        choose_device(settings.training),
        setup.group,
        kinds_for(recurrent),
    )
    scorer = Scorer.make(**asdict(settings.scoring))  # fails now, not after the training
    tokenizer = with_language(before.tokenizer, settings.language_token, corpus)
    if settings.data.bpe_dropout and not isinstance(tokenizer, Tokenizer):
        raise QkvError(
            "BPE dropout needs a vocabulary that qkv has learned, but this model has its own: leave it out."
        )
    settings = with_epochs(settings, lambda: parts_for(before, corpus, tokenizer, settings)[0])
    return FineTuneTranslatorTask(corpus, before, base, tokenizer, settings, scorer)


@dataclass(frozen=True)
class FineTuneTranslatorTask(Task[Translator]):
    corpus: Corpus
    before: Translator
    base: Path
    tokenizer: Vocabulary
    settings: FineTuneTranslatorSettings
    scorer: Scorer

    @property
    def width(self) -> int:
        return self.before.model.tokens.embedding_dim

    def fingerprint(self) -> dict[str, str]:
        weights = {"weights to begin with": file_hash(self.base / MODEL_FILE)}
        return {**self.corpus.fingerprint(), **weights, **description_hashes(self.base)}

    def files(self) -> dict[str, bytes]:
        return {TOKENIZER_FILE: self.tokenizer.text().encode()}

    def assemble(self, folder: Path) -> Assembled[Translator]:
        before, settings = self.before, self.settings
        tokenizer = load_vocabulary(folder / TOKENIZER_FILE)
        train, valid = parts_for(before, self.corpus, tokenizer, settings)
        model = build(with_regularization(before.model.config, settings.dropout, settings.label_smoothing))
        model.load_state_dict(before.model.state_dict())
        defaults = replace(
            before._defaults,
            languages=complete_languages(self.corpus.languages, before._defaults.languages),
            max_source_length=max(before._defaults.max_source_length, train.longest_source),
        )
        return Assembled(product=Translator(model, tokenizer, defaults), train=train, valid=valid)

    def finish(self, product: Translator, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        corpus = self.corpus
        seen = both_seen(read_seen(self.base), seen_in(corpus.train.source, corpus.train.target))
        report = evaluate_run(product, corpus, self.settings, self.scorer, run, chosen, seen)
        report["languages"] = asdict(product._defaults.languages)
        report["data"]["origin"] += f", on top of {self.base.name}"
        loss = loss_on(self.before.model, run.valid)
        report["fine_tuned"] = {"from": self.base.name, "validation_loss_before": round(loss, 4)}
        write_bundle(out, product, report, seen)
        return report

    def example(self) -> Example[Translator]:
        return example_translation(self.corpus)


def parts_for(
    before: Translator, corpus: Corpus, tokenizer: Vocabulary, settings: FineTuneTranslatorSettings
) -> tuple[PairData, PairData]:
    """The pairs as this model reads them."""
    config = before.model.config
    source_ends = not isinstance(config, TranslatorConfig) or config.source_ends
    return both_parts(corpus, tokenizer, settings, config.max_length, source_ends=source_ends)


def with_language(tokenizer: Vocabulary, language: str | None, corpus: Corpus) -> Vocabulary:
    """The tokenizer, with the target language that each source starts with if the model has several."""
    if not tokenizer.languages or not isinstance(tokenizer, MarianTokenizer):
        if language is not None:
            raise OptionMessageError("this model translates into one language: leave out {language_token}.")
        return tokenizer
    if language is None and corpus.languages.target in tokenizer.languages:
        language = corpus.languages.target
    if language is not None:
        return tokenizer.other(language=language)
    for text in chain(corpus.train.source, corpus.valid.source):
        marker, _ = tokenizer.without_marker(text)
        if marker is None or marker not in tokenizer.ids:
            raise OptionMessageError(
                "this model translates into {known}, but the source '{text}' selects none of these. Give {language_token}, or "
                "start each source with {marker}.",
                known=", ".join(tokenizer.languages),
                text=text[:SNIPPET_LENGTH],
                marker=tokenizer.marker("LANGUAGE"),
            )
    return tokenizer


def with_regularization(
    config: TranslationConfig, dropout: float | None, smoothing: float | None
) -> TranslationConfig:
    """The config with another dropout and label smoothing, if they are given."""
    if not isinstance(config, OneStreamConfig | RecurrentConfig):
        raise TypeError(f"{type(config).__name__} is not the config of a translator")
    if smoothing is not None:
        config = replace(config, label_smoothing=smoothing)
    if dropout is None:
        return config
    if isinstance(config, RecurrentConfig):
        return replace(config, dropout=dropout)
    if isinstance(config, TranslatorConfig):
        config = replace(config, encoder=replace(config.encoder, dropout=dropout))
    return replace(config, decoder=replace(config.decoder, dropout=dropout))


def complete_languages(languages: Languages, before: Languages) -> Languages:
    """The languages of the pairs, or else those of the model."""
    both = zip(languages.named(), before.named(), strict=True)
    return Languages.of(*(now or then for now, then in both))
